"""The broker on sockets: the end is clean, a slow consumer and a slow disk hold up nobody else, memory is flat."""

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

from amqp_sansio import ClientConnection
from amqp_sansio.adapters.asyncio import broker_server, connect, writing
from amqp_sansio.adapters.asyncio import server as asyncio_server
from amqp_sansio.adapters.asyncio.broker_server import BrokerServer, common_name
from amqp_sansio.adapters.store import Store, StoreError
from amqp_sansio.broker import Broker, BrokerConfig
from amqp_sansio.cli.serve import context
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.sasl import External
from amqp_sansio.errors import ConnectFailed, ConnectionLost, SessionLost
from amqp_sansio.events import ConnectionClosed
from amqp_sansio.limits import Limits
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
            session._talk.prompt()
            while not server.broker._journals.pending:
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
    monkeypatch.setattr(writing, "BACKLOG", 10_000)
    monkeypatch.setattr(broker_server, "LOOK", 0.01)

    async def main() -> None:
        store = Held(tmp_path)
        async with served(Broker(BrokerConfig(journal=True)), store=store) as server:
            async with connect(url(server)) as client, client.session() as session:
                await session.execute(queue.Declare("q", durable=True))
                store.may.clear()
                tickets = [await session.send("", "q", b"x" * 1000, persistent=True) for _ in range(200)]
                session._talk.prompt()
                assert server.writer is not None
                while not server.writer.full:
                    await asyncio.sleep(0.001)
                for _ in range(20):
                    server.wake()
                    await asyncio.sleep(0)
                assert server.broker._journals.pending < 200
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
