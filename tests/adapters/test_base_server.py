"""Who is let in: at each limit less one, at it and beyond."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from unittest import mock

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.conditions import PATIENCE, eventually
from tests.adapters.test_time_and_turns import Clock, Serving, servers

from amqp_sansio.adapters.base_server import (
    PLAIN_OCTETS,
    TLS_OCTETS,
    TURN,
    Admission,
    AdmittedConnection,
    BaseServer,
    BaseSocket,
    checked,
    origin_of,
)
from amqp_sansio.adapters.sync import connect
from amqp_sansio.broker import Broker, Peer
from amqp_sansio.config import Accepted, Rejected, ServerConfig
from amqp_sansio.conversation.address import Address
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.limits import DEFAULT_SERVER_LIMITS, ServerLimits
from amqp_sansio.spec.connection import StartOk
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_control

HERE = ("10.0.0.1", 1000)
ELSEWHERE = ("10.0.0.2", 1000)


@pytest.mark.parametrize("asked", [3, 4, 5])
def test_connections_have_a_limit(asked: int) -> None:
    admission = Admission(ServerLimits(connections=4), tls=False)
    for _ in range(min(asked, 4)):
        came(admission).open()
    assert (admission.admit(HERE, 0.0) is not None) is (asked < 4)
    assert admission.refused == (asked >= 4)


@pytest.mark.parametrize(("tls", "each"), [(False, PLAIN_OCTETS), (True, TLS_OCTETS)])
@pytest.mark.parametrize("octets", [-1, 0, 1])
def test_those_that_are_not_open_have_a_limit(tls: bool, each: int, octets: int) -> None:
    admission = Admission(ServerLimits(unopened_octets=4 * each + octets), tls)
    room = 3 if octets < 0 else 4
    places = [admission.admit(HERE, 0.0) for _ in range(5)]
    assert [place is not None for place in places] == [True] * room + [False] * (5 - room)
    first, second = places[:2]
    assert first is not None
    assert second is not None
    first.open()
    came(admission)
    second.leave()
    came(admission)
    assert admission.admit(HERE, 0.0) is None


@pytest.mark.parametrize("asked", [3, 4, 5])
def test_those_of_one_address_that_are_not_open_have_a_limit_and_the_others_come_in(asked: int) -> None:
    admission = Admission(ServerLimits(unopened_per_address=4), tls=False)
    places = [came(admission) for _ in range(min(asked, 4))]
    assert (admission.admit(HERE, 0.0) is not None) is (asked < 4)
    came(admission, ELSEWHERE)
    places[0].open()
    places[1].leave()
    came(admission)


@pytest.mark.parametrize("tls", [False, True])
def test_by_default_one_address_leaves_room_for_others(tls: bool) -> None:
    admission = Admission(DEFAULT_SERVER_LIMITS, tls)
    while admission.admit(HERE, 0.0) is not None:
        pass
    came(admission, ELSEWHERE)


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        (("10.0.0.1", 5), "10.0.0.1"),
        (("::ffff:10.0.0.1", 5, 0, 0), "10.0.0.1"),
        (("2001:db8:1:2:3::9", 5, 0, 0), "2001:db8:1:2::"),
        (("fe80::1%eth0", 5, 0, 2), "fe80::"),
        (("", 5), ""),
        ("/a/path", ""),
        (None, ""),
        ((), ""),
    ],
)
def test_where_a_connection_comes_from(address: object, origin: str) -> None:
    assert origin_of(address) == origin


def test_the_log_counts_refused_ones_once_a_second_at_most(caplog: pytest.LogCaptureFixture) -> None:
    admission = Admission(ServerLimits(unopened_per_address=1), tls=False)
    came(admission)
    for now in (10.0, 10.1, 10.9, 11.0, 11.9):
        assert admission.admit(HERE, now) is None
    why = "refused: 1 from 10.0.0.1 have not logged in"
    assert caplog.messages == [f"1 connection {why}", f"3 connections {why}"]
    assert admission.refused == 5


def came(admission: Admission, address: object = HERE) -> AdmittedConnection:
    place = admission.admit(address, 0.0)
    assert place is not None
    return place


def test_the_default_is_what_it_says() -> None:
    for tls, each in ((False, PLAIN_OCTETS), (True, TLS_OCTETS)):
        admission = Admission(DEFAULT_SERVER_LIMITS, tls)
        assert admission.most_unopened * each <= 64 * 1024 * 1024


@pytest.mark.parametrize("field", attrs.fields(ServerLimits), ids=lambda field: field.name)
def test_a_default_is_positive(field: attrs.Attribute[object]) -> None:
    assert getattr(DEFAULT_SERVER_LIMITS, field.name) > 0


# Invariant: whoever comes, opens and leaves in whatever order, the counts are those of who is there, and within the limits.
@given(st.lists(st.integers(0, 20), max_size=200))
def test_the_counts_are_those_of_open_connections(steps: list[int]) -> None:
    admission = Admission(ServerLimits(connections=8, unopened_octets=3 * PLAIN_OCTETS), tls=False)
    there: list[AdmittedConnection] = []
    strangers: list[AdmittedConnection] = []
    for step in steps:
        chosen = there[step % len(there)] if there else None
        if step < 10:
            place = admission.admit(HERE if step < 5 else ELSEWHERE, 0.0)
            if place is not None:
                there.append(place)
                strangers.append(place)
        elif step < 15 and chosen in strangers:
            assert chosen is not None
            chosen.open()
            strangers.remove(chosen)
        elif chosen is not None:
            chosen.leave()
            there.remove(chosen)
            strangers = [each for each in strangers if each is not chosen]
        assert (admission.connections, admission.unopened) == (len(there), len(strangers))
        assert sum(admission._strangers.values()) == len(strangers)
        assert 0 not in admission._strangers.values()
        assert admission.connections <= 8
        assert admission.unopened <= 3


def test_a_check_that_raises_is_a_no_and_quotes_nothing() -> None:
    def broken() -> Accepted:
        raise ValueError("the password was hush")

    assert checked(broken) == Rejected("ValueError")
    assert checked(lambda: Accepted("ann")) == Accepted("ann")


def test_addresses_take_turns_in_having_their_passwords_checked() -> None:
    admission, begun = Admission(ServerLimits(logins=2), tls=False), list[str]()

    def wait(host: str, name: str) -> AdmittedConnection:
        place = admission.admit((host, 1), 0.0)
        assert place is not None
        admission.logins.wait(place, lambda: begun.append(name))
        return place

    many = [wait("192.0.2.1", f"many {number}") for number in range(5)]
    wait("192.0.2.2", "one")
    wait("192.0.2.3", "other")
    assert begun == ["many 0", "many 1"]
    many[3].leave()  # before its turn
    for _ in range(6):
        admission.logins.done()
    assert begun == ["many 0", "many 1", "many 2", "one", "other", "many 4"]
    admission.logins.stop()
    wait("192.0.2.3", "late")
    assert "late" not in begun


@servers
def test_a_client_that_tries_many_passwords_delays_no_other_address(serving: Serving) -> None:
    """Neither whoever's password is known, nor whoever comes from another address, whose turn is the next but one."""
    turns, asked = threading.Semaphore(0), list[str]()

    def verify(username: str, password: str) -> bool:
        asked.append(username)
        return turns.acquire(timeout=PATIENCE) and password == "right"

    plain = PlainServer(verify, slow=True, known=lambda username, password: (username, password) == ("ann", "right"))

    class Guarded(Broker):
        def connect(self, config: ServerConfig | None = None) -> Peer:
            return super().connect(ServerConfig(mechanisms=(plain,)))

    broker, strangers = Guarded(), list[socket.socket]()
    with serving(broker, Clock()) as url, ExitStack() as open_ones:
        where = Address.parse(url).endpoints[0]

        def knock(host: str, name: str) -> None:
            stranger = socket.create_connection((where.host, where.port), PATIENCE, (host, 0))
            strangers.append(open_ones.enter_context(stranger))
            said = StartOk({}, "PLAIN", f"\0{name}\0wrong".encode(), "en_US")
            stranger.sendall(b"AMQP\1\1\0\x0a" + frame_control(0, LAYOUT.encode_control(said), 4096))

        for number in range(8):
            knock("127.0.0.1", f"stranger {number}")
        knock("127.0.0.2", "bob")
        eventually(lambda: len(broker.peers) == 9 and all(waits(peer) for peer in broker.peers))
        with connect(url.replace("//", "//ann:right@")):
            eventually(lambda: len(asked) == 2)  # nobody's turn is over
        for number in range(3, 10):  # one turn ends, so one name is noted: two threads would note theirs in any order
            turns.release()
            eventually(lambda number=number: len(asked) == number)  # type: ignore[misc]
        turns.release(2)
    assert asked.index("bob") <= 3  # behind two that were under way, and one


def waits(peer: Peer) -> bool:
    """Whether its password waits to be checked."""
    return peer._connection._deciding and peer._connection._deferred is None


class Socket(BaseSocket[Peer]):
    """Notes what its server asks of it."""

    def __init__(self, server: Server, peer: Peer) -> None:
        place = server.admission.admit(("10.0.0.1", 1), 0.0)
        assert place is not None
        super().__init__(place)
        self.guest = peer
        self.asked: list[str] = []

    def transmit(self) -> None:
        self.asked.append("transmit")

    def look(self) -> None:
        self.asked.append("look")


class Server(BaseServer[Peer, Socket]):
    """One without a loop: `calls` gets what a thread wants to have called."""

    def __init__(self) -> None:
        broker = Broker()
        super().__init__(broker, broker.connect, ServerLimits(), False)
        self.calls: list[Callable[[], None]] = []
        self.woken = threading.Semaphore(0)
        self.turns = 0

    def wake(self) -> None:
        self.turns += 1

    def _call(self, work: Callable[[], None]) -> None:
        self.calls.append(work)
        self.woken.release()


def test_a_turn_sends_octets_and_looks_at_paused_sockets() -> None:
    server = Server()
    ready, paused = [Socket(server, server._connect()) for _ in range(2)]
    for each in (ready, paused):
        server._sockets[each.guest] = each
    server._paused[paused] = None
    ready.guest.receive_data(b"HTTP/1.1 400 \r\n")
    server._run_turn(0.0)
    assert (ready.asked, paused.asked) == (["transmit"], ["look"])
    assert TURN > 1


def test_it_forgets_a_client_that_waits_for_nothing_any_more() -> None:
    server = Server()
    socket = Socket(server, server._connect())
    server._sockets[socket.guest] = socket
    server._paused[socket] = server._asking[socket] = None
    server._forget(socket)
    assert (server._sockets, server._paused, server._asking, server.admission.connections) == ({}, {}, {}, 0)


def test_a_password_is_checked_in_a_thread_and_the_guest_gets_the_verdict_between_turns() -> None:
    server = Server()
    threads: list[threading.Thread] = []

    class Guest:
        verdict: Accepted | Rejected | None = None

        def decided(self, verdict: Accepted | Rejected) -> None:
            self.verdict = verdict

    def decide() -> Rejected:
        threads.append(threading.current_thread())
        return Rejected("no")

    guest = Guest()
    server.admission.logins._running += 1
    server._begin(guest, decide)  # type: ignore[arg-type]
    assert server.woken.acquire(timeout=10)
    assert (guest.verdict, server.turns) == (None, 0)
    server.calls.pop()()
    assert (guest.verdict, server.turns) == (Rejected("no"), 1)
    assert threads[0] is not threading.current_thread()
    server._stop_checks()


def test_a_check_that_the_end_cancelled_has_no_verdict() -> None:
    server = Server()
    cancelled: Future[Accepted | Rejected] = Future()
    cancelled.cancel()
    server.admission.logins._running += 1
    server._decided(server._connect(), cancelled)
    assert server.turns == 1


def test_a_host_that_has_too_much_to_read_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amqp_sansio.adapters.base_server.HEAR_SECONDS", 0.0)
    host = mock.Mock()  # has always one more event
    BaseServer(host, mock.Mock(), ServerLimits(), False)._hear_out()
    host.next_event.assert_called_once_with()
