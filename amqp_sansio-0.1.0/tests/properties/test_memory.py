"""What the other side can make a connection remember, or write, stays in proportion to what it has there."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
from tests.scripted import ScriptedPeer

from amqp_sansio import RangeSet, ServerConnection
from amqp_sansio.spec import execution
from amqp_sansio.spec.connection import Open, StartOk, TuneOk
from amqp_sansio.spec.session import Attach, CommandPoint, Completed, Detach, Flush, Gap

HEADER = b"AMQP\x01\x01\x00\x0a"


def opened() -> ScriptedPeer:
    peer = ScriptedPeer(ServerConnection())
    peer.say(HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, 0), Open(""))
    peer.connection.data_to_send()
    return peer


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def grown(peer: ScriptedPeer, octets: bytes) -> int:
    """Octets of memory that are held after the peer said this and everything was taken, compared with before."""
    before = tracemalloc.get_traced_memory()[0]
    peer.connection.receive_data(octets)
    for _ in peer.connection.events():
        pass
    peer.connection.data_to_send()
    return tracemalloc.get_traced_memory()[0] - before


def test_a_thousand_flushes_do_not_repeat_what_was_reported() -> None:
    """An answer may be thousands of times as long as the question: many ranges are told once, then only those that changed."""
    peer = opened()
    peer.say(Attach(b"s"), CommandPoint(0, 0), channel=1)
    peer.say(Gap(RangeSet.of(*range(0, 8000, 2))), channel=1)
    once = len(peer.octets_of(Completed(RangeSet.of(*range(0, 8000, 2)), True)))
    assert len(peer.connection.data_to_send()) >= once
    peer.say(*[Flush(True, True, True)] * 1000, channel=1)
    said = len(peer.connection.data_to_send())
    assert 0 < said < once
    assert peer.connection.data_to_send() == b""


def test_names_of_sessions_that_came_and_went_are_forgotten(traced: None) -> None:
    peer = opened()
    said = [b"".join([peer.octets_of(word, 1) for word in (Attach(b"%500d" % at), Detach(b"%500d" % at))]) for at in range(200)]
    grown(peer, b"".join(said[:100]))
    assert grown(peer, b"".join(said[100:])) < 10_000


def test_channels_without_sessions_are_forgotten(traced: None) -> None:
    peer = opened()
    said = [b"".join([peer.octets_of(execution.Sync(), channel) for channel in range(low, low + 500)]) for low in (0, 500)]
    grown(peer, said[0])
    assert grown(peer, said[1]) < 10_000


def test_octets_that_wait_for_the_first_event_cost_what_they_are(traced: None) -> None:
    """Stored one by one before anybody asks for an event: linear in time, and in memory."""
    conn = ServerConnection()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(100_000):
        conn.receive_data(b"\0")
    assert tracemalloc.get_traced_memory()[0] - before < 300_000
