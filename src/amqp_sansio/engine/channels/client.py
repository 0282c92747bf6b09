"""A channel in the client role (0-8, 0-9 and 0-9-1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import ClassVar, Final, TypeAlias

from amqp_sansio.engine.channels.base import (
    CONFIRMING,
    LARGEST,
    OPENED,
    BaseChannel,
    ContentProperties,
    MethodCheck,
    MethodId,
    fewest,
    one_by_one,
)
from amqp_sansio.engine.channels.saying import CLIENT_SAYS, may_settle, unsettleable
from amqp_sansio.errors import ChannelClosedError, ConnectionClosedError, EncodeError, StaleDelivery
from amqp_sansio.kernel.serials import TOP, RangeSet, serial_add, serial_lt, whole
from amqp_sansio.ledger.tags import TWICE, UNKNOWN
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.codes import DeliveryMode
from amqp_sansio.spec.methods import access, basic, confirm, exchange, queue, tx
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.tables.channel import CAPABILITIES
from amqp_sansio.wire.encoding import SHORT, UNWRITABLE, put_short
from amqp_sansio.wire.method_codec import CLASS_AND_WEIGHT, END, Publishing, put_header
from amqp_sansio.wire.method_frames import HEADER_HEAD
from amqp_sansio.wire.primitives import OCTET, OCTET_OF, put_u16, put_u32, put_u64

TagSet: TypeAlias = RangeSet | int | Iterable[int]
"""Tags as a set, as one tag or as an iterable of tags."""


def as_tags(tags: TagSet) -> RangeSet:
    """Returns a set of tags, of which it holds the lower 32 bits.  Raises EncodeError for anything else."""
    if isinstance(tags, RangeSet):
        return tags
    try:
        each = [tags] if isinstance(tags, int) else list(tags)
        if all(whole(tag, LARGEST) for tag in each):
            return RangeSet.of(*[tag & TOP for tag in each])
    except TypeError:
        pass
    raise EncodeError("delivery-tag", "takes a set of tags, one tag or several, numbers of 64 bits")


class Channel(BaseChannel):
    """A channel of a client; get one from a connection.

    Methods sent before ChannelOpened are not queued; they go out at once.  A call that sends a method returns its id, by which
    `MethodAnswered` names it; with `no_wait` no answer comes.  When the server refuses a method it closes the channel, and
    ChannelClosed lists what was outstanding.
    """

    __slots__ = ()
    _checks: ClassVar[Mapping[type[Method], MethodCheck]] = CLIENT_SAYS

    @property
    def flow_stopped(self) -> bool:
        """Whether the server has paused publishing (channel.flow)."""
        return not self._flow

    def send(
        self, method: Method, properties: ContentProperties = None, body: bytes | None = None, *, size: int | None = None
    ) -> MethodId:
        if self._cause is not None and isinstance(method, (basic.Ack, basic.Nack, basic.Reject)):
            raise StaleDelivery(method.VERB, self.number, self._cause)
        return super().send(method, properties, body, size=size)

    # --- exchanges and queues ---------------------------------------------------------------------------------------------

    def declare_exchange(
        self,
        name: str,
        type: str = "direct",
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        arguments: Mapping[str, object] | None = None,
        no_wait: bool = False,
        ticket: int = 0,
    ) -> MethodId:
        """Creates an exchange, or with `passive` only checks that it exists (exchange.declare)."""
        return self.send(
            exchange.Declare(name, type, passive, durable, no_wait, arguments or {}, ticket, auto_delete, internal)
        )

    def delete_exchange(self, name: str, *, if_unused: bool = False, no_wait: bool = False, ticket: int = 0) -> MethodId:
        """Deletes an exchange (exchange.delete)."""
        return self.send(exchange.Delete(name, if_unused, no_wait, ticket))

    def bind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        arguments: Mapping[str, object] | None = None,
        no_wait: bool = False,
    ) -> MethodId:
        """Binds an exchange to another one (exchange.bind; needs capability exchange_exchange_bindings)."""
        return self.send(exchange.Bind(destination, source, routing_key, no_wait, arguments or {}, 0))

    def unbind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        arguments: Mapping[str, object] | None = None,
        no_wait: bool = False,
    ) -> MethodId:
        """Removes a binding between exchanges (exchange.unbind; needs capability exchange_exchange_bindings)."""
        return self.send(exchange.Unbind(destination, source, routing_key, no_wait, arguments or {}, 0))

    def declare_queue(
        self,
        name: str = "",
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, object] | None = None,
        no_wait: bool = False,
        ticket: int = 0,
    ) -> MethodId:
        """Creates a queue, or with `passive` only checks that it exists (queue.declare); for "" the server generates a name."""
        return self.send(queue.Declare(name, passive, durable, exclusive, auto_delete, no_wait, arguments or {}, ticket))

    def bind_queue(
        self,
        queue_name: str,
        exchange_name: str,
        routing_key: str = "",
        *,
        arguments: Mapping[str, object] | None = None,
        no_wait: bool = False,
        ticket: int = 0,
    ) -> MethodId:
        """Binds a queue to an exchange (queue.bind)."""
        return self.send(queue.Bind(queue_name, exchange_name, routing_key, no_wait, arguments or {}, ticket))

    def unbind_queue(
        self,
        queue_name: str,
        exchange_name: str,
        routing_key: str = "",
        *,
        arguments: Mapping[str, object] | None = None,
        ticket: int = 0,
    ) -> MethodId:
        """Removes a binding of a queue (queue.unbind)."""
        return self.send(queue.Unbind(queue_name, exchange_name, routing_key, arguments or {}, ticket))

    def purge_queue(self, name: str, *, no_wait: bool = False, ticket: int = 0) -> MethodId:
        """Removes the messages of a queue that do not await acknowledgement (queue.purge)."""
        return self.send(queue.Purge(name, no_wait, ticket))

    def delete_queue(
        self, name: str, *, if_unused: bool = False, if_empty: bool = False, no_wait: bool = False, ticket: int = 0
    ) -> MethodId:
        """Deletes a queue (queue.delete)."""
        return self.send(queue.Delete(name, if_unused, if_empty, no_wait, ticket))

    def request_access(
        self,
        realm: str,
        *,
        exclusive: bool = False,
        passive: bool = False,
        active: bool = False,
        write: bool = False,
        read: bool = False,
    ) -> MethodId:
        """Asks for an access ticket (access.request), which other methods of the older versions carry."""
        return self.send(access.Request(realm, exclusive, passive, active, write, read))

    # --- publishing -------------------------------------------------------------------------------------------------------

    def publish(
        self,
        exchange: str = "",
        routing_key: str = "",
        body: bytes = b"",
        properties: ContentProperties = None,
        *,
        mandatory: bool = False,
        immediate: bool = False,
        size: int | None = None,
        content_type: str | None = None,
        content_encoding: str | None = None,
        headers: Mapping[str, object] | None = None,
        delivery_mode: DeliveryMode | None = None,
        priority: int | None = None,
        correlation_id: str | None = None,
        reply_to: str | None = None,
        expiration: str | None = None,
        message_id: str | None = None,
        timestamp: int | None = None,
        type: str | None = None,
        user_id: str | None = None,
        app_id: str | None = None,
        ticket: int = 0,
    ) -> int:
        """Publishes a message (basic.publish) and returns its number; numbers on a channel start at 1, in whatever mode.

        `Confirmed`, `Nacked`, `MessageReturned` and `ChannelClosed` refer to the message by this number.  Give properties one
        by one, or in `properties`: a value, or the `property_octets` of another message.  `size` is the size of the whole body
        in octets; send what `body` lacks of it by `body()`.

        Raises FlowStopped while the server has paused publishing, and LimitError (unconfirmed) when too many messages await a
        confirm.
        """
        carrier = self._carrier
        frames: bytes | None = None
        writer = self._writer or self._begin_writing()
        if (
            size is not None or _type(body) is not bytes or _type(ticket) is not int or carrier._closed_cause is not None
            or (self._mode.states[0] == CONFIRMING and self._published.count >= carrier.limits.unconfirmed)
        ):  # fmt: skip
            writer = None  # something that `send` looks at is in the way
        if writer is not None and properties is None:
            # What `write_basic_properties` and `Publishing.write` do, in one place: two calls with all of this would take an
            # eighth of the time of a publish.
            try:
                begin = writer.beginnings.get((content_type, content_encoding))
                flags, octets = begin or writer.begin(content_type, content_encoding)
                parts = [octets]
                if headers is not None:
                    flags += 0x2000
                    parts.append(writer.write_flat(headers) if _type(headers) is dict else writer.write_table(headers))
                if delivery_mode is not None:
                    flags += 0x1000
                    parts.append(OCTET_OF[delivery_mode])
                if priority is not None:
                    flags += 0x0800
                    parts.append(OCTET_OF[priority])
                if correlation_id is not None:
                    flags += 0x0400
                    text = correlation_id.encode()
                    parts.append(OCTET[len(text)])
                    parts.append(text)
                if reply_to is not None:
                    flags += 0x0200
                    parts.append(SHORT.get(reply_to) or put_short(reply_to))
                if expiration is not None:
                    flags += 0x0100
                    text = expiration.encode()
                    parts.append(OCTET[len(text)])
                    parts.append(text)
                if message_id is not None:
                    flags += 0x0080
                    text = message_id.encode()
                    parts.append(OCTET[len(text)])
                    parts.append(text)
                if timestamp is not None:
                    flags += 0x0040
                    parts.append(put_u64(timestamp))
                if type is not None:
                    flags += 0x0020
                    parts.append(SHORT.get(type) or put_short(type))
                if user_id is not None:
                    flags += 0x0010
                    parts.append(SHORT.get(user_id) or put_short(user_id))
                if app_id is not None:
                    flags += 0x0008
                    parts.append(SHORT.get(app_id) or put_short(app_id))
                values, length = b"".join(parts), len(body)
                header, most = HEADER_HEAD + len(values), writer.most
                head = writer.heads.get((exchange, routing_key, mandatory, immediate, ticket))
                if head is None or header > most or not 0 < length <= most:
                    frames = writer.write(exchange, routing_key, put_u16(flags) + values, body, mandatory, immediate, ticket)
                else:
                    begins = put_header(header, CLASS_AND_WEIGHT, length, flags)
                    frames = b"".join((head, begins, values, writer.body_begins, put_u32(length), body, END))
            except (EncodeError, *UNWRITABLE):
                pass  # `send` writes it, or names what is wrong with it
        if frames is None:
            said = (
                content_type, content_encoding, headers, delivery_mode, priority, correlation_id, reply_to, expiration,
                message_id, timestamp, type, user_id, app_id, None,
            )  # fmt: skip
            if writer is not None and isinstance(properties, basic.Properties) and said == _NOTHING_SAID:
                with suppress(EncodeError, *UNWRITABLE):  # see above
                    values = writer.flags_of(properties)
                    frames = writer.write(exchange, routing_key, values, body, mandatory, immediate, ticket)
            if frames is None:
                if said != _NOTHING_SAID:
                    if properties is not None:
                        raise EncodeError("basic.publish", "properties are given one by one or in `properties`, not both")
                    properties = basic.Properties(*said)
                self.send(basic.Publish(exchange, routing_key, mandatory, immediate, ticket), properties, body, size=size)
                return self._published.last & TOP
        if carrier._wake is not None and carrier._written == carrier._taken:  # `Carrier._write` inlined
            carrier._wake()
        carrier._outbox.append(frames)
        carrier._written += len(frames)
        self._last_id = self._last_id + 1 & TOP
        number = self._published.give_next() & TOP
        if mandatory or immediate:
            self._returnable.publish(number, exchange, routing_key, self._published.ids.outstanding)
        return number

    def _begin_writing(self) -> Publishing | None:
        """Returns the writer of plain publishes, which `publish` uses until `_writer` is forgotten; None: something is in the
        way of them."""
        channels = self._channels
        if (
            self._cause is None and not self._body_left and self._flow and self._life.states[0] == OPENED
            and not channels.blocked_raises
        ):  # fmt: skip
            carrier = self._carrier
            self._writer = Publishing(channels.codec, self.number, carrier._max_frame_size, carrier.limits)
        return self._writer

    def select_confirm(self, *, no_wait: bool = False) -> MethodId:
        """Requests a confirm of each message from now on (confirm.select; needs capability publisher_confirms)."""
        return self.send(confirm.Select(no_wait))

    def select_tx(self) -> MethodId:
        """Makes the channel transacted (tx.select)."""
        return self.send(tx.Select())

    def commit(self) -> MethodId:
        """Commits the publishes and acknowledgements of the transaction (tx.commit)."""
        return self.send(tx.Commit())

    def rollback(self) -> MethodId:
        """Rolls the transaction back: its publishes are dropped, its acknowledged deliveries are unsettled again
        (tx.rollback)."""
        return self.send(tx.Rollback())

    # --- consuming --------------------------------------------------------------------------------------------------------

    def qos(self, prefetch_count: int = 0, *, prefetch_size: int = 0, everywhere: bool = False) -> MethodId:
        """Limits how many deliveries may be unsettled (basic.qos); 0: unlimited.

        `everywhere` is the bit global: the limit holds for the whole connection; with RabbitMQ for the whole channel, instead
        of for each new consumer.
        """
        return self.send(basic.Qos(prefetch_size, prefetch_count, everywhere))

    def consume(
        self,
        queue_name: str,
        consumer_tag: str = "",
        *,
        no_local: bool = False,
        no_ack: bool = False,
        exclusive: bool = False,
        arguments: Mapping[str, object] | None = None,
        no_wait: bool = False,
        ticket: int = 0,
    ) -> MethodId:
        """Starts a consumer (basic.consume); for "" the server generates a tag.  `arguments` also serve as the filter of
        0-9."""
        said = arguments or {}
        return self.send(basic.Consume(queue_name, consumer_tag, no_local, no_ack, exclusive, no_wait, ticket, said, said))

    def cancel(self, consumer_tag: str, *, no_wait: bool = False) -> MethodId:
        """Ends a consumer (basic.cancel); deliveries in flight still arrive, until ConsumerCancelled."""
        return self.send(basic.Cancel(consumer_tag, no_wait))

    def get(self, queue_name: str, *, no_ack: bool = False, ticket: int = 0) -> MethodId:
        """Fetches one message (basic.get): MessageGot follows, or MethodAnswered with basic.get-empty."""
        return self.send(basic.Get(queue_name, no_ack, ticket))

    def ack(self, tags: TagSet) -> None:
        """Acknowledges deliveries, in as few methods as possible (basic.ack).

        Raises StaleDelivery on a closed channel; LocalProtocolError for a tag that was never delivered or is settled;
        LimitError (ranges) when a transaction has settled too many tags that are not consecutive.
        """
        self._settle("basic.ack", tags, basic.Ack)

    def nack(self, tags: TagSet, *, requeue: bool = True) -> None:
        """Rejects deliveries, in as few methods as possible: by basic.nack, or by basic.reject where the server lacks it.

        With `requeue` the server delivers them again, otherwise it drops or dead-letters them.  Raises as `ack` does.
        """
        channels = self._channels
        if "basic.nack" not in channels.verbs or not self._carrier.capable(CAPABILITIES["client", "basic.nack"]):
            self.reject(tags, requeue=requeue)
            return
        self._settle("basic.nack", tags, lambda tag, multiple: basic.Nack(tag, multiple, requeue))

    def reject(self, tags: TagSet, *, requeue: bool = True) -> None:
        """Rejects deliveries one by one (basic.reject).  Takes and raises the same as `nack`."""
        self._settle("basic.reject", tags, lambda tag, _: basic.Reject(tag, requeue), singly=True)

    def recover(self, *, requeue: bool = True) -> MethodId:
        """Asks for all unsettled deliveries again, under other tags (basic.recover; older versions do not answer it)."""
        return self.send(basic.Recover(requeue))

    def recover_async(self, *, requeue: bool = True) -> MethodId:
        """Does the same as `recover` without an answer (basic.recover-async, which the older versions call basic.recover)."""
        if "basic.recover-async" in self._channels.verbs:
            return self.send(basic.RecoverAsync(requeue))
        return self.send(basic.Recover(requeue))

    def _settle(self, verb: str, tags: TagSet, make: Callable[[int, bool], Method], *, singly: bool = False) -> None:
        """Settles these tags, all of which must be outstanding, by the methods that `make` returns for each tag to be named."""
        ids = as_tags(tags)
        try:
            self._must_be_alive(verb)
        except (ChannelClosedError, ConnectionClosedError) as error:
            raise StaleDelivery(error.said, self.number, error.cause) from None
        book = self._deliveries.tags
        outstanding, next_id = book.ids.outstanding, book.ids.next_id
        missing = outstanding.missing(ids)
        if missing:
            known = serial_lt(missing.last, next_id) and book.tag_of(missing.last) > 0
            raise unsettleable(self, verb, str(missing), f"delivery-tag.{TWICE if known else UNKNOWN}")
        named = one_by_one(ids) if singly else fewest(ids, outstanding, next_id)
        methods = [make(book.tag_of(tag), multiple) for tag, multiple in named]
        if not methods:
            return
        self._may_say(methods[0])
        transacted = may_settle(self, ids)
        octets = b"".join([self._method_frame(method) for method in methods])
        self._last_id = serial_add(self._last_id, len(methods))
        self._write(octets)
        self._deliveries.settle_set(ids, transacted)

    def _refuse_deliveries(self, consumer_tag: str, waiting: int, most: int) -> None:
        """Ends the channel because the server exceeds basic.qos by far: `waiting` messages, where `most` are tolerated."""
        reader = self._channels._reader
        offset = 0 if reader is None else reader.offset
        said = f'basic.deliver with consumer-tag "{consumer_tag[:200]}"'
        text, legal = f"{waiting} messages wait to be received", (f"at most {most} messages that are not settled",)
        self._blame(offset, "basic.qos.prefetch-count", said, text, legal, ReplyCode.PRECONDITION_FAILED)


_type: Final = type  # where an argument has that name
_NOTHING_SAID: Final = (None,) * 14
