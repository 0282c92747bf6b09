"""The recorder of a connection: its counts and findings, the rare controls all, the frequent ones only around violations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.captures.packets import by_connection, gathered, packet_rows, replayed
from tests.captures.replay.made import ids, named
from tests.kept.scene import DATA

from amqp_sansio.captures.replay.recorder import HISTORIES, NEAR, SHOWN_RANGES, Controls, connection_id
from amqp_sansio.captures.replay.rows import Rows, packet_number, packet_place
from amqp_sansio.captures.replay.sessions import SessionHistory
from amqp_sansio.dialects import DIALECTS
from amqp_sansio.engine.observer import Observer
from amqp_sansio.spec.connection import Heartbeat, StartOk
from amqp_sansio.spec.session import Attach, Completed


@given(*[st.integers(0, top) for top in (1 << 60, (1 << 31) - 1, (1 << 47) - 1)])
def test_a_packet_number_holds_its_place_and_grows_with_the_order(order: int, file: int, offset: int) -> None:
    """File and offset come out of the number again, and a packet heard later has a higher one."""
    number = packet_number(order, file, offset)
    assert packet_place(number) == (file, offset)
    assert number < packet_number(order + 1, 0, 0)


def test_connections_on_the_same_ports_have_different_ids() -> None:
    key = (b"\x7f\0\0\1", 1, b"\x7f\0\0\1", 2)
    assert len({connection_id(key, number, mark) for number in (1, 2) for mark in (5, 6)}) == 4
    assert connection_id(key, 1, 5) == connection_id(key, 1, 5)
    assert -(1 << 63) <= connection_id(key, 1, 5) < 1 << 63


def test_what_was_found_and_what_came_again_is_counted() -> None:
    for rows in by_connection(packet_rows(str(DATA / "captures" / "errors.pcap"))).values():
        at, payload = next((at, row["payload"]) for at, row in enumerate(rows) if row["payload"])
        assert isinstance(payload, bytes)
        found = gathered(replayed([*rows[: at + 1], *rows[at:]]))
        levels = [row["level"] for row in found.get("violations", ())]
        (connection,) = found["connections"]
        assert (connection["violations"], connection["notes"]) == (levels.count("violation"), levels.count("note"))
        assert connection["repeated_octets"] == len(payload)


def test_every_dialect_has_its_history() -> None:
    assert {HISTORIES[Observer(dialect)._family()] for dialect in DIALECTS} == {SessionHistory}


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
