"""What identifiers of a selector mean for a message.

Header fields of JMS (section 3.8.1.1, and those that deployed brokers add), else application-headers by name:

| identifier | value |
|---|---|
| JMSMessageID | "ID:" and the UUID of message-id |
| JMSCorrelationID | correlation-id as text |
| JMSType | the application header x-jms-type |
| JMSDeliveryMode | "PERSISTENT" or "NON_PERSISTENT" |
| JMSPriority | priority, 4 where there is none |
| JMSTimestamp, JMSExpiration | timestamp and expiration as they are on the wire, 0 where there is none |
| JMSRedelivered | whether somebody may have had the message before |

qpidd's names for them are known as well (`ALIASES`): `amqp.priority` is JMSPriority.  Four have no name in JMS:

| identifier | value |
|---|---|
| amqp.message_id | the UUID of message-id alone |
| amqp.subject | the application header qpid.subject |
| amqp.to | the exchange of the message or, for the default one, its routing key |
| amqp.reply_to | reply-to: exchange and routing key, with "/" between them where there are both |

A header of octets is text when it is UTF-8, as clients of Python 2 write text; one that is neither text, number nor boolean is
NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.model.message import DEFAULT_PRIORITY
from amqp_sansio.broker.selectors.expressions import SelectorValue
from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.values import Boolean

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Envelope, Message
    from amqp_sansio.spec.values import Value

TYPE_HEADER: Final = "x-jms-type"
"""The application header in which JMS clients send JMSType."""
SUBJECT_HEADER: Final = "qpid.subject"
"""The application header in which qpid.messaging sends the subject."""
ALIASES: Final = {
    "amqp.delivery_mode": "JMSDeliveryMode",
    "amqp.redelivered": "JMSRedelivered",
    "amqp.priority": "JMSPriority",
    "amqp.correlation_id": "JMSCorrelationID",
    "amqp.absolute_expiry_time": "JMSExpiration",
    "amqp.creation_time": "JMSTimestamp",
    "amqp.jms_type": "JMSType",
}
"""qpidd's names of header fields."""
REMEMBERED: Final = 64
"""The most messages whose properties are cached: subscriptions of one queue look at the same messages in sequence."""
REMEMBERED_OCTETS: Final = 64 * 1024
"""The most octets of their headers in total, without the last one: properties take many times the memory."""


def named(identifier: str) -> str:
    """Returns the canonical name of an identifier."""
    return ALIASES.get(identifier, identifier)


class Selectable:
    """The properties of messages for selectors, decoded once for each of the last few messages."""

    __slots__ = ("_octets", "_remembered")

    def __init__(self) -> None:
        self._octets = 0
        self._remembered: Final[dict[int, tuple[Envelope, dict[str, SelectorValue]]]] = {}

    def properties(self, message: Message, redelivered: bool) -> dict[str, SelectorValue]:
        """Returns the value of each identifier for this message; missing identifiers are NULL."""
        envelope = message.envelope
        found = self._remembered.get(id(envelope))  # a valid key while the envelope itself is cached beside it
        if found is None:
            self._octets += len(envelope.header)
            if len(self._remembered) >= REMEMBERED or self._octets > REMEMBERED_OCTETS:
                self._remembered.clear()
                self._octets = len(envelope.header)
            found = self._remembered[id(envelope)] = envelope, _read(envelope)
        properties = found[1]
        properties["JMSRedelivered"] = redelivered
        return properties


def _read(envelope: Envelope) -> dict[str, SelectorValue]:
    found: dict[str, SelectorValue] = {}
    try:
        said = envelope.form.properties(envelope.header)
    except DecodeError:  # an unreadable header was refused on arrival; one restored from disk has no properties
        return found
    for name, value in said.headers.items():
        plain = _plain(value)
        if plain is not None:
            found[name] = plain
    kind = found.get(TYPE_HEADER)
    if isinstance(kind, str):
        found["JMSType"] = kind
    if said.message_id:
        found["JMSMessageID"] = f"ID:{said.message_id}"
        found["amqp.message_id"] = said.message_id
    subject = found.get(SUBJECT_HEADER)
    if subject is not None:
        found["amqp.subject"] = subject
    found["amqp.to"] = said.exchange or said.routing_key
    if said.reply_to is not None:
        to = [each for each in said.reply_to if each]
        if to:
            found["amqp.reply_to"] = "/".join(to)
    if said.correlation_id is not None:
        found["JMSCorrelationID"] = said.correlation_id.decode("utf-8", "replace")
    found["JMSDeliveryMode"] = "PERSISTENT" if said.persistent else "NON_PERSISTENT"
    found["JMSPriority"] = DEFAULT_PRIORITY if said.priority is None else said.priority
    found["JMSTimestamp"] = said.timestamp or 0
    found["JMSExpiration"] = said.expiration or 0
    return found


def _plain(value: Value) -> SelectorValue:
    """Converts a value of a map to one that selectors can compare; None for any other."""
    if isinstance(value, bool | Boolean):
        return bool(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return None
