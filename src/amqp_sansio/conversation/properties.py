"""The properties of a message to publish, as keyword arguments: checked, and encoded as header structs."""

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
"""A value of a header, or of a queue's arguments."""
Arguments: TypeAlias = Mapping[str, HeaderValue]
"""Extensions that a broker understands: see its manual, and docs/topics/arguments.md for the model broker's."""

Body: TypeAlias = "bytes | Mapping[str, HeaderValue] | list[HeaderValue] | tuple[HeaderValue, ...]"
"""The body of a message of a session: octets, sent as they are; or a mapping or list, sent as amqp/map or amqp/list, which
`Message.decoded` decodes."""


class CommonProperties(TypedDict, total=False):
    """Properties of messages in every version of AMQP before 1.0.  None counts as absent."""

    mandatory: bool
    """The broker returns the message (MessageReturned) when no queue takes it, instead of dropping it."""
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
    """How the body is encoded, for example compressed; at most 255 octets."""
    headers: Arguments | None
    """The application's headers."""
    correlation_id: bytes | str | None
    """The id of the message that this one answers; `message.correlation_id` returns it as text."""
    user_id: bytes | str | None
    """The user that sends it; some brokers refuse any name but that of the connection's user."""
    app_id: bytes | str | None
    """The application that sends it."""


class SessionProperties(CommonProperties, total=False):
    """Properties of messages in AMQP 0-10: the fields of delivery-properties and message-properties.

    Exchange and routing key, which are among these fields, are parameters of `publish`.
    """

    message_id: UUID | str | None
    """The sender's id of the message: a UUID, or its text."""
    reply_to: ReplyTo | str | None
    """Where to send the reply: exchange and routing key, or the name of a queue."""
    redelivered: bool
    """Whether it may have been delivered to a consumer before."""
    discard_unroutable: bool
    """The broker drops the message when no queue takes it, even if there is an alternate exchange."""
    expiration: int | None
    """When it expires: seconds since 1970, UTC.  Brokers derive it from `ttl`."""
    content_length: int | None
    """Octets of the whole content."""
    resume_id: str | None
    """The id of a transfer that can be resumed."""
    resume_ttl: int | None
    """Milliseconds that the receiver keeps an interrupted transfer."""


NAMES: Final = frozenset(SessionProperties.__annotations__)
_FLAGS: Final = ("mandatory", "immediate", "persistent", "redelivered", "discard_unroutable")
FLAG: Final = (False, True, None)
"""The values of a flag; None counts as absent."""
_FIELD: Final = re.compile(r"(?:header|message\.(?:delivery|message)-properties)\.(\w+)")
"""The prefix of an error about a header field, in any version."""
_KEYWORDS: Final = {"application_headers": "headers"}
"""The keywords of `publish` for fields that have another name in the specification."""
_ELSEWHERE: Final = {
    "delivery_mode": "persistent", "expiration": "ttl", "application_headers": "headers",
    "payload": "body", "message": "body", "key": "routing_key", "queue": "routing_key",
}  # fmt: skip
"""The names of properties and parameters in other clients and in the specification."""
_PARAMETERS: Final = frozenset(("body", "exchange", "routing_key", "timeout"))
"""The other parameters of `publish`."""
_PRIORITIES: Final = range(10)
_NO_INTEGERS: Final = (bool, float)  # they may equal one


def written(routing_key: str | None, properties: SessionProperties) -> tuple[AcceptMode, bytes]:
    """Returns the accept-mode for the properties, and the header structs.  Raises EncodeError, which names the property."""
    try:
        return _written(routing_key, **properties)
    except TypeError:
        refuse_unknown(properties, NAMES)
        raise
    except EncodeError as error:
        raise by_keyword(error) from None


def by_keyword(error: EncodeError) -> EncodeError:
    """Returns the error of a field as one of the keyword for it: of `headers`, where application_headers is wrong."""
    found = _FIELD.match(error.what)
    if found is None:
        return error
    return EncodeError(f"publish: {_KEYWORDS.get(found[1], found[1])}{error.what[found.end() :]}", error.rule)


def encoded(body: Body, properties: SessionProperties) -> tuple[bytes, SessionProperties]:
    """Encodes a body; a mapping or list also sets the content type."""
    if not isinstance(body, Mapping | list | tuple):
        return body, properties  # octets, or something that the engine refuses
    kind = "amqp/map" if isinstance(body, Mapping) else "amqp/list"
    given = properties.get("content_type")
    if given not in (None, kind):
        raise EncodeError("publish: content_type", f"{kind} for a body that is a {type(body).__name__}, not {given!r}")
    try:
        octets = encode_map(as_map(body) or {}) if isinstance(body, Mapping) else encode_list(body)  # type: ignore[arg-type]
        return octets, {**properties, "content_type": kind}
    except EncodeError as error:
        raise EncodeError(f"publish: body: {error.what}", error.rule) from None


def refuse_unknown(properties: Mapping[str, object], names: frozenset[str]) -> None:
    """Raises EncodeError for a property that does not exist; it lists those that do."""
    for unknown in properties.keys() - names:
        known = sorted(names | _PARAMETERS)
        near = [_ELSEWHERE[unknown]] if unknown in _ELSEWHERE else get_close_matches(unknown, known, 1)
        meant = f" ({near[0]!r} may be meant)" if near else ""
        raise EncodeError(f"publish: {unknown!r}", f"no such property{meant}; there are {', '.join(known)}")


def as_map(arguments: Arguments | None) -> Mapping[str, Value] | None:
    """Casts arguments for the vocabulary, whose types are those of decoded values; plain lists and mappings are legal too."""
    return arguments  # type: ignore[return-value]


def as_arguments(arguments: Arguments | None) -> Mapping[str, Value] | None:
    """Casts the arguments of a queue, an exchange or a binding, as `as_map` does.  Raises EncodeError for no mapping."""
    if not isinstance(arguments, Mapping | None):
        raise EncodeError("arguments", f"a mapping, not {arguments!r}")
    return as_map(arguments)


def wrong_flag(names: Sequence[str], values: Sequence[object]) -> EncodeError:
    """Returns the error that names the first flag with a wrong value."""
    at = next(at for at, value in enumerate(values) if value not in FLAG)
    return EncodeError(f"publish: {names[at]}", f"True or False, not {values[at]!r}")


def octets_of(name: str, value: bytes | str | None) -> bytes | None:
    """Encodes text as UTF-8, its surrogate escapes as the octets that they stand for; returns octets unchanged."""
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
    flags = (mandatory, immediate, persistent, redelivered, discard_unroutable)
    for flag in flags:
        if flag not in FLAG:
            raise wrong_flag(_FLAGS, flags)
    if priority is not None and (priority not in _PRIORITIES or type(priority) in _NO_INTEGERS):
        raise EncodeError("publish: priority", f"0 to 9, not {priority!r}")
    if message_id is not None and not isinstance(message_id, UUID):
        try:
            message_id = UUID(message_id)
        except (ValueError, TypeError, AttributeError):  # the last two for a value that is not text
            raise EncodeError("publish: message_id", f"a UUID, or its text, not {message_id!r}") from None
    header = write_properties(
        bool(discard_unroutable), bool(immediate), bool(redelivered), priority, DeliveryMode.PERSISTENT if persistent else None,
        ttl, timestamp, expiration, None, routing_key, resume_id, resume_ttl, content_length, message_id,
        octets_of("correlation_id", correlation_id), ReplyTo("", reply_to) if isinstance(reply_to, str) else reply_to,
        content_type, content_encoding, octets_of("user_id", user_id), octets_of("app_id", app_id), as_map(headers),
    )  # fmt: skip
    # 0-10 has no flag `mandatory`: a broker rejects what it cannot route or deliver only where the accept-mode is explicit
    # (delivery-properties.discard-unroutable).
    return AcceptMode.EXPLICIT if mandatory or immediate else AcceptMode.NONE, header


HEADERS: Final = 64
"""The most header segments cached per session."""


class PlainHeaders:
    """Caches the header segments of messages that have no property but the routing key, at most `HEADERS`."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: Final[dict[str | None, bytes]] = {}

    def __len__(self) -> int:
        return len(self._made)

    def of(self, routing_key: str | None) -> bytes:
        """Returns the header for a routing key.  Raises EncodeError for an invalid key."""
        try:
            header = self._made.get(routing_key)
        except TypeError:  # an unhashable value cannot be a routing key; the encoder raises for it
            header = None
        if header is None:
            header = write_properties(routing_key=routing_key)
            if len(self._made) >= HEADERS:
                self._made.clear()
            self._made[routing_key] = header
        return header
