"""Sessions that a client asks for."""

from __future__ import annotations

import pickle

import pytest
from tests.engine.opened import serving
from tests.scripted import ScriptedPeer

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import EncodeError, LimitError, LocalProtocolError
from amqp_sansio.events import (
    AttachRequested,
    Event,
    SessionAttached,
)
from amqp_sansio.limits import Limits
from amqp_sansio.spec.connection import Tune
from amqp_sansio.spec.session import Attach, Attached, Detached
from amqp_sansio.testing.link import Link


@pytest.mark.parametrize(("limit", "good"), [(1, False), (2, True), (3, True)])
def test_limit_sessions_for_the_caller(limit: int, good: bool) -> None:
    peer = serving(ClientConfig(limits=Limits(sessions=limit)))
    peer.client.session("a")
    if good:
        peer.client.session("b")
    else:
        with pytest.raises(LimitError, match="sessions"):
            peer.client.session("b")
        assert peer.hear() == [Attach(b"a", False)]


@pytest.mark.parametrize(("limit", "good"), [(1, False), (2, True), (3, True)])
def test_limit_channels(limit: int, good: bool) -> None:
    peer = serving(ClientConfig(limits=Limits(channels=limit)))
    first = peer.client.session("a")
    assert first._channel is not None
    if good:
        second = peer.client.session("b")
        assert second._channel is not None
        assert second._channel.number != first._channel.number
    else:
        assert first._channel.number == 0
        with pytest.raises(LimitError, match="channels"):
            peer.client.session("b")


def test_a_channel_is_used_again_once_it_is_free() -> None:
    peer = serving(tune=Tune(2, 65535, 0, 0))
    session = peer.client.session("a")
    assert session._channel is not None
    number = session._channel.number
    peer.say(Attached(b"a"), channel=number)
    session.detach()
    peer.say(Detached(b"a", 0), channel=number)
    again = peer.client.session("b")
    assert again._channel is not None
    assert again._channel.number == number
    assert peer.client.sessions == (again,)


def test_a_name_is_attached_once() -> None:
    peer = serving()
    peer.client.session("a")
    with pytest.raises(LocalProtocolError, match="attached on this connection"):
        peer.client.session("a")
    assert peer.hear() == [Attach(b"a", False)]


def test_a_name_too_long_for_a_frame_takes_no_channel() -> None:
    peer = serving(tune=Tune(1, 4096, 0, 0))
    with pytest.raises(EncodeError):
        peer.client.session(b"x" * 5000)
    assert peer.client.sessions == ()
    peer.client.session(b"x")
    assert peer.hear() == [Attach(b"x", False)]


def test_a_session_goes_on_over_another_connection() -> None:
    link = Link(ClientConnection(), ServerConnection(ServerConfig(session_timeout=60)))
    link.run()
    session = link.client.session(b"s", timeout=60)
    link.run()
    (theirs,) = link.server.sessions
    link.cut()
    link.run()
    snapshot = session.snapshot()

    def on_server(connection: ServerConnection, event: Event) -> None:
        if isinstance(event, AttachRequested):
            connection.accept(event.session, resume=theirs)

    again = Link(ClientConnection(), ServerConnection(ServerConfig(session_timeout=60)), on_server=on_server)
    again.run()
    resumed = again.client.resume(pickle.loads(pickle.dumps(snapshot)))
    heard = again.run()
    assert resumed is not session
    assert ("client", SessionAttached(b"s", 1, True)) in heard
    assert again.client.sessions == (resumed,)


def test_a_session_before_open_is_the_callers_mistake() -> None:
    peer = ScriptedPeer(ClientConnection())
    peer.hear()
    before = peer.connection.state
    with pytest.raises(LocalProtocolError, match="ConnectionOpened"):
        peer.client.session(b"s")
    assert peer.connection.data_to_send() == b""
    assert peer.connection.state == before
