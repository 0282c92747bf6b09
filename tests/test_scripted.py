"""The peer that says whatever it is told."""

from __future__ import annotations

import pytest
from tests.engine.older import DIALECTS, start
from tests.scripted import Carrying, ChannelPeer, ScriptedPeer

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import (
    Authenticated,
    ChannelClosed,
    ChannelOpened,
    ConnectionClosed,
    MessageDelivered,
    OpenRequested,
)
from amqp_sansio.spec.connection import Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.methods import basic
from amqp_sansio.spec.methods import channel as words

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


@pytest.mark.parametrize("chunk", [None, 1, 7])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_it_speaks_and_hears_the_older_dialects(dialect: ChannelDialect, chunk: int | None) -> None:
    """Controls of the connection, and on a channel methods with and without a content."""
    client = ChannelClientConnection(ClientConfig(dialect=dialect))
    server = ChannelPeer(client, dialect=dialect, chunk=chunk)
    server.say(start(dialect), Tune(2047, 131072, None, 0), OpenOk())
    assert [type(each) for each in server.hear()] == [StartOk, TuneOk, Open]
    assert server.header == dialect.header
    channel = client.channel()
    channel.consume("q", "t", no_wait=True)
    channel.publish("", "k", b"hello", basic.Properties(priority=1))
    opening, consume, published = server.hear()
    assert (type(opening), type(consume)) == (words.Open, basic.Consume)
    assert isinstance(published, Carrying)
    assert (type(published.method), published.body, published.properties) == (basic.Publish, b"hello", b"\x08\0\1")
    deliver = basic.Deliver("t", 1, False, "", "k")
    codec = dialect.codec
    open_ok = words.OpenOk(b"" if codec.has_argument(words.OpenOk, "channel_id") else None)
    events = server.say(open_ok, Carrying(deliver, b"there", published.properties), channel=1)
    assert [type(event) for event in events] == [ChannelOpened, MessageDelivered]
    delivered = events[1]
    assert isinstance(delivered, MessageDelivered)
    assert (delivered.method, delivered.body, delivered.properties.priority) == (deliver, b"there", 1)
    assert [event.channel for event in server.say(b"garbage!") if isinstance(event, ChannelClosed)] == [1]


def test_it_hears_a_server_that_says_no_header() -> None:
    client = ChannelPeer(ChannelServerConnection(ServerConfig(dialects=(AMQP_0_9_1,))))
    client.say(AMQP_0_9_1.header)
    assert [type(each) for each in client.hear()] == [Start]
    assert client.header == b""
    refused = ChannelPeer(ChannelServerConnection(ServerConfig(dialects=(AMQP_0_9_1,))))
    refused.say(HEADER)
    assert refused.hear() == []
    assert refused.header == AMQP_0_9_1.header


def test_it_does_not_put_up_with_broken_frames() -> None:
    connection = ClientConnection()
    connection._write(b"\x0f\x00\x00\x05" + bytes(8))
    with pytest.raises(AssertionError, match="framing"):
        ScriptedPeer(connection).hear()
