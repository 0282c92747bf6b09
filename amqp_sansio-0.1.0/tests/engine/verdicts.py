"""What the tests of connections ask of a peer that says whatever it is told."""

from __future__ import annotations

from collections.abc import Iterable

from tests.scripted import ScriptedPeer

from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import ConnectionClosed, Event, Origin, SessionDetached, Violation
from amqp_sansio.spec.connection import Close


def server_of(peer: ScriptedPeer) -> ServerConnection:
    """The server that the peer talks to."""
    assert isinstance(peer.connection, ServerConnection)
    return peer.connection


def violation_of(events: Iterable[Event], speaker: str | None = None) -> Violation:
    """The violation that the last event tells of; `speaker`: whose it must be."""
    last = list(events)[-1]
    assert isinstance(last, ConnectionClosed | SessionDetached), last
    assert last.violation is not None, last
    assert last.origin is Origin.VIOLATION
    assert speaker in (None, last.violation.speaker)
    return last.violation


def dropped(peer: ScriptedPeer) -> bool:
    """Whether the connection ended without a close: somebody just closes the socket."""
    return not any(isinstance(each, Close) for each in peer.hear()) and peer.connection.finished
