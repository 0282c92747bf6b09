"""The model broker on loopback, in a thread of its own, with everything that may go wrong at hand."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from tests.adapters.conditions import PATIENCE
from tests.broker.harness import front, service

from amqp_sansio.adapters.asyncio.server import Server, serve
from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.outbound import write_point
from amqp_sansio.events import ConnectionClosed, Event
from amqp_sansio.spec.execution import Exception_
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_command

Value = TypeVar("Value")


class Served:
    """`with Served() as served: served.url`.  `cut` resets every connection, `silence` lets nobody be answered any more."""

    def __init__(self, config: ServerConfig | None = None, *, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.broker = Broker()
        self.closed: list[ConnectionClosed] = []
        """How connections ended, as the broker saw it."""
        heard = self.broker.next_event

        def next_event() -> tuple[Peer, Event] | None:
            happened = heard()
            if happened is not None and isinstance(happened[1], ConnectionClosed):
                self.closed.append(happened[1])
            return happened

        self.broker.next_event = next_event  # type: ignore[method-assign]
        leave = self.broker._forget_peer
        self._leaving = threading.Condition()

        def left(peer: Peer) -> None:
            leave(peer)
            with self._leaving:
                self._leaving.notify_all()

        self.broker._forget_peer = left  # type: ignore[method-assign]
        self.port = port
        self._config = config
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._server: Server[Peer] | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"{'amqps' if self._tls else 'amqp'}://localhost:{self.port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @staticmethod
    async def _finish() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:  # handshakes of TLS
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def start(self) -> None:
        """Listens, on the same port as before."""

        async def start() -> None:
            self._server = serve(self.broker, lambda: self.broker.connect(self._config), "127.0.0.1", self.port, tls=self._tls)
            await self._server.__aenter__()
            self.port = self._server.address[1]

        asyncio.run_coroutine_threadsafe(start(), self._loop).result()

    def stop(self) -> None:
        """Listens no more, and ends every connection."""
        server = self._server
        if server is not None:
            self.cut()
            asyncio.run_coroutine_threadsafe(server.close(), self._loop).result()
            self._server = None

    def call(self, what: Callable[[], Value]) -> Value:
        """Does something in the broker's thread."""

        async def call() -> Value:
            return what()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def cut(self) -> None:
        """Every connection is reset."""
        server = self._server
        assert server is not None

        def cut() -> None:
            for each in list(server._sockets.values()):
                each.abort()

        self.call(cut)

    def silence(self) -> None:
        """The broker stops in the middle: it reads nothing, and answers nothing, but its sockets stay open."""
        self.call(self._hush)

    def _hush(self) -> None:
        server = self._server
        assert server is not None
        server._turn = lambda: None  # type: ignore[method-assign]
        for socket in server._sockets.values():
            assert socket._transport is not None
            socket._transport.pause_reading()

    def refuse(self, name: bytes) -> None:
        """The broker refuses something on a session, says not what, and is silent: the session's end never comes."""
        server = self._server
        assert server is not None

        def refuse() -> None:
            for peer in self.broker.peers:
                session = service(peer).connection.session_named(name)
                if session is not None and session._channel is not None:
                    said = LAYOUT.encode_command(Exception_(542, description="not so"), False)
                    write_point(session)
                    peer._connection._write(b"".join(frame_command(session._channel.number, said)))
                    server._sockets[peer].transmit()
            self._hush()

        self.call(refuse)

    def deserted(self) -> None:
        """Waits until nobody is connected."""
        with self._leaving:
            assert self._leaving.wait_for(lambda: not self.broker.peers, PATIENCE), "somebody never left"

    def depth(self, queue: str) -> int:
        """Messages that are available on a queue."""
        return self.call(lambda: self.broker.host("").queues[queue].available)

    def acquired(self, queue: str) -> int:
        """Messages of a queue that somebody holds."""
        return self.call(lambda: self.broker.host("").queues[queue].acquired)

    def sessions(self) -> int:
        """Sessions, attached or kept."""
        return self.call(lambda: len(front(self.broker).sessions))
