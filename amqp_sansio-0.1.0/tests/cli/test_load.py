"""Many connections, large and small messages, a consumer that does not read: no loss, flat memory, nobody slows the others.

Small in `make test`; `make soak` sends a gigabyte and opens a thousand connections (tools/chores/soak.py).
"""

from __future__ import annotations

import asyncio
import resource
import socket
import time

import pytest
from tests.cli.serving import SOAK, Serving

from amqp_sansio import ClientConfig, ClientConnection
from amqp_sansio.adapters.asyncio import connect
from amqp_sansio.events import ConnectionOpened, SessionAttached
from amqp_sansio.ledger.credit import INFINITE

MIB = 1024 * 1024
CONNECTIONS = 1000 if SOAK else 60
OCTETS = 256 * MIB if SOAK else 4 * MIB
"""Of each size of message."""


async def through(url: str, name: str, size: int, count: int) -> None:
    """So many messages through a queue of their own, each consumed once and in order.

    The publisher is never further ahead than a queue may be long here: what is on a queue is in memory.
    """
    ahead = asyncio.Semaphore(min(max(8 * MIB // size, 2), 2000))
    async with connect(url) as connection, connection.session() as sending, connection.session() as taking:
        await sending.declare_queue(name, auto_delete=True)

        async def send() -> None:
            for number in range(count):
                await ahead.acquire()
                await sending.send("", name, b"%08d" % number + b"x" * (size - 8))
            await sending.sync()

        task = asyncio.create_task(send())
        async with taking.subscribe(name, prefetch=200, octets=max(4 * MIB, 2 * size)) as messages:
            got = 0
            async for message in messages:
                assert int(message.body[:8]) == got
                assert len(message.body) == size
                message.accept()
                ahead.release()
                got += 1
                if got == count:
                    break
        await task


@pytest.mark.parametrize("size", [100, 1024, 64 * 1024, 16 * MIB])
def test_messages_of_all_sizes_and_flat_memory(size: int) -> None:
    count = max(OCTETS // size if SOAK else min(OCTETS // size, 8000), 2)
    with Serving() as serving:
        asyncio.run(through(serving.url, "warm", size, max(2, count // 8)))
        before, cpu, began = serving.memory, serving.cpu, time.monotonic()
        asyncio.run(through(serving.url, "q", size, count))
        grown, seconds = (serving.memory - before) / MIB, time.monotonic() - began
        print(
            f"{count} messages of {size} octets: {count / seconds:.0f}/s, {count * size / seconds / MIB:.1f} MiB/s,"
            f" {(serving.cpu - cpu) / count * 1e6:.1f} us of the broker's CPU each; its memory grew by {grown:.1f} MiB"
        )
        assert grown < 24 + 6 * size / MIB
        assert serving.stop() == 0


def test_many_connections_at_once() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < CONNECTIONS + 100:
        pytest.skip(f"only {hard} files may be open")
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)) if hard != -1 else max(soft, 4096), hard))

    async def main(url: str) -> None:
        ready, go = 0, asyncio.Event()

        async def one(number: int) -> None:
            nonlocal ready
            async with connect(f"{url}?connect_timeout=120") as connection, connection.session() as session:
                name = f"q{number}"
                await session.declare_queue(name, auto_delete=True, exclusive=True)
                ready += 1
                if ready == CONNECTIONS:
                    go.set()
                await go.wait()  # all are there now
                for each in range(5):
                    await session.send("", name, b"%d %d" % (number, each))
                async with session.subscribe(name) as messages:
                    for each in range(5):
                        message = await anext(messages)
                        assert message.body == b"%d %d" % (number, each)
                        message.accept()

        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            for number in range(CONNECTIONS):
                tasks.create_task(one(number))

    with Serving() as serving:
        asyncio.run(main(serving.url))
        assert serving.stop() == 0
        assert serving.errors == ""


def deaf(port: int, name: str) -> socket.socket:
    """A consumer that takes whatever there is, and never reads its socket again."""
    connected = socket.create_connection(("127.0.0.1", port))
    client = ClientConnection(ClientConfig())
    attached = False
    while not attached:
        connected.sendall(client.data_to_send())
        client.receive_data(connected.recv(65536))
        for event in client.events():
            if isinstance(event, ConnectionOpened):
                client.session("deaf")
            attached = attached or isinstance(event, SessionAttached)
    client.sessions[0].subscribe(name, name).grant(INFINITE)
    connected.sendall(client.data_to_send())
    return connected


def test_a_client_that_does_not_read_slows_nobody_and_costs_no_memory() -> None:
    backlog = 16 * MIB
    with Serving() as serving:

        async def fill() -> None:
            async with connect(serving.url) as connection, connection.session() as session:
                await session.declare_queue("deaf")
                for _ in range(backlog // 65536):
                    await session.send("", "deaf", b"x" * 65536)

        asyncio.run(fill())
        asyncio.run(through(serving.url, "warm", 1024, 500))

        def cost() -> float:
            """Seconds of the broker's CPU for what the others have to do."""
            before = serving.cpu
            asyncio.run(through(serving.url, "q", 1024, OCTETS // 8192))
            return serving.cpu - before

        alone = cost()
        before = serving.memory
        with deaf(serving.port, "deaf"):
            beside = min(cost(), cost())
            asyncio.run(through(serving.url, "q", 1024, OCTETS // 1024))
            assert serving.memory - before < 16 * MIB  # not the backlog once more
        assert beside < 1.5 * alone + 0.1  # nobody looks at the one who does not read again and again
        assert serving.stop() == 0
