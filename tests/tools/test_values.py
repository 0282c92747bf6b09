"""Nothing that the product makes of fixed inputs has changed: frames, events, findings, tables, simulated conversations.

A change that is meant writes the digests anew (`python -m tools.values --write`) and says which values changed and why.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from random import Random

import pytest

from tools import values
from tools.values import DAMAGE, Values

EVERY = dict(values.every())
SOAK = os.environ.get("AMQP_PROFILE") == "soak"


def chosen(name: str) -> bool:
    """Every recording, one damaged copy of each kind, a seed in five; with the profile `soak`, all of them."""
    if name.startswith("seed "):
        return SOAK or int(name[5:]) % 5 == 0
    return SOAK or "~" not in name or name.endswith("-0")


CHOSEN = list(filter(chosen, EVERY))
PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_the_values_of_every_input_are_as_before(part: int) -> None:
    known = values.known()
    found: list[str] = []
    for name in CHOSEN[part::PARTS]:
        found += values.differences(name, values.digests(EVERY[name]()), known[name])
    assert not found, "\n".join(found)


def test_there_are_at_least_two_hundred_damaged_copies_and_two_hundred_seeds() -> None:
    assert set(values.known()) == set(EVERY)
    assert sum("~" in name for name in EVERY) >= 200
    assert sum(name.startswith("seed ") for name in EVERY) >= 200


@pytest.mark.parametrize("harm", DAMAGE.values(), ids=DAMAGE)
def test_a_seed_decides_the_damage(harm: Callable[[list[bytes], Random], list[bytes]]) -> None:
    records = [struct.pack("<IIII", number, 0, 100, 100) + bytes([number]) * 100 for number in range(20)]
    damaged = [harm(records, Random(seed)) for seed in range(20)]
    assert damaged == [harm(records, Random(seed)) for seed in range(20)]
    assert all(each != records for each in damaged)
    assert len({b"".join(each) for each in damaged}) > 5


def test_a_value_that_changed_is_named() -> None:
    before: Values = {"events": ["one", "two"], "frames": ["f"]}
    after: Values = {"events": ["one", "three"], "table x": ["row"]}
    kinds = [line.split(": ")[1] for line in values.differences("it", values.digests(after), values.digests(before))]
    assert kinds == ["events", "frames", "table x"]
