"""A channel in the server role (0-8, 0-9 and 0-9-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from amqp_sansio.engine.channels.base import BaseChannel, ContentProperties, MethodCheck, MethodId, fewest
from amqp_sansio.engine.channels.breaches import ends_channel
from amqp_sansio.engine.channels.client import TagSet, as_tags
from amqp_sansio.engine.channels.saying import SERVER_SAYS
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.kernel.serials import TOP, RangeSet, serial_add
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic
from amqp_sansio.spec.reply_codes import ReplyCode


class ServedChannel(BaseChannel):
    """A channel that a client opened; get one from `accept`.

    The client's requests arrive as `MethodReceived` and are answered by `reply`; its publishes arrive as `ContentReceived`, its
    acknowledgements and rejections as `DeliveriesSettled`.
    """

    __slots__ = ()
    _checks: ClassVar[Mapping[type[Method], MethodCheck]] = SERVER_SAYS

    @property
    def flow_stopped(self) -> bool:
        """Whether the client has paused deliveries, and was answered (channel.flow)."""
        return not self._flow

    @property
    def unconfirmed(self) -> RangeSet:
        """The numbers of published messages that await a confirm."""
        return self.in_doubt

    def deliver(
        self,
        consumer_tag: str,
        body: bytes = b"",
        properties: ContentProperties = None,
        *,
        exchange: str = "",
        routing_key: str = "",
        redelivered: bool = False,
        size: int | None = None,
    ) -> int:
        """Delivers a message to a consumer (basic.deliver) and returns its tag, of which sets hold the lower 32 bits.

        Raises FlowStopped while the client has paused deliveries, and LimitError (deliveries) when too many are unsettled.
        """
        tag = self._deliveries.tags.last + 1
        self.send(basic.Deliver(consumer_tag, tag, redelivered, exchange, routing_key), properties, body, size=size)
        return tag & TOP

    def got(
        self,
        id: MethodId,
        body: bytes = b"",
        properties: ContentProperties = None,
        *,
        exchange: str = "",
        routing_key: str = "",
        redelivered: bool = False,
        message_count: int = 0,
        size: int | None = None,
    ) -> int:
        """Answers basic.get with a message (basic.get-ok) and returns its tag; to answer without one, `reply` with
        basic.get-empty."""
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
        properties: ContentProperties = None,
    ) -> MethodId:
        """Returns an undeliverable message to the client (basic.return), before its confirm."""
        return self.send(basic.Return(code, text, exchange, routing_key), properties, body)

    def confirm(self, numbers: TagSet, *, taken: bool = True) -> None:
        """Confirms published messages, by the numbers of `ContentReceived`, in as few methods as possible.

        Sends basic.ack if `taken`, else basic.nack.  Raises LocalProtocolError for a number that awaits no confirm.
        """
        ids = as_tags(numbers)
        verb = "basic.ack" if taken else "basic.nack"
        self._must_be_alive(verb)
        book = self._published
        missing = book.ids.outstanding.missing(ids)
        if missing:
            legal = (f"{verb} {self.in_doubt}",) if self.in_doubt else ()
            why = "a message is confirmed once" if self.mode == "confirming" else "the client has not selected confirms"
            raise LocalProtocolError(f"{verb} {missing}", self.state, legal, why)
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
        """Cancels a consumer, for example when its queue is gone (basic.cancel; needs the client's consumer_cancel_notify)."""
        return self.send(basic.Cancel(consumer_tag, True))

    def fail(self, code: ReplyCode, text: str, method: str = "") -> None:
        """Refuses what the client sent, with a reply code that determines whether the channel or the connection ends.

        `method` names the method at fault.
        """
        self._must_be_alive("connection.close")
        if ends_channel(self._carrier._code("connection.close", code)):
            self.close(code, text, method)
        else:
            self._carrier._close_for(code, text, method)
