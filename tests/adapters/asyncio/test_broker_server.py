"""The broker on sockets: the end is clean, a slow consumer and a slow disk hold up nobody else, memory is flat."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio.adapters.asyncio import broker_server, connect, writing
from amqp_sansio.adapters.asyncio.broker_server import BrokerServer
from amqp_sansio.adapters.store import Store, StoreError
from amqp_sansio.broker import Broker, BrokerConfig
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.errors import ConnectionLost, SessionLost
from amqp_sansio.spec import queue


class Held(Store):
    """A store whose writes wait until they may."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.may = threading.Event()
        self.may.set()
        self.error: StoreError | None = None

    def append(self, entries: Any) -> None:
        self.may.wait(20)
        if self.error is not None:
            raise self.error
        super().append(entries)


def served(broker: Broker, **more: Any) -> BrokerServer:
    return BrokerServer(broker, lambda: ServerConfig(session_timeout=60), port=0, **more)


def url(server: BrokerServer) -> str:
    host, port = server.address
    return f"amqp://{host}:{port}"


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_completion_waits_for_the_disk_and_others_do_not(tmp_path: Path) -> None:
    async def main() -> None:
        store = Held(tmp_path)
        async with served(Broker(BrokerConfig(journal=True)), store=store) as server:
            async with connect(url(server)) as one, connect(url(server)) as two:
                async with one.session() as durable, two.session() as transient:
                    await durable.say(queue.Declare("d", durable=True))
                    await transient.say(queue.Declare("t"))
                    store.may.clear()
                    waits = await durable.send("", "d", b"x", persistent=True)
                    for _ in range(20):
                        await transient.publish("", "t", b"x")
                    assert not waits.done
                    store.may.set()
                    await durable.confirmed(waits)

    run(main)


def test_at_the_end_what_was_read_is_told_and_kept(tmp_path: Path) -> None:
    async def main() -> None:
        store = Held(tmp_path)
        async with served(Broker(BrokerConfig(journal=True)), store=store) as server, connect(url(server)) as client:
            session = client.session()
            await session.__aenter__()
            await session.say(queue.Declare("q", durable=True))
            store.may.clear()
            ticket = await session.send("", "q", b"x", persistent=True)
            session.talk.prompt()
            while not server.broker._journals.pending:
                await asyncio.sleep(0.001)
            end = asyncio.create_task(server.stop("enough"))
            await asyncio.sleep(0)
            done = [ticket.done]
            store.may.set()
            await end
            await server.stop("enough")  # once more does no harm
            done.append(ticket.done)
            ticket.result()
            assert done == [False, True]
            with pytest.raises((SessionLost, ConnectionLost), match=r"\(320\): enough"):
                await session.sync()
            assert server.broker.peers == ()

    run(main)
    store = Store(tmp_path)
    snapshot, entries = store.load()
    assert snapshot is not None
    assert (snapshot["clean"], [*entries]) == (True, [])
    assert Broker.restore(snapshot).host().queues["q"].messages == 1
    store.close()


def test_a_store_that_fails_ends_it_and_nothing_is_claimed(tmp_path: Path) -> None:
    async def main() -> None:
        store = Held(tmp_path)
        failures: list[str] = []
        async with served(Broker(BrokerConfig(journal=True)), store=store, failed=failures.append) as server:
            client = connect(url(server))
            await client.__aenter__()
            session = client.session()
            await session.__aenter__()
            await session.say(queue.Declare("q", durable=True))
            store.error = StoreError("there", "the disk is full")
            publishing = asyncio.create_task(session.publish("", "q", b"x", persistent=True))
            while not failures:
                await asyncio.sleep(0.001)
            assert not publishing.done()
            await server.stop("the broker has failed")
            with pytest.raises((SessionLost, ConnectionLost), match=r"\(320\): the broker has failed"):
                await publishing
            await client.close()
        assert failures == ["there: the disk is full"]

    run(main)
    store = Store(tmp_path)
    snapshot, entries = store.load()
    assert Broker.restore(snapshot, entries).host().queues["q"].messages == 0
    store.close()


def test_a_disk_that_is_behind_holds_up_who_fills_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While more waits for the disk than may, nothing is read; then all of it comes through."""
    monkeypatch.setattr(writing, "BACKLOG", 10_000)
    monkeypatch.setattr(broker_server, "LOOK", 0.01)

    async def main() -> None:
        store = Held(tmp_path)
        async with served(Broker(BrokerConfig(journal=True)), store=store) as server:
            async with connect(url(server)) as client, client.session() as session:
                await session.say(queue.Declare("q", durable=True))
                store.may.clear()
                tickets = [await session.send("", "q", b"x" * 1000, persistent=True) for _ in range(200)]
                session.talk.prompt()
                assert server.writer is not None
                while not server.writer.full:
                    await asyncio.sleep(0.001)
                for _ in range(20):
                    server.wake()
                    await asyncio.sleep(0)
                assert server.broker._journals.pending < 200
                store.may.set()
                for ticket in tickets:
                    await session.confirmed(ticket)
                assert server.broker.host().queues["q"].messages == 200

    run(main)


def test_without_a_store_there_is_nothing_to_wait_for() -> None:
    async def main() -> None:
        async with served(Broker()) as server:
            async with connect(url(server)) as client, client.session() as session:
                await session.say(queue.Declare("q", durable=True))
                await session.publish("", "q", b"x", persistent=True)
            assert server.writer is None
        assert len(server.broker.peers) == 0

    run(main)
