"""The properties with which a message is published, by name: checked, and written as its header structs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final, TypeAlias, TypedDict
from uuid import UUID

from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.codes import AcceptMode, DeliveryMode
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.spec.values import Value
from amqp_sansio.wire.encoding import encode_list, encode_map
from amqp_sansio.wire.layouts.properties import write_properties

HeaderValue: TypeAlias = "Value | Sequence[HeaderValue] | Mapping[str, HeaderValue]"
"""What a header, or an argument of a queue, may hold."""
Arguments: TypeAlias = Mapping[str, HeaderValue]
"""What a broker understands besides: see its manual, and docs/topics/arguments.md for ours."""

Body: TypeAlias = "bytes | Mapping[str, HeaderValue] | list[HeaderValue] | tuple[HeaderValue, ...]"
"""What a message of a session holds: octets, which are sent as they are; or a mapping or list, which is sent as amqp/map or
amqp/list and which `Message.decoded` reads."""


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
FLAG: Final = (False, True, None)
"""What a flag may be: None is as if it were not given."""
_FIELD: Final = re.compile(r"(?:header|message\.(?:delivery|message)-properties)\.(\w+)")
"""The beginning of what is wrong in a header, in any version."""
_KEYWORDS: Final = {"application_headers": "headers"}
"""What `publish` calls fields that the specification calls otherwise."""
_ELSEWHERE: Final = {"delivery_mode": "persistent", "expiration": "ttl", "application_headers": "headers"}
"""What other clients, and the specification, call properties."""
_PRIORITIES: Final = range(10)


def written(routing_key: str | None, properties: SessionProperties) -> tuple[AcceptMode, bytes]:
    """The accept-mode that they need, and the header structs.  EncodeError names the property."""
    try:
        return _written(routing_key, **properties)
    except TypeError:
        refuse_unknown(properties, NAMES)
        raise
    except EncodeError as error:
        raise by_keyword(error) from None


def by_keyword(error: EncodeError) -> EncodeError:
    """The error of a field as one of the keyword that it was given by: of `headers`, where application_headers is wrong."""
    found = _FIELD.match(error.what)
    if found is None:
        return error
    return EncodeError(f"publish: {_KEYWORDS.get(found[1], found[1])}{error.what[found.end() :]}", error.rule)


def encoded(body: Body, properties: SessionProperties) -> tuple[bytes, SessionProperties]:
    """A body as octets; with the content type that it then has, where it is a mapping or a list."""
    if not isinstance(body, Mapping | list | tuple):
        return body, properties  # octets, or what the engine refuses
    kind = "amqp/map" if isinstance(body, Mapping) else "amqp/list"
    given = properties.get("content_type")
    if given not in (None, kind):
        raise EncodeError("publish: content_type", f"{kind} for a body that is a {type(body).__name__}, not {given!r}")
    try:
        octets = encode_map(as_map(body) or {}) if isinstance(body, Mapping) else encode_list(as_list(body))
        return octets, {**properties, "content_type": kind}
    except EncodeError as error:
        raise EncodeError(f"publish: body: {error.what}", error.rule) from None


def refuse_unknown(properties: Mapping[str, object], names: frozenset[str]) -> None:
    """EncodeError for a property that does not exist, with those that do."""
    for unknown in properties.keys() - names:
        near = [_ELSEWHERE[unknown]] if unknown in _ELSEWHERE else get_close_matches(unknown, names, 1)
        meant = f" ({near[0]!r} may be meant)" if near else ""
        raise EncodeError(f"publish: {unknown!r}", f"no such property{meant}; there are {', '.join(sorted(names))}")


def as_map(arguments: Arguments | None) -> Mapping[str, Value] | None:
    """The same, for the vocabulary, whose types name what decoding gives: plain lists and mappings are encoded, too."""
    return arguments  # type: ignore[return-value]


def as_list(values: Sequence[HeaderValue]) -> Sequence[Value]:
    """As `as_map`."""
    return values  # type: ignore[return-value]


def wrong_flag(names: Sequence[str], values: Sequence[object]) -> EncodeError:
    """An error that names the first one that is no flag."""
    at = next(at for at, value in enumerate(values) if value not in FLAG)
    return EncodeError(f"publish: {names[at]}", f"True or False, not {values[at]!r}")


def octets_of(name: str, value: bytes | str | None) -> bytes | None:
    """Text as UTF-8, with its surrogate escapes as the octets that they stand for; octets as they are."""
    if value is None or isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise EncodeError(f"publish: {name}", f"text or bytes, not {value!r}")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise EncodeError(f"publish: {name}", f"text that UTF-8 can carry, not {value!r}") from None


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
        if flag not in FLAG:
            raise wrong_flag(_FLAGS, (mandatory, immediate, persistent, redelivered, discard_unroutable))
    if priority is not None and priority not in _PRIORITIES:
        raise EncodeError("publish: priority", f"0 to 9, not {priority!r}")
    if message_id is not None and not isinstance(message_id, UUID):
        try:
            message_id = UUID(message_id)
        except (ValueError, TypeError, AttributeError):  # the last two for what is no text
            raise EncodeError("publish: message_id", f"a UUID, or its text, not {message_id!r}") from None
    header = write_properties(
        bool(discard_unroutable), bool(immediate), bool(redelivered), priority, DeliveryMode.PERSISTENT if persistent else None,
        ttl, timestamp, expiration, None, routing_key, resume_id, resume_ttl, content_length, message_id,
        octets_of("correlation_id", correlation_id), ReplyTo("", reply_to) if isinstance(reply_to, str) else reply_to,
        content_type, content_encoding, octets_of("user_id", user_id), octets_of("app_id", app_id), as_map(headers),
    )  # fmt: skip
    return AcceptMode.EXPLICIT if mandatory or immediate else AcceptMode.NONE, header
