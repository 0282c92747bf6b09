"""How long a chain of records must be."""

from __future__ import annotations

import pytest

from amqp_sansio.captures.walk import CHAIN_OCTETS, CHAIN_REACH, CHAIN_RECORDS, MAX_PACKET_OCTETS, Chains, Packet, long_enough


@pytest.mark.parametrize(
    ("records", "octets", "enough"),
    [
        (CHAIN_RECORDS - 1, CHAIN_OCTETS, False),
        (CHAIN_RECORDS, CHAIN_OCTETS - 1, False),
        (CHAIN_RECORDS, CHAIN_OCTETS, True),
        (CHAIN_RECORDS + 1, CHAIN_OCTETS + 1, True),
        (1, CHAIN_REACH - 1, False),
        (1, CHAIN_REACH, True),
        (1, CHAIN_REACH + 1, True),
    ],
)
def test_a_chain_is_long_by_records_and_octets_or_by_octets_alone(records: int, octets: int, enough: bool) -> None:
    assert long_enough(records, octets) is enough


def test_what_joins_a_broken_chain_knows_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    chains = Chains()
    assert chains.end(10) is None
    chains.broke([10, 20, 30], 40, 0)
    assert [chains.end(at) for at in (10, 20, 30, 40)] == [(40, 3), (40, 2), (40, 1), None]
    chains.broke([5], 40, 3)  # it came upon 10
    assert chains.end(5) == (40, 4)
    monkeypatch.setattr("amqp_sansio.captures.walk.CHAINS_REMEMBERED", 3)
    chains.broke([1], 2, 0)
    assert (chains.end(10), chains.end(1)) == (None, (2, 1))


def test_a_packet_is_what_was_captured() -> None:
    packet = Packet(number=1, time=0, link=1, data=b"ab", original=60, offset=24)
    assert packet == (1, 0, 1, b"ab", 60, 24)


def test_the_largest_packets_of_the_tools_are_below_the_limit() -> None:
    assert MAX_PACKET_OCTETS > 600_000
