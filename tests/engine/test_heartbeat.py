"""Heartbeats (model 3.7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scripted import ScriptedPeer

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import ConnectionClosed, Origin
from amqp_sansio.limits import Limits
from amqp_sansio.spec.connection import Close, Heartbeat, Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.testing.link import Link

HEADER = b"AMQP\x01\x01\x00\x0a"
INTERVAL = 10


def opened(role: str) -> ScriptedPeer:
    if role == "client":
        peer = ScriptedPeer(ClientConnection(ClientConfig(heartbeat=INTERVAL, limits=Limits(close_seconds=100))))
        peer.say(HEADER, Start({}, ("ANONYMOUS",), ("en_US",)), Tune(0, 0, 0, 120), OpenOk(()))
    else:
        peer = ScriptedPeer(ServerConnection(ServerConfig(limits=Limits(close_seconds=100))))
        peer.say(HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, INTERVAL), Open(""))
    peer.hear()
    peer.connection.tick(0.0)
    return peer


@pytest.fixture(params=["client", "server"])
def peer(request: pytest.FixtureRequest) -> ScriptedPeer:
    """The peer of an open connection with heartbeats, whose first tick was at 0."""
    return opened(request.param)


def test_a_heartbeat_goes_out_when_nothing_was_written_for_an_interval(peer: ScriptedPeer) -> None:
    conn = peer.connection
    assert conn.tick(9.9) == 10.0
    assert peer.hear() == []
    assert conn.tick(10.0) == 20.0
    assert peer.hear() == [Heartbeat()]
    peer.say(Heartbeat())
    assert conn.tick(15.0) == 20.0
    assert conn.tick(20.0) == 30.0
    assert peer.hear() == [Heartbeat()]


def test_the_other_side_times_out_after_two_intervals_of_silence(peer: ScriptedPeer) -> None:
    conn = peer.connection
    conn.tick(10.0)
    conn.tick(19.9)
    assert conn.next_event() is None
    assert conn.tick(20.0) is None
    last = conn.next_event()
    assert isinstance(last, ConnectionClosed)
    assert last.origin is Origin.TIMEOUT
    assert conn.closed_cause == "time ran out: not an octet for 20 seconds, twice the heartbeat interval"
    peer.hear()
    assert conn.finished
    assert conn.tick(21.0) is None


def test_any_octet_counts_as_heard(peer: ScriptedPeer) -> None:
    conn = peer.connection
    frame = peer.octets_of(Heartbeat())
    for moment, octet in enumerate(frame, 1):
        peer.say(bytes([octet]))
        conn.tick(moment * 19.0)
        assert conn.next_event() is None
    assert conn.is_open


def test_half_a_frame_does_not_keep_a_dead_peer_alive(peer: ScriptedPeer) -> None:
    conn = peer.connection
    peer.say(b"\x0f\x00")
    conn.tick(1.0)
    conn.tick(21.0)
    assert isinstance(conn.next_event(), ConnectionClosed)


def test_nobody_times_out_while_octets_wait_undecoded(peer: ScriptedPeer) -> None:
    conn = peer.connection
    conn.receive_data(peer.octets_of(Heartbeat()))
    for moment in (1.0, 100.0, 1000.0):
        conn.tick(moment)
        conn.data_to_send()
    assert conn.next_event() is None
    conn.tick(1019.9)
    assert conn.is_open
    conn.tick(1020.0)
    assert isinstance(conn.next_event(), ConnectionClosed)


@pytest.mark.parametrize("taken", [True, False])
def test_a_peer_that_takes_nothing_times_out_though_octets_wait_undecoded(peer: ScriptedPeer, taken: bool) -> None:
    """They may wait for room in the outbox, which nobody makes any more; then nothing of that is to be taken, either."""
    conn = peer.connection
    conn.receive_data(peer.octets_of(Heartbeat()))
    conn._write(peer.octets_of(Heartbeat()))
    for moment in range(1, 45):
        conn.tick(float(moment))
        if taken and moment % 15 == 0:  # slowly
            assert conn.data_to_send()
    assert conn.eventful is not taken
    assert bool(conn.bytes_to_send) is taken


def test_a_heartbeat_is_never_answered(peer: ScriptedPeer) -> None:
    assert peer.say(*[Heartbeat()] * 5) == []
    peer.connection.tick(1.0)
    assert peer.hear() == []


def test_none_are_sent_after_close(peer: ScriptedPeer) -> None:
    peer.connection.close()
    assert peer.hear() == [Close(200, "")]
    for moment in range(1, 100):
        assert peer.connection.tick(float(moment)) == 101.0
    assert peer.hear() == []


def test_what_is_taken_between_ticks_counts_from_the_tick_before(peer: ScriptedPeer) -> None:
    # The other side must not wait for more than an interval, whenever between the ticks the octets really went.
    conn = peer.connection
    conn.tick(5.0)
    conn._write(peer.octets_of(Heartbeat()))
    peer.hear()
    assert conn.tick(6.0) == 15.0


def test_a_server_that_dies_before_open_ok_is_noticed() -> None:
    conn = ClientConnection(ClientConfig(heartbeat=3))
    peer = ScriptedPeer(conn)
    peer.say(HEADER, Start({}, ("ANONYMOUS",), ("en_US",)), Tune(0, 0, 0, 120))
    assert conn.tick(0.0) == 6.0
    assert conn.tick(6.0) is None
    assert isinstance(conn.next_event(), ConnectionClosed)


def test_no_interval_keeps_no_time() -> None:
    conn = ServerConnection()
    ScriptedPeer(conn).say(HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, 0), Open(""))
    assert conn.tick(0.0) is None


# However octets fly, within what leaves room for one heartbeat, two living sides never give each other up.
@given(
    interval=st.integers(2, 20),
    delays=st.lists(st.integers(0, 50), min_size=1, max_size=20),
    chunk=st.integers(1, 20),
)
def test_living_sides_never_give_each_other_up(interval: int, delays: list[int], chunk: int) -> None:
    # A heartbeat leaves at most interval + 1 steps behind the last octets and flies at most interval - 2 steps.
    link = Link(
        ClientConnection(ClientConfig(heartbeat=interval, limits=Limits(handshake_seconds=1000))),
        ServerConnection(ServerConfig(limits=Limits(handshake_seconds=1000))),
        delay=(0, interval - 2),
        chunk=chunk,
        choices=delays,
        seconds=1.0,
    )
    for _ in range(12 * interval):
        for _, event in link.step():
            assert not isinstance(event, ConnectionClosed)
    assert link.client.is_open
    assert link.server.is_open


# A peer that lags is not given up as long as what it reads late was there: octets that wait are signs of life.
@given(
    role=st.sampled_from(["client", "server"]),
    gaps=st.lists(st.floats(0.1, 500.0), min_size=1, max_size=20),
    count=st.integers(1, 3),
)
def test_a_late_reader_does_not_give_up_its_peer(role: str, gaps: list[float], count: int) -> None:
    peer = opened(role)
    conn = peer.connection
    now = 0.0
    for gap in gaps:
        now += gap
        conn.receive_data(peer.octets_of(Heartbeat()) * count)
        deadline = conn.tick(now)
        assert deadline is not None
        assert deadline > now
        assert conn.next_event() is None
        assert conn.tick(now) == deadline
        conn.data_to_send()
    assert conn.is_open


# Whenever tick is called, the moment it answers is later than now, and calling it then has something to do.
@given(st.lists(st.floats(0.01, 15.0), max_size=30), st.data())
def test_the_answer_of_tick_is_worth_waiting_for(gaps: list[float], data: st.DataObject) -> None:
    peer = opened("server")
    conn = peer.connection
    now = 0.0
    for gap in gaps:
        now += gap
        if data.draw(st.booleans()):
            peer.say(Heartbeat())
        deadline = conn.tick(now)
        if deadline is None:
            assert isinstance(conn.next_event(), ConnectionClosed)
            return
        assert deadline > now
        conn.data_to_send()
    deadline = conn.tick(now)
    assert deadline is not None
    conn.tick(deadline)
    assert conn.bytes_to_send or conn.next_event() is not None


def test_a_server_without_heartbeats_gets_none() -> None:
    link = Link(
        ClientConnection(ClientConfig(heartbeat=5)),
        ServerConnection(ServerConfig(heartbeat_min=None, heartbeat_max=None)),
        seconds=10.0,
    )
    link.run()
    assert link.client._heartbeat.interval == link.server._heartbeat.interval == 0
