"""How long a chain of records must be."""

from __future__ import annotations

import pytest

from amqp_sansio.captures.walk import CHAIN_OCTETS, CHAIN_REACH, CHAIN_RECORDS, long_enough


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
