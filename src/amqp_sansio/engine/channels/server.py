"""A channel, server role."""

from __future__ import annotations

from amqp_sansio.engine.channels.acknowledging import fewest
from amqp_sansio.engine.channels.base import BaseChannel, Contents, MethodId
from amqp_sansio.engine.channels.breaches import ends_channel
from amqp_sansio.engine.channels.client import TagSet, as_tags
from amqp_sansio.engine.channels.saying import SERVER_SAYS, say
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.kernel.serials import TOP, RangeSet, serial_add
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic
from amqp_sansio.spec.reply_codes import ReplyCode


class ServedChannel(BaseChannel):
    """A channel that a client opened: get one by `accept`.

    What the client asks comes as `MethodReceived` and is answered by `reply`; what it publishes as `ContentReceived`; what it
    settles as `DeliveriesSettled`.
    """

    __slots__ = ()

    @property
    def flow_stopped(self) -> bool:
        """Whether the client has paused deliveries, and was answered (channel.flow)."""
        return not self._flow

    @property
    def unconfirmed(self) -> RangeSet:
        """The numbers of published messages that are to be confirmed."""
        return self.in_doubt

    def send(
        self, method: Method, properties: Contents = None, body: bytes | None = None, *, size: int | None = None
    ) -> MethodId:
        return say(self, SERVER_SAYS, method, properties, body, size)

    def deliver(
        self,
        consumer_tag: str,
        body: bytes = b"",
        properties: Contents = None,
        *,
        exchange: str = "",
        routing_key: str = "",
        redelivered: bool = False,
        size: int | None = None,
    ) -> int:
        """Delivers a message to a consumer (basic.deliver) and gives its tag, of which sets hold the lower 32 bits.

        FlowStopped while the client has paused it, LimitError (deliveries) when too many wait to be settled.
        """
        tag = self._deliveries.tags.last + 1
        self.send(basic.Deliver(consumer_tag, tag, redelivered, exchange, routing_key), properties, body, size=size)
        return tag & TOP

    def got(
        self,
        id: MethodId,
        body: bytes = b"",
        properties: Contents = None,
        *,
        exchange: str = "",
        routing_key: str = "",
        redelivered: bool = False,
        message_count: int = 0,
        size: int | None = None,
    ) -> int:
        """Answers basic.get with a message (basic.get-ok) and gives its tag; without one, `reply` with basic.get-empty."""
        tag = self._deliveries.tags.last + 1
        method = basic.GetOk(tag, redelivered, exchange, routing_key, message_count)
        self.reply(id, method, properties, body, size=size)
        return tag & TOP

    def return_(
        self,
        code: ReplyCode,
        text: str,
        exchange: str,
        routing_key: str,
        body: bytes = b"",
        properties: Contents = None,
    ) -> MethodId:
        """Returns a message that nothing could be done with (basic.return), before its confirm."""
        return self.send(basic.Return(code, text, exchange, routing_key), properties, body)

    def confirm(self, numbers: TagSet, *, taken: bool = True) -> None:
        """Confirms published messages, by the numbers of `ContentReceived`, in as few methods as mean that.

        `taken`: with basic.ack, else with basic.nack.  LocalProtocolError for a number that waits for no confirm.
        """
        ids = as_tags(numbers)
        verb = "basic.ack" if taken else "basic.nack"
        self._must_be_alive(verb)
        book = self._published
        missing = book.ids.outstanding.missing(ids)
        if missing:
            legal = (f"{verb} {self.in_doubt}",) if self.in_doubt else ()
            raise LocalProtocolError(f"{verb} {missing}", self.state, legal, "a message is confirmed once")
        named = [(book.tag_of(tag), multiple) for tag, multiple in fewest(ids, book.ids.outstanding, book.ids.next_id)]
        if not named:
            return
        methods = [basic.Ack(tag, multiple) if taken else basic.Nack(tag, multiple) for tag, multiple in named]
        self._may_say(methods[0])
        octets = b"".join([self._method_frame(method) for method in methods])
        self._last_id = serial_add(self._last_id, len(methods))
        self._write(octets)
        book.settle(ids)

    def cancel_consumer(self, consumer_tag: str) -> MethodId:
        """Ends a consumer, because its queue is gone, say (basic.cancel; capability consumer_cancel_notify of the client)."""
        return self.send(basic.Cancel(consumer_tag, True))

    def fail(self, code: ReplyCode, text: str, method: str = "") -> None:
        """Refuses what the client said with a reply code, which says what ends: the channel, or the connection.

        `method` is the name of the one at fault.
        """
        self._must_be_alive("connection.close")
        if ends_channel(self._channels.carrier._code("connection.close", code)):
            self.close(code, text, method)
        else:
            self._channels.carrier._close_for(code, text, method)
