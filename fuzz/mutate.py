"""Damages octets, by the dice of one seed: the same seed gives the same octets on every machine."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

INTERESTING: Final = (0, 1, 2, 11, 12, 13, 127, 128, 254, 255, 256, 4095, 4096, 4097, 32767, 32768, 65534, 65535)
WIDE: Final = (0, 1, 255, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)


def flip_bit(dice: random.Random, data: bytearray) -> None:
    """Flips one bit."""
    at = dice.randrange(len(data))
    data[at] ^= 1 << dice.randrange(8)


def set_octet(dice: random.Random, data: bytearray) -> None:
    """Replaces one octet."""
    data[dice.randrange(len(data))] = dice.randrange(256)


def set_16(dice: random.Random, data: bytearray) -> None:
    """Sets two octets to an edge case."""
    if len(data) >= 2:
        at = dice.randrange(len(data) - 1)
        data[at : at + 2] = dice.choice(INTERESTING).to_bytes(2, "big")


def set_32(dice: random.Random, data: bytearray) -> None:
    """Sets four octets to an edge case."""
    if len(data) >= 4:
        at = dice.randrange(len(data) - 3)
        data[at : at + 4] = dice.choice(WIDE).to_bytes(4, "big")


def drop(dice: random.Random, data: bytearray) -> None:
    """Removes a run of octets."""
    at = dice.randrange(len(data))
    del data[at : at + dice.randint(1, 12)]


def repeat(dice: random.Random, data: bytearray) -> None:
    """Repeats a run of octets."""
    at = dice.randrange(len(data))
    run = data[at : at + dice.randint(1, 24)]
    data[at:at] = run


def insert(dice: random.Random, data: bytearray) -> None:
    """Inserts random octets."""
    at = dice.randrange(len(data) + 1)
    data[at:at] = dice.randbytes(dice.randint(1, 12))


def cut(dice: random.Random, data: bytearray) -> None:
    """Removes the end."""
    del data[dice.randrange(len(data)) :]


ALL: Final[Sequence[Callable[[random.Random, bytearray], None]]] = (
    flip_bit,
    flip_bit,
    set_octet,
    set_octet,
    set_16,
    set_32,
    drop,
    repeat,
    insert,
    cut,
)


def mutated(dice: random.Random, octets: bytes) -> bytes:
    """Returns `octets` with one to four damages; now and then with none, since legal input must work as well."""
    data = bytearray(octets)
    for _ in range(dice.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        if data:
            dice.choice(ALL)(dice, data)
    return bytes(data)
