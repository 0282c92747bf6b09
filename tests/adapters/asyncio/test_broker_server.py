"""The writer: nothing counts before it is stored, many entries go in one write, a snapshot takes their place now and then."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.broker.harness import front

from amqp_sansio import ClientConnection
from amqp_sansio.adapters.asyncio import broker_server, connect
from amqp_sansio.adapters.asyncio import server as asyncio_server
from amqp_sansio.adapters.asyncio.broker_server import BrokerServer, JournalWriter, common_name
from amqp_sansio.adapters.store import FILE, Store, StoreError
from amqp_sansio.broker import Broker, BrokerConfig
from amqp_sansio.cli.serve import context
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.sasl import External
from amqp_sansio.errors import ConnectFailed, ConnectionLost, EncodeError, SessionLost
from amqp_sansio.events import ConnectionClosed
from amqp_sansio.limits import Limits
from amqp_sansio.spec import queue
from amqp_sansio.spec.message import DeliveryProperties, Transfer
from amqp_sansio.wire.layouts.layout import encode_headers


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
    def __init__(self, directory: Path, compact: int = broker_server.COMPACT) -> None:
        self.broker = Broker(BrokerConfig(journal=True))
        self.store = Slow(directory)
        self.woken = 0
        self.failures: list[str] = []
        self.writer = JournalWriter(self.broker, self.store, self.wake, self.failures.append, compact)
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
    monkeypatch.setattr(broker_server, "MANY", 50)

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
    monkeypatch.setattr(broker_server, "MANY", 50)

    async def main(directory: Path, messages: int, compact: int) -> None:
        world = World(directory, compact)
        world.declare()
        world.publish(messages)
        await world.writer.finish()
        assert world.store.snapshots == [messages + 1]

    asyncio.run(main(tmp_path / "few", 49, broker_server.COMPACT))
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

    monkeypatch.setattr(broker_server, "encode_snapshot", too_large)

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
        assert world.store.snapshots == []  # it would hold changes that no client has an answer for

    run(main)
    assert restored(tmp_path) == 1


def test_an_entry_that_cannot_be_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(entry: object) -> bytes:
        raise EncodeError("entry", "whatever")

    async def main() -> None:
        world = World(tmp_path)
        monkeypatch.setattr(broker_server, "encode_entry", never)
        world.declare()
        world.writer.gather()
        await world.writer.finish()
        assert world.failures == ["a journal entry cannot be written: entry: whatever"]

    run(main)
    assert restored(tmp_path) == 0


def test_a_publisher_faster_than_the_disk_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_server, "BACKLOG", 500)

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


async def written_down(writer: JournalWriter) -> None:
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
        world.writer = JournalWriter(world.broker, world.store, world.wake, world.failures.append, 600)
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
                    await durable.execute(queue.Declare("d", durable=True))
                    await transient.execute(queue.Declare("t"))
                    store.may.clear()
                    waits = await durable.send("", "d", b"x", persistent=True)
                    for _ in range(20):
                        await transient.publish("", "t", b"x")
                    assert not waits.done
                    store.may.set()
                    await waits

    run(main)


def test_at_the_end_what_was_read_is_answered_and_kept(tmp_path: Path) -> None:
    async def main() -> None:
        store = Held(tmp_path)
        async with served(Broker(BrokerConfig(journal=True)), store=store) as server, connect(url(server)) as client:
            session = client.session()
            await session.__aenter__()
            await session.execute(queue.Declare("q", durable=True))
            store.may.clear()
            ticket = await session.send("", "q", b"x", persistent=True)
            session._core.prompt()
            while server.broker._journals.last == server.broker._journals.done:
                await asyncio.sleep(0.001)
            end = asyncio.create_task(server.stop("enough"))
            await asyncio.sleep(0)
            done = [ticket.done]
            store.may.set()
            await end
            await server.stop("enough")  # once more does no harm
            done.append(ticket.done)
            await ticket
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


async def silent(server: BrokerServer) -> tuple[ClientConnection, asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that opens its connection, and answers nothing from then on."""
    reader, writer = await asyncio.open_connection(*server.address)
    machine = ClientConnection(ClientConfig())
    while not machine.is_open:
        writer.write(machine.data_to_send())
        machine.receive_data(await reader.read(65536))
        list(machine.events())
    writer.write(machine.data_to_send())
    return machine, reader, writer


def test_at_the_end_nobody_waits_for_clients_that_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not answer to close is waited for as long as somebody gets on, and not for all of CLOSE_SECONDS."""
    monkeypatch.setattr(asyncio_server, "CLOSE_SECONDS", 3600.0)
    monkeypatch.setattr(asyncio_server, "QUIET_SECONDS", 0.05)

    async def main() -> None:
        patient = ServerConfig(limits=Limits(close_seconds=3600.0))
        async with BrokerServer(Broker(), lambda: patient, port=0) as server:
            clients = [await silent(server) for _ in range(3)]
            await server.stop("enough")
            for machine, reader, _ in clients:
                machine.receive_data(await reader.read())
                (closed,) = machine.events()
                assert isinstance(closed, ConnectionClosed)
                assert (closed.code, closed.text) == (320, "enough")

    run(main)


def test_close_waits_for_a_client_that_reads_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as octets go out."""
    monkeypatch.setattr(asyncio_server, "QUIET_SECONDS", 0.01)

    async def main() -> None:
        async with served(Broker()) as server:
            kept = await silent(server)
            (socket,) = server._sockets.values()
            owed = iter([3, 2, 2])
            looked: list[int] = []

            def left(each: object) -> int:
                looked.append(next(owed, 2))
                return looked[-1]

            monkeypatch.setattr(type(socket), "unwritten", property(left))
            await server._all_over()
            assert looked == [3, 2, 2], kept
            monkeypatch.undo()

    run(main)


def test_a_store_that_fails_ends_it_and_nothing_is_claimed(tmp_path: Path) -> None:
    async def main() -> None:
        store = Held(tmp_path)
        failures: list[str] = []
        async with served(Broker(BrokerConfig(journal=True)), store=store, failed=failures.append) as server:
            client = connect(url(server))
            await client.__aenter__()
            session = client.session()
            await session.__aenter__()
            await session.execute(queue.Declare("q", durable=True))
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


def test_a_slow_disk_stops_the_client_that_fills_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While more waits for the disk than may, nothing is read; then all of it comes through."""
    monkeypatch.setattr(broker_server, "BACKLOG", 10_000)
    monkeypatch.setattr(broker_server, "LOOK", 0.01)

    async def main() -> None:
        store = Held(tmp_path)
        async with served(Broker(BrokerConfig(journal=True)), store=store) as server:
            async with connect(url(server)) as client, client.session() as session:
                await session.execute(queue.Declare("q", durable=True))
                store.may.clear()
                tickets = [await session.send("", "q", b"x" * 1000, persistent=True) for _ in range(200)]
                session._core.prompt()
                assert server.writer is not None
                while not server.writer.full:
                    await asyncio.sleep(0.001)
                for _ in range(20):
                    server.wake()
                    await asyncio.sleep(0)
                assert server.broker._journals.last - server.broker._journals.done < 200
                store.may.set()
                for ticket in tickets:
                    await ticket
                assert server.broker.host().queues["q"].messages == 200

    run(main)


def test_without_a_store_there_is_nothing_to_wait_for() -> None:
    async def main() -> None:
        async with served(Broker()) as server:
            async with connect(url(server)) as client, client.session() as session:
                await session.execute(queue.Declare("q", durable=True))
                await session.publish("", "q", b"x", persistent=True)
            assert server.writer is None
        assert len(server.broker.peers) == 0

    run(main)


SERVERS = {
    "asyncio": "BrokerServer(Broker(), port=0)",
    "asyncio, of one's own": "asyncio_server.serve(own := OwnServer(ServerConfig(), lambda *heard: None), own.connect, port=0)",
    "sync": "sync_server.serve(broker := Broker(), broker.connect, port=0)",
    "trio": "trio_server.serve(broker := Broker(), broker.connect, port=0)",
}


@pytest.mark.parametrize("kind", SERVERS)
def test_what_the_first_client_needs_is_loaded_before_it_comes(kind: str) -> None:
    """For a stranger may hold all file descriptors by then, and no module can be loaded without one."""
    word = "" if kind == "sync" else "async "
    program = f"""
        import asyncio, sys, trio
        from amqp_sansio.adapters.asyncio import server as asyncio_server
        from amqp_sansio.adapters.asyncio.broker_server import BrokerServer
        from amqp_sansio.adapters.sync import server as sync_server
        from amqp_sansio.adapters.trio import server as trio_server
        from amqp_sansio.broker import Broker
        from amqp_sansio.config import ServerConfig
        from amqp_sansio.conversation.hosting import OwnServer

        def layouts():
            return [name for name in sys.modules if name.endswith("layouts.v0_10")]

        {word}def main():
            print(layouts())
            {word}with {SERVERS[kind]}:
                print(layouts())

        {"main()" if kind == "sync" else "trio.run(main)" if kind == "trio" else "asyncio.run(main())"}
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n['amqp_sansio.wire.layouts.v0_10']\n", "")


def test_a_client_logs_in_by_its_certificate(tmp_path: Path) -> None:
    """Its user is the common name of a certificate that the right authority has signed; without one EXTERNAL is not offered."""
    authority = trustme.CA()
    for name, made in (
        ("server", authority.issue_cert("127.0.0.1")),
        ("alice", authority.issue_cert("a@b", common_name="alice")),
    ):
        made.private_key_and_cert_chain_pem.write_to_path(tmp_path / name)
    authority.cert_pem.write_to_path(tmp_path / "ca")
    both, ca = str(tmp_path / "server"), str(tmp_path / "ca")
    without, alice, wrong = (ssl.create_default_context(cafile=ca) for _ in range(3))
    alice.load_cert_chain(tmp_path / "alice")
    external = ClientConfig(mechanisms=[External()])

    async def main() -> None:
        broker = Broker()
        async with BrokerServer(broker, ServerConfig, port=0, tls=context(both, both, ca)) as server:
            place = url(server).replace("amqp:", "amqps:")
            async with connect(place, tls=alice, config=external):
                assert [peer.identity for peer in broker.peers] == ["alice"]
            async with connect(place, tls=alice):  # ANONYMOUS goes on as before
                pass
            with pytest.raises(ConnectFailed, match="ANONYMOUS"):
                async with connect(place, tls=without, config=external):
                    pass
            for config in (external, ClientConfig(mechanisms=[External("bob")])):
                with pytest.raises(ConnectFailed):
                    async with connect(place, tls=alice if config is not external else wrong, config=config):
                        pass

    run(main)


@pytest.mark.parametrize(
    ("certificate", "name"),
    [
        (None, None),
        ({}, None),
        ({"subject": ((("organizationName", "o"),), (("commonName", "alice"),))}, "alice"),
        ({"subject": ((("commonName", "alice"),), (("commonName", "bob"),))}, None),
        ({"subject": ((("commonName", "al\0ice"),),)}, None),
    ],
)
def test_the_name_in_a_certificate(certificate: Any, name: str | None) -> None:
    assert common_name(certificate) == name


class Overheard:
    def __init__(self) -> None:
        self.lines: list[tuple[str, bytes]] = []

    def hear(self, speaker: str, octets: bytes) -> None:
        self.lines.append((speaker, octets))

    def note(self, text: str) -> None:
        self.lines.append((text, b""))


def test_a_listener_gets_both_speakers_and_the_end() -> None:
    heard = Overheard()

    async def main() -> tuple[int, bytes, bytes]:
        async with BrokerServer(Broker(), port=0, listen=lambda: heard) as server:
            reader, writer = await asyncio.open_connection(*server.address)
            hello = ClientConnection().data_to_send()
            writer.write(hello)
            answer = await reader.read(65536)
            writer.close()
            while server._sockets:
                await asyncio.sleep(0.01)
            return writer.get_extra_info("sockname")[1], hello, answer

    port, hello, answer = asyncio.run(main())
    assert heard.lines[:3] == [(f"connected from 127.0.0.1:{port}", b""), ("client", hello), ("server", answer)]
    assert heard.lines[-1] == ("the client's octets have ended", b"")
