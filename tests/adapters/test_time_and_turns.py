"""The three servers, each seen by the same blocking client: time comes first, and no consumer starves."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from math import ceil
from types import SimpleNamespace
from typing import Final, TypeAlias

import pytest
import trio
import trio.abc
from tests.adapters.hosts import attached

from amqp_sansio.adapters.asyncio.server import serve as serve_asyncio
from amqp_sansio.adapters.base_server import AdmittedConnection
from amqp_sansio.adapters.sync import connect
from amqp_sansio.adapters.sync import server as sync_server
from amqp_sansio.adapters.trio.server import serve as serve_trio
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.config import ClientConfig
from amqp_sansio.events import CommandsCompleted, TransferReceived
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import AcceptMode

PATIENCE: Final = 30.0
"""Seconds after which a message counts as lost."""


class Clock:
    """The servers' clock, which can be put forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


class Counted(Broker):
    """A broker that counts how often it is asked."""

    ticks = 0

    def tick(self, now: float) -> float | None:
        self.ticks += 1
        return super().tick(now)


Serving: TypeAlias = Callable[[Broker, Clock], AbstractContextManager[str]]


@contextmanager
def by_threads(broker: Broker, clock: Clock) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sync_server, "time", SimpleNamespace(monotonic=clock.monotonic))
        with sync_server.serve(broker, broker.connect, port=0) as server:
            yield "amqp://{}:{}/".format(*server.address)


@contextmanager
def in_thread(run: Callable[[Future[str], threading.Event], object]) -> Iterator[str]:
    """`run` says where it serves, and returns some time after the end was set."""
    where: Future[str] = Future()
    end = threading.Event()
    thread = threading.Thread(target=run, args=(where, end))
    thread.start()
    try:
        yield where.result(PATIENCE)
    finally:
        end.set()
        thread.join()


class PutForward(asyncio.SelectorEventLoop):
    """A loop with such a clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def time(self) -> float:
        return self.clock.monotonic()


@contextmanager
def by_asyncio(broker: Broker, clock: Clock) -> Iterator[str]:
    async def main(where: Future[str], end: threading.Event) -> None:
        async with serve_asyncio(broker, broker.connect, port=0) as server:
            where.set_result("amqp://{}:{}/".format(*server.address))
            await asyncio.to_thread(end.wait)

    def run(where: Future[str], end: threading.Event) -> None:
        with asyncio.Runner(loop_factory=lambda: PutForward(clock)) as runner:
            runner.run(main(where, end))

    with in_thread(run) as url:
        yield url


class TrioClock(trio.abc.Clock):
    """The same for trio, whose own clock begins at random, too."""

    BEGINNING: Final = 123_456.0

    def __init__(self, clock: Clock) -> None:
        self.clock: Final = clock

    def start_clock(self) -> None:
        pass

    def current_time(self) -> float:
        return self.clock.monotonic() + self.BEGINNING

    def deadline_to_sleep_time(self, deadline: float) -> float:
        return deadline - self.current_time()


@contextmanager
def by_trio(broker: Broker, clock: Clock) -> Iterator[str]:
    async def main(where: Future[str], end: threading.Event) -> None:
        async with serve_trio(broker, broker.connect, port=0) as server:
            where.set_result("amqp://{}:{}/".format(*server.address))
            await trio.to_thread.run_sync(end.wait)

    with in_thread(lambda where, end: trio.run(main, where, end, clock=TrioClock(clock))) as url:
        yield url


servers = pytest.mark.parametrize("serving", [by_threads, by_asyncio, by_trio])


@servers
def test_a_ttl_is_not_cut_by_the_silence_before_the_message(serving: Serving) -> None:
    clock = Clock()
    broker = Broker(BrokerConfig(epoch=1_000_000.0))
    with serving(broker, clock) as url, connect(url + "?heartbeat=0") as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        clock.ahead += 100.0  # silence
        before = clock.monotonic()
        session.publish("", "q", b"x", ttl=60_000)
        after = clock.monotonic()
        clock.ahead += 3.0
        with session.subscribe("q") as subscription:
            message = subscription.receive(PATIENCE)
        properties = message.received.delivery_properties
        assert properties is not None
        assert properties.expiration is not None
        assert ceil(before) <= properties.expiration - 1_000_060 <= ceil(after)


@servers
def test_nothing_is_left_lying_when_more_is_there_than_one_turn_delivers(serving: Serving) -> None:
    broker = Counted()
    with serving(broker, Clock()) as url, connect(url + "?heartbeat=0") as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        for ticket in [session.send("", "q", b"x" * 5000) for _ in range(3000)]:
            ticket.result()
        with session.subscribe("q", prefetch=3000) as subscription:
            for _ in range(3000):
                assert subscription.receive(PATIENCE) is not None
        # Nothing is left to do: a question costs the turns that it takes, and no loop spins in between.
        session.sync()
        before = broker.ticks
        for _ in range(20):
            session.sync()
        assert broker.ticks - before <= 20 * 6


@servers
def test_a_flush_completes_behind_all_that_it_pushed_out(serving: Serving) -> None:
    broker = Broker()
    with serving(broker, Clock()) as url, connect(url + "?heartbeat=0") as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        for ticket in [session.send("", "q", b"x" * 5000) for _ in range(1000)]:
            ticket.result()
        host, _, port = url.removeprefix("amqp://").rstrip("/").partition(":")
        connected, machine, mine = attached((host, int(port)))
        with connected:
            subscription = mine.subscribe("q", "d", accept_mode=AcceptMode.NONE)
            subscription.grant(1000)
            flushed = subscription.flush()
            connected.sendall(machine.data_to_send())  # and nothing more: no octets of ours set it going again
            came, complete = 0, False
            while not complete:
                machine.receive_data(connected.recv(65536))
                for event in machine.events():
                    came += isinstance(event, TransferReceived)
                    complete = complete or (isinstance(event, CommandsCompleted) and flushed in event.ids)
            assert came == 1000


@servers
@pytest.mark.parametrize("said", [0, 100])
def test_a_client_that_vanishes_times_out_though_much_waits_to_be_taken(
    serving: Serving, said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its messages are there for others, and its socket is closed; also where not all that it had said was read."""
    leave, left = AdmittedConnection.leave, threading.Event()

    def leaving(place: AdmittedConnection) -> None:
        leave(place)
        left.set()

    monkeypatch.setattr(AdmittedConnection, "leave", leaving)
    broker, clock = Broker(), Clock()
    with serving(broker, clock) as url, connect(f"{url}?heartbeat=0") as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        for _ in range(100):
            session.send("", "q", bytes(100_000))
        session.sync()
        address = connection.address.endpoints[0]
        frozen, machine, own = attached((address.host, address.port), ClientConfig(heartbeat=10))
        with frozen:
            own.subscribe("q", "d").grant(1000)
            for _ in range(said):
                own.publish(routing_key="q", body=bytes(100_000))
            frozen.setblocking(False)
            with suppress(BlockingIOError):
                frozen.sendall(machine.data_to_send())
            for _ in range(100):
                if left.is_set():
                    break
                clock.ahead += 4.0
                session.sync()
            assert left.is_set()
        assert broker.host().queues["q"].acquired == 0
