"""A packet is a plain tuple; what a reader takes for one is bounded."""

from __future__ import annotations

from amqp_sansio.captures.packet import MAX_PACKET_OCTETS, Packet


def test_a_packet_is_what_was_captured() -> None:
    packet = Packet(number=1, time=0, link=1, data=b"ab", original=60, offset=24)
    assert packet == (1, 0, 1, b"ab", 60, 24)


def test_the_largest_packets_of_the_tools_are_below_the_limit() -> None:
    assert MAX_PACKET_OCTETS > 600_000
