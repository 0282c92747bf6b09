"""A connection on trio: sockets, one nursery, and coming back after a loss."""

from __future__ import annotations

import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final
from uuid import uuid4

import trio

from amqp_sansio.adapters.mechanisms import proving
from amqp_sansio.adapters.trio.line import Line
from amqp_sansio.adapters.trio.waiting import wait
from amqp_sansio.adapters.trio.wire import Wire
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import Attempts
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.ending import Ending
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.session import Session
from amqp_sansio.errors import AmqpError

CLOSE_TIMEOUT: Final = 10.0
"""Seconds that a clean end may take, before the socket is just closed."""


class Connection:
    """A client's connection: what `connect` gives.  Whatever ends it is raised by what waits."""

    def __init__(self, address: Address, client: Client, tls: ssl.SSLContext | None, close_timeout: float) -> None:
        self.address: Final = address
        self._client: Final = client
        self._tls: Final = tls
        self._ending: Final = Ending(client, close_timeout)
        self._line: Final = Line()
        client.wake = self._line.wake

    async def close(self) -> None:
        """Closes the connection and waits until that is answered.  Saying so again does no harm."""
        with suppress(AmqpError, TimeoutError):  # it is over, one way or the other
            await self._line.wait(self._client.close(), self._ending.timeout)

    def session(self, name: bytes | str | None = None, *, timeout: int | None = 0) -> Session:
        """A session, to be used as `async with`.

        `timeout`: seconds that the broker is asked to keep it when the connection is lost; None: for ever.
        """
        return Session(self._client.open_session(name, timeout), self._line, self._ending)

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


@asynccontextmanager
async def connect(
    url: str | Address,
    *,
    config: ClientConfig | None = None,
    tls: ssl.SSLContext | None = None,
    retry: RetryPolicy = NEVER,
    close_timeout: float = CLOSE_TIMEOUT,
) -> AsyncIterator[Connection]:
    """A connection to `amqp://user:password@host:port/vhost?heartbeat=30` or `amqps://...`, opened by `async with`.

    `config` holds what the URL does not say; `tls` how certificates are checked (default: against the system's authorities);
    `retry` whether and how to come back after a loss.  AddressError at once; ConnectFailed when no broker answers.
    """
    address = Address.parse(url) if isinstance(url, str) else url
    client = Client(proving(address.config(config)), prefix=f"amqp-sansio-{uuid4()}", retry=retry)
    connection = Connection(address, client, tls, close_timeout)
    # Shielded: whoever is cancelled in the block can still say how the connection ends, and no frame breaks off in the middle.
    background = trio.CancelScope(shield=True)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection._run_in, background)
            try:
                await wait(connection._client.opened)
                yield connection
            finally:
                with trio.CancelScope(shield=True):
                    await connection.close()
                background.cancel()
    except BaseExceptionGroup as group:
        # `run` raises nothing, so what is in there alone is what the user's block raised: it is told as it was raised.
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from group.exceptions[0].__cause__
        raise
