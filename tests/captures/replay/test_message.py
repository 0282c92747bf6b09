from __future__ import annotations

from uuid import UUID

from tests.captures.replay.made import message, named

from amqp_sansio.captures.replay.message import NOTHING, properties_of
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties


def test_the_row_of_the_command_goes_out_when_nobody_will_complete_it_any_more() -> None:
    rows, one = Rows(), message()
    one.conclude(rows, ("refused", 404, "no"))
    (command,) = named(rows, "commands")
    assert (command["verb"], command["completed_at"], command["complete_latency_ns"]) == ("message.transfer", None, None)
    assert (command["outcome"], command["octets"], command["arguments"]) == ("refused", 12, None)
    assert (command["error_code"], command["error_text"]) == (404, "no")
    assert rows.messages == []


def test_settling_fills_in_times_and_leaving_happens_once() -> None:
    rows, one = Rows(), message()
    one.settle("accepted", 90)  # captured the other way round
    one.leave(rows)
    one.leave(rows)
    (row,) = named(rows, "messages")
    assert (row["outcome"], row["settled_at"], row["settle_latency_ns"]) == ("accepted", 90, None)


def test_what_columns_want_and_the_last_of_a_kind_counts() -> None:
    first = DeliveryProperties(exchange="a", routing_key="k", delivery_mode=2, priority=3, ttl=9, redelivered=True)
    message = MessageProperties(message_id=UUID(int=5), correlation_id=b"\xff", content_type="text/plain")
    read, id = properties_of((first, message))
    assert read == ("a", "k", "0xff", "text/plain", 3, True, True, 9)
    assert id == UUID(int=5).bytes
    assert properties_of((first, DeliveryProperties()))[0] == (None, None, None, None, None, False, False, None)
    assert properties_of(()) == (NOTHING, None)
