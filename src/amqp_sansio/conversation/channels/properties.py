"""The properties of a message to publish on a channel, as keyword arguments."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

from amqp_sansio.conversation.properties import (
    FLAG,
    Arguments,
    CommonProperties,
    SessionProperties,
    by_keyword,
    refuse_unknown,
    wrong_flag,
)
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.methods.basic import Properties, Publish

PERSISTENT: Final = 2
_FLAGS: Final = ("mandatory", "immediate", "persistent")
_PRIORITIES: Final = range(256)
_MILLISECONDS: Final = range(1 << 63)


class ChannelProperties(CommonProperties, total=False):
    """Properties of messages in AMQP 0-8, 0-9 and 0-9-1: those of basic.properties."""

    message_id: str | None
    """The sender's id of the message."""
    reply_to: str | None
    """The queue to send the reply to."""
    type: str | None
    """The kind of message, by a name of the application."""
    cluster_id: str | None
    """Reserved for clusters of servers; clients leave it unset."""


AnyProperties = TypeVar("AnyProperties", SessionProperties, ChannelProperties)
"""The properties of a message of either family."""


class PublishTerms(NamedTuple):
    """The parameters of a publish besides exchange, routing key and body."""

    properties: Properties | None
    mandatory: bool
    immediate: bool

    def check(self, channel: Channel, exchange: str, routing_key: str, body: bytes) -> None:
        """Raises EncodeError, with the keyword, for what `publish` could not send.  Sends nothing."""
        try:
            channel._frames(Publish(exchange, routing_key, self.mandatory, self.immediate), self.properties, body, None)
        except EncodeError as error:
            raise by_keyword(error) from None

    def publish(self, channel: Channel, exchange: str, routing_key: str, body: bytes) -> int:
        """Publishes a message with them and returns its number.  Raises EncodeError as `check` does."""
        try:
            return channel.publish(
                exchange, routing_key, body, self.properties, mandatory=self.mandatory, immediate=self.immediate
            )
        except EncodeError as error:
            raise by_keyword(error) from None


_PLAIN: Final = PublishTerms(None, False, False)
NAMES: Final = frozenset(ChannelProperties.__annotations__)


def published(properties: ChannelProperties) -> PublishTerms:
    """Returns the flags and the encoded properties.  Raises EncodeError, which names the unknown or wrong property."""
    if not properties:
        return _PLAIN
    try:
        return _published(**properties)
    except TypeError:
        refuse_unknown(properties, NAMES)
        raise
    except EncodeError as error:
        if error.what in ("field", "table"):  # the error of a nested value does not name `headers`
            raise EncodeError("publish: headers", error.rule) from None
        raise


def _published(
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
    message_id: str | None = None,
    reply_to: str | None = None,
    type: str | None = None,
    cluster_id: str | None = None,
) -> PublishTerms:
    flags = (mandatory, immediate, persistent)
    for flag in flags:
        if flag not in FLAG:
            raise wrong_flag(_FLAGS, flags)
    if priority is not None and not _within(priority, _PRIORITIES):
        raise EncodeError("publish: priority", f"0 to 255, not {priority!r}")
    if ttl is not None and not _within(ttl, _MILLISECONDS):
        raise EncodeError("publish: ttl", f"milliseconds, 0 or more, not {ttl!r}")
    said = Properties(
        content_type, content_encoding, headers, PERSISTENT if persistent else None, priority,
        as_text("correlation_id", correlation_id), reply_to, None if ttl is None else str(ttl), message_id, timestamp, type,
        as_text("user_id", user_id), as_text("app_id", app_id), cluster_id,
    )  # fmt: skip
    return PublishTerms(said, bool(mandatory), bool(immediate))


def _within(number: object, numbers: range) -> bool:
    """Whether the value is one of these numbers.  (`in` compares a text with every number of a range.)"""
    return isinstance(number, int) and number in numbers and not isinstance(number, bool)


def as_text(name: str, value: bytes | str | None) -> str | None:
    """Returns text; octets are decoded as UTF-8.  Raises EncodeError when they are not UTF-8."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        raise EncodeError(f"publish: {name}", "octets that are UTF-8, or text: the field is a string") from None
