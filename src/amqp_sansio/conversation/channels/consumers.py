"""The consumers of a channel: how they start and end, and the received messages of each that the program has not taken yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.inbox import PREFETCH, BaseInbox
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError, LimitError, LocalProtocolError, SubscriptionCancelled
from amqp_sansio.errors.checks import check_types
from amqp_sansio.events import Origin
from amqp_sansio.events.channel import ChannelClosed
from amqp_sansio.kernel.serials import RangeSet, whole
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic
from amqp_sansio.spec.reply_codes import ReplyCode

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.core import ChannelCore
    from amqp_sansio.engine.channels.client import Channel

BEYOND_OCTETS: Final = 64 * 1024 * 1024
"""Octets that a server may deliver beyond the prefetch: from a stream, RabbitMQ delivers a whole chunk once begun."""
MESSAGE_OCTETS: Final = 512
"""Octets counted per message besides its properties and body."""


_MOST_PREFETCH: Final = 65535
_HELD: Final = (ReplyCode.ACCESS_REFUSED, ReplyCode.RESOURCE_LOCKED)
"""With what RabbitMQ refuses a consumer where another one, or its queue, is exclusive to somebody else."""


class Inbox(BaseInbox[Message]):
    """A consumer with backpressure: the server delivers at most `prefetch` unsettled messages, or a little more
    (`BEYOND_OCTETS`).

    Where the program does not accept messages (`explicit` False), a message is accepted as it is taken, so that the same bound
    holds; brokers ignore the prefetch of a consumer with no-ack.
    """

    def __init__(
        self, core: ChannelCore, queue: str, tag: str, prefetch: int, explicit: bool, exclusive: bool, resubscribe: bool
    ) -> None:
        super().__init__(queue, tag)  # a server-named queue gets another name after a loss
        self.core: Final = core
        self.tag: Final = tag
        self.prefetch: Final = prefetch
        self.explicit: Final = explicit
        self.exclusive: Final = exclusive
        self.resubscribe: Final = resubscribe
        """Whether it starts again when the server cancels it."""
        self._keeps = False  # received messages may still be taken after the end
        self._begun: Ticket[Method] | None = None
        self._beyond = 0  # octets that came beyond what was requested
        self._former = 0  # messages of its former consumer that were here when it began
        self._again = False  # it starts again once fewer messages are here

    def arrive(self, message: Message) -> None:
        """Stores a message that arrived."""
        self.messages.append(message)
        if len(self.messages) > self.prefetch:
            self._count_beyond(message)
        else:
            self._beyond = 0
        self._wake()

    def _count_beyond(self, message: Message) -> None:
        """Counts messages beyond what was requested for this consumer; by the specification of 0-9-1, for the whole channel."""
        waiting, most = len(self.messages), self.core.consumers.window + self._former
        if waiting <= most:
            self._beyond = 0
            return
        self._beyond += len(message.received.header) + len(message.body) + MESSAGE_OCTETS
        if self._beyond > BEYOND_OCTETS:
            message._channel._refuse_deliveries(self.tag, waiting, most)

    def start_again(self) -> None:
        """Starts again after the server has cancelled it, as soon as no more than `prefetch` earlier messages are here."""
        self._again = len(self.messages) > self.prefetch
        if not self._again:
            self.core.consumers.start(self)

    def begins(self, begun: Ticket[Method]) -> None:
        """Notes that a consumer was requested; `begun` is settled with the answer."""
        self._begun = begun
        self._former = len(self.messages)
        self._again = False

    def take(self) -> Message | None:
        """Returns the next message, None when there is none for now.  When closed and empty, raises `error`, if any."""
        if not self.messages:
            self._must_not_have_failed()
            return None
        message = self.messages.popleft()
        if self._again:
            self.start_again()
        if self.core.traces is not None:
            self.core.traces.received(message)
        if not self.explicit:
            self.core.accept(message._channel, message.tag)
        return message

    def cancel(self, keep: bool = False) -> Ticket[None]:
        """Ends the consumer; settled when no more messages come.  Received ones go back to the queue, unless kept."""
        if self._cancelling is None:
            self._cancelling = Ticket()
            self._keeps = keep
            if self._closed:
                self._cancelling.settle(None)
            elif self.core.is_open and self._begun is not None and not self._again:
                self._begun.on_done(self._say_cancel)  # a cancel before consume-ok makes RabbitMQ close the connection (541)
            else:
                self.core.consumers.remove(self)
                self.ended()
        return self._cancelling

    def _say_cancel(self) -> None:
        cancelling, begun = self._cancelling, self._begun
        assert cancelling is not None
        assert begun is not None  # it is done
        if begun.error is not None:
            cancelling.fail(begun.error)
        elif self.core.is_open and not self._closed:
            try:
                said = self.core.execute(basic.Cancel(self.tag, False))
            except AmqpError as error:
                cancelling.fail(error)
            else:
                said.on_done(lambda: cancelling.fail(said.error) if said.error is not None else None)

    @property
    def cancelling(self) -> bool:
        """Whether its end was requested."""
        return self._cancelling is not None

    def ended(self) -> None:
        """Ends the inbox after its cancel: no more messages come."""
        if self._keeps:
            self.core.consumers.keeps(self)
        else:
            self.release()
        self._end(None)
        if self._cancelling is not None:
            self._cancelling.settle(None)

    def release(self) -> None:
        """Gives received messages that were not taken back to the queue."""
        tags = RangeSet([(message.tag, message.tag) for message in self.messages])
        self.messages.clear()
        if self.core.is_open and tags:
            self.core.put_back(self.core.channel, tags)  # but for those that the user has settled by a method of his own

    def taken_back(self) -> None:
        """Drops received messages, which will come again."""
        self.messages.clear()
        if self._again:
            self.start_again()

    def fail(self, error: Exception) -> None:
        """Ends it with an error; received messages, which cannot be settled any more, are dropped."""
        if self._closed:
            return
        self.messages.clear()
        self._end(error)
        if self._cancelling is not None:
            self._cancelling.fail(error)

    def _end(self, error: Exception | None) -> None:
        self._again = False
        super()._end(error)


class Consumers:
    """The consumers that have started, or will start with the channel, and have not ended."""

    def __init__(self, core: ChannelCore) -> None:
        self._core: Final = core
        self._made = 0
        self._stopped: Final[WeakSet[Inbox]] = WeakSet()  # that are over, and keep what came
        self._requested = 0  # messages, by all consumers
        self._widest = 0  # the most messages that one basic.qos has asked for
        self._restarted = 0  # the id of the last method that starts them with their channel
        self.delays: Iterator[float] = iter(())
        """Those before their channel is opened once more, if the server does not let them start again."""
        self.inboxes: Final[dict[str, Inbox]] = {}
        """By consumer tag."""

    @property
    def window(self) -> int:
        """How many messages were requested: by each consumer, as RabbitMQ counts, or for the whole channel by the last
        basic.qos, as the specification says; the larger one."""
        return max(self._widest, self._requested)

    def asked(self, messages: int) -> None:
        """Notes a basic.qos for `messages` messages."""
        self._widest = max(self._widest, messages)

    # --- how they start ------------------------------------------------------------------------------------------------------

    def subscribe(
        self, queue: str, *, prefetch: int = PREFETCH, accept: bool = True, exclusive: bool = False, resubscribe: bool = False,
    ) -> Inbox:  # fmt: skip
        """Starts a consumer, now or with the channel; see `Channel.subscribe`."""
        core = self._core
        core.must_live()
        check_types(str, queue=queue)
        check_types(bool, accept=accept, exclusive=exclusive, resubscribe=resubscribe)
        if not whole(prefetch, _MOST_PREFETCH) or isinstance(prefetch, bool) or not prefetch:
            raise LocalProtocolError("basic.consume", f"prefetch {prefetch!r}", (f"a prefetch of 1 to {_MOST_PREFETCH}",))
        most = core.client.config.limits.deliveries
        if self._requested + prefetch > most:
            raise LimitError("deliveries", most, self._requested + prefetch)
        self._made += 1
        tag = f"{core.client.prefix}-{core.index}-{self._made}"
        inbox = Inbox(core, queue, tag, prefetch, accept, exclusive, resubscribe)
        if core.is_open:
            self._consume(inbox)
        self.inboxes[tag] = inbox
        self._requested += prefetch
        return inbox

    def start(self, inbox: Inbox) -> None:
        """Starts a consumer whose user is only reachable through the inbox, which therefore gets any error."""
        try:
            self._consume(inbox)
        except AmqpError as error:
            self.remove(inbox)
            inbox.fail(error)

    def start_all(self, channel: Channel) -> None:
        """Starts all consumers on the open channel."""
        for inbox in list(self.inboxes.values()):
            self.start(inbox)
        self._restarted = channel._last_id

    def delay_behind(self, closed: ChannelClosed) -> float | None:
        """Returns after which delay to open their channel once more; None for never.

        The server refuses a consumer that starts again as long as it has not noticed the loss of the connection on which the
        consumer, or its queue, was exclusive.
        """
        refused = closed.code in _HELD and closed.method == basic.Consume.VERB
        return next(self.delays, None) if refused and closed.calls and closed.calls.first <= self._restarted else None

    def _consume(self, inbox: Inbox) -> None:
        core = self._core
        core.calls.call(basic.Qos(0, inbox.prefetch, False))
        inbox.begins(core.calls.call(basic.Consume(inbox.queue, inbox.tag, False, False, inbox.exclusive, False, 0, {}, {})))

    # --- how they end --------------------------------------------------------------------------------------------------------

    def cancelled(self, tag: str, origin: Origin) -> None:
        """Handles the cancellation of a consumer, by the server or here."""
        inbox = self.inboxes.get(tag)
        if inbox is None:
            return
        if origin is Origin.PEER and inbox.resubscribe:
            if not inbox.cancelling:  # else the server will answer our cancel too
                inbox.start_again()
            return
        self.remove(inbox)
        if origin is Origin.LOCAL:
            inbox.ended()
        else:
            inbox.release()  # its queue may still be there
            inbox.fail(SubscriptionCancelled(tag, inbox.queue))

    def taken_back(self) -> None:
        """Drops unsettled deliveries, which will come again under other tags."""
        for inbox in list(self.inboxes.values()):
            inbox.taken_back()
        self._drop_kept()

    def lost(self) -> None:
        """Handles the loss of the connection: consumers start again on the next one, unless they were cancelled."""
        for inbox in list(self.inboxes.values()):
            inbox.messages.clear()
            if inbox.cancelling:
                self.remove(inbox)
                inbox.ended()
        self._drop_kept()

    def named(self, tag: str, queue: str) -> None:
        """Records the queue of a consumer that the program started with "" for the last queue declared."""
        inbox = self.inboxes.get(tag)
        if inbox is not None:
            inbox._queue = queue

    def keeps(self, inbox: Inbox) -> None:
        """Records an inbox whose consumer is over, and whose messages the program may still take."""
        self._stopped.add(inbox)

    def _drop_kept(self) -> None:
        """Drops the messages of inboxes that `keeps` recorded: none can be settled any more, and the server delivers them
        again."""
        for inbox in list(self._stopped):
            inbox.messages.clear()
        self._stopped.clear()

    def remove(self, inbox: Inbox) -> None:
        """Forgets a consumer that is over."""
        if self.inboxes.pop(inbox.tag, None) is not None:
            self._requested -= inbox.prefetch
        self._core.client.unconsumed(inbox.queue)

    def end(self, error: AmqpError | None) -> None:
        """Ends all consumers with their channel; `error` is None where it was closed here."""
        inboxes = list(self.inboxes.values())
        self.inboxes.clear()
        self._requested = 0
        for inbox in inboxes:
            self._core.client.unconsumed(inbox.queue)
            if error is None:
                inbox.ended()
            else:
                inbox.fail(error)
        self._drop_kept()
