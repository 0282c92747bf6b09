"""The peer that says whatever it is told."""

from __future__ import annotations

import pytest
from tests.scripted import ScriptedPeer

from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Authenticated, ConnectionClosed, OpenRequested
from amqp_sansio.spec.connection import Open, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.execution import Sync

HEADER = b"AMQP\x01\x01\x00\x0a"


@pytest.mark.parametrize("chunk", [None, 1, 7])
def test_it_hears_what_the_connection_says(chunk: int | None) -> None:
    peer = ScriptedPeer(ServerConnection(), chunk=chunk)
    assert peer.say(HEADER) == []
    assert [type(each) for each in peer.hear()] == [Start]
    assert peer.header == HEADER
    events = peer.say(StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(), Open(""))
    assert [type(event) for event in events[:2]] == [Authenticated, OpenRequested]
    assert isinstance(peer.hear()[0], Tune)


def test_it_says_what_is_not_legal_too() -> None:
    peer = ScriptedPeer(ClientConnection())
    assert isinstance(peer.say(HEADER, Sync(), b"garbage")[-1], ConnectionClosed)
    assert isinstance(ScriptedPeer(ClientConnection()).end()[-1], ConnectionClosed)


def test_it_does_not_put_up_with_broken_frames() -> None:
    connection = ClientConnection()
    connection._write(b"\x0f\x00\x00\x05" + bytes(8))
    with pytest.raises(AssertionError, match="framing"):
        ScriptedPeer(connection).hear()
