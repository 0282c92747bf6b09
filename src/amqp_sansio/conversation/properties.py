"""The properties with which a message is published, by name: checked, and written as its header structs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final, TypeAlias, TypedDict
from uuid import UUID

from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.codes import AcceptMode, DeliveryMode
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.spec.values import Value
from amqp_sansio.wire.layouts.properties import write_properties

HeaderValue: TypeAlias = "Value | Sequence[HeaderValue] | Mapping[str, HeaderValue]"
"""What a header, or an argument of a queue, may hold."""
Arguments: TypeAlias = Mapping[str, HeaderValue]
"""What a broker understands besides: see its manual, and docs/topics/arguments.md for ours."""


class CommonProperties(TypedDict, total=False):
    """Properties of messages in every version of AMQP before 1.0.  None is as if it were not given."""

    mandatory: bool
    """The broker returns the message (MessageReturned) when no queue takes it; else it drops it."""
    immediate: bool
    """The broker returns the message when no consumer can take it at once."""
    persistent: bool
    """The message survives a restart of the broker on a durable queue."""
    priority: int | None
    """0 to 9."""
    ttl: int | None
    """Milliseconds until the message expires: 0 to 2**64 - 1."""
    timestamp: int | None
    """When it was made: seconds since 1970, UTC."""
    content_type: str | None
    """The MIME type of the body, at most 255 octets."""
    content_encoding: str | None
    """How the body is compressed, at most 255 octets."""
    headers: Arguments | None
    """The application's headers."""
    correlation_id: bytes | str | None
    """Which message this one answers: `message.correlation_id` gives it as text."""
    user_id: bytes | str | None
    """The user that sends it: some brokers refuse any name but that of the connection's user."""
    app_id: bytes | str | None
    """Which application sends it."""


class SessionProperties(CommonProperties, total=False):
    """Properties of messages in AMQP 0-10: the fields of delivery-properties and message-properties.

    Their exchange and routing key are what `publish` is called with.
    """

    message_id: UUID | str | None
    """What the sender calls it: a UUID, or its text."""
    reply_to: ReplyTo | str | None
    """Where an answer is awaited: exchange and routing key, or the name of a queue."""
    redelivered: bool
    """Whether a consumer may have had it before."""
    discard_unroutable: bool
    """The broker drops the message when no queue takes it, also where an alternate exchange would take it."""
    expiration: int | None
    """When it expires: seconds since 1970, UTC.  Brokers work it out from `ttl`."""
    content_length: int | None
    """Octets of the whole content."""
    resume_id: str | None
    """The name of a transfer that can be resumed."""
    resume_ttl: int | None
    """Milliseconds that the receiver keeps a transfer that broke off."""


NAMES: Final = frozenset(SessionProperties.__annotations__)
_FLAGS: Final = ("mandatory", "immediate", "persistent", "redelivered", "discard_unroutable")
_FLAG: Final = (False, True, None)
_PRIORITIES: Final = range(10)


def written(routing_key: str | None, properties: SessionProperties) -> tuple[AcceptMode, bytes]:
    """The accept-mode that they need, and the header structs.  EncodeError names the property."""
    try:
        return _written(routing_key, **properties)
    except TypeError:
        refuse_unknown(properties, NAMES)
        raise


def refuse_unknown(properties: Mapping[str, object], names: frozenset[str]) -> None:
    """EncodeError for a property that does not exist, with those that do."""
    for unknown in properties.keys() - names:
        near = get_close_matches(unknown, names, 1)
        meant = f" ({near[0]!r} may be meant)" if near else ""
        raise EncodeError(f"publish: {unknown!r}", f"no such property{meant}; there are {', '.join(sorted(names))}")


def as_map(arguments: Arguments | None) -> Mapping[str, Value] | None:
    """The same, for the vocabulary, whose types name what decoding gives: plain lists and mappings are encoded, too."""
    return arguments  # type: ignore[return-value]


def octets_of(value: bytes | str | None) -> bytes | None:
    """Text as UTF-8, with its surrogate escapes as the octets that they stand for; octets as they are."""
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


def _written(
    routing_key: str | None,
    mandatory: bool = False,
    immediate: bool = False,
    persistent: bool = False,
    priority: int | None = None,
    ttl: int | None = None,
    timestamp: int | None = None,
    content_type: str | None = None,
    content_encoding: str | None = None,
    headers: Arguments | None = None,
    correlation_id: bytes | str | None = None,
    user_id: bytes | str | None = None,
    app_id: bytes | str | None = None,
    message_id: UUID | str | None = None,
    reply_to: ReplyTo | str | None = None,
    redelivered: bool = False,
    discard_unroutable: bool = False,
    expiration: int | None = None,
    content_length: int | None = None,
    resume_id: str | None = None,
    resume_ttl: int | None = None,
) -> tuple[AcceptMode, bytes]:
    for flag in (mandatory, immediate, persistent, redelivered, discard_unroutable):
        if flag not in _FLAG:
            raise EncodeError("publish", f"{', '.join(_FLAGS)} are True or False, not {flag!r}")
    if priority is not None and priority not in _PRIORITIES:
        raise EncodeError("publish: priority", f"0 to 9, not {priority!r}")
    if isinstance(message_id, str):
        try:
            message_id = UUID(message_id)
        except ValueError:
            raise EncodeError("publish: message_id", f"a UUID, or its text, not {message_id!r}") from None
    header = write_properties(
        bool(discard_unroutable), bool(immediate), bool(redelivered), priority, DeliveryMode.PERSISTENT if persistent else None,
        ttl, timestamp, expiration, None, routing_key, resume_id, resume_ttl, content_length, message_id,
        octets_of(correlation_id), ReplyTo("", reply_to) if isinstance(reply_to, str) else reply_to, content_type,
        content_encoding, octets_of(user_id), octets_of(app_id), as_map(headers),
    )  # fmt: skip
    return AcceptMode.EXPLICIT if mandatory or immediate else AcceptMode.NONE, header
