from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.captures.packets import by_connection, gathered, packet_rows, replayed
from tests.kept.scene import DATA

from amqp_sansio.captures.packet import packet_number, packet_place
from amqp_sansio.captures.replay.recorder import connection_id


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
