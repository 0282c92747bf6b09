"""What a role makes of octets does not depend on the fast ways of its reader."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.test_quick import LAYOUT, command, control

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Event
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import connection, message, session
from amqp_sansio.wire.replies import Replies
from amqp_sansio.wire.segments import SegmentReader

NAMES = {1: b"1", 2: b"2"}


def client() -> ClientConnection:
    """A client with two sessions, which has published on the first and has a subscription on both."""
    made = ClientConnection()
    opening = control(0, connection.Start({}, ["ANONYMOUS"], ["en_US"]))
    opening += control(0, connection.Tune(9, 65535, 0, 0)) + control(0, connection.OpenOk())
    made.receive_data(AMQP_0_10.header + opening)
    assert [type(event).__name__ for event in made.events()][-1] == "ConnectionOpened"
    for channel, name in NAMES.items():
        ours = made.session(name)
        made.receive_data(control(channel, session.Attached(name)) + control(channel, session.CommandPoint(0, 0)))
        assert list(made.events())
        ours.subscribe("q", "d").grant(0xFFFFFFFF)
        for _ in range(20):
            ours.publish(routing_key="k", body=b"x")
    return made


def server() -> ServerConnection:
    """A server with two sessions."""
    made = ServerConnection()
    said = AMQP_0_10.header + control(0, connection.StartOk({}, "ANONYMOUS", b"", "en_US"))
    said += control(0, connection.TuneOk(9, 65535, 0)) + control(0, connection.Open("x"))
    for channel, name in NAMES.items():
        said += control(channel, session.Attach(name)) + control(channel, session.CommandPoint(0, 0))
    made.receive_data(said)
    assert len([event for event in made.events() if type(event).__name__ == "SessionAttached"]) == 2
    return made


def said(seed: int) -> bytes:
    """Transfers in every shape, completions and accepts, well formed and not; one of three channels has no session."""
    choice = Random(seed)
    octets = b""
    for _ in range(40):
        channel = choice.choice((1, 1, 1, 1, 2, 3))
        headers = [message.DeliveryProperties(routing_key="k")] * choice.choice((0, 1, 1, 1, 2))
        body = choice.choice((None, b"", b"body", b"body", b"b" * 300))
        what = command(channel, message.Transfer("d", choice.choice((0, 0, 0, 1)), 0), *headers, body=body)
        kind = choice.randrange(16)
        if kind == 0 and choice.random() < 0.3:
            at = choice.randrange(len(what))
            what = what[:at] + bytes([what[at] ^ 1 << choice.randrange(8)]) + what[at + 1 :]
        elif kind in (1, 2, 3):
            low = choice.randrange(20)
            what = control(channel, session.Completed(RangeSet.span(low, low + choice.randrange(6)), kind == 1))
        elif kind == 4:
            what = command(channel, message.Accept(RangeSet.of(choice.randrange(20))))
        elif kind == 5 and choice.random() < 0.2:
            what = control(channel, choice.choice((session.Detach(NAMES[1]), session.Detached(NAMES[1], 0))))
        octets += what
    return octets


def heard(us: Connection, octets: bytes, cuts: Random) -> tuple[list[Event], bytes]:
    """The events of octets that come in pieces, and what is said to them."""
    events: list[Event] = []
    at = 0
    while at < len(octets):
        size = cuts.choice((1, 7, 40, 700, 5000, 100_000))
        us.receive_data(octets[at : at + size])
        events += us.events()
        at += size
    us.receive_eof()
    events += us.events()
    return events, us.data_to_send()


@pytest.mark.skipif(COMPILED, reason="nobody can take the fast ways out of compiled code")
@pytest.mark.parametrize("role", [client, server])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_fast_and_slow_tell_the_same(role: Callable[[], Connection], seed: int) -> None:
    """Whatever octets come, cut and changed at random: with the fast ways and without, the same events and the same answers."""
    octets = said(seed)
    fast = heard(role(), octets, Random(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SegmentReader, "cut_ahead", lambda self: None)
        patch.setattr(Replies, "cut", lambda self, reader, accepts=True: None)
        assert heard(role(), octets, Random(seed + 1)) == fast


def test_most_transfers_are_cut_ahead() -> None:
    """So the property above is about something."""
    cut, reader = 0, SegmentReader(client().limits)
    transfer = message.Transfer("d", 0, 0)
    reader.learn(1, LAYOUT.encode_command(transfer, False), transfer, False)
    for seed in range(20):
        reader.receive(said(seed))
        while reader.cut_ahead() is not None or reader.next() is not None:
            cut += bool(reader.ahead)
    assert cut > 20
