"""The thread in the background: heartbeats while the caller is busy, slow sockets, and any number of threads in front."""

from __future__ import annotations

import threading
import time
import tracemalloc

import pytest
from tests.adapters.served import Served

from amqp_sansio.adapters.sync import connect
from amqp_sansio.adapters.sync.driver import HIGH
from amqp_sansio.conversation.message import Message
from amqp_sansio.events import Origin
from amqp_sansio.spec import queue


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
        session.talk.most_in_flight_octets = 10**12
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
        thread.start()
        before = -1
        while before != sent[0]:
            before = sent[0]
            time.sleep(0.3)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        cpu = time.process_time()
        time.sleep(0.5)
        assert time.process_time() - cpu < 0.3  # nobody asks the blocked socket again and again
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
        session.say(queue.Declare("q"))
        session.talk.most_in_flight = 10

        def publish(who: int) -> None:
            for number in range(50):
                session.send("", "q", b"%d-%d" % (who, number))

        threads = [threading.Thread(target=publish, args=(who,)) for who in range(4)]
        with session.subscribe("q", prefetch=5) as subscription:

            def consume() -> None:
                while True:
                    message: Message | None = subscription.receive()
                    if message is None:
                        return
                    found.append(message.body)
                    message.accept()

            consumers = [threading.Thread(target=consume) for _ in range(3)]
            for thread in (*threads, *consumers):
                thread.start()
            for thread in threads:
                thread.join()
            session.sync()
            while len(found) < 200:
                time.sleep(0.01)
            subscription.cancel()
            for thread in consumers:
                thread.join()
    assert sorted(found) == sorted(b"%d-%d" % (who, number) for who in range(4) for number in range(50))


def test_a_wait_may_have_an_end() -> None:
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.say(queue.Declare("q"))
        with session.subscribe("q") as subscription, pytest.raises(TimeoutError, match=r"no answer within 0.01"):
            subscription.receive(0.01)


def test_who_waits_hears_what_another_thread_settles() -> None:
    """A thread that listens to the socket itself is told when what it waits for is there without a word of the broker."""
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.say(queue.Declare("q"))
        subscription = session.subscribe("q")
        found: list[Message | None] = []
        waiting = [threading.Thread(target=lambda: found.append(subscription.receive())) for _ in range(3)]
        for each in waiting:
            each.start()
        with session._lock:
            subscription.inbox.close(None)
        for each in waiting:
            each.join(30)
        assert found == [None, None, None]


def test_an_answer_needs_no_second_thread() -> None:
    """What one thread says and waits for, it reads itself: the thread in the background is not woken for it."""
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.say(queue.Declare("q"))
        pokes = [0]
        driver = connection._driver
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
