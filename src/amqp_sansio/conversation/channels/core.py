"""A channel as the program sees it, over as many connections as it needs: calls, messages, consumers and transactions."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.base_client import BaseCore
from amqp_sansio.conversation.channels.calls import REPLY_TO, Barrier, Calls, Requests, check_executable, check_mode
from amqp_sansio.conversation.channels.consumers import Consumers
from amqp_sansio.conversation.channels.in_flight import InFlight
from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.channels.properties import ChannelProperties, published
from amqp_sansio.conversation.ticket import Ticket, seen
from amqp_sansio.engine.channels.client import Channel, TagSet
from amqp_sansio.errors import (
    AmqpError,
    ChannelClosed,
    ConnectionLost,
    HeaderError,
    LimitError,
    LocalProtocolError,
    MessageNacked,
    SubscriptionCancelled,
    TransactionFailed,
)
from amqp_sansio.errors.checks import check_types
from amqp_sansio.events import Origin
from amqp_sansio.events import channel as events
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet
from amqp_sansio.kernel.value import octets_of
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic, confirm, tx
from amqp_sansio.spec.methods import channel as channels

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.client import ChannelClient


CONFIRMS: Final = "publisher_confirms"
_MODES: Final[dict[type[Method], str]] = {tx.Select: "tx", confirm.Select: "confirm"}
"""What is selected by which method: they exclude each other."""


class Transaction:
    """A transaction: what is published and accepted between `begin` and `commit` takes effect as a whole or not at all."""

    def __init__(self, core: ChannelCore) -> None:
        self._core: Final = core
        self.open = False
        """Whether a transaction has begun and not ended."""
        self._had = False  # there was one before
        self._lost = False
        self.untaken: Final = MutableRangeSet()
        """Deliveries that were returned in the open one because nobody had taken them."""

    @property
    def apart(self) -> bool:
        """Whether what is settled now belongs to no transaction although the channel is transactional."""
        return self._had and (self._lost or not self.open)

    def begin(self) -> None:
        """Begins a transaction.  Raises LocalProtocolError inside another one, and on a channel in confirm mode."""
        if self.open:
            raise LocalProtocolError("a transaction", "inside of another one", ("after its end",))
        self._core.select_tx()
        self.open = self._had = True
        self._lost = False

    def must_count(self, what: str) -> None:
        """Raises an error where what is published or accepted now would belong to a later block, or to none.

        LocalProtocolError after a block: the channel is transactional for good.  TransactionFailed in a block whose channel was
        lost.
        """
        if self.open and self._lost:
            raise TransactionFailed("rolled back", "the channel was lost")
        if self._had and not self.open:
            raise LocalProtocolError(
                what, "the channel has had a transaction", ("inside of transaction()", "on another channel")
            )

    def lost(self) -> None:
        """Notes that the channel is gone, so that the server has rolled back an open transaction."""
        self._lost = self.open
        self.untaken.clear()

    def commit(self) -> Ticket[None]:
        """Commits; fails with TransactionFailed unless the server confirms it."""
        done: Ticket[None] = Ticket()
        if self._lost:
            self.open = False
            done.fail(TransactionFailed("rolled back", "the channel was lost"))
            return done
        try:
            answered = self._core.execute(tx.Commit())
        finally:
            self._end()

        def settle() -> None:
            if answered.error is None:
                done.settle(None)
                return
            error = TransactionFailed("rolled back" if self._core.refused else "unknown", str(answered.error))
            error.__cause__ = answered.error
            done.fail(error)

        answered.on_done(settle)
        return done

    def roll_back(self) -> None:
        """Rolls back: the server takes back what was accepted, and drops what was published."""
        self._core._acks.clear()
        try:
            if self._core.is_open and not self._lost:
                self._core.execute(tx.Rollback())
        finally:
            self._end()

    def _end(self) -> None:
        self.open = False
        untaken = self.untaken.freeze()
        self.untaken.clear()
        if untaken and self._core.is_open:
            self._core.put_back(self._core.channel, untaken)


class ChannelCore(BaseCore):
    """One channel.  Every request to the server returns a `Ticket`: settled by the answer, or failed."""

    def __init__(self, client: ChannelClient, number: int, confirms: bool = True) -> None:
        super().__init__(client)
        self.client: Final = client
        self.index: Final = number
        """Its ordinal among the channels of the client; on each connection it has a channel number of its own."""
        self._channel: Channel | None = None
        self.error: AmqpError | None = None
        """Why it is over; None while it is not, or when it was closed here."""
        self.refused = False
        """Whether the server closed it: then it has executed no method that waits for an answer."""
        self.consumers: Final = Consumers(self)
        self.in_flight: Final = InFlight()
        self._mode: str | None = None  # "confirm" or "tx" once that was selected
        self._confirms: Final = confirms
        self._selects = False  # the first publish selects confirm mode
        self.calls: Final = Calls(self)
        self._acks: Final = MutableRangeSet()  # accepted, and not sent yet
        self._prompted = False  # somebody waits for an answer to what was published since the last question
        self._closing = False
        self.transaction: Final = Transaction(self)
        self.requests: Final = Requests(self)

    # --- state ---------------------------------------------------------------------------------------------------------------

    @property
    def channel(self) -> Channel:
        """The engine's channel on the present connection.  Raises the reason when there is none, or not yet."""
        self.must_live()
        if self._channel is None:
            raise LocalProtocolError("a method", "the channel is not open yet", ("once `opened` is settled",))
        return self._channel

    @property
    def number(self) -> int | None:
        """Its number on the present connection; None while there is none."""
        return None if self._channel is None or self._channel.closed_cause is not None else self._channel.number

    @property
    def is_open(self) -> bool:
        """Whether something may be sent now."""
        alive = self._channel is not None and self._channel.closed_cause is None
        return alive and self._opened.done and self._opened.error is None and not self._closing

    def must_live(self) -> None:
        """Raises why it is over."""
        if self.error is not None:
            raise seen(self.error)
        if self.ended.done or self._closing:
            raise self._closed_here

    @property
    def _closed_here(self) -> ChannelClosed:
        return ChannelClosed(0 if self._channel is None else self._channel.number, "it was closed here")

    # --- sending -------------------------------------------------------------------------------------------------------------

    def execute(self, method: Method) -> Ticket[Method]:
        """Sends a method; settled with its answer, or at once with the method itself where it requires none.

        LocalProtocolError for one that carries a content (`publish`) and for those that bring messages (`get`, `subscribe`).
        LimitError where more would be to be declared again than `Limits.declared`.
        """
        check_executable(method, self.channel._channels.codec)
        mode = _MODES.get(type(method))
        if mode is not None:
            check_mode(self._mode, mode, method)
        ticket = self.calls.call(method)
        if mode is not None:
            self._mode = mode
        elif isinstance(method, channels.Flow):
            self.calls.active = bool(method.active)
        return ticket

    def sync(self) -> Ticket[None]:
        """A barrier: settled when the server has executed all that was sent, and every message in flight is confirmed.

        In a transaction it waits for no messages, which only the commit settles.
        """
        return Barrier(self.calls.ask(), () if self._mode == "tx" else self.in_flight.tickets)

    # --- publishing ----------------------------------------------------------------------------------------------------------

    @property
    def has_room(self) -> bool:
        """Whether a message may be published within the limit in flight; False while the server pauses publishing.

        In a transaction there is no use in waiting for room, which only the commit makes: there `publish` has a limit.
        """
        channel = self._channel
        if channel is None or not self.is_open or channel.flow_stopped:
            return False
        return self._mode == "tx" or self.in_flight.has_room

    def publish(
        self, exchange: str, routing_key: str, body: bytes, properties: ChannelProperties, alone: bool = False
    ) -> Ticket[None]:
        """Publishes a message; settled when the server has taken it over, fails with what became of it instead.

        In confirm mode, selected by the first publish outside a transaction, the server confirms each message; without
        confirms, its next answer does, for which `alone` asks; in a transaction, the commit does.  Without `room` it raises
        LimitError or FlowStopped; in a transaction LimitError beyond `Limits.unconfirmed` messages.
        """
        if type(exchange) is not str or type(routing_key) is not str:  # None would be sent as ""
            check_types(str, exchange=exchange, routing_key=routing_key)
        if self.traces is not None:
            published(properties)  # raises for wrong properties
            return self.traces.publish(
                lambda said: self._post(exchange, routing_key, body, said, alone), exchange, routing_key, body, properties
            )
        return self._post(exchange, routing_key, body, properties, alone)

    def _post(self, exchange: str, routing_key: str, body: bytes, properties: ChannelProperties, alone: bool) -> Ticket[None]:
        body = body if type(body) is bytes else octets_of(body)
        self.transaction.must_count("publish")
        self.in_flight.must_have_room(len(body), self.client.config.limits.unconfirmed if self._mode == "tx" else None)
        said = published(properties)
        channel = self.channel
        if self._selects and self._mode is None:
            said.check(channel, exchange, routing_key, body)
            channel.select_confirm(no_wait=True)
            self._mode = "confirm"
        self.flush()
        number = said.publish(channel, exchange, routing_key, body)
        ticket = self.in_flight.add(number, exchange, routing_key, body, said.mandatory or said.immediate)
        ticket.heard = self.transaction.open  # the commit reports its outcome
        if alone:
            self.prompt()
        self.client.wake()
        return ticket

    def prompt(self) -> None:
        """Called when a call waits for messages to be confirmed: without confirms, asks for an answer after them."""
        if self._mode is not None or not self.in_flight or not self.is_open:
            return
        self._prompted = bool(self.calls)  # their answers may be to what was said before the messages
        if not self._prompted:
            self.calls.ask()

    def select_tx(self) -> None:
        """Makes the channel transactional, unless it is.  Raises LocalProtocolError in confirm mode."""
        self.must_live()
        self.flush()
        if self._mode != "tx":
            self.execute(tx.Select())

    # --- consuming -----------------------------------------------------------------------------------------------------------

    def accept(self, channel: Channel, tag: int) -> None:
        """Notes that a delivery is accepted; sent with others before anything else is sent or output is taken."""
        with self.client.guard:
            outstanding = channel._deliveries.tags.ids.outstanding
            gone = channel is not self._channel or channel.closed_cause is not None
            if gone or tag in self._acks or tag not in outstanding:
                self.flush()  # a tag in `_acks` is settled then
                channel.ack(tag)  # raises the reason why that cannot be
                return
            if self._mode == "tx":
                self._may_settle(channel)
            self._acks.add(tag)
            self.client.owes(self)
            self.client.wake()

    def _may_settle(self, channel: Channel) -> None:
        """Raises LimitError when a transaction has settled too much, in this call and not when the acknowledgement is sent."""
        most = channel._carrier.limits.ranges
        ranges = channel._deliveries.ranges_with(self._acks.freeze()) + 1
        if ranges > most:
            raise LimitError("ranges", most, ranges)

    def give_back(self, channel: Channel, tags: TagSet, requeue: bool) -> None:
        """Returns deliveries to their queue, or rejects them."""
        with self.client.guard:
            if channel is self._channel:
                self.flush()
            channel.nack(tags, requeue=requeue)
            self._take_effect()
            self.client.wake()

    def put_back(self, channel: Channel, tags: RangeSet) -> None:
        """Returns deliveries that nobody has taken to their queue, as far as they are unsettled; what a transaction undoes of
        that, its end does again."""
        if self.transaction.open:
            self.transaction.untaken.update(tags)
        unsettled = channel._deliveries.tags.ids.outstanding.common(tags)
        with suppress(LimitError):  # a transaction has settled too much: they go back with its end
            if unsettled:
                self.give_back(channel, unsettled, True)

    def flush(self) -> None:
        """Sends the pending acknowledgements."""
        if self._acks and self._channel is not None:
            ids = self._acks.freeze()
            self._acks.clear()
            if self.is_open:
                self._channel.ack(ids)
                self._take_effect()

    def _take_effect(self) -> None:
        """Commits what was settled outside of the transactions of a channel: without that, the server does nothing about it."""
        if self.transaction.apart:
            with suppress(LimitError):  # too many calls wait: the next commit does it
                self.calls.call(tx.Commit())

    # --- its end -------------------------------------------------------------------------------------------------------------

    def close(self) -> Ticket[None]:
        """Closes the channel; settled when that is answered."""
        if not self._closing and not self.ended.done:
            self.flush()
            self._closing = True
            if self._channel is not None and self._channel.closed_cause is None:
                self._channel.close()
                self.client.wake()
            else:
                self._over(None)
        return self.ended

    # --- receiving -----------------------------------------------------------------------------------------------------------

    def _open_on(self, channel: Channel) -> None:
        """Takes a channel of a new connection and selects its modes again; calls wait for ChannelOpened."""
        if self._channel is not None:
            self._remade += 1
        self._channel = channel
        self.calls.begin()
        self._prompted = False
        there = channel._channels
        self._selects = self._confirms and "confirm.select" in there.verbs and there.carrier.capable(CONFIRMS)

    def _hear(self, event: object) -> None:
        match event:
            case events.ChannelOpened():
                self._restored()
            case events.MessageDelivered():
                self._delivered(event)
            case events.MethodAnswered(id=id, method=method):
                self._answered(id, method)
            case events.Confirmed(ids=ids):
                self.in_flight.confirmed(ids)
                self._check_room()
            case events.Nacked(ids=ids):
                self.in_flight.refused(ids, MessageNacked)
                self._check_room()
            case events.MessageReturned():
                returned = self.in_flight.returned(event)
                if returned is not None and self._mode == "tx":
                    returned.heard = False  # the commit says nothing of it
            case events.MessageGot(id=id):
                assert self._channel is not None  # it brought it
                got, queue = self.calls._gets.pop(id)
                got.settle(self._traced(Message(event, self, self._channel, "", queue)))
            case events.ConsumerCancelled(consumer_tag=tag, origin=origin):
                self._cancelled(tag, origin)
            case events.FlowChanged():
                self._check_room()
            case events.ChannelClosed():
                self._closed(event)

    def _restored(self) -> None:
        channel = self._channel
        assert channel is not None
        self._opened.settle(None)
        try:
            if self._mode == "confirm":
                channel.select_confirm(no_wait=True)
            elif self._mode == "tx":
                self.calls.call(tx.Select())
        except AmqpError as error:  # this broker cannot do what the one before could
            channel.close()
            self._over(error)
        self.consumers.start_all(channel)
        self._check_room()
        self.client.wake()

    def _delivered(self, event: events.MessageDelivered) -> None:
        tag = event.method.consumer_tag
        if self.calls.recovering and tag != REPLY_TO:
            return  # the server has taken it back by now, and nobody may settle it
        inbox = self.consumers.inboxes.get(tag)
        channel = self._channel
        assert channel is not None  # the message came on it
        if inbox is not None:
            inbox.arrive(Message(event, self, channel, tag, inbox.queue))
        elif tag == REPLY_TO:
            with suppress(HeaderError):  # an unreadable correlation id answers no request
                id = event.properties.correlation_id or ""
                self.requests.answered(id, self._traced(Message(event, self, channel, tag, REPLY_TO)))
        elif channel.closed_cause is None:
            self.put_back(channel, RangeSet.of(event.tag))  # it was in flight when its consumer was cancelled

    def _traced(self, message: Message) -> Message:
        if self.traces is not None:
            self.traces.received(message)
        return message

    def _answered(self, id: int, method: Method) -> None:
        if self.calls.came_empty(id):
            return
        if isinstance(method, basic.RecoverOk | basic.RecoverSyncOk):
            self.calls.recovering -= 1
            self.taken_back()  # what came after the question was on its way when the server did so
        if self._mode != "confirm" and self.in_flight and self._channel is not None:
            self.in_flight.answered(self._channel._published.ids.outstanding, isinstance(method, tx.RollbackOk))
            self._check_room()
        self.calls.answered(id, method)
        if self._prompted and not self.calls and self.number is not None:
            self.prompt()

    def taken_back(self) -> None:
        """Drops accepts and received messages: the server delivers again what is not settled, under other tags."""
        self._acks.clear()
        self.consumers.taken_back()

    def _cancelled(self, tag: str, origin: Origin) -> None:
        if tag == REPLY_TO:  # the next request consumes again; earlier ones get no answer
            self.requests.lost(SubscriptionCancelled(tag, REPLY_TO))
        self.consumers.cancelled(tag, origin)

    def _closed(self, event: events.ChannelClosed) -> None:
        channel = self._channel
        cause = (channel and channel.closed_cause) or "it was lost"
        error = ChannelClosed(event.channel, cause, event.code, event.text, event.method)
        lost = self.client.losing
        self.refused = event.origin is Origin.PEER and event.code is not None
        self._interrupt(error)
        delay = self.consumers.delay_behind(event)
        if (lost or delay is not None) and self.client.comes_back and not self._closing:
            if self._opened.done:  # else somebody may wait for it: the next connection settles it
                self._opened = Ticket()
            self.transaction.lost()
            self.consumers.lost()
            if delay is not None:
                self.client.open_later(self, delay)
        else:
            self._over(None if self._closing else error)

    def _interrupt(self, error: AmqpError) -> None:
        """Fails everything that waits for an answer, because the channel on this connection is gone."""
        self._acks.clear()
        self.calls.fail(error)
        self.requests.lost(error)
        self.in_flight.lost(error)

    def _over(self, error: Exception | None) -> None:
        if self.ended.done:
            return
        self.error = error if error is None or isinstance(error, AmqpError) else ConnectionLost(str(error))
        gone = self.error or self._closed_here
        self._interrupt(gone)
        self.consumers.end(self.error)
        self.client.gone(self)
        self._end(self.error, gone)

    def __repr__(self) -> str:
        return f"<ChannelCore {self.number}, {len(self.in_flight)} in flight>"
