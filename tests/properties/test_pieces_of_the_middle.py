"""However the octets of a stream that is heard from its middle are cut, the observer says the same, in the same order."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from tests.conformance.channels import CASES
from tests.conformance.test_observer_on_captures import Turn, turns
from tests.families.conversations import conversations

from amqp_sansio.dialects import READABLE
from amqp_sansio.engine.observer import Observed, Observer

SHIPPED = Path(__file__).parents[1] / "data" / "captures"
SEEDS = range(8 if os.environ.get("AMQP_PROFILE") == "soak" else 4)
LONGEST = 20_000
"""Octets of a conversation: longer ones repeat themselves."""
WRITTEN: list[list[Turn]] = [[*talk.said] for each in conversations() for talk in each]


def damaged(octets: bytes, chance: Random) -> bytes:
    """One octet is another one, some are missing, come twice, or have others between them."""
    at = chance.randrange(len(octets))
    few = chance.randint(1, 9)
    kind = chance.choice(("other", "missing", "twice", "more"))
    if kind == "other":
        return octets[:at] + bytes([chance.choice((0, 1, 3, 8, 0xCE, 0xFF))]) + octets[at + 1 :]
    if kind == "missing":
        return octets[:at] + octets[at + few :]
    return octets[:at] + (octets[at : at + few] if kind == "twice" else chance.randbytes(few)) + octets[at:]


def from_the_middle(said: list[Turn], chance: Random) -> list[Turn]:
    """The conversation from some octet on, whole or with a few damages."""
    left = said[chance.randrange(len(said)) :]
    who, octets = left[0]
    if isinstance(octets, bytes):
        left[0] = (who, octets[chance.randrange(len(octets)) :])
    for _ in range(chance.choice((0, 0, 1, 3))):
        at = chance.randrange(len(left))
        who, octets = left[at]
        if isinstance(octets, bytes) and octets:
            left[at] = (who, damaged(octets, chance))
    return left


def heard(said: list[Turn], piece: int, strict: bool) -> list[Observed]:
    watch = Observer(dialects=READABLE, strict=strict, middle=True)
    found: list[Observed] = []
    for speaker, octets in said:
        if isinstance(octets, str):
            watch.receive_eof(speaker)
        else:
            for at in range(0, len(octets), piece or max(1, len(octets))):
                watch.receive_data(speaker, octets[at : at + (piece or len(octets))])
                found += watch.events()
        found += watch.events()
    watch.finish()
    return [*found, *watch.events()]


def check(said: list[Turn], seed: int) -> None:
    chance = Random(seed)
    part = from_the_middle(said, chance)
    for strict in (False, True):
        whole = heard(part, 0, strict)
        for piece in (1, chance.choice((2, 7, 13))):
            assert heard(part, piece, strict) == whole


@pytest.mark.parametrize("seed", SEEDS)
def test_written_conversations(seed: int) -> None:
    for number, said in enumerate(Random(seed).sample(WRITTEN, 60)):
        check(said, seed << 16 | number)


@pytest.mark.parametrize("seed", SEEDS)
def test_recordings_of_channels(seed: int, shared: Path) -> None:
    for number, file in enumerate(dict.fromkeys([case.file for case in CASES])):
        found = short(turns(shared / "captures" / f"{file}.pcap", 5672))
        for said in Random(seed << 16 | number).sample(found, min(1, len(found))):
            check(said, seed << 16 | number)


@pytest.mark.parametrize("name", ["hello", "tx", "errors", "credit", "dtx", "maps"])
def test_recordings_of_sessions(name: str) -> None:
    for number, said in enumerate(short(turns(SHIPPED / f"{name}.pcap", 5672))):
        check(said, number)


def short(found: list[list[Turn]]) -> list[list[Turn]]:
    return [said for said in found if 0 < sum([len(octets) for _, octets in said if isinstance(octets, bytes)]) < LONGEST]
