"""The writer: nothing counts before it is stored, many entries go in one write, a snapshot takes their place now and then."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.broker.harness import front

from amqp_sansio.adapters.asyncio import writing
from amqp_sansio.adapters.asyncio.writing import Writer
from amqp_sansio.adapters.store import FILE, Store, StoreError
from amqp_sansio.broker import Broker, BrokerConfig
from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.message import DeliveryProperties, Transfer
from amqp_sansio.wire.headers import encode_headers


class Slow(Store):
    """A store whose writes wait until they may, and can fail."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.may = threading.Event()
        self.may.set()
        self.writes: list[int] = []
        self.octets = 0
        self.snapshots: list[int] = []
        self.error: Exception | None = None

    def append(self, entries: Any) -> None:
        self.may.wait(20)
        if self.error is not None:
            raise self.error
        self.writes.append(len(entries))
        self.octets += sum([len(octets) for _, octets in entries])
        super().append(entries)

    def compact(self, number: int, snapshot: bytes) -> None:
        self.snapshots.append(number)
        super().compact(number, snapshot)


class World:
    def __init__(self, directory: Path, compact: int = writing.COMPACT) -> None:
        self.broker = Broker(BrokerConfig(journal=True))
        self.store = Slow(directory)
        self.woken = 0
        self.failures: list[str] = []
        self.writer = Writer(self.broker, self.store, self.wake, self.failures.append, compact)
        self.names = 0

    def wake(self) -> None:
        self.woken += 1

    def publish(self, count: int) -> None:
        host = self.broker.host()
        for _ in range(count):
            header = encode_headers([DeliveryProperties(routing_key="queue 1", delivery_mode=2)])
            message = front(self.broker).reception.read(Transfer("", 1, 0), header, b"x" * 100)
            host.enqueue(message, [host.queues["queue 1"]])

    def declare(self, count: int = 1) -> None:
        for _ in range(count):
            self.names += 1
            self.broker.host().declare_queue(f"queue {self.names}", durable=True)


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(main())


def restored(directory: Path) -> int:
    store = Store(directory)
    snapshot, entries = store.load()
    broker = Broker.restore(snapshot, entries)
    store.close()
    return len(broker.host().queues)


def test_nothing_counts_before_it_is_stored_and_many_go_in_one_write(tmp_path: Path) -> None:
    async def main() -> None:
        world = World(tmp_path)
        world.store.may.clear()
        world.declare()
        world.writer.gather()
        for _ in range(5):
            world.declare(2)
            world.writer.gather()
            await asyncio.sleep(0)
        assert (world.broker._journals.done, world.woken) == (0, 0)
        world.store.may.set()
        await world.writer.idle()
        assert world.broker._journals.done == 11
        assert (world.store.writes, world.woken) == ([1, 10], 2)
        await world.writer.finish()

    run(main)
    assert restored(tmp_path) == 11


def test_the_end_writes_what_there_is_and_a_snapshot(tmp_path: Path) -> None:
    async def main() -> None:
        world = World(tmp_path)
        world.declare(3)
        await world.writer.finish()
        assert world.store.snapshots == [3]

    run(main)
    store = Store(tmp_path)
    snapshot, entries = store.load()
    assert (snapshot is not None, [*entries]) == (True, [])
    store.close()
    assert restored(tmp_path) == 3


@pytest.mark.parametrize("messages", [50, 100])
def test_the_end_of_many_messages_writes_one_small_entry(
    messages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many messages there are, none is written once more."""
    monkeypatch.setattr(writing, "MANY", 50)

    async def main() -> None:
        world = World(tmp_path)
        world.declare()
        world.publish(messages)
        world.writer.gather()
        await world.writer.idle()
        writes, octets = len(world.store.writes), world.store.octets
        world.declare()
        await world.writer.finish()
        assert (world.store.snapshots, world.store.writes[writes:]) == ([], [1, 1])
        assert world.store.octets - octets < 500

    run(main)
    store = Store(tmp_path)
    snapshot, entries = store.load()
    broker = Broker.restore(snapshot, entries)
    store.close()
    assert broker._clean
    assert [entry.redelivered for entry in broker.host().queues["queue 1"].all()] == [False] * messages


def test_the_end_of_few_messages_or_of_a_long_journal_writes_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MANY", 50)

    async def main(directory: Path, messages: int, compact: int) -> None:
        world = World(directory, compact)
        world.declare()
        world.publish(messages)
        await world.writer.finish()
        assert world.store.snapshots == [messages + 1]

    asyncio.run(main(tmp_path / "few", 49, writing.COMPACT))
    asyncio.run(main(tmp_path / "long", 50, 100))


def test_snapshots_take_the_place_of_entries_also_under_load(tmp_path: Path) -> None:
    async def main() -> None:
        world = World(tmp_path, compact=1000)
        for _ in range(100):
            world.declare(2)
            world.writer.gather()
            await asyncio.sleep(0.0001)
        await world.writer.idle()
        assert world.broker._journals.done == 200
        assert world.store.snapshots
        await world.writer.finish()

    run(main)
    assert restored(tmp_path) == 200


def test_a_snapshot_that_is_too_large_leaves_the_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(snapshot: object) -> bytes:
        raise EncodeError("snapshot", "at most so many octets")

    monkeypatch.setattr(writing, "encode_snapshot", too_large)

    async def main() -> None:
        world = World(tmp_path, compact=10)
        world.declare()
        world.writer.gather()
        world.declare()
        await world.writer.idle()
        world.declare()
        await world.writer.finish()
        assert (world.failures, world.broker._journals.done) == ([], 3)

    run(main)
    assert restored(tmp_path) == 3


@pytest.mark.parametrize("error", [StoreError("there", "the disk is full"), RuntimeError("whatever")])
def test_what_cannot_be_stored_never_counts(error: Exception, tmp_path: Path) -> None:
    async def main() -> None:
        world = World(tmp_path)
        world.declare()
        world.writer.gather()
        await world.writer.idle()
        world.store.error = error
        for _ in range(3):
            world.declare()
            world.writer.gather()
            await world.writer.idle()
        assert world.broker._journals.done == 1
        assert len(world.failures) == 1
        assert str(error) in world.failures[0]
        assert world.writer.full
        await world.writer.finish()
        assert world.store.snapshots == []  # it would hold what nobody was told

    run(main)
    assert restored(tmp_path) == 1


def test_an_entry_that_cannot_be_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(entry: object) -> bytes:
        raise EncodeError("entry", "whatever")

    async def main() -> None:
        world = World(tmp_path)
        monkeypatch.setattr(writing, "encode_entry", never)
        world.declare()
        world.writer.gather()
        await world.writer.finish()
        assert world.failures == ["a journal entry cannot be written: entry: whatever"]

    run(main)
    assert restored(tmp_path) == 0


def test_who_fills_the_disk_faster_than_it_can_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "BACKLOG", 500)

    async def main() -> None:
        world = World(tmp_path)
        world.store.may.clear()
        full = [world.writer.full]
        world.declare(20)
        world.writer.gather()
        full.append(world.writer.full)
        world.store.may.set()
        await world.writer.idle()
        full.append(world.writer.full)
        assert full == [False, True, False]
        await world.writer.finish()

    run(main)


async def written_down(writer: Writer) -> None:
    """Until the thread has done what it was given."""
    while writer._writing is not None:
        await asyncio.wait([writer._writing])
        await asyncio.sleep(0)  # what follows from it goes first


def test_the_length_of_the_journal_counts_from_what_is_on_the_disk(tmp_path: Path) -> None:
    """However often a broker is killed and started again, what it finds counts: a snapshot comes in its time."""

    async def begin(lives: int) -> None:
        world = World(tmp_path / "d", compact=600)
        snapshot, entries = world.store.load()
        world.broker = Broker.restore(snapshot, entries, config=BrokerConfig(journal=True))
        world.writer = Writer(world.broker, world.store, world.wake, world.failures.append, 600)
        world.names = 10 * lives
        world.declare(1)
        world.writer.gather()
        await written_down(world.writer)
        written.append(world.store.journal_octets)
        world.store.close()

    written: list[int] = []
    for lives in range(20):
        asyncio.run(begin(lives))
    assert max(written) < 2 * 2500  # the snapshot of 20 queues may be as large
    assert sorted(written) != written


def test_behind_a_snapshot_the_file_shrinks_while_the_broker_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        world = World(tmp_path / "d", compact=200_000)
        host = world.broker.host()
        for number in range(100):
            host.declare_queue(f"{number} " + "x" * 200, durable=True)
            for _ in range(20):
                host.declare_queue("come and go", durable=True)
                host.delete_queue("come and go")
            world.writer.gather()
            await asyncio.sleep(0)
        while world.store.snapshots == [] or not world.writer._free or world.writer._shrinking:
            world.writer.gather()
            await written_down(world.writer)
        (free,) = world.store._db.execute("PRAGMA freelist_count").fetchone()
        assert free == 0
        await world.writer.finish()

    asyncio.run(main())
    assert (tmp_path / "d" / FILE).stat().st_size < 200_000
