"""A connection on asyncio: sockets, one background task, and coming back after a loss."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

from amqp_sansio.adapters import logs
from amqp_sansio.adapters.asyncio.line import Line
from amqp_sansio.adapters.asyncio.waiting import wait
from amqp_sansio.adapters.asyncio.wire import Wire
from amqp_sansio.adapters.logs import teller
from amqp_sansio.adapters.mechanisms import proving
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
from amqp_sansio.errors import AmqpError

CLOSE_TIMEOUT: Final = 10.0
"""Seconds that a clean end may take, before the socket is just closed."""


class Connection:
    """A client's connection: `async with connect(url) as connection`, or `connection = await connect(url)` and `close`.

    One task runs it in the background, heartbeats included; calls that wait raise whatever ends it.
    """

    def __init__(self, address: Address, client: Client, tls: ssl.SSLContext | None, close_timeout: float) -> None:
        self.address: Final = address
        self._client: Final = client
        self._tls: Final = tls
        self._ending: Final = Ending(client, close_timeout)
        self._line: Final = Line()
        self._task: asyncio.Task[None] | None = None
        client.wake = self._line.wake

    def __await__(self) -> Generator[Any, Any, Self]:
        return self._open().__await__()

    async def _open(self) -> Self:
        self._client.enter()
        self._task = asyncio.create_task(self._run(), name=f"amqp to {self.address.endpoints[0]}")
        try:
            await wait(self._client.opened)
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aenter__(self) -> Self:
        return self if self._client.entered else await self._open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

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
        try:
            await wait(self._client.close(), self._ending.timeout if timeout is None else timeout)
        except (TimeoutError, AmqpError):
            pass  # it is over, one way or the other
        finally:
            await self._stop()

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

    async def _run(self) -> None:
        attempts = Attempts(self._client, self.address, random.random)
        attempt = attempts.first()
        try:
            while True:
                error = None
                if attempt.delay:
                    await asyncio.sleep(attempt.delay)
                try:
                    await self._connection(attempt.endpoint)
                except (OSError, AmqpError) as failure:  # TimeoutError and ssl's are OSErrors
                    error = failure
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
        loop = asyncio.get_running_loop()
        self._client.begin()
        tls = (self._tls or ssl.create_default_context()) if endpoint.tls else None
        limit = self.address.connect_timeout
        wire: Wire | None = None
        try:
            async with asyncio.timeout(limit):
                _, wire = await loop.create_connection(
                    lambda: Wire(self._client), endpoint.host, endpoint.port, ssl=tls,
                    server_hostname=endpoint.host if tls else None,
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
        """Until the connection is open, or over."""
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


def connect(
    url: str | Address,
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

    `async with connect(url) as connection` closes it at the end; `connection = await connect(url)` leaves that to `close`.

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
    return Connection(address, client, tls, close_timeout)
