"""Subscriptions for asynchronous code on any event loop; the adapter supplies the waiting."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from amqp_sansio.conversation.base_client import Ending
from amqp_sansio.conversation.inbox import BaseInbox
from amqp_sansio.conversation.line import Line
from amqp_sansio.errors import AmqpError, SubscriptionClosed
from amqp_sansio.errors.checks import SECONDS

M = TypeVar("M")


class BaseSubscription(Generic[M]):
    """Messages as they come, whatever is spoken.  A base class."""

    def __init__(self, inbox: BaseInbox[M], line: Line, ending: Ending) -> None:
        self._inbox: BaseInbox[M] = inbox
        self._line: Final = line
        self._ending: Final = ending

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._inbox.closed:
            return
        try:
            await self._line.wait(self._inbox.cancel(), self._ending.timeout)
        except (AmqpError, TimeoutError) as failure:
            if isinstance(failure, TimeoutError):
                self._ending.missed()
            if error is None:  # else that error is the one to raise
                raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> M:
        try:
            return await self.receive()
        except SubscriptionClosed:
            raise StopAsyncIteration from None

    async def receive(self, timeout: float | None = None) -> M:
        """Returns the next message.  Raises TimeoutError when none comes within `timeout` seconds; 0: when none is here.

        Raises SubscriptionClosed when the subscription was ended here, SubscriptionCancelled when the server ended it.
        """
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
