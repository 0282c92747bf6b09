"""The floor: the bare cost of sending and waiting, with sockets, asyncio and trio and without AMQP.

The same number of octets as for a confirmed message of 100 octets, one message at a time, with one wake each.
"""

from __future__ import annotations

import asyncio
import select
import socket
import subprocess
import sys
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import trio

from bench.loopback.measure import Meter

MESSAGE: Final = b"m" * 159
"""The size of a transfer with a routing key and 100 octets."""
ANSWER: Final = b"a" * 26
"""The size of session.completed."""
READ: Final = 64 * 1024


class Echo:
    """A server that answers whatever arrives, in its own process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-m", "bench.loopback.floor"], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._out = self._process.stdout
        self.url: Final = f"tcp://127.0.0.1:{self._out.readline().strip()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._out.close()


def serve() -> None:
    """Serves one connection after the other, forever."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        while True:
            connected, _ = listening.accept()
            with connected:
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while connected.recv(READ):
                    connected.sendall(ANSWER)


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 0


def sync(url: str, case: str, count: int, meter: Meter) -> None:
    """A socket and poll: send, wait, receive."""
    with socket.create_connection(_place(url)) as connected:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        poll = select.poll()
        poll.register(connected, select.POLLIN)
        with meter:
            for _ in range(count):
                connected.send(MESSAGE)
                poll.poll(None)
                connected.recv(READ)


class _Answered(asyncio.Protocol):
    """Sends the next message when the answer to the previous one arrives."""

    def __init__(self, count: int) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._left = count
        self._transport: asyncio.Transport | None = None

    def begin(self, transport: asyncio.Transport) -> None:
        """Sends the first message."""
        self._transport = transport
        transport.write(MESSAGE)

    def data_received(self, data: bytes) -> None:
        self._left -= 1
        if not self._left:
            self.over.set_result(None)
        elif self._transport is not None:
            self._transport.write(MESSAGE)


def asyncio_(url: str, case: str, count: int, meter: Meter) -> None:
    """A protocol that answers itself: no task waits for anything."""

    async def main() -> None:
        transport, protocol = await asyncio.get_running_loop().create_connection(lambda: _Answered(count), *_place(url))
        with meter:
            protocol.begin(transport)
            await protocol.over
        transport.close()

    asyncio.run(main())


class _Waiting(asyncio.Protocol):
    def __init__(self) -> None:
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self.answered.set_result(None)


def futures(url: str, case: str, count: int, meter: Meter) -> None:
    """An ordinary asyncio program: a protocol, and a future for each answer."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_connection(_Waiting, *_place(url))
        with meter:
            for _ in range(count):
                protocol.answered = loop.create_future()
                transport.write(MESSAGE)
                await protocol.answered
        transport.close()

    asyncio.run(main())


def trio_(url: str, case: str, count: int, meter: Meter) -> None:
    """A socket and trio's wait for octets, in the task that sends."""

    async def main() -> None:
        with socket.create_connection(_place(url)) as connected:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connected.setblocking(False)
            with meter:
                for _ in range(count):
                    connected.send(MESSAGE)
                    await trio.lowlevel.wait_readable(connected)
                    connected.recv(READ)

    trio.run(main)


def streams(url: str, case: str, count: int, meter: Meter) -> None:
    """An ordinary trio program: a stream, a task that reads it, an event for each answer."""

    async def main() -> None:
        stream = await trio.open_tcp_stream(*_place(url))
        answered = trio.Event()

        async def read() -> None:
            while await stream.receive_some(READ):
                answered.set()

        async with stream, trio.open_nursery() as nursery:
            nursery.start_soon(read)
            with meter:
                for _ in range(count):
                    answered = trio.Event()
                    await stream.send_all(MESSAGE)
                    await answered.wait()
            nursery.cancel_scope.cancel()

    trio.run(main)


if __name__ == "__main__":
    serve()
