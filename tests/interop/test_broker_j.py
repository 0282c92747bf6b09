"""Our three adapters as clients of Apache Qpid Broker-J."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.adapters import scenarios
from tests.adapters.asyncio.test_connection import AsyncioLoop
from tests.adapters.blocking import BlockingLoop
from tests.adapters.loops import Loop, until
from tests.adapters.trio.test_connection import TrioLoop
from tests.examples.test_examples import ADAPTERS, PRINTED, run

from amqp_sansio import ClientConfig, ClientConnection
from amqp_sansio.captures.conversation import observers
from amqp_sansio.captures.rows import transcript
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.errors import ConnectFailed, MessageReturned, SessionFailed, SessionLost
from amqp_sansio.events import ConnectionOpened, Event
from amqp_sansio.spec import exchange, queue
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.exchange import ExchangeBoundResult, ExchangeQueryResult
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Uint8
from amqp_sansio.spec.xids import xid
from tools.interop.broker_j import BrokerJ
from tools.interop.peers import CACHE
from tools.interop.recording import Recording

NESTED = {
    "deep": {"deeper": {"deepest": [1, "two", 3.0, None, True, b"six"]}},
    "list": [{"a": 1}, {"b": [2, 3]}],
    "wide": 2**40,
    "negative": -(2**40),
    "text": "Grüße",
    "small": Uint8(7),
}


@pytest.fixture(scope="module")
def dying(broker_j: BrokerJ) -> Iterator[BrokerJ]:
    """Another one, which may be stopped and go on."""
    with BrokerJ(CACHE / "broker_j") as dying:
        yield dying


@pytest.fixture(params=[BlockingLoop, AsyncioLoop, TrioLoop], ids=ADAPTERS)
def loop(request: pytest.FixtureRequest) -> Loop:
    made: Loop = request.param()
    return made


def plain(value: object) -> object:
    """Maps and lists as Python's own."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, Sequence) and not isinstance(value, str | bytes) else value


async def received(subscription: Any) -> Message:
    message: Message | None = await subscription.receive()
    assert message is not None
    return message


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_every_example(adapter: str, broker_j: BrokerJ, tmp_path: Path) -> None:
    for example, printed in PRINTED.items():
        count = ["20"] if example in ("publisher", "worker") else []
        assert run(adapter, example, broker_j.url, *count).startswith(printed)
    printed = run(adapter, "distributed", broker_j.url, broker_j.url, str(tmp_path / "decisions.json"))
    assert printed == "broken off: 1 transaction rolled back\ncommitted: 0 left\n"


def test_there_and_back(loop: Loop, broker_j: BrokerJ) -> None:
    for url in (broker_j.url, broker_j.anonymous_url):
        assert len(loop.run(lambda url=url: scenarios.there_and_back(loop, url, 500))) == 500  # type: ignore[misc]


def test_by_tls(loop: Loop, broker_j: BrokerJ) -> None:
    trusting = ssl.create_default_context()
    broker_j.authority.configure_trust(trusting)
    assert len(loop.run(lambda: scenarios.there_and_back(loop, broker_j.tls_url, 50, trusting))) == 50
    with pytest.raises(ConnectFailed, match="its certificate is not accepted"):
        loop.run(lambda: scenarios.there_and_back(loop, broker_j.tls_url))


def mechanism_of(path: Path) -> str:
    """What the client said in start-ok, as it was recorded."""
    rows = [row for _, row in transcript(str(path), observers(), (), lambda text: None)]
    (said,) = [row["fields"]["mechanism"] for row in rows if row["verb"] == "connection.start-ok"]
    return str(said)


def test_users_by_scram_and_by_plain(loop: Loop, broker_j: BrokerJ, tmp_path: Path) -> None:
    """The strongest mechanism in common; where there is PLAIN alone, that."""
    for port, url, mechanism in (
        (broker_j.scram_port, broker_j.scram_url, "SCRAM-SHA-256"),
        (broker_j.port, broker_j.url, "SCRAM-SHA-256"),
        (broker_j.plain_port, broker_j.plain_url, "PLAIN"),
        (broker_j.anonymous_port, broker_j.anonymous_url, "ANONYMOUS"),
    ):
        path = tmp_path / f"{port}.pcap"
        with Recording(port, path) as recording:
            where = url.replace(str(port), str(recording.port))
            assert len(loop.run(lambda where=where: scenarios.there_and_back(loop, where, 10))) == 10  # type: ignore[misc]
        assert mechanism_of(path) == mechanism
        if mechanism != "ANONYMOUS":
            wrong = url.replace("guest:guest", "guest:wrong")
            with pytest.raises(ConnectFailed, match=r"320.*Authentication failed"):
                loop.run(lambda wrong=wrong: scenarios.there_and_back(loop, wrong))  # type: ignore[misc]


def test_big_messages_over_many_frames_with_nested_headers(loop: Loop, broker_j: BrokerJ) -> None:
    body = bytes(range(256)) * 4096 * 5  # 5 MiB

    async def main() -> None:
        async with loop.connect(f"{broker_j.url}?frame_max=4096") as connection, connection.session() as session:
            await session.execute(queue.Declare("big", auto_delete=True))
            for _ in range(3):
                await session.publish("", "big", body, headers=NESTED)
            async with session.subscribe("big", prefetch=1) as subscription:
                for _ in range(3):
                    message = await received(subscription)
                    assert message.body == body
                    assert plain(message.raw_headers) == NESTED
                    message.accept()

    loop.run(main)


def test_bodies_of_all_sizes_around_a_frame(loop: Loop, broker_j: BrokerJ) -> None:
    sizes = (0, 1, 4083, 4084, 4085, 8168, 8169, 65_522, 65_523, 65_524, 1_000_000)

    async def main(more: str) -> None:
        async with loop.connect(broker_j.url + more) as connection, connection.session() as session:
            await session.execute(queue.Declare("sized", auto_delete=True))
            for size in sizes:
                await session.send("", "sized", bytes([size % 251]) * size)
            async with session.subscribe("sized") as subscription:
                for size in sizes:
                    message = await received(subscription)
                    assert message.body == bytes([size % 251]) * size
                    message.accept()

    for more in ("", "?frame_max=4096"):
        loop.run(lambda more=more: main(more))  # type: ignore[misc]


def test_queries(loop: Loop, broker_j: BrokerJ) -> None:
    async def main() -> None:
        async with loop.connect(broker_j.url) as connection, connection.session() as session:
            await session.execute(queue.Declare("asked", auto_delete=True))
            await session.execute(exchange.Bind("asked", "amq.topic", "a.#"))
            await session.publish("amq.topic", "a.b", b"x")
            count = await session.execute(queue.Query("asked"))
            assert isinstance(count, QueueQueryResult)
            assert (count.queue, count.message_count) == ("asked", 1)
            kind = await session.execute(exchange.Query("amq.topic"))
            assert isinstance(kind, ExchangeQueryResult)
            assert (kind.type_, kind.not_found) == ("topic", False)
            bound = await session.execute(exchange.Bound("amq.topic", "asked", "a.#"))
            assert isinstance(bound, ExchangeBoundResult)
            assert (bound.queue_not_found, bound.key_not_matched, bound.queue_not_matched) == (False, False, False)
            await session.execute(queue.Delete("asked"))

    loop.run(main)


def test_errors_come_from_the_broker(loop: Loop, broker_j: BrokerJ) -> None:
    async def main() -> None:
        async with loop.connect(broker_j.url) as connection:
            with pytest.raises(SessionFailed, match=r"404 to queue\.purge"):
                async with connection.session() as session:
                    await session.execute(queue.Purge("nowhere"))
            with pytest.raises(SessionFailed, match=r"404.*"):
                async with connection.session() as session, session.subscribe("nowhere") as subscription:
                    await subscription.receive()
            with pytest.raises(MessageReturned):
                async with connection.session() as session:
                    await session.publish("", "nowhere", b"", mandatory=True)

    loop.run(main)
    wrong = {
        broker_j.url.replace("guest:guest", "guest:wrong"): "320.*Authentication failed",
        broker_j.url.replace("/default", "/nowhere"): "402.*nowhere",
        broker_j.url.replace("guest:guest@", ""): "no mechanism in common",
    }
    for url, text in wrong.items():
        with pytest.raises(ConnectFailed, match=text):
            loop.run(lambda url=url: scenarios.there_and_back(loop, url))  # type: ignore[misc]


def test_heartbeats_both_ways(loop: Loop, broker_j: BrokerJ) -> None:
    async def main() -> None:
        async with loop.connect(f"{broker_j.url}?heartbeat=1") as connection, connection.session() as session:
            assert connection._client.opened.result().heartbeat == 1
            machine = connection._client.machine
            said = machine._written  # three intervals of silence: either side would give the other up
            await until(loop, connection._client, lambda: machine._written >= said + 3 * scenarios.BEAT)
            await session.sync()

    loop.run(main)


def test_a_client_that_is_silent_is_cut(broker_j: BrokerJ) -> None:
    """Octets alone, without anybody who says heartbeats: the same that our adapters must say is missed."""
    client = ClientConnection(ClientConfig(username="guest", password="guest", virtual_host="default", heartbeat=1))
    events: list[Event] = []
    with socket.create_connection(("127.0.0.1", broker_j.plain_port), timeout=20) as peer:
        while True:
            peer.sendall(client.data_to_send())
            try:
                octets = peer.recv(65536)
            except ConnectionResetError:
                octets = b""
            if not octets:
                break
            client.receive_data(octets)
            events += client.events()
    assert any(isinstance(event, ConnectionOpened) for event in events)
    assert client.is_open  # it was not closed by words


def test_a_broker_that_is_silent_times_out(loop: Loop, dying: BrokerJ) -> None:
    async def main() -> None:
        async with loop.connect(f"{dying.url}?heartbeat=1", close_timeout=0.5) as connection:
            async with connection.session() as session:
                await session.sync()
                os.kill(dying.pid, signal.SIGSTOP)
                while True:  # it may still answer what it has heard before
                    await session.sync()

    try:
        with pytest.raises(SessionLost, match=r"silent|heard|heartbeat"):
            loop.run(main)
    finally:
        os.kill(dying.pid, signal.SIGCONT)


def test_abrupt_cuts_lose_nothing_that_was_confirmed(loop: Loop, broker_j: BrokerJ) -> None:
    """What was confirmed is there once; what was told to be in doubt is there at most once; there is nothing else."""
    policy = RetryPolicy(attempts=20, first=0.02, jitter=0.0, give_up=20.0)
    confirmed: list[bytes] = []
    doubtful: list[bytes] = []

    async def publish(proxy: Recording) -> None:
        url = broker_j.url.replace(str(broker_j.port), str(proxy.port))
        async with loop.connect(url, retry=policy) as connection, connection.session() as session:
            for number in range(200):
                body = b"%d" % number
                if number % 40 == 20:
                    proxy.cut()
                try:
                    await session.publish("", "cuts", body)
                except SessionLost:
                    doubtful.append(body)
                else:
                    confirmed.append(body)
            assert session.remade >= 1

    async def declared() -> None:
        async with loop.connect(broker_j.url) as connection, connection.session() as session:
            await session.execute(queue.Declare("cuts"))
            await session.execute(queue.Purge("cuts"))

    async def found() -> list[bytes]:
        bodies: list[bytes] = []
        async with loop.connect(broker_j.url) as connection, connection.session() as session:
            count = await scenarios.depth(session, "cuts")
            async with session.subscribe("cuts") as subscription:
                for _ in range(count):
                    message = await received(subscription)
                    bodies.append(message.body)
                    message.accept()
        return bodies

    loop.run(declared)
    with Recording(broker_j.port) as proxy:
        loop.run(lambda: publish(proxy))
    bodies = loop.run(found)
    assert len(confirmed) + len(doubtful) == 200
    assert 1 <= len(doubtful) <= 20
    assert len(set(bodies)) == len(bodies)
    assert set(confirmed) <= set(bodies) <= {*confirmed, *doubtful}


def test_a_transaction_and_its_rollback(loop: Loop, broker_j: BrokerJ) -> None:
    async def main() -> None:
        async with loop.connect(broker_j.url) as connection, connection.session() as session, connection.session() as other:
            await other.execute(queue.Declare("tx"))
            await other.execute(queue.Purge("tx"))
            await other.publish("", "tx", b"in")
            async with session.subscribe("tx") as subscription:
                message = await received(subscription)
                with pytest.raises(KeyError):
                    async with session.transaction():
                        await session.send("", "tx", b"out")
                        message.accept()
                        raise KeyError("mine")
            await session.sync()
            assert await scenarios.depth(other, "tx") == 1
            async with session.transaction():
                await session.send("", "tx", b"out")
            assert await scenarios.depth(other, "tx") == 2
            await other.execute(queue.Delete("tx"))

    loop.run(main)


def test_a_distributed_transaction_is_recovered_by_another_connection(loop: Loop, broker_j: BrokerJ) -> None:
    branch = xid(7, type(loop).__name__.encode(), b"branch")

    async def prepare() -> None:
        async with loop.connect(broker_j.url) as connection, connection.session() as session:
            await session.execute(queue.Declare("dtx", durable=True))
            await session.execute(queue.Purge("dtx"))
            async with session.branch(branch):
                await session.publish("", "dtx", b"x", persistent=True)
            assert await session.prepare(branch) == XaStatus.XA_OK

    async def recover() -> None:
        async with loop.connect(broker_j.url) as connection, connection.session() as session:
            assert branch in await session.recover()
            assert await scenarios.depth(session, "dtx") == 0
            await session.commit(branch)
            assert await scenarios.depth(session, "dtx") == 1
            assert branch not in await session.recover()
            await session.execute(queue.Delete("dtx"))

    loop.run(prepare)
    loop.run(recover)


def test_a_thousand_sessions_over_many_connections(broker_j: BrokerJ) -> None:
    """Each publishes and takes one message; with the loop that is quickest at that."""
    loop = AsyncioLoop()

    async def one(connection: Any, number: int) -> None:
        async with connection.session() as session:
            name = f"thousand-{number}"
            await session.execute(queue.Declare(name, exclusive=True, auto_delete=True))
            await session.publish("", name, name.encode())
            async with session.subscribe(name) as subscription:
                message = await received(subscription)
                assert message.body == name.encode()
                message.accept()
            arrived.append(number)
            if len(arrived) == 1000:
                everybody.set()
            await everybody.wait()  # all of them are open at once

    async def many(first: int) -> None:
        async with loop.connect(broker_j.url, close_timeout=60.0) as connection:
            await asyncio.gather(*[one(connection, number) for number in range(first, first + 40)])

    async def main() -> None:
        await asyncio.gather(*[many(first) for first in range(0, 1000, 40)])

    arrived: list[int] = []
    everybody = asyncio.Event()
    loop.run(main)
    assert len(arrived) == 1000


def test_a_killed_broker_is_reported_and_the_next_host_takes_over(loop: Loop, broker_j: BrokerJ) -> None:
    """What was in doubt is told, and the work goes on at the other host."""
    policy = RetryPolicy(attempts=10, first=0.05, jitter=0.0, give_up=20.0)

    async def main(dying: BrokerJ) -> None:
        url = f"amqp://guest:guest@127.0.0.1:{dying.port},127.0.0.1:{broker_j.port}/default"
        async with (
            loop.connect(url, retry=policy) as connection,
            connection.session() as session,
            loop.connect(dying.url) as other,
        ):
            without = other.session()
            await without.__aenter__()
            await session.execute(queue.Declare("spare"))
            doubtful = []
            with pytest.raises(SessionLost, match="in doubt"):
                for number in range(100_000):
                    doubtful.append(await session.send("", "spare", b"%d" % number))
                    if number == 300:
                        dying.kill()
                    if doubtful[0].done:
                        await doubtful.pop(0)
            await session.execute(queue.Declare("spare"))
            await session.publish("", "spare", b"after")
            assert session.remade == 1
            await session.execute(queue.Delete("spare"))
            with pytest.raises(SessionLost):
                await without.sync()  # nobody comes back for this one
            for pending in doubtful:
                assert pending.done
                with suppress(SessionLost):
                    await pending

    with BrokerJ(CACHE / "broker_j") as dying:
        loop.run(lambda: main(dying))
