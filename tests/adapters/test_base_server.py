"""What the servers of all adapters do: one turn of the host, and password checks in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from amqp_sansio.adapters.base_server import TURN, BaseServer, BaseSocket
from amqp_sansio.broker import Broker, Peer
from amqp_sansio.config import Accepted, Rejected
from amqp_sansio.limits import ServerLimits


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
