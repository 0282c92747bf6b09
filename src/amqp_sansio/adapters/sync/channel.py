"""Channels and subscriptions for blocking code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self, TypeVar

from typing_extensions import Unpack

from amqp_sansio.adapters.sync.driver import Driver
from amqp_sansio.adapters.sync.pending import Pending
from amqp_sansio.adapters.sync.session import end_of
from amqp_sansio.adapters.sync.turn import Turn
from amqp_sansio.conversation.channels import words
from amqp_sansio.conversation.channels.core import ChannelCore
from amqp_sansio.conversation.channels.inbox import Inbox
from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.channels.properties import ChannelProperties
from amqp_sansio.conversation.ending import Ending
from amqp_sansio.conversation.inbox import PREFETCH
from amqp_sansio.conversation.properties import Arguments
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError, SubscriptionClosed
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods.queue import DeclareOk

Value = TypeVar("Value")


class Channel:
    """A channel, to be used as `with connection.channel() as channel`.

    While the connection is being made again, calls wait for that; never longer than the retry policy lets them.  A call that
    the server refuses raises ChannelClosed, and the channel is over; the connection and its other channels go on.

    Any number of threads may use it.  Calls wait no longer than their `timeout` (seconds; None: no limit): then TimeoutError,
    and what was sent counts as sent.
    """

    def __init__(self, core: ChannelCore, driver: Driver, turn: Turn, ending: Ending) -> None:
        self._core: Final = core
        self._driver: Final = driver
        self._lock: Final = turn
        self._ending: Final = ending

    def __enter__(self) -> Self:
        return self._open(None)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Waits until every message is confirmed, then closes the channel; after an error it is just closed.

        Raises what became of a message that was sent and not confirmed, if it was not well and nobody asked.
        """
        try:
            if error is None and not self._core.ended.done:
                self.sync(timeout=self._ending.timeout)
        finally:
            self._end(quiet=error is not None)
            if error is None:
                with self._lock:
                    self._core.in_flight.unheard()

    def _open(self, timeout: float | None) -> Self:
        with self._lock:
            try:
                self._opened(timeout, end_of(timeout))
            except BaseException:
                self._core.close()
                raise
        return self

    def close(self, timeout: float | None = None) -> None:
        """Waits until every message is confirmed, then closes the channel: what the end of its block does.

        TimeoutError when that takes more than `timeout` seconds: it is closed all the same, and what is not confirmed is in
        doubt; without one it waits as `close_timeout` says.
        """
        if timeout is None or self._core.ended.done:
            return self.__exit__(None, None, None)
        try:
            self.sync(timeout=timeout)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self.__exit__(None, None, None)

    def _end(self, quiet: bool) -> None:
        try:
            with self._lock:
                self._driver.wait(self._core.close(), self._ending.timeout)
        except TimeoutError:
            self._ending.missed()
            if not quiet:
                raise
        except AmqpError as failure:
            if not quiet and not failure.seen:
                raise

    @property
    def number(self) -> int | None:
        """Its number on the present connection; None while there is none."""
        return self._core.number

    @property
    def is_open(self) -> bool:
        """Whether something may be sent now."""
        return self._core.is_open

    @property
    def remade(self) -> int:
        """How often it was opened again because the connection was lost."""
        return self._core.remade

    @property
    def closed(self) -> Pending[None]:
        """Its `result` waits for the end of the channel: it raises why, unless the channel was closed here."""
        return Pending(self._core.ended, self._waited)

    def _waited(self, ticket: Ticket[Value], timeout: float | None) -> Value:
        with self._lock:
            return self._driver.wait(ticket, timeout)

    def _opened(self, timeout: float | None, until: float | None) -> None:
        """Until something may be sent; raises why it never will.  Under the lock."""
        while not self._core.opened.done:
            self._driver.wait(self._core.opened, timeout, until)
        self._core.opened.result()

    def _asked(self, say: Callable[[], Ticket[Value]], timeout: float | None) -> Value:
        until = end_of(timeout)
        with self._lock:
            self._opened(timeout, until)
            return self._driver.wait(say(), timeout, until)

    def execute(self, method: Method, *, timeout: float | None = None) -> Method:
        """Sends a method and waits for its answer, which it gives; the method itself where none is wanted.

        ChannelClosed when the server refuses it; LocalProtocolError for one that carries a content: `publish` sends messages.
        """
        return self._asked(lambda: self._core.execute(method), timeout)

    def sync(self, *, timeout: float | None = None) -> None:
        """Waits until the server has executed all that was sent, and every message is confirmed."""
        self._asked(self._core.sync, timeout)

    def send(
        self,
        exchange: str = "",
        routing_key: str = "",
        body: bytes = b"",
        *,
        timeout: float | None = None,
        **properties: Unpack[ChannelProperties],
    ) -> Pending[None]:
        """Publishes a message as soon as there is room for it, and does not wait for more: what it gives has the `result`.

        After a TimeoutError it has published nothing.
        """
        until = end_of(timeout)
        with self._lock:
            self._room(timeout, until)
            return Pending(self._core.publish(exchange, routing_key, body, properties), self._confirmed)

    def publish(
        self,
        exchange: str = "",
        routing_key: str = "",
        body: bytes = b"",
        *,
        timeout: float | None = None,
        **properties: Unpack[ChannelProperties],
    ) -> None:
        """Publishes a message and waits until the server has taken it over.

        MessageNacked when it did not, MessageReturned when no queue took a `mandatory` one, InDoubt when nobody can know.  In a
        transaction it waits for nothing: the commit tells.
        """
        until = end_of(timeout)
        core = self._core
        with self._lock:
            self._room(timeout, until)
            if core.transaction.open:
                core.publish(exchange, routing_key, body, properties)
            else:
                self._driver.wait(core.publish(exchange, routing_key, body, properties, alone=True), timeout, until)

    def _room(self, timeout: float | None, until: float | None) -> None:
        """Until a message may be published.  Under the lock."""
        self._driver.wait_writable(timeout, until)
        while not self._core.has_room:
            self._opened(timeout, until)
            if not self._core.has_room:
                self._driver.wait(self._core.room, timeout, until)
                self._driver.wait_writable(timeout, until)

    def _confirmed(self, ticket: Ticket[None], timeout: float | None) -> None:
        with self._lock:
            if not ticket.done:
                self._core.prompt()
            self._driver.wait(ticket, timeout)

    def request(
        self,
        exchange: str = "",
        routing_key: str = "",
        body: bytes = b"",
        *,
        timeout: float | None = None,
        **properties: Unpack[ChannelProperties],
    ) -> Message:
        """Publishes a request and waits for its answer, by direct reply-to (RabbitMQ); CapabilityMissing without that.

        The side that answers publishes to the default exchange, with the request's `reply_to` as routing key and its
        `correlation_id`.
        TimeoutError when nobody has answered within `timeout` seconds; an answer that comes later is dropped.
        """
        until = end_of(timeout)
        with self._lock:
            self._room(timeout, until)
            answer = self._core.requests.publish(exchange, routing_key, body, properties)
            try:
                return self._driver.wait(answer, timeout, until)
            finally:
                self._core.requests.forget(answer)

    # --- queues and exchanges ------------------------------------------------------------------------------------------------

    def declare_queue(
        self,
        queue: str = "",
        *,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        passive: bool = False,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> DeclareOk:
        """Sees to it that there is such a queue; its name, messages and consumers.  For "" the server makes a name.

        `passive`: ChannelClosed (404) when there is none.  `exclusive`: it belongs to this connection and goes with it.
        """
        said = words.declare_queue(queue, passive, durable, exclusive, auto_delete, arguments)
        return words.declared(self.execute(said, timeout=timeout))

    def delete_queue(self, queue: str, *, if_unused: bool = False, if_empty: bool = False, timeout: float | None = None) -> int:
        """Removes a queue and says how many messages went; ChannelClosed when it has consumers, or messages, and must not."""
        return words.count(self.execute(words.delete_queue(queue, if_unused, if_empty), timeout=timeout))

    def purge(self, queue: str, *, timeout: float | None = None) -> int:
        """Removes the messages of a queue that nobody holds, and says how many."""
        return words.count(self.execute(words.purge(queue), timeout=timeout))

    def declare_exchange(
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
        """Sees to it that there is such an exchange; `passive`: ChannelClosed (404) when there is none.

        `type`: "direct", "topic", "fanout", "headers", or what else the broker has.
        """
        said = words.declare_exchange(exchange, type, passive, durable, auto_delete, internal, arguments)
        self.execute(said, timeout=timeout)

    def delete_exchange(self, exchange: str, *, if_unused: bool = False, timeout: float | None = None) -> None:
        """Removes an exchange, with its bindings; ChannelClosed when it has some, and must not."""
        self.execute(words.delete_exchange(exchange, if_unused), timeout=timeout)

    def bind(
        self,
        queue: str,
        exchange: str,
        binding_key: str = "",
        *,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Messages to `exchange` whose routing key, or headers, match go to `queue` from now on."""
        self.execute(words.bind(queue, exchange, binding_key, arguments), timeout=timeout)

    def unbind(
        self,
        queue: str,
        exchange: str,
        binding_key: str = "",
        *,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Removes a binding."""
        self.execute(words.unbind(queue, exchange, binding_key, arguments), timeout=timeout)

    # --- messages ------------------------------------------------------------------------------------------------------------

    def get(self, queue: str, *, timeout: float | None = None) -> Message | None:
        """Fetches one message, to be settled; None when the queue is empty.  `subscribe` is the way to have many."""
        return self._asked(lambda: self._core.get(queue), timeout)

    def subscribe(
        self,
        queue: str,
        *,
        prefetch: int = PREFETCH,
        accept: bool = True,
        exclusive: bool = False,
        resubscribe: bool = False,
    ) -> Subscription:
        """Starts a consumer: receive from it, or iterate over it.

        `prefetch` bounds the messages that are here and not settled.  With `accept` each is to be settled; without, it is
        accepted as it is received.  `exclusive`: nobody else consumes from the queue.  `resubscribe`: it starts again when the
        server cancels it; else SubscriptionCancelled.
        """
        with self._lock:
            inbox = self._core.subscribe(queue, prefetch=prefetch, accept=accept, exclusive=exclusive, resubscribe=resubscribe)
        return Subscription(inbox, self._driver, self._lock, self._ending)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction: committed at the end of the block, rolled back when the block raises.

        What is published and accepted in it counts together or not at all.  TransactionFailed when it was not committed, or
        when nobody can know.  LocalProtocolError on a channel in confirm mode, which has published outside of a transaction.
        """
        with self._lock:
            self._opened(None, None)
            self._core.transaction.begin()
        try:
            yield
        except BaseException:
            with self._lock:
                self._core.transaction.roll_back()
            raise
        with self._lock:
            self._driver.wait(self._core.transaction.commit())


class Subscription:
    """Messages as they come: `for message in subscription`; as `with` it is cancelled at the end."""

    def __init__(self, inbox: Inbox, driver: Driver, turn: Turn, ending: Ending) -> None:
        self._inbox: Final = inbox
        self._driver: Final = driver
        self._lock: Final = turn
        self._ending: Final = ending

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            try:
                if not self._inbox.closed:
                    self._driver.wait(self._inbox.cancel(), self._ending.timeout)
            except (AmqpError, TimeoutError) as failure:
                if isinstance(failure, TimeoutError):
                    self._ending.missed()
                if error is None:  # else that one is told
                    raise
            finally:
                self._inbox.release()

    def __iter__(self) -> Iterator[Message]:
        while True:
            try:
                message = self.receive()
            except SubscriptionClosed:
                return
            yield message

    @property
    def consumer_tag(self) -> str:
        """What the consumer is called on its channel."""
        return self._inbox.tag

    def receive(self, timeout: float | None = None) -> Message:
        """The next message; TimeoutError when none comes within `timeout` seconds.

        SubscriptionClosed when nothing more comes because it was ended here, SubscriptionCancelled when the server ended it.
        """
        until = end_of(timeout)
        with self._lock:
            while (message := self._inbox.take()) is None:
                self._inbox.must_be_open()
                self._driver.wait(self._inbox.more, timeout, until)  # another thread may take what comes
            return message

    def stop(self) -> None:
        """Lets nothing more come; what has come may still be received, and goes back to the queue with the end of the block."""
        with self._lock:
            self._driver.wait(self._inbox.cancel(keep=True), self._ending.timeout)

    def cancel(self) -> None:
        """Ends the subscription; messages that came and were not received go back to the queue."""
        with self._lock:
            self._driver.wait(self._inbox.cancel(), self._ending.timeout)
