from __future__ import annotations

from uuid import UUID

from amqp_sansio.captures.replay.headers import properties_of
from amqp_sansio.captures.replay.message import NOTHING
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties


def test_what_columns_want_and_the_last_of_a_kind_counts() -> None:
    first = DeliveryProperties(exchange="a", routing_key="k", delivery_mode=2, priority=3, ttl=9, redelivered=True)
    message = MessageProperties(message_id=UUID(int=5), correlation_id=b"\xff", content_type="text/plain")
    read, id = properties_of((first, message))
    assert read == ("a", "k", "0xff", "text/plain", 3, True, True, 9)
    assert id == UUID(int=5).bytes
    assert properties_of((first, DeliveryProperties()))[0] == (None, None, None, None, None, False, False, None)
    assert properties_of(()) == (NOTHING, None)
