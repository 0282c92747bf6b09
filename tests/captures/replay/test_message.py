from __future__ import annotations

from tests.captures.replay.made import message, named

from amqp_sansio.captures.replay.rows import Rows


def test_completion_sends_the_row_of_the_command() -> None:
    rows, one = Rows(), message()
    one.complete(130, rows)
    (command,) = named(rows, "commands")
    assert (command["verb"], command["completed_at"], command["complete_latency_ns"]) == ("message.transfer", 130, 30)
    assert (command["outcome"], command["octets"], command["arguments"]) == ("completed", 12, None)
    assert rows.messages == []


def test_settling_fills_in_times_and_leaving_happens_once() -> None:
    rows, one = Rows(), message()
    one.settle("accepted", 90)  # captured the other way round
    one.leave(rows)
    one.leave(rows)
    (row,) = named(rows, "messages")
    assert (row["outcome"], row["settled_at"], row["settle_latency_ns"]) == ("accepted", 90, None)
