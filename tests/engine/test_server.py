"""Sessions that a server is asked for."""

from __future__ import annotations

import pytest
from tests.engine.opened import asked, served
from tests.engine.verdicts import server_of

from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import (
    AttachRequested,
    SessionAttached,
    SessionDetached,
)
from amqp_sansio.spec.session import Attach, Attached, Detach, Detached


def test_the_application_accepts() -> None:
    peer = asked()
    session = server_of(peer).accept(b"s", timeout=5)
    assert peer.hear() == [Attached(b"s")]
    assert peer.connection.next_event() == SessionAttached(b"s", 1)
    assert peer.server.sessions == (session,)
    assert peer.server.session_named(b"s") is session
    with pytest.raises(LocalProtocolError, match="no AttachRequested"):
        server_of(peer).accept(b"s")


def test_the_application_refuses() -> None:
    peer = asked()
    server_of(peer).refuse(b"s")
    assert peer.hear() == [Detached(b"s", 1)]
    assert peer.connection.next_event() is None
    assert peer.server.sessions == ()


def test_the_config_answers_what_the_application_does_not() -> None:
    peer = asked()
    assert peer.connection.next_event() == SessionAttached(b"s", 1)
    closed = asked(ServerConfig(attach="refuse"))
    assert closed.connection.next_event() is None
    assert closed.hear() == [Detached(b"s", 1)]


def test_another_name_than_was_asked_for_is_the_callers_mistake() -> None:
    peer = asked()
    with pytest.raises(LocalProtocolError, match=r"for 't' .*an answer to 's'"):
        server_of(peer).accept(b"t")
    with pytest.raises(LocalProtocolError, match="one name"):
        server_of(peer).accept(b"s", Session(b"t", "server"))
    assert peer.hear() == []
    server_of(peer).accept("s")


def test_force_gives_the_name_to_a_new_session() -> None:
    peer = asked()
    old = server_of(peer).accept(b"s")
    peer.say()
    peer.hear()
    peer.connection.receive_data(peer.octets_of(Attach(b"s", True), 2))
    assert peer.connection.next_event() == AttachRequested(b"s", 2, True)
    events = list(peer.connection.events())
    assert [type(event) for event in events] == [SessionDetached, SessionAttached]
    assert peer.server.sessions != (old,)
    assert Attached(b"s") in peer.hear()


def test_the_longest_name_that_fits_is_answered_all_the_same() -> None:
    # Detached is one octet longer than the attach that it answers.
    name = b"x" * (4096 - 18)
    for config in (ServerConfig(max_frame_size=4096), ServerConfig(max_frame_size=4096, attach="refuse")):
        peer = served(config)
        assert len(peer.octets_of(Attach(name))) == 4096
        peer.say(Attach(name), Attach(b"other"), Detach(name), Attach(name), channel=1)
        heard = peer.hear()
        assert len(heard) == 4
        assert peer.connection.is_open
