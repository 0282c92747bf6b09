"""Sessions and subscriptions for code that awaits, on whatever loop: the adapter brings its way of waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from amqp_sansio.conversation.ending import Ending
from amqp_sansio.conversation.errors import SharedSessionFailed
from amqp_sansio.conversation.inbox import Inbox
from amqp_sansio.conversation.line import Line
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.talk import Talk
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.two_phase import Ask, TwoPhase
from amqp_sansio.errors import AmqpError
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid

Value = TypeVar("Value")


async def in_time(line: Line, ending: Ending, talk: Talk, ticket: Ticket[Value], awaited: str, *, ends: bool = False) -> Value:
    """What comes of a ticket; after `close_timeout` seconds of an open connection without any progress, its session is lost.

    What `ends` something is not waited for where another end was waited for in vain, and nothing came since.
    """
    while not ticket.done:
        if not ending.opened.done:
            with suppress(AmqpError):
                await line.wait(ending.opened)
            continue
        come = ending.come(talk)
        try:
            await line.wait(ticket, ending.timeout if ends else ending.seconds)
        except TimeoutError:
            if come == ending.come(talk):
                ending.silent(talk, awaited)
    return ticket.result()


class Session:
    """A session, to be used as `async with connection.session() as session`.

    During a reconnect calls wait; never longer than the retry policy lets them.
    Blocks and `cancel()` wait for the broker as long as `close_timeout` says; calls, as long as the connection lives: cancel
    them to wait no longer.
    """

    def __init__(self, talk: Talk, line: Line, ending: Ending) -> None:
        self.talk: Final = talk
        self._line: Final = line
        self._ending: Final = ending

    async def __aenter__(self) -> Self:
        try:
            await self._attached()
        except BaseException:
            self.talk.detach()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Waits until everything said is executed, then ends the session; after an error it is just ended.

        Raises what became of a message that was sent and not confirmed, if it was not well and nobody asked.
        """
        try:
            if error is None:
                over = self.talk.ended.done or self.talk.failure.again is not None
                if not over and self.talk.failure.heard:  # nothing more will be executed, and its detach is on its way
                    await self._end(quiet=True)
                elif not over:
                    await self._finish()
                self.talk.unheard()
        finally:
            await self._end(quiet=error is not None)

    async def _finish(self) -> None:
        """Until everything said is executed, as long as the other side gets on with it; raises SessionLost when it does not."""
        await self._attached()
        try:
            await in_time(self._line, self._ending, self.talk, self.talk.sync(), "execution.sync", ends=True)
        except SharedSessionFailed:
            self.talk.unheard()  # its own message may be what was refused: then that is told
            raise

    async def _in_time(self, ticket: Ticket[Value], awaited: str) -> Value:
        return await in_time(self._line, self._ending, self.talk, ticket, awaited)

    async def _end(self, quiet: bool) -> None:
        quiet = quiet or self.talk.failure.heard
        try:
            await self._line.wait(self.talk.detach(), self._ending.timeout)
        except TimeoutError:
            self._ending.silent(self.talk, "detach")
            if not quiet:
                self.talk.ended.result()
        except AmqpError:
            if not quiet:
                raise

    async def _attached(self) -> None:
        """Until the session can send; raises why it never will: SessionLost where nobody answers the attach."""
        self.talk.open_again()
        while not self.talk.attached.done:
            await self._in_time(self.talk.attached, "session.attach")
        self.talk.attached.result()

    async def say(self, command: Command) -> None:
        """Says a command and waits until the other side has executed it."""
        await self._attached()
        await self._line.asked(lambda: self.talk.say(command))

    async def ask(self, command: Command) -> Struct:
        """Says a command and waits for its result.

        NoResult when the broker calls it complete without one; LocalProtocolError for a command that has no result.
        """
        await self._attached()
        return await self._line.asked(lambda: self.talk.ask(command))

    async def sync(self) -> None:
        """Waits until everything said so far is executed."""
        await self._attached()
        await self._line.asked(self.talk.sync)

    async def send(
        self, exchange: str = "", routing_key: str | None = None, body: bytes = b"", **properties: Any
    ) -> Ticket[None]:
        """Publishes a message as soon as there is room for it; the ticket tells when the broker has it for certain.

        `properties` are those of `Talk.publish`.  Cancelled, it has published nothing.
        """
        if not self._line.free():
            await self._line.writable()
        if not self.talk.has_room:
            await self._room()
        return self.talk.post(exchange, routing_key, body, properties)

    async def _room(self) -> None:
        """Until a message may be published, for which there is no room now."""
        await self._attached()
        while not self.talk.has_room:
            await self._line.wait(self.talk.room)
            await self._line.writable()

    async def publish(self, exchange: str = "", routing_key: str | None = None, body: bytes = b"", **properties: Any) -> None:
        """Publishes a message and waits until the broker has it for certain."""
        talk, line = self.talk, self._line
        if not line.free():
            await line.writable()
        if not talk.has_room:
            await self._room()
        await line.asked(lambda: talk.post(exchange, routing_key, body, properties, True))

    async def confirmed(self, ticket: Ticket[None]) -> None:
        """Waits for what `send` gave."""
        if not ticket.done:
            self.talk.prompt()
        await self._line.wait(ticket)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A local transaction: committed at the end of the block, rolled back when the block raises.

        What is published and accepted in it counts together or not at all; after a rollback the broker has its messages back.
        TransactionFailed when it was not committed, or when nobody can know: so, too, after `close_timeout` seconds in which
        the other side gets on with nothing.
        """
        await self._attached()
        transactions = self.talk.transactions
        transactions.begin()
        try:
            yield
            transactions.check()
            await self._attached()
        except BaseException:
            transactions.abandon()
            raise
        await self._in_time(transactions.finish(), "tx.commit")

    @asynccontextmanager
    async def branch(self, xid: Xid, *, join: bool = False, resume: bool = False) -> AsyncIterator[None]:
        """Work in the branch of a distributed transaction: ended with the block, marked as failed when the block raises.

        Then `prepare`, `commit` or `rollback` decide about it.  BranchFailed after `close_timeout` seconds without an answer.
        """
        await self._attached()
        transactions = self.talk.transactions
        started = transactions.begin_branch(xid, join=join, resume=resume)
        try:
            await self._in_time(started, "dtx.start")
            yield
            transactions.check()
            await self._attached()
        except BaseException:
            transactions.abandon_branch(xid, started)
            raise
        await self._in_time(transactions.finish_branch(xid), "dtx.end")

    async def prepare(self, xid: Xid) -> XaStatus:
        """The first phase: XA_OK, or XA_RDONLY where nothing is to be decided.  BranchFailed for any other answer."""
        await self._attached()
        return await self._line.wait(self.talk.transactions.prepare(xid))

    async def commit(self, xid: Xid, *, one_phase: bool = False) -> None:
        """The second phase: the work of the branch is final; `one_phase` without a first."""
        await self._attached()
        await self._line.wait(self.talk.transactions.commit_branch(xid, one_phase=one_phase))

    async def rollback(self, xid: Xid) -> None:
        """The work of the branch is undone."""
        await self._attached()
        await self._line.wait(self.talk.transactions.rollback_branch(xid))

    async def recover(self) -> tuple[Xid, ...]:
        """The branches in doubt at this broker."""
        await self._attached()
        return await self._line.wait(self.talk.transactions.recover())

    async def carry_out(self, ask: Ask, whole: TwoPhase) -> None:
        """Asks what a two-phase commit wants of this participant, and tells it the answer, or that there will be none."""
        try:
            await self._attached()
        except AmqpError:
            whole.lost(ask.participant)
            raise
        await self._line.wait(self.talk.transactions.carry_out(ask, whole))

    async def forget(self, xid: Xid) -> None:
        """The broker may forget a branch that it decided by itself."""
        await self._attached()
        await self._line.wait(self.talk.transactions.forget(xid))

    def subscribe(
        self, queue: str, *, prefetch: int = 100, octets: int = INFINITE, accept: bool = True, browse: bool = False
    ) -> Subscription:
        """Subscribes to a queue; see `Talk.subscribe`."""
        inbox = self.talk.subscribe(queue, prefetch=prefetch, octets=octets, accept=accept, browse=browse)
        return Subscription(inbox, self._line, self._ending)


class Subscription:
    """Messages as they come: `async for message in subscription`; as `async with` it is cancelled at the end."""

    def __init__(self, inbox: Inbox, line: Line, ending: Ending) -> None:
        self.inbox: Final = inbox
        self._line: Final = line
        self._ending: Final = ending

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.inbox.closed:
            return
        try:
            await self._line.wait(self.inbox.cancel(), self._ending.timeout)
        except (AmqpError, TimeoutError) as failure:
            if isinstance(failure, TimeoutError):
                self._ending.missed()
            if error is None:  # else that one is told
                raise

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
            await self._line.wait(self.inbox.more)
        return message

    async def cancel(self) -> None:
        """Ends the subscription; messages that came and were not received go back to the queue.

        SessionLost after `close_timeout` seconds in which the other side gets on with nothing.
        """
        await in_time(self._line, self._ending, self.inbox.talk, self.inbox.cancel(), "message.cancel", ends=True)
