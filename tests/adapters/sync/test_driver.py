"""A socket that can be given up at any moment."""

from __future__ import annotations

import errno
import socket
import ssl
import threading
import time
import tracemalloc
from typing import Any
from unittest.mock import Mock

import pytest
import trustme
from tests.adapters.conditions import eventually
from tests.adapters.scenarios import QUICK
from tests.adapters.served import Served

from amqp_sansio.adapters.sync import connect
from amqp_sansio.adapters.sync.driver import HIGH, Driver, dial
from amqp_sansio.adapters.sync.turns import Poller
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.conversation.address import Endpoint
from amqp_sansio.conversation.message import Message
from amqp_sansio.errors import ConnectFailed, ConnectionLost, SessionFailed, SessionLost
from amqp_sansio.events import Origin
from amqp_sansio.limits import Limits
from amqp_sansio.spec import queue


def test_a_connected_socket_does_not_block() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with dial(Endpoint("127.0.0.1", port), None, time.monotonic() + 5, lambda: False) as connected:
            assert not connected.getblocking()
            assert connected.getpeername() == ("127.0.0.1", port)


def test_a_socket_for_which_the_system_has_no_resources_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    sockets: list[socket.socket] = []

    def noted(*given: Any) -> Any:
        sockets.append(dial(*given))
        return sockets[-1]

    monkeypatch.setattr("amqp_sansio.adapters.sync.driver.dial", noted)
    monkeypatch.setattr("amqp_sansio.adapters.sync.driver.Handoff", Mock(side_effect=OSError(errno.EMFILE, "no more files")))
    with Served() as served, pytest.raises(ConnectFailed, match="no more files"):
        connect(served.url)
    assert [connected.fileno() for connected in sockets] == [-1]


def test_nobody_listens() -> None:
    with pytest.raises(ConnectionRefusedError):
        dial(Endpoint("localhost", 1), None, time.monotonic() + 5, lambda: False)


def test_a_server_that_does_not_answer_to_tls_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = Endpoint("127.0.0.1", listener.getsockname()[1], tls=True)
        context = ssl.create_default_context()
        with pytest.raises(TimeoutError):
            dial(endpoint, context, time.monotonic() + 0.2, lambda: False)
        with pytest.raises(OSError, match="given up"):
            dial(endpoint, context, time.monotonic() + 60, lambda: True)


def test_a_name_that_stands_for_nothing() -> None:
    with pytest.raises(OSError):  # noqa: PT011  # the words are the system's
        dial(Endpoint("no.such.name.invalid"), None, time.monotonic() + 5, lambda: False)


def listening(driver: Driver) -> Poller:
    assert driver._handoff is not None
    return driver._handoff._poller


def test_heartbeats_flow_while_the_caller_is_busy() -> None:
    """The interpreter is never given back by the caller for longer than a thread switch, as in a computation."""
    with Served() as served:
        with connect(f"{served.url}?heartbeat=1") as connection, connection.session() as session:
            until = time.monotonic() + 3.0
            while time.monotonic() < until:
                sum(range(10_000))
            session.sync()
        assert [each.origin for each in served.closed] == [Origin.PEER]


def test_a_slow_socket_stops_the_publisher_and_memory_stays_flat() -> None:
    """However much a publisher has to say to a broker that reads nothing, no more than a few buffers of it is taken."""
    sent = [0]
    with Served() as served, pytest.raises(Exception, match="closed"), connect(served.url, close_timeout=0.1) as connection:
        session = connection.session().__enter__()
        session._core.most_in_flight_octets = 10**12
        served.silence()
        tracemalloc.start()

        def publish() -> None:
            while True:
                session.send("", "q", b"x" * 100_000)
                sent[0] += 100_000

        errors: list[BaseException] = []

        def run() -> None:
            try:
                publish()
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        driver = connection._line.driver
        thread.start()
        # The publisher waits, and what the thread listens to is not ready: nobody asks the blocked socket again and again.
        eventually(lambda: driver._standing_by == 1 and listening(driver).wait(0) == (False, False))
        assert len(driver._outbox) >= HIGH
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        connection.close()
        thread.join(5)
        assert not thread.is_alive()
        raise errors[0]
    assert 0 < sent[0] < 20_000_000
    assert peak < 4 * HIGH


def test_any_number_of_threads_may_use_one_session() -> None:
    """What many threads publish and consume at once is published and consumed once each."""
    found: list[bytes] = []
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        session._core.most_in_flight = 10

        def publish(who: int) -> None:
            for number in range(50):
                session.send("", "q", b"%d-%d" % (who, number))

        threads = [threading.Thread(target=publish, args=(who,)) for who in range(4)]
        with session.subscribe("q", prefetch=5) as subscription:

            def consume() -> None:
                for message in subscription:
                    found.append(message.body)
                    message.accept()

            consumers = [threading.Thread(target=consume) for _ in range(3)]
            for thread in (*threads, *consumers):
                thread.start()
            for thread in threads:
                thread.join()
            session.sync()
            eventually(lambda: len(found) == 200)
            subscription.cancel()
            for thread in consumers:
                thread.join()
    assert sorted(found) == sorted(b"%d-%d" % (who, number) for who in range(4) for number in range(50))


def test_a_wait_may_have_an_end() -> None:
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        with session.subscribe("q") as subscription, pytest.raises(TimeoutError, match=r"no message within 0.01"):
            subscription.receive(0.01)


def test_a_send_to_a_slow_socket_may_have_an_end() -> None:
    url = "?heartbeat=0"
    with Served() as served, pytest.raises(SessionLost), connect(served.url + url, close_timeout=1.0) as connection:
        with connection.session() as session:
            session._core.most_in_flight_octets = 10**12
            served.silence()
            with pytest.raises(TimeoutError, match=r"no room within 0.1"):
                for _ in range(1000):
                    session.send("", "q", b"x" * 100_000, timeout=0.1)


def test_a_waiting_thread_gets_what_another_one_settles() -> None:
    """A thread that listens to the socket itself is told when what it waits for is there without a word of the broker."""
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        subscription = session.subscribe("q")
        found: list[list[Message]] = []
        waiting = [threading.Thread(target=lambda: found.append(list(subscription))) for _ in range(3)]
        for each in waiting:
            each.start()
        with session._line.turn:
            subscription._inbox._close(None)
        for each in waiting:
            each.join(30)
        assert found == [[], [], []]


def test_an_answer_needs_no_second_thread() -> None:
    """What one thread says and waits for, it reads itself: the thread in the background is not woken for it."""
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        pokes = [0]
        driver = connection._line.driver
        poke = driver.poke

        def counted() -> None:
            pokes[0] += 1
            poke()

        driver._turns.ended = counted
        for _ in range(50):
            session.publish("", "q", b"x")
        assert pokes == [0]
        session.send("", "q", b"x")
        assert pokes == [1]


def test_a_socket_that_fails_in_the_middle_of_a_write_is_just_left() -> None:
    """However deep the error comes from: nothing of it holds the octets that were to be written."""

    class Broken(socket.socket):
        def send(self, data: object, flags: int = 0) -> int:  # as TLS does it, in Python
            raise OSError("gone")

    with Served() as served, connect(served.url) as connection, Broken() as broken:
        driver = connection._line.driver
        with driver._changed:
            connected, driver._socket = driver._socket, broken
            driver._outbox.extend(b"x")
            driver._transmit()
            assert not driver._outbox
            driver._socket = connected


def test_nobody_waits_when_the_thread_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever we did wrong ourselves: who waits is told, and leaving the block ends."""
    monkeypatch.setattr(threading, "excepthook", lambda what: None)
    with Served() as served, connect(served.url) as connection:
        session = connection.session().__enter__()
        session.execute(queue.Declare("nowhere"))
        subscriptions = [session.subscribe("nowhere") for _ in range(2)]
        told: list[str] = []

        def wait(number: int) -> None:
            with pytest.raises(SessionLost) as caught:
                subscriptions[number].receive()
            told.append(str(caught.value))

        def broken(now: float, until: float) -> float | None:
            raise ZeroDivisionError("none")

        waiting = [threading.Thread(target=wait, args=(number,)) for number in range(2)]
        for each in waiting:
            each.start()
        monkeypatch.setattr(connection._line.driver, "_turn", broken)
        with connection._line.driver._changed:
            connection._line.driver.poke()
        for each in waiting:
            each.join(30)
        connection._line.driver._thread.join(30)
        assert len(told) == 2
        with pytest.raises(ConnectionLost, match=r"it is broken .ZeroDivisionError: none.; please report this"):
            connection._client.ended.result()


@pytest.mark.parametrize("tls", [False, True])
def test_many_threads_on_a_connection_that_is_cut(tls: bool) -> None:
    """Threads that take turns in listening to a socket that is cut again and again: every message arrives once."""
    here = there = None
    if tls:
        authority = trustme.CA()
        here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.configure_trust(here)
        authority.issue_cert("localhost").configure_cert(there)
    found: list[bytes] = []
    with (
        Served(ServerConfig(session_timeout=60), tls=there) as served,
        connect(served.url, retry=QUICK, tls=here) as connection,
    ):
        with connection.session(keep_for=60) as session, connection.session(keep_for=60) as taking:
            session.execute(queue.Declare("q"))

            def publish(who: int) -> None:
                for number in range(50):
                    session.publish("", "q", b"%d-%d" % (who, number) + b"|" * (number * 331 % 9000))

            def consume() -> None:
                for message in subscription:
                    found.append(message.body.rstrip(b"|"))
                    message.accept()

            subscription = taking.subscribe("q", prefetch=7)
            publishers = [threading.Thread(target=publish, args=(who,)) for who in range(3)]
            consumers = [threading.Thread(target=consume) for _ in range(2)]
            for thread in (*publishers, *consumers):
                thread.start()
            for _ in range(4):
                served.cut()
                session.sync()
            for thread in publishers:
                thread.join(60)
            eventually(lambda: len(found) == 150)
            subscription.cancel()
            for thread in consumers:
                thread.join(60)
            assert (session.remade, taking.remade) == (0, 0)
    assert sorted(found) == sorted(b"%d-%d" % (who, number) for who in range(3) for number in range(50))


def test_a_slow_consumer_stops_the_broker_and_memory_stays_flat() -> None:
    """However many messages wait, no more than the prefetch is here."""
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        for _ in range(1000):
            session.send("", "q", b"x" * 10_000)
        session.sync()
        tracemalloc.start()
        with session.subscribe("q", prefetch=10) as subscription:
            for seen, message in enumerate(subscription, 1):
                assert len(subscription._inbox.messages) < 10
                if seen % 50 == 0:  # as slow as can be: all that may come is here
                    eventually(lambda: len(subscription._inbox.messages) == 9)
                message.accept()
                if seen == 500:
                    break
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 2_000_000  # of 10 MB


def test_the_listener_in_front_calls_the_thread_when_something_times_out_sooner() -> None:
    """The thread sleeps until whoever waits for an answer is done; a session that was refused gives it a moment to look at."""
    config = ClientConfig(limits=Limits(detach_seconds=0.2))
    with (
        Served() as served,
        pytest.raises(SessionFailed, match="542"),
        connect(f"{served.url}?heartbeat=0", config=config, close_timeout=0.5) as connection,
        connection.session() as session,
    ):
        session.execute(queue.Declare("q"))
        subscription = session.subscribe("q")

        def refuse() -> None:
            handoff = connection._line.driver._handoff
            assert handoff is not None
            eventually(lambda: handoff._awaited)
            served.refuse(session.name)

        refusing = threading.Thread(target=refuse)
        refusing.start()
        try:
            subscription.receive()
        finally:
            refusing.join()


def test_an_interrupt_while_the_thread_is_woken_lets_the_next_one_wake_it() -> None:
    class Interrupting(socket.socket):
        def send(self, data: object, flags: int = 0) -> int:
            raise KeyboardInterrupt

    with Served() as served, connect(served.url) as connection, Interrupting() as interrupting:
        driver = connection._line.driver
        poking = driver._poke_out
        with driver._changed:
            driver._poked = False
            driver._poke_out = interrupting
            with pytest.raises(KeyboardInterrupt):
                driver.poke()
            driver._poke_out = poking
            assert not driver._poked


def test_a_wait_may_be_as_long_as_one_likes() -> None:
    """The system refuses to wait for more than some weeks at once."""
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        for seconds in (1e9, float("inf")):
            session.sync(timeout=seconds)
