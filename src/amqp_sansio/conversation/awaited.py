"""A client's connection for code that awaits, on whatever loop: the adapter brings its sockets, and a task to run it in."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, Final, Generic, Self, TypeVar

from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import Attempts
from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.ending import Ending
from amqp_sansio.conversation.line import Line
from amqp_sansio.conversation.pending import Pending
from amqp_sansio.errors import AmqpError

C = TypeVar("C", bound=BaseClient)


class AwaitedConnection(Generic[C]):
    """A client's connection, whatever is spoken on it.  A base class: the adapter has `_open`, `_connection` and `_stop`."""

    def __init__(self, address: Address, client: C, line: Line, close_timeout: float) -> None:
        self.address: Final = address
        self._client: Final = client
        self._ending: Final = Ending(client, close_timeout)
        self._line = line

    def __await__(self) -> Generator[Any, Any, Self]:
        return self._open().__await__()

    async def _open(self) -> Self:
        """Until it is open, in a task of its own."""
        raise NotImplementedError

    async def _connection(self, endpoint: Endpoint) -> None:
        """One connection, from its socket to its end."""
        raise NotImplementedError

    async def _stop(self) -> None:
        """Nobody waits for its task any more."""

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
            with suppress(AmqpError, TimeoutError):  # it is over, one way or the other
                await self._line.wait(self._client.close(), self._ending.timeout if timeout is None else timeout)
        finally:
            await self._stop()

    async def _run(self, sleep: Callable[[float], Coroutine[Any, Any, None]], chance: Callable[[], float]) -> None:
        """Connections, one after the other, until there is no other."""
        attempts = Attempts(self._client, self.address, chance)
        attempt = attempts.first()
        try:
            while True:
                error = None
                if attempt.delay:
                    await sleep(attempt.delay)
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
