"""The base of connections for asynchronous code on any event loop; the adapter supplies sockets and a task."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, Final, Self

from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import Attempt, Attempts
from amqp_sansio.conversation.base_client import Ending
from amqp_sansio.conversation.base_session import C, ConnectionState
from amqp_sansio.conversation.line import Line
from amqp_sansio.errors import AmqpError
from amqp_sansio.errors.checks import check_timeout


class AwaitedConnection(ConnectionState[C]):
    """Base of a client's connection for either family; the adapter implements `_open`, `_connection` and `_stop`."""

    def __init__(self, address: Address, client: C, line: Line, close_timeout: float) -> None:
        self.address: Final = address
        self._client = client
        self._ending: Final = Ending(client, close_timeout)
        self._line = line

    def __await__(self) -> Generator[Any, Any, Self]:
        return self._open().__await__()

    async def _open(self) -> Self:
        """Starts the connection's task and waits until it is open."""
        raise NotImplementedError

    async def _connection(self, endpoint: Endpoint) -> None:
        """Runs one connection, from its socket to its end."""
        raise NotImplementedError

    async def _stop(self) -> None:
        """Stops the connection's task."""

    async def close(self, timeout: float | None = None) -> None:
        """Closes the connection and waits up to `timeout` seconds (default: `close_timeout`) for the answer.

        Commands and accepts that were made before are sent first; it does not wait for confirms: end the sessions first, or
        `sync` them.  May be called again.
        """
        check_timeout(timeout)
        try:
            with suppress(AmqpError, TimeoutError):  # it is over in either case
                await self._line.wait(self._client.close(), self._ending.timeout if timeout is None else timeout)
        finally:
            await self._stop()

    async def _run(self, sleep: Callable[[float], Coroutine[Any, Any, None]], chance: Callable[[], float]) -> None:
        """Runs connections, one after the other, until there is no further one."""
        attempts = Attempts(self._client, self.address, chance)
        attempt: Attempt | None = attempts.first()
        try:
            while attempt is not None:
                error = None
                if attempt.delay:
                    await sleep(attempt.delay)
                try:
                    await self._connection(attempt.endpoint)
                except (OSError, AmqpError) as failure:  # TimeoutError and ssl's errors are OSErrors
                    error = failure
                attempt = attempts.after(error)
        except Exception as failure:
            attempts.broken(failure)
        finally:
            self._client.give_up(attempts.error)
