"""A connection on asyncio, whatever is spoken on it: sockets, one background task, and coming back after a loss."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Generator
from types import TracebackType
from typing import Any, Final, Self

from amqp_sansio.adapters.asyncio.line import Line
from amqp_sansio.adapters.asyncio.waiting import wait
from amqp_sansio.adapters.asyncio.wire import Wire
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import Attempts
from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.ending import Ending
from amqp_sansio.conversation.pending import Pending
from amqp_sansio.errors import AmqpError

CLOSE_TIMEOUT: Final = 10.0
"""Seconds that a clean end may take, before the socket is just closed."""


class BaseConnection:
    """A client's connection, whatever is spoken on it.  A base class.

    One task runs it in the background, heartbeats included; calls that wait raise whatever ends it.
    """

    def __init__(self, address: Address, client: BaseClient, tls: ssl.SSLContext | None, close_timeout: float) -> None:
        self.address: Final = address
        self._base: Final = client
        self._tls: Final = tls
        self._ending: Final = Ending(client, close_timeout)
        self._line: Final = Line()
        self._task: asyncio.Task[None] | None = None
        client.wake = self._line.wake

    def __await__(self) -> Generator[Any, Any, Self]:
        return self._open().__await__()

    async def _open(self) -> Self:
        self._base.enter()
        self._task = asyncio.create_task(self._run(), name=f"amqp to {self.address.endpoints[0]}")
        try:
            await wait(self._base.opened)
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aenter__(self) -> Self:
        return self if self._base.entered else await self._open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def is_open(self) -> bool:
        """Whether there is an open connection now."""
        return self._base.is_open

    @property
    def closed(self) -> Pending[None]:
        """Comes when there will be no other connection: None when it was closed here, else its ConnectionLost."""
        return Pending(self._base.ended, self._line.wait)

    @property
    def remade(self) -> int:
        """How many connections were opened behind the first one."""
        return self._base.remade

    async def close(self, timeout: float | None = None) -> None:
        """Closes the connection and waits until that is answered, for `timeout` seconds (default: `close_timeout`).

        What was sent, and messages that were accepted, go out before; it waits for no confirm: end the sessions first, or
        `sync` them.  Closing again does no harm.
        """
        try:
            await wait(self._base.close(), self._ending.timeout if timeout is None else timeout)
        except (TimeoutError, AmqpError):
            pass  # it is over, one way or the other
        finally:
            await self._stop()

    # --- the background ------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        attempts = Attempts(self._base, self.address, random.random)
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
            self._base.give_up(attempts.error)

    async def _connection(self, endpoint: Endpoint) -> None:
        """One connection, from its socket to its end."""
        loop = asyncio.get_running_loop()
        self._base.begin()
        tls = (self._tls or ssl.create_default_context()) if endpoint.tls else None
        limit = self.address.connect_timeout
        wire: Wire | None = None
        try:
            async with asyncio.timeout(limit):
                _, wire = await loop.create_connection(
                    lambda: Wire(self._base), endpoint.host, endpoint.port, ssl=tls,
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
        """Until the connection is open, or over."""
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def settle(_: object = None) -> None:
            if not settled.done():
                settled.set_result(None)

        self._base.opened.on_done(settle)
        wire.over.add_done_callback(settle)
        await settled

    async def _stop(self) -> None:
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
