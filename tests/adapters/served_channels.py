"""The small broker with channels on loopback, in a thread of its own."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TypeVar

from tests.adapters.channel_broker import ChannelBroker

from amqp_sansio.dialects import AMQP_0_9_1, ChannelDialect

Value = TypeVar("Value")


class _Socket(asyncio.Protocol):
    """One connection."""

    def __init__(self, served: ServedChannels) -> None:
        self._served: Final = served
        self.machine: Final = served.broker.connect()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._served.sockets.append(self)

    def data_received(self, data: bytes) -> None:
        self.machine.receive_data(data)
        self._served.turn()

    def connection_lost(self, error: Exception | None) -> None:
        self._served.sockets.remove(self)
        self.machine.receive_eof()
        self._served.turn(self)

    def turn(self) -> None:
        self.machine.tick(time.monotonic())
        self._served.broker.hear(self.machine)

    def transmit(self) -> None:
        octets = self.machine.data_to_send()
        assert self.transport is not None
        if not self.transport.is_closing():
            self.transport.write(octets)
            if self.machine.finished:
                self.transport.close()


class ServedChannels:
    """`with ServedChannels() as served: served.url`.  `cut` resets every connection; `call` does something in its thread."""

    def __init__(self, dialect: ChannelDialect = AMQP_0_9_1, *, tls: ssl.SSLContext | None = None) -> None:
        self.broker: Final = ChannelBroker(dialect)
        self.sockets: Final[list[_Socket]] = []
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'amqps' if self._tls else 'amqp'}://127.0.0.1:{self.port}"

    def turn(self, gone: _Socket | None = None) -> None:
        """Something came: it may concern anybody."""
        everybody = [*self.sockets, *([gone] if gone is not None else [])]
        for each in everybody:
            each.turn()
        for each in self.sockets:
            each.transmit()

    def __enter__(self) -> Self:
        self._thread.start()

        async def start() -> None:
            self._server = await self._loop.create_server(lambda: _Socket(self), "127.0.0.1", 0, ssl=self._tls)
            self.port = self._server.sockets[0].getsockname()[1]

        asyncio.run_coroutine_threadsafe(start(), self._loop).result()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        async def stop() -> None:
            assert self._server is not None
            self._server.close()
            self._cut()
            while self.sockets:
                await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, what: Callable[[], Value]) -> Value:
        """Does something in the broker's thread, and sends what comes of it."""

        async def call() -> Value:
            value = what()
            self.turn()
            return value

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def _cut(self) -> None:
        for each in self.sockets:
            assert each.transport is not None
            each.transport.abort()

    def cut(self) -> None:
        """Every connection is reset."""
        self.call(self._cut)

    def block(self, blocked: bool) -> None:
        """Tells everybody that nothing is taken, or that it is again."""

        def tell() -> None:
            for each in self.sockets:
                each.machine.block("memory") if blocked else each.machine.unblock()

        self.call(tell)

    def bodies(self, queue: str) -> list[bytes]:
        """What is on a queue."""
        return self.call(lambda: [kept.body for kept in self.broker.queues[queue]])
