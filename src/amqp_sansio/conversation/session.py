"""Sessions and subscriptions for code that awaits, on whatever loop: the adapter brings its way of waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeVar

from amqp_sansio.conversation.inbox import Inbox
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.talk import Talk
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.credit import INFINITE
from amqp_sansio.errors import AmqpError
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid

Value = TypeVar("Value")


class Wait(Protocol):
    """How an adapter waits for a ticket: its value, or its error is raised."""

    async def __call__(self, ticket: Ticket[Value], /) -> Value:
        """The value, once there is one."""
        raise NotImplementedError


class Session:
    """A session, to be used as `async with connection.session() as session`."""

    def __init__(self, talk: Talk, wait: Wait, writable: Callable[[], Awaitable[None]]) -> None:
        self.talk: Final = talk
        self._wait: Final = wait
        self._writable: Final = writable

    async def __aenter__(self) -> Self:
        await self._wait(self.talk.attached)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.talk.ended.done:
            return
        try:
            if error is None:
                await self.sync()
            await self._wait(self.talk.detach())
        except AmqpError:
            if error is None:
                raise

    async def say(self, command: Command) -> None:
        """Says a command and waits until the other side has executed it."""
        await self._wait(self.talk.say(command))

    async def ask(self, command: Command) -> Struct | None:
        """Says a command and waits for its result."""
        return await self._wait(self.talk.ask(command))

    async def sync(self) -> None:
        """Waits until everything said so far is executed."""
        await self._wait(self.talk.sync())

    async def send(
        self, exchange: str = "", routing_key: str | None = None, body: bytes = b"", **properties: Any
    ) -> Ticket[None]:
        """Publishes a message as soon as there is room for it; the ticket tells when the broker has it for certain.

        `properties` are those of `Talk.publish`.
        """
        while not self.talk.has_room:
            await self._wait(self.talk.room)
        await self._writable()
        return self.talk.publish(exchange, routing_key, body, **properties)

    async def publish(self, exchange: str = "", routing_key: str | None = None, body: bytes = b"", **properties: Any) -> None:
        """Publishes a message and waits until the broker has it for certain."""
        await self.confirmed(await self.send(exchange, routing_key, body, **properties))

    async def confirmed(self, ticket: Ticket[None]) -> None:
        """Waits for what `send` gave."""
        if not ticket.done:
            self.talk.prompt()
        await self._wait(ticket)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A local transaction: committed at the end of the block, rolled back when the block raises.

        What is published and accepted in it counts together or not at all.  TransactionFailed when it was not committed, or
        when nobody can know.
        """
        self.talk.transactions.select_tx()
        try:
            yield
        except BaseException:
            if self.talk.session.state == "attached":
                self.talk.transactions.rollback()
            raise
        await self._wait(self.talk.transactions.commit())

    @asynccontextmanager
    async def branch(self, xid: Xid, *, join: bool = False, resume: bool = False) -> AsyncIterator[None]:
        """Work in the branch of a distributed transaction: ended with the block, marked as failed when the block raises.

        Then `prepare`, `commit` or `rollback` decide about it.
        """
        await self._wait(self.talk.transactions.start(xid, join=join, resume=resume))
        try:
            yield
        except BaseException:
            if self.talk.session.state == "attached":
                self.talk.transactions.end(xid, fail=True)
            raise
        await self._wait(self.talk.transactions.end(xid))

    async def prepare(self, xid: Xid) -> XaStatus:
        """The first phase: XA_OK, or XA_RDONLY where nothing is to be decided.  BranchFailed for any other answer."""
        return await self._wait(self.talk.transactions.prepare(xid))

    async def commit(self, xid: Xid, *, one_phase: bool = False) -> None:
        """The second phase: the work of the branch is final; `one_phase` without a first."""
        await self._wait(self.talk.transactions.commit_branch(xid, one_phase=one_phase))

    async def rollback(self, xid: Xid) -> None:
        """The work of the branch is undone."""
        await self._wait(self.talk.transactions.rollback_branch(xid))

    async def recover(self) -> tuple[Xid, ...]:
        """The branches in doubt at this broker."""
        return await self._wait(self.talk.transactions.recover())

    def subscribe(
        self, queue: str, *, prefetch: int = 100, octets: int = INFINITE, accept: bool = True, browse: bool = False
    ) -> Subscription:
        """Subscribes to a queue; see `Talk.subscribe`."""
        inbox = self.talk.subscribe(queue, prefetch=prefetch, octets=octets, accept=accept, browse=browse)
        return Subscription(inbox, self._wait)


class Subscription:
    """Messages as they come: `async for message in subscription`; as `async with` it is cancelled at the end."""

    def __init__(self, inbox: Inbox, wait: Wait) -> None:
        self.inbox: Final = inbox
        self._wait: Final = wait

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.inbox.closed:
            await self.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        message = await self.receive()
        if message is None:
            raise StopAsyncIteration
        return message

    async def receive(self) -> Message | None:
        """The next message; None when the subscription was cancelled."""
        while (message := self.inbox.take()) is None:
            if self.inbox.closed:
                return None
            await self._wait(self.inbox.more)
        return message

    async def cancel(self) -> None:
        """Ends the subscription; messages that came and were not received go back to the queue."""
        await self._wait(self.inbox.cancel())
