"""Sessions and subscriptions for asynchronous code on any event loop; the adapter supplies the waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from typing_extensions import Unpack

from amqp_sansio.conversation.awaited import AwaitedConnection
from amqp_sansio.conversation.base_client import Ending
from amqp_sansio.conversation.base_session import BaseSession, BaseSubscription
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.inbox import PREFETCH, Inbox
from amqp_sansio.conversation.line import Line, Pending
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.properties import Arguments, Body, SessionProperties, as_arguments
from amqp_sansio.conversation.session_core import SessionCore
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.two_phase import Ask, TwoPhase
from amqp_sansio.errors import AmqpError, SessionFailed, SharedSessionFailed
from amqp_sansio.errors.checks import check_timeout, check_types
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec import exchange as exchanges
from amqp_sansio.spec import queue as queues
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.exchange import ExchangeBoundResult
from amqp_sansio.spec.queue import QueueQueryResult

Result = TypeVar("Result")
Value = TypeVar("Value")


async def in_time(
    line: Line, ending: Ending, core: SessionCore, ticket: Ticket[Value], awaited: str, *, ends: bool = False
) -> Value:
    """Waits for a ticket and returns its value; its session is lost after `close_timeout` seconds without progress on an open
    connection.

    With `ends`, it does not wait if the client has waited for another end without an answer, and received nothing since.
    """
    while not ticket.done:
        if not ending.opened.done:
            with suppress(AmqpError):
                await line.wait(ending.opened)
            continue
        come = ending.come(core)
        try:
            await line.wait(ticket, ending.timeout if ends else ending.seconds)
        except TimeoutError:
            if come == ending.come(core):
                ending.silent(core, awaited)
    return ticket.result()


class Session(BaseSession[SessionCore]):
    """A session, to be used as `async with connection.session() as session`.

    During a reconnect calls wait, for at most as long as the retry policy allows.
    Blocks and `cancel()` wait for the broker up to `close_timeout`; calls wait as long as the connection lives: cancel
    them to wait no longer.
    """

    @property
    def name(self) -> bytes:
        """The name of the session on the present connection; it changes when the session is opened again."""
        return self._core.name

    @property
    def is_open(self) -> bool:
        """Whether commands can be sent now."""
        return self._core.speakable

    def __repr__(self) -> str:
        return f"<Session {self.name.decode(errors='replace')!r}, {'open' if self.is_open else 'not open'}>"

    async def _closing(self) -> None:
        if not self._core.failure.heard:
            await self.sync()
        self._core.pending.unheard()
        await self._end(quiet=False)

    async def _finish(self) -> None:
        """See `BaseSession`.  Raises SessionLost when the peer makes no progress."""
        core = self._core
        over = core.over
        if not over and core.failure.heard:  # nothing more will be executed, and the detach is on its way
            await self._end(quiet=True)
        elif not over:
            core.pending.lost_before()
            await self._opened()
            try:
                await in_time(self._line, self._ending, core, core.sync(), "execution.sync", ends=True)
            except SharedSessionFailed:
                core.pending.lost_before()
                raise
        core.pending.unheard()

    async def _in_time(self, ticket: Ticket[Value], awaited: str) -> Value:
        return await in_time(self._line, self._ending, self._core, ticket, awaited)

    async def _end(self, quiet: bool) -> None:
        quiet = quiet or self._core.failure.heard
        try:
            await self._line.wait(self._core.close(), self._ending.timeout)
        except TimeoutError:
            self._ending.silent(self._core, "detach")
            if not quiet:
                self._core.ended.result()
        except AmqpError:
            if not quiet:
                raise

    async def _opened(self) -> None:
        """Waits until the session can send.  Raises why it never will; SessionLost where the attach is not answered."""
        try:
            self._core.open_again()
            while not self._core.opened.done:
                await self._in_time(self._core.opened, "session.attach")
            self._core.opened.result()
        except SessionFailed as failed:
            with suppress(AmqpError, TimeoutError):  # a caller that tries again at once lets the detach come
                await self._line.wait(self._core.ended, 0.0)
            if isinstance(failed, SharedSessionFailed):
                raise failed.unsent() from failed.__cause__
            raise

    async def execute(self, command: Command[Result], *, timeout: float | None = None) -> Result:
        """Sends a command, waits until the peer has executed it, and returns its result, if it has one.

        Raises SessionFailed when the peer refuses it; NoResult when the peer completes it without its result;
        LocalProtocolError for a command that carries a content: `publish` sends messages.
        """
        return await self._asked(lambda: self._core.execute(command), timeout)

    async def sync(self, *, timeout: float | None = None) -> None:
        """Waits until everything sent so far is executed.

        When the session failed, raises the error of messages that were sent before and never awaited: SessionFailed when the
        broker refused one of them, otherwise SharedSessionFailed or SessionLost, which mean that they are in doubt.
        """
        self._core.pending.lost_before()
        try:
            await self._asked(self._core.sync, timeout)
        except SharedSessionFailed:
            self._core.pending.lost_before()
            raise

    async def send(
        self,
        exchange: str = "",
        routing_key: str | None = None,
        body: Body = b"",
        *,
        timeout: float | None = None,
        **properties: Unpack[SessionProperties],
    ) -> Pending[None]:
        """Publishes a message as soon as there is room for it; the returned `Pending` completes with the broker's confirm.

        When it is cancelled, or raises TimeoutError, it has published nothing.  `timeout=0` publishes where there is room now.
        """
        if timeout is not None:
            check_timeout(timeout)
        if not (self._line.free(timeout) and self._core.has_room):
            await (self._room() if timeout is None else self._line.within(timeout, self._room))
        return Pending(self._core.publish(exchange, routing_key, body, properties), self._confirmed)

    async def _room(self) -> None:
        """Waits until a message may be published."""
        try:
            await self._line.writable()
            if not self._core.has_room:
                await self._opened()
            while not self._core.has_room:
                await self._line.wait(self._core.room)
                await self._line.writable()
        except SharedSessionFailed as failed:
            raise failed.unsent() from failed.__cause__

    async def publish(
        self,
        exchange: str = "",
        routing_key: str | None = None,
        body: Body = b"",
        *,
        timeout: float | None = None,
        **properties: Unpack[SessionProperties],
    ) -> None:
        """Publishes a message and waits until the broker has certainly taken it."""
        if timeout is not None:
            return await self._line.within(timeout, lambda: self.publish(exchange, routing_key, body, **properties))
        core, line = self._core, self._line
        if not (line.free() and core.has_room):
            await self._room()
        return await line.asked(lambda: core.publish(exchange, routing_key, body, properties, True))

    # --- queues and exchanges ------------------------------------------------------------------------------------------------

    # Each raises SessionFailed when the broker refuses it.

    async def declare_queue(
        self,
        queue: str,
        *,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        passive: bool = False,
        alternate_exchange: str | None = None,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Creates a queue unless it exists; with `passive`, raises SessionFailed when it does not exist.

        `exclusive`: it belongs to this session and is deleted with it.  `alternate_exchange` gets messages that are rejected.
        """
        check_types(str, queue=queue)
        said = queues.Declare(queue, alternate_exchange, passive, durable, exclusive, auto_delete, as_arguments(arguments))
        await self.execute(said, timeout=timeout)

    async def delete_queue(
        self, queue: str, *, if_unused: bool = False, if_empty: bool = False, timeout: float | None = None
    ) -> None:
        """Deletes a queue with its messages.  `if_unused`, `if_empty`: raises SessionFailed when it is not."""
        check_types(str, queue=queue)
        await self.execute(queues.Delete(queue, if_unused, if_empty), timeout=timeout)

    async def purge(self, queue: str, *, timeout: float | None = None) -> None:
        """Removes the messages of a queue, except those that a session has acquired."""
        check_types(str, queue=queue)
        await self.execute(queues.Purge(queue), timeout=timeout)

    async def query_queue(self, queue: str, *, timeout: float | None = None) -> QueueQueryResult:
        """Returns the properties of a queue; `queue` in the result is None when it does not exist."""
        check_types(str, queue=queue)
        return await self.execute(queues.Query(queue), timeout=timeout)

    async def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        durable: bool = False,
        auto_delete: bool = False,
        passive: bool = False,
        alternate_exchange: str | None = None,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Creates an exchange unless it exists; with `passive`, raises SessionFailed when it does not exist.

        `type`: "direct", "topic", "fanout", "headers", or another that the broker has.  `alternate_exchange` gets messages that
        no queue takes.
        """
        check_types(str, exchange=exchange, type=type)
        said = exchanges.Declare(exchange, type, alternate_exchange, passive, durable, auto_delete, as_arguments(arguments))
        await self.execute(said, timeout=timeout)

    async def delete_exchange(self, exchange: str, *, if_unused: bool = False, timeout: float | None = None) -> None:
        """Deletes an exchange with its bindings; `if_unused`: raises SessionFailed when it has any."""
        check_types(str, exchange=exchange)
        await self.execute(exchanges.Delete(exchange, if_unused), timeout=timeout)

    async def bind(
        self,
        queue: str,
        exchange: str,
        binding_key: str = "",
        *,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Binds a queue: messages to `exchange` whose routing key, or headers, match go to `queue` from now on."""
        check_types(str, queue=queue, exchange=exchange, binding_key=binding_key)
        await self.execute(exchanges.Bind(queue, exchange, binding_key, as_arguments(arguments)), timeout=timeout)

    async def unbind(self, queue: str, exchange: str, binding_key: str = "", *, timeout: float | None = None) -> None:
        """Removes a binding."""
        check_types(str, queue=queue, exchange=exchange, binding_key=binding_key)
        await self.execute(exchanges.Unbind(queue, exchange, binding_key), timeout=timeout)

    async def bound(
        self,
        exchange: str,
        queue: str | None = None,
        binding_key: str | None = None,
        *,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> ExchangeBoundResult:
        """Checks for a binding: a field that is True in the result names what does not exist or match."""
        check_types(str, exchange=exchange)
        return await self.execute(exchanges.Bound(exchange, queue, binding_key, as_arguments(arguments)), timeout=timeout)

    # --- transactions --------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A local transaction: committed at the end of the block, rolled back when the block raises.

        What is published and accepted in it takes effect as a whole or not at all; a rollback returns the accepted messages to
        the broker.  The session is transactional for good: after the block, publishing and accepting raise LocalProtocolError.

        Raises TransactionFailed when it was not committed, or when the outcome is unknown, for example after `close_timeout`
        seconds without progress of the peer.
        """
        await self._opened()
        transactions = self._core.transactions
        transactions.begin()
        try:
            yield
            transactions.check()
            await self._opened()
        except BaseException:
            transactions.abandon()
            raise
        await self._in_time(transactions.finish(), "tx.commit")

    @asynccontextmanager
    async def branch(self, xid: Xid, *, join: bool = False, resume: bool = False) -> AsyncIterator[None]:
        """Work in the branch of a distributed transaction: ended with the block, marked as failed when the block raises.

        `prepare`, `commit` or `rollback` then decide about it.  Raises BranchFailed after `close_timeout` seconds without an
        answer.
        """
        await self._opened()
        transactions = self._core.transactions
        started = transactions.begin_branch(xid, join=join, resume=resume)
        try:
            await self._in_time(started, "dtx.start")
            yield
            transactions.check()
            await self._opened()
        except BaseException:
            transactions.abandon_branch(xid, started)
            raise
        await self._in_time(transactions.finish_branch(xid), "dtx.end")

    async def prepare(self, xid: Xid, *, timeout: float | None = None) -> XaStatus:
        """First phase: prepares the branch.  Returns XA_OK or XA_RDONLY (nothing to decide); raises BranchFailed otherwise."""
        return await self._asked(lambda: self._core.transactions.prepare(xid), timeout)

    async def commit(self, xid: Xid, *, one_phase: bool = False, timeout: float | None = None) -> None:
        """Commits the branch, the second phase; with `one_phase`, without a first phase."""
        await self._asked(lambda: self._core.transactions.commit_branch(xid, one_phase=one_phase), timeout)

    async def rollback(self, xid: Xid, *, timeout: float | None = None) -> None:
        """Undoes the work of the branch."""
        await self._asked(lambda: self._core.transactions.rollback_branch(xid), timeout)

    async def recover(self, *, timeout: float | None = None) -> tuple[Xid, ...]:
        """Returns the branches in doubt at this broker."""
        return await self._asked(self._core.transactions.recover, timeout)

    async def carry_out(self, ask: Ask, whole: TwoPhase, *, timeout: float | None = None) -> None:
        """Sends what a two-phase commit wants of this participant, and passes on the answer, or that there will be none."""
        if timeout is not None:
            return await self._line.within(timeout, lambda: self.carry_out(ask, whole))
        try:
            await self._opened()
        except AmqpError:
            whole.lost(ask.participant)
            raise
        return await self._line.wait(self._core.transactions.carry_out(ask, whole))

    async def forget(self, xid: Xid, *, timeout: float | None = None) -> None:
        """Allows the broker to forget a branch that it decided heuristically."""
        await self._asked(lambda: self._core.transactions.forget(xid), timeout)

    def subscribe(
        self, queue: str, *, prefetch: int = PREFETCH, octets: int = INFINITE, accept: bool = True, browse: bool = False
    ) -> Subscription:
        """Subscribes to a queue: receive from the subscription, or iterate over it.

        With `accept` each message must be settled, and `prefetch` and `octets` bound the received and unsettled ones; without
        it, the broker forgets a message when it sends it.  `browse` leaves the messages on the queue: without `accept` the
        whole queue is shown; with `accept` each message must be released, because a browsed message cannot be accepted.
        """
        inbox = self._core.subscribe(queue, prefetch=prefetch, octets=octets, accept=accept, browse=browse)
        return Subscription(inbox, self._line, self._ending)


class Subscription(BaseSubscription[Message]):
    """Iterates over messages as they arrive: `async for message in subscription`; `async with` cancels it at the end."""

    _inbox: Inbox

    async def cancel(self) -> None:
        """Ends the subscription; received messages that were not taken go back to the queue.

        Raises SessionLost after `close_timeout` seconds without progress of the peer.
        """
        await in_time(self._line, self._ending, self._inbox.core, self._inbox.cancel(), "message.cancel", ends=True)


class SessionConnection(AwaitedConnection[Client]):
    """A client's connection that opens sessions."""

    def session(self, name: bytes | str | None = None, *, keep_for: int | None = 0) -> Session:
        """Returns a session, to be used as `async with`.

        `keep_for`: how long the broker should keep it when the connection is lost, in seconds; None: for ever.  Raises
        LocalProtocolError before the connection is opened.
        """
        self._client.must_be_entered("a session")
        return Session(self._client.open_session(name, keep_for), self._line, self._ending)

    async def open_session(
        self, name: bytes | str | None = None, *, keep_for: int | None = 0, timeout: float | None = None
    ) -> Session:
        """Opens a session without a block; end it with `close`.  See `session`."""
        if timeout is not None:
            return await self._line.within(timeout, lambda: self.open_session(name, keep_for=keep_for))
        return await self.session(name, keep_for=keep_for).__aenter__()
