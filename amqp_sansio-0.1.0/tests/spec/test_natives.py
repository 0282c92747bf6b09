"""Explicit typed natives: equal to what they stand for, whatever their type code."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pytest

from amqp_sansio.spec import natives as v

PAIRS: list[tuple[object, object]] = [
    (v.Uint8(5), 5),
    (v.Int64(-5), -5),
    (v.Str8("a"), "a"),
    (v.CharUtf32("a"), "a"),
    (v.Vbin32(b"a"), b"a"),
    (v.Bin16(b"ab"), b"ab"),
    (v.Float(1.5), 1.5),
    (v.Double(1.5), 1.5),
    (v.Dec32("1.5"), Decimal("1.5")),
    (v.Datetime(7), 7),
    (v.Str8Utf16("a", b"\0a"), "a"),
    (v.Bit(), 1),
]


@pytest.mark.parametrize(("typed", "native"), PAIRS, ids=[type(typed).__name__ for typed, _ in PAIRS])
def test_equal_to_their_natives_and_hashed_alike(typed: object, native: object) -> None:
    assert typed == native
    assert hash(typed) == hash(native)
    again = pickle.loads(pickle.dumps(typed))
    assert again == typed
    assert type(again) is type(typed)


def test_no_two_classes_have_one_code() -> None:
    classes = [each for each in vars(v).values() if isinstance(each, type) and "CODE" in vars(each)]
    codes = [vars(each)["CODE"] for each in classes]
    assert len(codes) == len(set(codes)) == 36


def test_datetime_guesses_seconds() -> None:
    """Numbers of 10**11 and more are milliseconds."""
    assert v.Datetime(1_700_000_000).seconds == 1_700_000_000
    assert v.Datetime(1_700_000_000_123).seconds == 1_700_000_000.123
    assert v.Datetime(-5).seconds == -5
