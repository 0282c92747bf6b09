"""The header segment of a message, as the model needs it: delivery-properties first, the other structs unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from amqp_sansio.broker.model.message import DEFAULT_PRIORITY, NO_HEADERS, Envelope, Form, NeutralProperties
from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.codes import DeliveryMode
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, ReplyTo
from amqp_sansio.spec.values import Map
from amqp_sansio.wire.layouts.layout import HEADER_WRITERS, decode_headers, encode_headers
from amqp_sansio.wire.primitives import u32
from amqp_sansio.wire.types import decode_struct32

FAMILY: Final = "sessions"
MOST_PRIORITY: Final = 9
NOTHING: Final = DeliveryProperties()


def rebuilt(
    properties: DeliveryProperties,
    redelivered: bool | None = None,
    exchange: str | None = None,
    expiration: int | None = None,
) -> DeliveryProperties:
    """Returns the delivery-properties with the given fields replaced."""
    p = properties
    return DeliveryProperties(
        p.discard_unroutable,
        p.immediate,
        p.redelivered if redelivered is None else redelivered,
        p.priority,
        p.delivery_mode,
        p.ttl,
        p.timestamp,
        p.expiration if expiration is None else expiration,
        p.exchange if exchange is None else exchange,
        p.routing_key,
        p.resume_id,
        p.resume_ttl,
    )


class SessionsForm(Form):
    """The form of messages that sessions publish."""

    def properties(self, header: bytes) -> NeutralProperties:
        """Returns the properties in all structs; of repeated structs, the last counts."""
        delivery, message = NOTHING, MessageProperties()
        for struct in decode_headers(header, 0, len(header)):
            if type(struct) is DeliveryProperties:
                delivery = struct
            elif type(struct) is MessageProperties:
                message = struct
        to = message.reply_to
        return NeutralProperties(
            delivery.exchange or "",
            delivery.routing_key or "",
            delivery.delivery_mode == DeliveryMode.PERSISTENT,
            None if delivery.priority is None else int(delivery.priority),
            delivery.redelivered,
            delivery.ttl,
            None if delivery.timestamp is None else int(delivery.timestamp),
            None if delivery.expiration is None else int(delivery.expiration),
            "" if message.message_id is None else str(message.message_id),
            message.correlation_id,
            None if to is None else (to.exchange or "", to.routing_key or ""),
            message.content_type,
            message.content_encoding,
            message.user_id or b"",
            message.app_id,
            message.application_headers if message.application_headers is not None else NO_HEADERS,
        )

    def headers(self, header: bytes) -> Map:
        """Returns application-headers.  Raises HeaderError."""
        for struct in decode_headers(header, 0, len(header)):
            if type(struct) is MessageProperties:
                return struct.application_headers if struct.application_headers is not None else NO_HEADERS
        return NO_HEADERS

    def marked(self, header: bytes) -> bytes:
        """Marks a header that begins with delivery-properties."""
        first, end = decode_struct32(header, 0, len(header))
        assert type(first) is DeliveryProperties
        return HEADER_WRITERS[DeliveryProperties](rebuilt(first, redelivered=True)) + header[end:]

    def headed(self, header: bytes, name: str, value: int) -> bytes:
        """Adds one application header."""
        parts: list[bytes] = []
        found = MessageProperties()
        p = at = 0
        for struct in decode_headers(header, 0, len(header)):
            q = p + 4 + u32(header, p)[0]
            if type(struct) is MessageProperties and not at:
                found, at = struct, len(parts)  # never the first struct, which is delivery-properties
            else:
                parts.append(header[p:q])
            p = q
        headers = Map({**(found.application_headers or {}), name: value})
        made = MessageProperties(
            found.content_length, found.message_id, found.correlation_id, found.reply_to, found.content_type,
            found.content_encoding, found.user_id, found.app_id, headers,
        )  # fmt: skip
        parts.insert(at or len(parts), encode_headers([made]))
        return b"".join(parts)

    def envelope(self, header: bytes, empty_body: bool) -> Envelope:
        """Returns the envelope of a stored header."""
        structs = decode_headers(header, 0, len(header))
        first = structs[0] if structs else None
        delivery = first if type(first) is DeliveryProperties else NOTHING
        return envelope_of(header, delivery.exchange or "", delivery, user_id_of(structs), empty_body)

    def written(self, properties: NeutralProperties) -> bytes:
        """Writes the properties in this form.

        Drops a message-id that is not a UUID, and all message-properties if they cannot be encoded.
        """
        p = properties
        delivery = DeliveryProperties(
            False,
            False,
            p.redelivered,
            None if p.priority is None else min(p.priority, MOST_PRIORITY),
            DeliveryMode.PERSISTENT if p.persistent else None,
            p.ttl,
            p.timestamp,
            p.expiration,
            p.exchange,
            p.routing_key or None,
        )
        message = MessageProperties(
            None,
            _uuid(p.message_id),
            p.correlation_id,
            None if p.reply_to is None else ReplyTo(*p.reply_to),
            p.content_type,
            p.content_encoding,
            p.user_id or None,
            p.app_id,
            p.headers or None,
        )
        try:
            return encode_headers([delivery] if message == MessageProperties() else [delivery, message])
        except EncodeError:
            pass
        try:
            return encode_headers([delivery])
        except EncodeError:  # not from any family's wire: a name of more than 255 octets, a time before 1970
            return encode_headers([NOTHING])


FORM: Final = SessionsForm(FAMILY)
"""The only instance."""


def envelope_of(header: bytes, exchange: str, delivery: DeliveryProperties, user_id: bytes, empty_body: bool) -> Envelope:
    """Returns the envelope of a message with this header."""
    priority = DEFAULT_PRIORITY if delivery.priority is None else min(delivery.priority, MOST_PRIORITY)
    return Envelope(
        FORM,
        header,
        exchange,
        delivery.routing_key or "",
        priority,
        delivery.delivery_mode == DeliveryMode.PERSISTENT,
        delivery.redelivered,
        user_id,
        delivery.ttl,
        delivery.discard_unroutable,
        delivery.immediate,
        empty_body,
    )


def user_id_of(structs: Sequence[Struct]) -> bytes:
    """Returns the user-id of message-properties; b"" for none."""
    for struct in structs:
        if type(struct) is MessageProperties:
            return struct.user_id or b""
    return b""


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None
