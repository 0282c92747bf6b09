"""Controls one by one: the rare ones all, the frequent ones only around violations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.captures.replay.made import ids, named

from amqp_sansio.captures.replay.controls import NEAR, SHOWN_RANGES, Controls
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.spec.connection import Heartbeat, StartOk
from amqp_sansio.spec.session import Attach, Completed

PLACE = (100, 2, 24)


def test_a_rare_control_has_a_row_with_its_fields() -> None:
    rows = Rows()
    one = Controls(rows)
    one.hear(5, "C", 3, "session.attach", Attach(b"s"), PLACE)
    one.hear(6, "C", 0, "connection.start-ok", StartOk(None, "PLAIN", b"\0guest\0secret", "en_US"), PLACE)
    one.hear(7, "S", 0, "1.99", None, PLACE)
    first, second, third = named(rows, "controls")
    assert (first["ts"], first["direction"], first["channel"], first["verb"]) == (5, "C", 3, "session.attach")
    assert (first["stream_offset"], first["file_id"], first["file_offset"]) == PLACE
    assert first["arguments"] == '{"name":"s"}'
    assert "secret" not in str(second["arguments"])
    assert '"response":13' in str(second["arguments"])
    assert third["arguments"] is None


@given(st.lists(st.booleans(), max_size=80))
def test_frequent_ones_are_kept_within_reach_of_a_violation_once_each(story: list[bool]) -> None:
    """Of completions (False) with violations (True) among them, those have rows that are within NEAR of one, in order."""
    rows = Rows()
    one = Controls(rows)
    said = 0
    near: set[int] = set()
    for breach in story:
        if breach:
            one.violation()
            near.update(range(said - NEAR, said + NEAR))
        else:
            one.hear(said, "S", 1, "session.completed", Completed(ids((0, said))), PLACE)
            said += 1
    assert [row["ts"] for row in named(rows, "controls")] == sorted(n for n in near if 0 <= n < said)


def test_what_they_tell_is_bounded() -> None:
    rows = Rows()
    one = Controls(rows)
    one.hear(1, "S", 1, "session.completed", Completed(ids(*[(n * 2, n * 2) for n in range(SHOWN_RANGES + 5)])), PLACE)
    one.hear(2, "S", 0, "connection.heartbeat", Heartbeat(), PLACE)
    one.violation()
    first, second = named(rows, "controls")
    assert str(first["arguments"]).count("[") == 1 + SHOWN_RANGES
    assert second["arguments"] == "{}"
