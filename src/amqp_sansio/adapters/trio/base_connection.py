"""The base of connections on trio, for sessions and channels alike: sockets, one nursery, and reconnecting."""

from __future__ import annotations

import random
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from types import TracebackType
from typing import Final, Self

import trio

from amqp_sansio.adapters.trio.nurseries import hidden_nursery
from amqp_sansio.adapters.trio.wire import Line, Wire, settled
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.awaited import AwaitedConnection
from amqp_sansio.conversation.base_session import C
from amqp_sansio.errors import AmqpError, LocalProtocolError

LINGER: Final = 0.01
"""Seconds after the end of a connection for octets that its socket takes at once."""


class BaseConnection(AwaitedConnection[C]):
    """Base of a client's connection, for sessions and channels alike.

    A background task runs it, heartbeats included, in the nursery of the block or in the one passed to `connect`.
    """

    _line: Line

    def __init__(
        self,
        address: Address,
        client: C,
        tls: ssl.SSLContext | None,
        close_timeout: float,
        nursery: trio.Nursery | None,
    ) -> None:
        super().__init__(address, client, Line(), close_timeout)
        self._tls: Final = tls
        self._nursery: Final = nursery
        self._block: AbstractAsyncContextManager[None] | None = None
        self._background: trio.CancelScope | None = None
        client.wake = self._line.wake

    async def _open(self) -> Self:
        if self._nursery is None:
            raise LocalProtocolError("await connect(url)", "without a nursery", ("await connect(url, nursery)", "async with"))
        await self._nursery.start(self._live)
        return self

    async def _live(self, task_status: trio.TaskStatus[None]) -> None:
        """Runs as a task of the caller's nursery; when that is cancelled, closes the connection cleanly."""
        async with self._running():
            task_status.started()
            with suppress(AmqpError):  # pending calls raise it, and so does `closed`
                await self._line.wait(self._client.ended)

    async def __aenter__(self) -> Self:
        if self._client.entered:
            return self
        if self._nursery is not None:
            return await self._open()
        self._block = self._running()
        await self._block.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._block is not None:
            await self._block.__aexit__(kind, error, trace)
        else:
            with trio.CancelScope(shield=True):
                await self.close()

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        """A block in which the connection runs."""
        self._client.enter()
        # Shielded, so that a cancelled block can still close the connection, and no frame breaks off in the middle.
        background = self._background = trio.CancelScope(shield=True)
        async with hidden_nursery() as nursery:
            nursery.start_soon(self._run_in, background)
            try:
                await self._line.wait(self._client.opened)
                yield
            finally:
                with trio.CancelScope(shield=True):
                    await self.close()
                background.cancel()

    async def _stop(self) -> None:
        if self._background is not None:
            self._background.deadline = trio.current_time() + LINGER
            await settled(self._client.ended)

    # --- the background ------------------------------------------------------------------------------------------------------

    async def _run_in(self, scope: trio.CancelScope) -> None:
        """Runs connections, one after the other, until there is no further one, or `scope` is cancelled."""
        with scope:
            await self._run(trio.sleep, random.random)

    async def _connection(self, endpoint: Endpoint) -> None:
        """Runs one connection, from its socket to its end."""
        limit = self.address.connect_timeout
        self._client.begin()
        try:
            with trio.CancelScope(deadline=trio.current_time() + limit) as scope:
                try:
                    stream = await self._stream(endpoint)
                except UnicodeError as failure:  # stricter about names than the resolver, which would know none of these
                    raise OSError(str(failure)) from failure
                async with stream:
                    wire = self._line.wire = Wire(self._client, stream)

                    def opened() -> None:
                        scope.deadline = float("inf")

                    self._client.opened.on_done(opened)
                    await wire.run()
            if scope.cancelled_caught:
                raise TimeoutError(f"no open connection within {limit} seconds")
        finally:
            self._line.wire = None
            if not self._client.machine.finished:
                self._client.receive_eof()
                self._client.tick(trio.current_time())

    async def _stream(self, endpoint: Endpoint) -> trio.abc.Stream:
        stream = await trio.open_tcp_stream(endpoint.host, endpoint.port)
        if not endpoint.tls:
            return stream
        try:
            return await self._secured(endpoint, stream)
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise

    async def _secured(self, endpoint: Endpoint, stream: trio.SocketStream) -> trio.abc.Stream:
        context = self._tls or ssl.create_default_context()
        name = self.address.server_name or endpoint.host
        secured = trio.SSLStream(stream, context, server_hostname=name, https_compatible=True)
        try:
            await secured.do_handshake()
        except trio.BrokenResourceError as failure:
            raise failure.__cause__ if isinstance(failure.__cause__, OSError) else OSError(str(failure)) from None
        return secured
