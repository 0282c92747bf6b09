"""What pika and pamqp make of each letter, as docs/topics/field-tables.md says it, against RabbitMQ's profile of ours."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.values import Datetime, List
from amqp_sansio.wire.layouts.profiles import PROFILES

RABBITMQ = PROFILES["rabbitmq"]

LETTERS = {
    "t": b"\x02", "b": b"\xff", "B": b"\xff", "s": b"\xff\xfe", "U": b"\xff\xfe", "u": b"\xff\xfe", "I": b"\xff" * 4,
    "i": b"\xff" * 4, "l": b"\xff" * 8, "L": b"\xff" * 8, "f": struct.pack(">f", 1.5), "d": struct.pack(">d", 1.5),
    "D": b"\x01" + b"\xff" * 4, "S": b"\0\0\0\x01\xff", "x": b"\0\0\0\x01\xff", "A": b"\0\0\0\x02VV", "T": bytes(7) + b"\x05",
    "F": b"\0\0\0\x03\x01kV", "V": b"", "\0": b"",
}  # fmt: skip
"""A letter and octets of which each sign, rounding and text shows."""

OTHERWISE: dict[str, dict[str, object]] = {
    "pika": {"U": -2, "f": 1, "d": 1, "D": Decimal("-0.1")},
    "pamqp": {"D": Decimal("-0.1"), "\0": None},
}
"""What they read otherwise than RabbitMQ, or where RabbitMQ refuses the letter."""

NATIVES: list[object] = [
    True, 5, 40000, 1 << 31, 1 << 63, 1.5, "text", b"octets", bytearray(b"octets"), Decimal("1.5"),
    datetime(2026, 1, 2, tzinfo=UTC), None, [1], (1,), {"a": 1},
]  # fmt: skip

WRITTEN = {
    "pika": ["t", "I", "I", "l", "", "", "S", "x", "", "D", "T", "V", "A", "", "F"],
    "pamqp": ["t", "b", "u", "i", "", "f", "S", "", "x", "D", "T", "V", "A", "", "F"],
    "rabbitmq": ["t", "I", "I", "l", "", "d", "S", "x", "", "D", "T", "V", "A", "A", "F"],
    "0-9-1": ["t", "I", "I", "L", "l", "d", "S", "S", "", "D", "T", "V", "A", "A", "F"],
    "0-9": ["", "I", "I", "", "", "", "S", "S", "", "D", "T", "", "", "", "F"],
    "0-8": ["", "I", "I", "", "", "", "S", "S", "", "D", "T", "", "", "", "F"],
}
"""The letter of each of them; none where it is an error."""


def _refused(read: object) -> bool:
    return isinstance(read, str) and read == "refused"


def _read(who: str, octets: bytes) -> object:
    """What a library reads; "refused" where it raises."""
    try:
        if who == "pika":
            value: object = pytest.importorskip("pika").data.decode_value(octets, 0)[0]
        else:
            value = pytest.importorskip("pamqp.decode").embedded_value(octets)[1]
    except Exception:  # each has its own
        return "refused"
    return value


def _write(who: str, value: object) -> bytes:
    """The octets of a value, its letter first; none where it is refused."""
    if who in PROFILES:
        try:
            return PROFILES[who].write({"": value})[5:]
        except EncodeError:
            return b""
    try:
        if who == "pika":
            pieces: list[bytes] = []
            pytest.importorskip("pika").data.encode_value(pieces, value)
            return b"".join(pieces)
        octets: bytes = pytest.importorskip("pamqp.encode").encode_table_value(value)
    except Exception:  # each has its own
        return b""
    return octets


def _ours(octets: bytes) -> object:
    octets = (len(octets) + 1).to_bytes(4, "big") + b"\0" + octets
    return RABBITMQ.read(octets, 0, len(octets))[0][""]


def _same(ours: object, theirs: object) -> bool:
    if isinstance(ours, Datetime) and isinstance(theirs, datetime):
        return theirs.timestamp() == ours
    if isinstance(ours, List) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    return (ours == theirs and isinstance(theirs, Mapping) == isinstance(ours, Mapping)) or ours is theirs


@pytest.mark.parametrize("who", ["pika", "pamqp"])
@pytest.mark.parametrize("letter", LETTERS)
def test_what_they_read(who: str, letter: str) -> None:
    """As RabbitMQ does, but for what the page lists."""
    octets = letter.encode() + LETTERS[letter]
    theirs = _read(who, octets)
    if letter in OTHERWISE[who]:
        assert theirs == OTHERWISE[who][letter]
        assert letter not in RABBITMQ.letters or not _same(_ours(octets), theirs)
    elif letter in RABBITMQ.letters:
        assert _same(_ours(octets), theirs)
    else:
        assert _refused(theirs)


@pytest.mark.parametrize("who", WRITTEN)
@pytest.mark.parametrize("number", range(len(NATIVES)))
def test_what_each_writes(who: str, number: int) -> None:
    """Under the letter that the page names; and what they write, we read as RabbitMQ would and write again."""
    octets = _write(who, NATIVES[number])
    assert octets[:1].decode() == WRITTEN[who][number]
    if octets and who not in PROFILES:
        table = (len(octets) + 1).to_bytes(4, "big") + b"\0" + octets
        read, _ = RABBITMQ.read(table, 0, len(table))
        assert RABBITMQ.write(read) == table
        assert _same(read[""], NATIVES[number])
