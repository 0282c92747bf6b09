"""The base of connections on asyncio, for sessions and channels alike: sockets, one background task, and reconnecting."""

from __future__ import annotations

import asyncio
import random
import ssl
from typing import Final, Self

from amqp_sansio.adapters.asyncio.wire import Line, Wire
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.awaited import AwaitedConnection
from amqp_sansio.conversation.base_session import C


class BaseConnection(AwaitedConnection[C]):
    """Base of a client's connection, for sessions and channels alike.

    A background task runs it, heartbeats included; pending calls raise the error that ends it.
    """

    _line: Line

    def __init__(self, address: Address, client: C, tls: ssl.SSLContext | None, close_timeout: float) -> None:
        super().__init__(address, client, Line(), close_timeout)
        self._tls: Final = tls
        self._task: asyncio.Task[None] | None = None
        client.wake = self._line.wake

    async def _open(self) -> Self:
        self._client.enter()
        running = self._run(asyncio.sleep, random.random)
        self._task = asyncio.create_task(running, name=f"amqp to {self.address.endpoints[0]}")
        try:
            await self._line.wait(self._client.opened)
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aenter__(self) -> Self:
        return self if self._client.entered else await self._open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- the background ------------------------------------------------------------------------------------------------------

    async def _connection(self, endpoint: Endpoint) -> None:
        """Runs one connection, from its socket to its end."""
        loop = asyncio.get_running_loop()
        self._client.begin()
        tls = (self._tls or ssl.create_default_context()) if endpoint.tls else None
        limit = self.address.connect_timeout
        wire: Wire | None = None
        try:
            async with asyncio.timeout(limit):
                _, wire = await loop.create_connection(
                    lambda: Wire(self._client), endpoint.host, endpoint.port, ssl=tls,
                    server_hostname=(self.address.server_name or endpoint.host) if tls else None,
                )  # fmt: skip
                self._line.wire = wire
                await self._opened(wire)
            await asyncio.shield(wire.over)
        except TimeoutError:
            raise TimeoutError(f"no open connection within {limit} seconds") from None
        finally:
            self._line.wire = None
            if wire is not None:
                wire.abort()

    async def _opened(self, wire: Wire) -> None:
        """Waits until the connection is open or over."""
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def settle(_: object = None) -> None:
            if not settled.done():
                settled.set_result(None)

        self._client.opened.on_done(settle)
        wire.over.add_done_callback(settle)
        await settled

    async def _stop(self) -> None:
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
