"""Channels and subscriptions for asynchronous code on any event loop; the adapter supplies the waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from typing_extensions import Unpack

from amqp_sansio.conversation.awaited import AwaitedConnection
from amqp_sansio.conversation.base_session import BaseSession, BaseSubscription
from amqp_sansio.conversation.channels.calls import Fetch
from amqp_sansio.conversation.channels.client import ChannelClient
from amqp_sansio.conversation.channels.consumers import Inbox
from amqp_sansio.conversation.channels.core import ChannelCore
from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.channels.properties import ChannelProperties
from amqp_sansio.conversation.inbox import PREFETCH
from amqp_sansio.conversation.line import Pending
from amqp_sansio.conversation.properties import Arguments, as_arguments
from amqp_sansio.errors import AmqpError
from amqp_sansio.errors.checks import check_timeout, check_types
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import exchange as exchanges
from amqp_sansio.spec.methods import queue as queues

Value = TypeVar("Value")


class Channel(BaseSession[ChannelCore]):
    """A channel, to be used as `async with connection.channel() as channel`.

    During a reconnect calls wait, for at most as long as the retry policy allows.  A call that the server refuses raises
    ChannelClosed and ends the channel; the connection and its other channels stay open.
    """

    async def _finish(self) -> None:
        if not self._core.over:
            await self.sync(timeout=self._ending.timeout)

    async def _closing(self) -> None:
        await self.sync()
        await self._end(quiet=False)

    async def _end(self, quiet: bool) -> None:
        try:
            await self._line.wait(self._core.close(), self._ending.timeout)
        except TimeoutError:
            self._ending.missed()
            if not quiet:
                raise
        except AmqpError as failure:
            if not quiet and not failure.seen:
                raise
        if not quiet:
            self._core.in_flight.unheard()

    @property
    def number(self) -> int | None:
        """Its number on the present connection; None while there is none."""
        return self._core.number

    @property
    def is_open(self) -> bool:
        """Whether something may be sent now."""
        return self._core.is_open

    def __repr__(self) -> str:
        return f"<Channel {self.number}, {'open' if self.is_open else 'not open'}>"

    async def _opened(self) -> None:
        while not self._core.opened.done:
            await self._line.wait(self._core.opened)
        self._core.opened.result()

    async def execute(self, method: Method, *, timeout: float | None = None) -> Method:
        """Sends a method, waits for its answer and returns it; returns the method itself where it requires no answer.

        Raises ChannelClosed when the server refuses it; LocalProtocolError for a method that carries a content: `publish` sends
        messages.
        """
        return await self._asked(lambda: self._core.execute(method), timeout)

    async def sync(self, *, timeout: float | None = None) -> None:
        """Waits until the server has executed everything sent, and every message is confirmed.

        In a transaction it waits for no messages, which only the commit settles.
        """
        await self._asked(self._core.sync, timeout)

    async def send(
        self,
        exchange: str = "",
        routing_key: str = "",
        body: bytes = b"",
        *,
        timeout: float | None = None,
        **properties: Unpack[ChannelProperties],
    ) -> Pending[None]:
        """Publishes a message as soon as there is room for it; the returned `Pending` completes with the broker's confirm.

        When it is cancelled, or raises TimeoutError, it has published nothing.  `timeout=0` publishes where there is room now.
        """
        if timeout is not None:
            check_timeout(timeout)
        if not (self._line.free(timeout) and self._core.has_room):
            await (self._room() if timeout is None else self._line.within(timeout, self._room))
        return Pending(self._core.publish(exchange, routing_key, body, properties), self._confirmed)

    async def publish(
        self,
        exchange: str = "",
        routing_key: str = "",
        body: bytes = b"",
        *,
        timeout: float | None = None,
        **properties: Unpack[ChannelProperties],
    ) -> None:
        """Publishes a message and waits until the server has taken it over.

        Raises MessageNacked when the server did not, MessageReturned when no queue took a `mandatory` one, InDoubt when the
        outcome is unknown.  In a transaction it waits for nothing; the commit reports the outcome, but for MessageReturned,
        which the end of the channel raises.
        """
        if timeout is not None:
            return await self._line.within(timeout, lambda: self.publish(exchange, routing_key, body, **properties))
        core = self._core
        if not (self._line.free() and core.has_room):
            await self._room()
        if core.transaction.open:
            core.publish(exchange, routing_key, body, properties)
            return None
        return await self._line.asked(lambda: core.publish(exchange, routing_key, body, properties, alone=True))

    async def _room(self) -> None:
        """Waits until a message may be published."""
        await self._line.writable()
        while not self._core.has_room:
            await self._opened()
            if not self._core.has_room:
                await self._line.wait(self._core.room)
                await self._line.writable()

    async def request(
        self,
        exchange: str = "",
        routing_key: str = "",
        body: bytes = b"",
        *,
        timeout: float | None = None,
        **properties: Unpack[ChannelProperties],
    ) -> Message:
        """Publishes a request and waits for its answer, by direct reply-to (RabbitMQ).  Raises CapabilityMissing without it.

        The responder publishes to the default exchange, with the request's `reply_to` as routing key and its `correlation_id`.
        Raises TimeoutError when no answer comes within `timeout` seconds; a later answer is dropped.
        """
        if timeout is not None:
            return await self._line.within(timeout, lambda: self.request(exchange, routing_key, body, **properties))
        await self._room()
        answer = self._core.requests.publish(exchange, routing_key, body, properties)
        try:
            return await self._line.wait(answer)
        finally:
            self._core.requests.forget(answer)

    # --- queues and exchanges ------------------------------------------------------------------------------------------------

    async def declare_queue(
        self,
        queue: str = "",
        *,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        passive: bool = False,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> queues.DeclareOk:
        """Creates a queue unless it exists; returns its name and its counts of messages and consumers.

        "": the server chooses the name.  `passive`: raises ChannelClosed (404) when it does not exist.  `exclusive`: it belongs
        to this connection and is deleted with it.
        """
        check_types(str, queue=queue)
        said = queues.Declare(queue, passive, durable, exclusive, auto_delete, False, as_arguments(arguments), 0)
        answer = await self.execute(said, timeout=timeout)
        assert isinstance(answer, queues.DeclareOk)  # the engine accepts no other answer
        return answer

    async def delete_queue(
        self, queue: str, *, if_unused: bool = False, if_empty: bool = False, timeout: float | None = None
    ) -> int:
        """Deletes a queue; returns how many messages it had.  `if_unused`, `if_empty`: raises ChannelClosed when it is not."""
        check_types(str, queue=queue)
        return await self._count(queues.Delete(queue, if_unused, if_empty, False, 0), timeout)

    async def purge(self, queue: str, *, timeout: float | None = None) -> int:
        """Removes the messages of a queue, except unsettled ones, and returns how many."""
        check_types(str, queue=queue)
        return await self._count(queues.Purge(queue, False, 0), timeout)

    async def _count(self, method: queues.Delete | queues.Purge, timeout: float | None) -> int:
        """Returns how many messages the method removed."""
        answer = await self.execute(method, timeout=timeout)
        assert isinstance(answer, queues.DeleteOk | queues.PurgeOk)  # the engine accepts no other answer
        return answer.message_count

    async def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        passive: bool = False,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Creates an exchange unless it exists; with `passive`, raises ChannelClosed (404) when it does not exist.

        `type`: "direct", "topic", "fanout", "headers", or another that the broker has.
        """
        check_types(str, exchange=exchange, type=type)
        await self.execute(
            exchanges.Declare(exchange, type, passive, durable, False, as_arguments(arguments), 0, auto_delete, internal),
            timeout=timeout,
        )

    async def delete_exchange(self, exchange: str, *, if_unused: bool = False, timeout: float | None = None) -> None:
        """Deletes an exchange with its bindings; `if_unused`: raises ChannelClosed when it has any."""
        check_types(str, exchange=exchange)
        await self.execute(exchanges.Delete(exchange, if_unused, False, 0), timeout=timeout)

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
        await self.execute(queues.Bind(queue, exchange, binding_key, False, as_arguments(arguments), 0), timeout=timeout)

    async def unbind(
        self,
        queue: str,
        exchange: str,
        binding_key: str = "",
        *,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Removes a binding."""
        check_types(str, queue=queue, exchange=exchange, binding_key=binding_key)
        await self.execute(queues.Unbind(queue, exchange, binding_key, as_arguments(arguments), 0, False), timeout=timeout)

    # --- messages ------------------------------------------------------------------------------------------------------------

    async def get(self, queue: str, *, timeout: float | None = None) -> Message | None:
        """Fetches one message, which must be settled; None when the queue is empty.  For many messages use `subscribe`.

        Cancelled, or after a TimeoutError, it gives back a message that still comes.
        """
        fetch = Fetch(self._core, queue)
        try:
            return await self._asked(fetch.say, timeout)
        except BaseException:
            fetch.leave()
            raise

    def subscribe(
        self,
        queue: str,
        *,
        prefetch: int = PREFETCH,
        accept: bool = True,
        exclusive: bool = False,
        resubscribe: bool = False,
    ) -> Subscription:
        """Starts a consumer: receive from the subscription, or iterate over it.

        `prefetch` bounds the received and unsettled messages.  With `accept` each message must be settled; without it, a
        message is accepted as it is received.  `exclusive`: it is the queue's only consumer.  `resubscribe`: starts again when
        the server cancels it, instead of raising SubscriptionCancelled.
        """
        inbox = self._core.consumers.subscribe(
            queue, prefetch=prefetch, accept=accept, exclusive=exclusive, resubscribe=resubscribe
        )
        return Subscription(inbox, self._line, self._ending)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A transaction: committed at the end of the block, rolled back when the block raises.

        What is published and accepted in it takes effect as a whole or not at all.  Raises TransactionFailed when it was not
        committed, or when the outcome is unknown; LocalProtocolError on a channel in confirm mode, that is one that has
        published outside of a transaction.  The channel is transactional for good: after the block, publishing and accepting
        raise LocalProtocolError; releasing and rejecting take effect at once.
        """
        await self._opened()
        self._core.transaction.begin()
        try:
            yield
        except BaseException:
            self._core.transaction.roll_back()
            raise
        await self._line.asked(self._core.transaction.commit)


class Subscription(BaseSubscription[Message]):
    """Iterates over messages as they arrive: `async for message in subscription`; `async with` cancels it at the end."""

    _inbox: Inbox

    @property
    def consumer_tag(self) -> str:
        """The tag of the consumer on its channel."""
        return self._inbox.tag

    async def stop(self) -> None:
        """Stops further deliveries; received messages may still be taken, and go back to the queue at the end of the block."""
        await self._line.wait(self._inbox.cancel(keep=True), self._ending.timeout)

    async def cancel(self) -> None:
        """Ends the subscription; received messages that were not taken go back to the queue."""
        await self._line.wait(self._inbox.cancel(), self._ending.timeout)


class ChannelConnection(AwaitedConnection[ChannelClient]):
    """A client's connection that opens channels."""

    def channel(self, *, confirms: bool = True) -> Channel:
        """Returns a channel, to be used as `async with`.  Raises LocalProtocolError before the connection is opened.

        Without `confirms` the broker confirms no single messages; its next answer shows that it has read what was published
        before. That is cheaper, but does not reveal that a full queue rejected a message.
        """
        self._client.must_be_entered("a channel")
        return Channel(self._client.open_channel(confirms), self._line, self._ending)

    async def open_channel(self, *, confirms: bool = True, timeout: float | None = None) -> Channel:
        """Opens a channel without a block; end it with `close`."""
        if timeout is not None:
            return await self._line.within(timeout, lambda: self.open_channel(confirms=confirms))
        return await self.channel(confirms=confirms).__aenter__()

    @property
    def blocked(self) -> bool:
        """Whether the broker takes no published messages, because it is short of memory or disk (connection.blocked)."""
        return self._client.blocked

    async def update_secret(self, secret: str, reason: str = "") -> None:
        """Sends the broker a new password, for example a token before it expires; later connections use it too.

        After a loss it does not wait: the next connection logs in with it.
        """
        await self._line.wait(self._client.update_secret(secret, reason))
