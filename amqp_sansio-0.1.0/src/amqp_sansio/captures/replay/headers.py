"""What the headers of a message say, as columns have it."""

from __future__ import annotations

from collections.abc import Iterable

from amqp_sansio.captures.replay.message import NOTHING, Properties
from amqp_sansio.captures.replay.text import text_of
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties

Read = tuple[Properties, bytes | None]
"""The properties, and the 16 octets of the message-id."""


def properties_of(structs: Iterable[Struct]) -> Read:
    """What the structs of a header say; of several of one kind the last counts."""
    delivery = NOTHING
    correlation = content_type = id_octets = None
    for each in structs:
        if isinstance(each, DeliveryProperties):
            durable = each.delivery_mode == 2
            delivery = Properties(
                each.exchange, each.routing_key, None, None, each.priority, durable, each.redelivered, each.ttl
            )
        elif isinstance(each, MessageProperties):
            id = each.message_id
            correlation, content_type = text_of(each.correlation_id), each.content_type
            id_octets = None if id is None else id.bytes
    exchange, key, _, _, priority, durable_, redelivered, ttl = delivery
    return Properties(exchange, key, correlation, content_type, priority, durable_, redelivered, ttl), id_octets
