"""Connections and sessions under limits, and what is said of who goes beyond one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.scripted import ScriptedPeer

from amqp_sansio import ClientConfig, ClientConnection, LimitError, Profile, ServerConfig, ServerConnection, Session
from amqp_sansio.events import ConnectionClosed, Event, Origin, SessionDetached, Violation
from amqp_sansio.limits import Limits
from amqp_sansio.spec.connection import Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, RequestTimeout

HEADER: Final = b"AMQP\x01\x01\x00\x0a"
ONE: Final = 1  # channel


def at_client(limits: Limits) -> ScriptedPeer:
    """A client whose connection is open."""
    peer = ScriptedPeer(ClientConnection(ClientConfig(limits=limits)))
    peer.say(HEADER, Start({}, ("ANONYMOUS",), ("en_US",)), Tune(65535, 65535, 0, 0), OpenOk(()))
    peer.connection.data_to_send()
    return peer


def at_server(limits: Limits, profile: Profile | None = None) -> ScriptedPeer:
    """A server whose connection is open."""
    peer = ScriptedPeer(ServerConnection(ServerConfig(limits=limits, profile=profile or Profile())))
    peer.say(HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, 0), Open(""))
    peer.connection.data_to_send()
    return peer


def attached(limits: Limits, profile: Profile | None = None) -> ScriptedPeer:
    """A server with a session on channel 1, its first command-point said."""
    peer = at_server(limits, profile)
    peer.say(Attach(b"s"), RequestTimeout(None), CommandPoint(0, 0), channel=ONE)
    peer.connection.data_to_send()
    return peer


def client_session(limits: Limits, timeout: int | None = 0) -> tuple[ScriptedPeer, Session]:
    """A client with a session that is attached."""
    peer = at_client(limits)
    session = peer.client.session(b"s", timeout=timeout)
    peer.say(Attached(b"s"), channel=ONE)
    return peer, session


def violations(events: list[Event]) -> list[Violation]:
    """What the other side is accused of; nothing else may have ended anything."""
    found = []
    for event in events:
        if isinstance(event, SessionDetached | ConnectionClosed):
            assert event.origin is Origin.VIOLATION, event
            assert event.violation is not None
            found.append(event.violation)
    return found


def judged(name: str, events: list[Event]) -> bool:
    """Whether it was let pass; when not, the limit must have been named."""
    found = violations(events)
    assert {violation.rule for violation in found} <= {f"limits.{name}"}, found
    for violation in found:
        assert violation.text
        assert violation.legal
        assert violation.offset > 0
    return not found


def refused(name: str, call: Callable[[], object]) -> bool:
    """The same for what a caller asks for."""
    error: LimitError | None = None
    try:
        call()
    except LimitError as raised:
        error = raised
    assert error is None or (error.limit, error.asked) == (name, error.value + 1)
    return error is None
