"""The bare carriers and the wire that tests of sessions and of channels stand on."""

from __future__ import annotations

import pytest
from tests.carriers import BareCarrier, BareChannelCarrier, Wire, attached_session, open_channel
from tests.engine.older import DIALECTS

from amqp_sansio.dialects import ChannelDialect
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.engine.channels.server import ServedChannel
from amqp_sansio.events import (
    ChannelClosed,
    ContentReceived,
    MessageDelivered,
    MethodReceived,
    SessionAttached,
    SessionDetached,
)
from amqp_sansio.spec import execution
from amqp_sansio.spec import session as c
from amqp_sansio.spec.methods import basic


def test_what_was_sent_and_what_happened() -> None:
    carrier = BareCarrier("client")
    carrier.hear(c.Flush(True))
    assert carrier.said() == [c.Detached(b"", 3)]
    assert carrier.said() == []
    assert carrier.channels.session_named(b"s") is None


def test_frame_breaches_are_kept_apart() -> None:
    carrier, session = attached_session("server")
    carrier.feed(b"\x03\x02\x00\x0c\x00\x01\x00\x00\x00\x00\x00\x00")
    assert [violation.code for violation in carrier.failed] == [501]
    assert session.state == "attached"
    assert carrier.channels.session_named(b"s") is session


def test_octets_beyond_a_cut_are_lost() -> None:
    wire = Wire(session_timeout=None)
    ours, theirs = wire.session(timeout=None)
    wire.client.happened()
    wire.server.happened()
    ours.sync()
    wire.cut(to_server=27)
    assert [type(event) for event in wire.server.happened()] == [SessionDetached]
    before = theirs._inbound.begun
    wire.client.channel(0).bind(ours)
    ours.attach()
    wire.run()
    assert SessionAttached(b"s", 0, True) in wire.client.happened()
    assert (before, theirs._inbound.next_id) == (False, 1)
    assert not ours.in_doubt


def test_a_session_at_both_ends() -> None:
    for role, other in (("client", "server"), ("server", "client")):
        assert role in ("client", "server")
        carrier, session = attached_session("client" if other == "server" else "server", b"name")
        assert (session.name, session.state, session.role) == (b"name", "attached", role)
        session.send(execution.Sync())
        assert carrier.said()[0] == c.CommandPoint(0, 0)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_channel_at_either_end(dialect: ChannelDialect) -> None:
    """What was said and what happened, without a connection."""
    client = BareChannelCarrier("client", dialect)
    channel = open_channel(client)
    assert isinstance(channel, Channel)
    assert (client.said(), client.happened(), channel.state) == ([], [], "open")
    channel.consume("q", "t", no_wait=True)
    channel.publish("x", "k", b"hello")
    client.hear(basic.Deliver("t", 1, False, "x", "k"), body=b"there")
    assert [type(method) for method in client.said()] == [basic.Consume, basic.Publish]
    (delivered,) = client.happened()
    assert isinstance(delivered, MessageDelivered)
    assert delivered.body == b"there"
    server = BareChannelCarrier("server", dialect)
    served = open_channel(server, 7)
    assert isinstance(served, ServedChannel)
    server.hear(basic.Publish("x", "k"), body=b"hello", channel=7)
    server.hear(basic.Qos(0, 1, False), channel=7)
    assert [type(event) for event in server.happened()] == [ContentReceived, MethodReceived]
    served.close()
    server.lost()
    assert [type(event) for event in server.happened()] == [ChannelClosed]
    client.feed(b"\x01\0\1\0\0\0\1\0\0")  # no end octet
    assert [violation.code for violation in client.failed] == [501]
