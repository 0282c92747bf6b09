"""The base of sessions and channels, for asynchronous code on any event loop; the adapter supplies the waiting."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from amqp_sansio.conversation.base_client import BaseClient, BaseCore, Ending
from amqp_sansio.conversation.inbox import BaseInbox
from amqp_sansio.conversation.line import Line, Pending
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError, SubscriptionClosed
from amqp_sansio.errors.checks import SECONDS, check_timeout

M = TypeVar("M")
C = TypeVar("C", bound=BaseClient)
K = TypeVar("K", bound=BaseCore)
Value = TypeVar("Value")


class BaseSession(Generic[K]):
    """What a session and a channel have in common.  A base class."""

    def __init__(self, core: K, line: Line, ending: Ending) -> None:
        self._core: Final = core
        self._line: Final = line
        self._ending: Final = ending

    async def _opened(self) -> None:
        """Waits until the session or channel is open."""
        raise NotImplementedError

    async def _closing(self) -> None:
        """Waits until the peer has executed and confirmed everything sent, then ends it."""
        raise NotImplementedError

    async def _finish(self) -> None:
        """Waits, at the end of a block, up to `close_timeout` until the peer has executed and confirmed everything."""
        raise NotImplementedError

    async def _end(self, quiet: bool) -> None:
        """Ends it; `quiet`: raises nothing, because another error is being raised."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        try:
            await self._opened()
        except BaseException:
            self._core.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Waits until the peer has executed and confirmed everything sent, then ends it; after an error it just ends it.

        Raises the error of a message that was sent, failed, and was never awaited.
        """
        quiet = error is not None
        try:
            if not quiet:
                await self._finish()
        except BaseException as raised:
            quiet = not isinstance(raised, Exception)  # let nothing replace a cancellation or an interrupt
            raise
        finally:
            await self._end(quiet)

    @property
    def remade(self) -> int:
        """How often the client opened it again after a loss: a session that the broker had not kept, or a channel.

        Exclusive queues of a session that was not kept are gone.
        """
        return self._core.remade

    @property
    def closed(self) -> Pending[None]:
        """Completes when it is over for good: None when this program closed it, else its error."""
        return Pending(self._core.ended, self._line.wait)

    async def close(self, timeout: float | None = None) -> None:
        """Waits until the peer has executed and confirmed everything sent, then ends it, as the end of its block does.

        Raises TimeoutError when that takes more than `timeout` seconds: it then ends all the same, and what was sent is in
        doubt.  Without `timeout` it waits up to `close_timeout`.  Raises the error of a message that was sent,
        failed, and was never awaited.
        """
        check_timeout(timeout)
        if timeout is None or self._core.over:
            return await self.__aexit__(None, None, None)
        try:
            await self._line.within(timeout, self._closing)
        except TimeoutError:
            self._core.close()
            raise
        except BaseException as error:
            await self.__aexit__(type(error), error, None)
            raise

    async def _asked(self, say: Callable[[], Ticket[Value]], timeout: float | None = None) -> Value:
        """Sends something by `say` as soon as it is open, and waits for the answer."""
        if timeout is not None:
            return await self._line.within(timeout, lambda: self._asked(say, None))
        await self._opened()
        return await self._line.asked(say)

    async def _confirmed(self, ticket: Ticket[None], timeout: float | None = None) -> None:
        """Waits for the confirm of something sent, and asks the peer for it if it has not come."""
        if not ticket.done:
            self._core.prompt()
        await self._line.wait(ticket, timeout)


class ConnectionState(Generic[C]):
    """The state of a client's connection.  A base class."""

    _client: C
    _line: Line

    @property
    def is_open(self) -> bool:
        """Whether there is an open connection now."""
        return self._client.is_open

    @property
    def closed(self) -> Pending[None]:
        """Completes when the client will not reconnect: None when this program closed it, else its ConnectionLost."""
        return Pending(self._client.ended, self._line.wait)

    @property
    def remade(self) -> int:
        """How many connections were opened after the first one."""
        return self._client.remade


class BaseSubscription(Generic[M]):
    """The messages of one subscription, as they come.  A base class."""

    def __init__(self, inbox: BaseInbox[M], line: Line, ending: Ending) -> None:
        self._inbox: BaseInbox[M] = inbox
        self._line: Final = line
        self._ending: Final = ending

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._inbox.closed:
                await self._line.wait(self._inbox.cancel(), self._ending.timeout)
        except (AmqpError, TimeoutError) as failure:
            if isinstance(failure, TimeoutError):
                self._ending.missed()
            if error is None:  # else that error is the one to raise
                raise
        finally:
            self._inbox.release()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> M:
        try:
            return await self.receive()
        except SubscriptionClosed:
            raise StopAsyncIteration from None

    async def receive(self, timeout: float | None = None) -> M:
        """Returns the next message.  Raises TimeoutError when none comes within `timeout` seconds; 0: when none is here.

        Raises SubscriptionClosed when this program ended the subscription, SubscriptionCancelled when the server did.
        """
        # A short cut for a valid timeout; `within` below refuses any other, even when a message is here.
        if type(timeout) in SECONDS and (message := self._inbox.take()) is not None:
            return message
        if timeout is not None:
            try:
                return await self._line.within(timeout, self.receive)
            except TimeoutError:
                raise TimeoutError(f"no message within {timeout} seconds") from None
        while (message := self._inbox.take()) is None:
            self._inbox.must_be_open()
            await self._line.wait(self._inbox.more)
        return message
