from __future__ import annotations

from uuid import UUID

from tests.captures.replay.made import message, named

from amqp_sansio.captures.replay.rows import NOTHING, Rows, place, properties_of
from amqp_sansio.captures.tables import MESSAGES, TABLES
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties


def test_a_place_counts_without_the_common_columns() -> None:
    assert place(MESSAGES, "ts") == 0
    assert place(MESSAGES, "direction") == 1


def test_a_list_for_every_table() -> None:
    rows = Rows()
    assert [*rows.by_table, "messages"] == sorted([*TABLES], key=[*rows.by_table, "messages"].index)
    assert rows.commands is rows.by_table["commands"]


def test_rows_of_any_table_that_grows_with_the_traffic_fill_it() -> None:
    rows = Rows()
    assert not rows.full(1)
    rows.transfers.append(message())
    assert rows.full(1)
    assert not rows.full(2)


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
