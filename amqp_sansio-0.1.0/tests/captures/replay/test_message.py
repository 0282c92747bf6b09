from __future__ import annotations

from tests.captures.replay.made import message, named

from amqp_sansio.captures.replay.rows import Rows


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
