"""A packet is a plain tuple; what a reader takes for one is bounded."""

from __future__ import annotations

from amqp_sansio.captures.packet import MARKS, MAX_PACKET_OCTETS, MOST_MARKS, Marks, Packet


def test_a_packet_is_what_was_captured() -> None:
    packet = Packet(number=1, time=0, link=1, data=b"ab", original=60, offset=24)
    assert packet == (1, 0, 1, b"ab", 60, 24)


def test_the_largest_packets_of_the_tools_are_below_the_limit() -> None:
    assert MAX_PACKET_OCTETS > 600_000


def test_places_are_kept_as_long_as_something_that_began_there_is_under_way() -> None:
    marks = Marks()
    for packet in range(1, 5 * MARKS):
        marks.add(10 * packet, packet, packet)
        if len(marks.ends) > marks.room:
            marks.thin()
    assert [marks.at(10 * packet)[0] for packet in (1, 2, 5 * MARKS - 1)] == [1, 2, 5 * MARKS - 1]
    marks.forget()
    assert (len(marks.ends), marks.room) == (1, MARKS)
    assert marks.at(50 * MARKS - 10) == (5 * MARKS - 1, 5 * MARKS - 1)
    for packet in range(5 * MARKS, 5 * MARKS + 3 * MOST_MARKS):
        marks.add(10 * packet, packet, packet)
        if len(marks.ends) > marks.room:
            marks.thin()
    assert len(marks.ends) <= 2 * MOST_MARKS
    assert marks.at(10 * (5 * MARKS + 3 * MOST_MARKS - 1))[0] == 5 * MARKS + 3 * MOST_MARKS - 1
