"""The consumers of a channel: their inboxes by tag, how they start, and what ends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from amqp_sansio.conversation.channels.inbox import Inbox
from amqp_sansio.errors import AmqpError, LocalProtocolError, SubscriptionCancelled
from amqp_sansio.events import Origin
from amqp_sansio.kernel.lines import whole
from amqp_sansio.spec.methods import basic

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.core import ChannelCore

_MOST_PREFETCH: Final = 65535


class Consumers:
    """Those that have begun, or begin with the channel, and are not over."""

    __slots__ = ("_core", "_made", "_stopped", "_widest", "inboxes")

    def __init__(self, core: ChannelCore) -> None:
        self._core: Final = core
        self._made = 0
        self._stopped: Final[WeakSet[Inbox]] = WeakSet()  # that are over, and keep what came
        self._widest = 0  # the most messages that one basic.qos has asked for
        self.inboxes: Final[dict[str, Inbox]] = {}
        """By tag."""

    @property
    def window(self) -> int:
        """How many messages were asked for: of each consumer, as RabbitMQ counts, or of all of the channel by the last
        basic.qos, as the documents say."""
        return max(self._widest, sum([inbox.prefetch for inbox in self.inboxes.values()]))

    def asked(self, messages: int) -> None:
        """A basic.qos was sent that asks for `messages` messages at most."""
        self._widest = max(self._widest, messages)

    # --- how they start ------------------------------------------------------------------------------------------------------

    def subscribe(self, queue: str, prefetch: int, accept: bool, exclusive: bool, resubscribe: bool) -> Inbox:
        """Starts one, now or with the channel: see `Channel.subscribe`."""
        if not whole(prefetch, _MOST_PREFETCH) or not prefetch:
            raise LocalProtocolError("basic.consume", f"prefetch {prefetch!r}", (f"a prefetch of 1 to {_MOST_PREFETCH}",))
        core = self._core
        self._made += 1
        tag = f"{core.client.prefix}-{core.index}-{self._made}"
        inbox = Inbox(core, queue, tag, prefetch, accept, exclusive, resubscribe)
        if core.is_open:
            self._consume(inbox)
        self.inboxes[tag] = inbox
        return inbox

    def start(self, inbox: Inbox) -> None:
        """Starts one of which the user hears by the inbox alone: so of what is in its way."""
        try:
            self._consume(inbox)
        except AmqpError as error:
            self.remove(inbox)
            inbox.fail(error)

    def start_all(self) -> None:
        """The channel is open."""
        for inbox in list(self.inboxes.values()):
            self.start(inbox)

    def _consume(self, inbox: Inbox) -> None:
        core = self._core
        core.calls.call(basic.Qos(0, inbox.prefetch, False))
        inbox.begins(core.calls.call(basic.Consume(inbox.queue, inbox.tag, False, False, inbox.exclusive, False, 0, {}, {})))

    # --- what ends them ------------------------------------------------------------------------------------------------------

    def cancelled(self, tag: str, origin: Origin) -> None:
        """One is cancelled, by the server or here."""
        inbox = self.inboxes.get(tag)
        if inbox is None:
            return
        if origin is Origin.PEER and inbox.resubscribe:
            if not inbox.cancelling:  # else the server answers that, too
                inbox.start_again()
            return
        self.remove(inbox)
        if origin is Origin.LOCAL:
            inbox.ended()
        else:
            inbox.fail(SubscriptionCancelled(tag, inbox.queue))

    def taken_back(self) -> None:
        """What was delivered and not settled comes again, under other tags."""
        for inbox in list(self.inboxes.values()):
            inbox.taken_back()
        self._drop_kept()

    def lost(self) -> None:
        """The connection is gone: they begin with the next one, with the same messages, unless their end was wanted."""
        for inbox in list(self.inboxes.values()):
            inbox.messages.clear()
            if inbox.cancelling:
                self.remove(inbox)
                inbox.ended()
        self._drop_kept()

    def named(self, tag: str, queue: str) -> None:
        """The one with this tag, which was asked for with "", consumes from this queue."""
        inbox = self.inboxes.get(tag)
        if inbox is not None:
            inbox._queue = queue

    def keeps(self, inbox: Inbox) -> None:
        """It is over, and what came may still be taken from it."""
        self._stopped.add(inbox)

    def _drop_kept(self) -> None:
        """What came and was kept goes back without us: nothing of it can be settled any more."""
        for inbox in list(self._stopped):
            inbox.messages.clear()
        self._stopped.clear()

    def remove(self, inbox: Inbox) -> None:
        """It is over, unless it was before."""
        self.inboxes.pop(inbox.tag, None)
        self._core.client.unconsumed(inbox.queue)

    def end(self, error: AmqpError | None) -> None:
        """The channel is over for good: why, None where it was closed here."""
        inboxes = list(self.inboxes.values())
        self.inboxes.clear()
        for inbox in inboxes:
            self._core.client.unconsumed(inbox.queue)
            if error is None:
                inbox.ended()
            else:
                inbox.fail(error)
        self._drop_kept()
