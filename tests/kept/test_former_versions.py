"""What earlier versions wrote down is read, or refused by a sentence that names both versions."""

from __future__ import annotations

import shutil
from ast import literal_eval
from pathlib import Path

import pytest
from tests.broker.harness import World, front
from tests.broker.restarts import JOURNAL, KEEP, XID
from tests.captures.packets import Row, batch, by_connection, gathered, packet_rows
from tests.kept import scene

from amqp_sansio import ClientConfig, Observer, Session
from amqp_sansio.adapters.store import Store
from amqp_sansio.broker import Broker
from amqp_sansio.broker.model.message import ACQUIRED, AVAILABLE
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.dialects import AMQP_0_9_1
from amqp_sansio.spec.xids import key_of


def kept(name: str) -> pytest.MarkDecorator:
    """Each folder in which a version wrote that; in some versions the others had a form that is refused now."""
    folders = sorted(path.parent for path in (scene.DATA / "kept").glob(f"*/{name}"))
    return pytest.mark.parametrize("folder", folders, ids=[folder.name for folder in folders])


def broker_of(folder: Path, place: Path) -> Broker:
    shutil.copytree(folder / "store", place)
    store = Store(place)
    snapshot, entries = store.load()
    broker = Broker.restore(snapshot, entries, config=JOURNAL)
    store.close()
    return broker


@kept("store")
def test_a_store_is_read(folder: Path, tmp_path: Path) -> None:
    host = broker_of(folder, tmp_path / "store").host()
    queue = host.queues["q"]
    assert (queue.durable, queue.levels, queue.most_messages) == (True, 10, 100)
    assert queue.alternate is host.exchanges["dead"]
    assert [(exchange.name, key) for exchange, key in queue.bindings] == [("headers", "key"), ("amq.topic", "a.#")]
    first, another, urgent, last = sorted(queue.all(), key=lambda entry: entry.position)
    assert tuple([each.message.body for each in (first, another, urgent, last)]) == scene.BODIES
    assert [each.state for each in (first, another, urgent, last)] == [ACQUIRED, ACQUIRED, AVAILABLE, AVAILABLE]
    assert [each.message.envelope.priority for each in (first, another, urgent, last)] == [4, 4, 9, 4]
    assert [dict(each.message.application_headers) for each in (first, another, urgent, last)] == [
        {"kind": "k"}, {}, {"number": 2}, {"number": 3},
    ]  # fmt: skip
    assert host.exchanges["headers"].route(first.message) == (queue,)


@kept("store")
def test_a_prepared_branch_is_read(folder: Path, tmp_path: Path) -> None:
    broker = broker_of(folder, tmp_path / "store")
    coordinator = broker.coordinator()
    (branch,) = coordinator.doubtful
    assert (branch.xid, branch.identity) == (key_of(XID), None)
    coordinator.commit(XID)
    broker.journal()
    broker.journalled(broker._journals.last)
    assert [entry.message.body for entry in broker.host().queues["q"].all()][-1] == b"in doubt"


@kept("store")
def test_a_client_goes_on_with_its_kept_session(folder: Path, tmp_path: Path) -> None:
    world = World(broker=broker_of(folder, tmp_path / "store"))
    client = world.connect(ClientConfig(), KEEP)
    client.session(b"new", 300)
    (holder,) = [each for each in front(world.broker).sessions.values() if each.session.name == b"kept"]
    assert holder.session.state == "detached"
    assert list(holder.consumers) == ["d"]
    assert [record.entry.message.body for record in holder.unsettled.values()] == list(scene.BODIES[:2])


@kept("session.txt")
def test_the_snapshot_of_a_session_is_read(folder: Path) -> None:
    session = Session.restore(literal_eval((folder / "session.txt").read_text()))
    assert (session.name, session.state) == (b"kept", "detached")
    assert session.snapshot() == Session.restore(scene.session_snapshot()).snapshot()


@kept("observer.txt")
def test_the_snapshot_of_an_observer_is_read(folder: Path) -> None:
    watch = Observer.restore(literal_eval((folder / "observer.txt").read_text()))
    watch = Observer.restore(watch.snapshot())
    fresh = scene.observer()
    for each in (watch, fresh):
        for speaker, octets in scene.REST:
            each.receive_data(speaker, octets)  # type: ignore[arg-type]  # "C" or "S"
    said = []
    while (observed := watch.next_event()) is not None:
        said.append(repr(observed))
        assert repr(fresh.next_event()) == said[-1]
    assert len(said) > 2
    assert fresh.next_event() is None


@kept("channel.txt")
def test_the_snapshot_of_an_observer_of_channels_is_read(folder: Path) -> None:
    before, snapshot, rest = literal_eval((folder / "channel.txt").read_text())
    watch, fresh = Observer.restore(snapshot, AMQP_0_9_1), Observer(AMQP_0_9_1)
    for speaker, octets in before:
        fresh.receive_data(speaker, octets)
        list(fresh.events())
    watch = Observer.restore(watch.snapshot(), AMQP_0_9_1)
    for speaker, octets in rest:
        for each in (watch, fresh):
            each.receive_data(speaker, octets)
        found = list(watch.events())
        assert found
        assert found == list(fresh.events())


@kept("replay.bin")
def test_the_state_of_a_replay_is_read(folder: Path) -> None:
    replay = ConnectionReplay.restore((folder / "replay.bin").read_bytes(), scene.OPTIONS)
    replay = ConnectionReplay.restore(replay.snapshot(), scene.OPTIONS)  # as `watch` stores it, batch after batch
    fresh, rest = scene.replay()
    assert gathered(replay.feed(batch(rest)) + replay.finish()) == gathered(fresh.feed(batch(rest)) + fresh.finish())


@kept("beginning.bin")
def test_the_state_of_a_replay_that_withholds_a_beginning_is_read(folder: Path) -> None:
    packets = max(by_connection(packet_rows(str(scene.DATA / "captures" / "hello.pcap"))).values(), key=len)[14:]
    rows: list[Row] = [{**row, "capture": "hello.pcap"} for row in packets]
    options = ReplayOptions(ports=(15673,), tables=tuple(TABLES))
    replay, fresh = ConnectionReplay.restore((folder / "beginning.bin").read_bytes(), options), ConnectionReplay(options)
    replay = ConnectionReplay.restore(replay.snapshot(), options)
    fresh.feed(batch(rows[:1]))
    found = gathered(replay.feed(batch(rows[1:])) + replay.finish())
    assert found == gathered(fresh.feed(batch(rows[1:])) + fresh.finish())
    assert len(found["commands"]) == 9
