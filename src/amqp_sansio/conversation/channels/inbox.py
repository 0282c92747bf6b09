"""Received messages of one consumer that the program has not taken yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.inbox import BaseInbox
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.core import ChannelCore

BEYOND_OCTETS: Final = 64 * 1024 * 1024
"""Octets that a server may deliver beyond the prefetch: from a stream, RabbitMQ delivers a whole chunk once begun."""
MESSAGE_OCTETS: Final = 512
"""Octets counted per message besides its properties and body."""


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
