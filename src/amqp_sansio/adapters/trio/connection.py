"""A connection on trio: sockets, one nursery, and coming back after a loss."""

from __future__ import annotations

import random
import ssl
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import trio

from amqp_sansio.adapters import logs
from amqp_sansio.adapters.logs import teller
from amqp_sansio.adapters.mechanisms import proving
from amqp_sansio.adapters.trio.line import Line
from amqp_sansio.adapters.trio.waiting import wait
from amqp_sansio.adapters.trio.wire import Wire
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import Attempts
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.ending import Ending
from amqp_sansio.conversation.happenings import ClientEvent
from amqp_sansio.conversation.pending import Pending
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.session import Session
from amqp_sansio.conversation.tracing import Tracing
from amqp_sansio.errors import AmqpError, LocalProtocolError

CLOSE_TIMEOUT: Final = 10.0
"""Seconds that a clean end may take, before the socket is just closed."""


class Connection:
    """A client's connection: `async with connect(url) as connection`, or `await connect(url, nursery)` and `close`.

    A task runs it in the background, heartbeats included: in a nursery of the block, or in the one that is given.  Calls that
    wait raise whatever ends it.
    """

    def __init__(
        self, address: Address, client: Client, tls: ssl.SSLContext | None, close_timeout: float, nursery: trio.Nursery | None
    ) -> None:
        self.address: Final = address
        self._client: Final = client
        self._tls: Final = tls
        self._ending: Final = Ending(client, close_timeout)
        self._line: Final = Line()
        self._nursery: Final = nursery
        self._block: AbstractAsyncContextManager[None] | None = None
        client.wake = self._line.wake

    def __await__(self) -> Generator[Any, Any, Self]:
        return self._open().__await__()

    async def _open(self) -> Self:
        if self._nursery is None:
            raise LocalProtocolError("await connect(url)", "without a nursery", ("await connect(url, nursery)", "async with"))
        await self._nursery.start(self._live)
        return self

    async def _live(self, task_status: trio.TaskStatus[None]) -> None:
        """Runs it as a task of somebody else's nursery; when that is cancelled, the connection is closed cleanly."""
        async with self._running():
            task_status.started()
            with suppress(AmqpError):  # calls that wait raise it, and `closed`
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
        """A block in which there is a connection."""
        self._client.enter()
        # Shielded: a block that is cancelled can still close the connection, and no frame breaks off in the middle.
        background = trio.CancelScope(shield=True)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._run_in, background)
                try:
                    await wait(self._client.opened)
                    yield
                finally:
                    with trio.CancelScope(shield=True):
                        await self.close()
                    background.cancel()
        except BaseExceptionGroup as group:
            # `run` raises nothing, so a single exception is what the user's block raised: it is raised as it was.
            if len(group.exceptions) == 1:
                raise group.exceptions[0] from group.exceptions[0].__cause__
            raise

    @property
    def is_open(self) -> bool:
        """Whether there is an open connection now."""
        return self._client.is_open

    @property
    def closed(self) -> Pending[None]:
        """Comes when there will be no other connection: None when it was closed here, else its ConnectionLost."""
        return Pending(self._client.ended, self._line.wait)

    @property
    def remade(self) -> int:
        """How many connections were opened behind the first one."""
        return self._client.remade

    async def close(self, timeout: float | None = None) -> None:
        """Closes the connection and waits until that is answered, for `timeout` seconds (default: `close_timeout`).

        What was sent, and messages that were accepted, go out before; it waits for no confirm: end the sessions first, or
        `sync` them.  Closing again does no harm.
        """
        with suppress(AmqpError, TimeoutError):  # it is over, one way or the other
            await self._line.wait(self._client.close(), self._ending.timeout if timeout is None else timeout)

    def session(self, name: bytes | str | None = None, *, keep_for: int | None = 0) -> Session:
        """A session, to be used as `async with`.

        `keep_for`: seconds that the broker is asked to keep it when the connection is lost; None: for ever.
        LocalProtocolError before the connection is opened.
        """
        self._client.must_be_entered("a session")
        return Session(self._client.open_session(name, keep_for), self._line, self._ending)

    async def open_session(
        self, name: bytes | str | None = None, *, keep_for: int | None = 0, timeout: float | None = None
    ) -> Session:
        """A session that is open, without a block: `close` it.  See `session`."""
        return await self.session(name, keep_for=keep_for)._open(timeout)

    # --- the background ------------------------------------------------------------------------------------------------------

    async def _run_in(self, scope: trio.CancelScope) -> None:
        """Connections, one after the other, until there is no other, or `scope` is cancelled."""
        with scope:
            await self._run()

    async def _run(self) -> None:
        attempts = Attempts(self._client, self.address, random.random)
        attempt = attempts.first()
        try:
            while True:
                error = None
                await trio.sleep(attempt.delay)
                try:
                    await self._connection(attempt.endpoint)
                except (OSError, AmqpError) as failure:  # TimeoutError and ssl's are OSErrors
                    error = failure
                except trio.BrokenResourceError as failure:  # a TLS handshake that failed
                    error = failure.__cause__ if isinstance(failure.__cause__, OSError) else OSError(str(failure))
                following = attempts.after(error)
                if following is None:
                    break
                attempt = following
        except Exception as failure:
            attempts.broken(failure)
        finally:
            self._client.give_up(attempts.error)

    async def _connection(self, endpoint: Endpoint) -> None:
        """One connection, from its socket to its end."""
        limit = self.address.connect_timeout
        self._client.begin()
        try:
            with trio.CancelScope(deadline=trio.current_time() + limit) as scope:
                stream = await self._stream(endpoint)
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
        context = self._tls or ssl.create_default_context()
        secured = trio.SSLStream(stream, context, server_hostname=endpoint.host, https_compatible=True)
        await secured.do_handshake()
        return secured


def connect(
    url: str | Address,
    nursery: trio.Nursery | None = None,
    *,
    config: ClientConfig | None = None,
    tls: ssl.SSLContext | None = None,
    retry: RetryPolicy = NEVER,
    close_timeout: float = CLOSE_TIMEOUT,
    on_event: Callable[[ClientEvent], None] | None = None,
    log_octets: bool = False,
    tracing: Tracing | None = None,
) -> Connection:
    """A connection to `amqp://user:password@host:port/vhost?heartbeat=30` or `amqps://...`.

    `async with connect(url) as connection` closes it at the end; `connection = await connect(url, nursery)` leaves that to
    `close`, or to the end of the nursery.

    `config` holds what the URL does not say; `tls` how certificates are checked (default: against the system's authorities);
    `retry` whether and how to come back after a loss; `close_timeout` the seconds for the clean end of a subscription, a
    session or the connection.  `on_event` is called with what happens to the client (`conversation.happenings` lists that):
    it returns soon, and calls nothing of the client.  `log_octets` logs all octets but the login at DEBUG, to
    `amqp_sansio.octets`.  `tracing` traces messages: `adapters.otel.Tracing()`.

    AddressError at once; ConnectFailed when no broker answers.
    """
    address = Address.parse(url) if isinstance(url, str) else url
    client = Client(
        proving(address.config(config)), prefix=f"amqp-sansio-{uuid4()}", retry=retry, tell=teller(on_event),
        tap=logs.log_octets if log_octets else None, tracing=tracing,
    )  # fmt: skip
    return Connection(address, client, tls, close_timeout, nursery)
