"""Explicit typed natives: equal to what they stand for, whatever their type code."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from tests.wire.strategies import values

from amqp_sansio.spec import values as v
from amqp_sansio.spec.values import Array, List, Map, Value

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
    natives = (int, float, str, bytes, Decimal)
    classes = [
        each for each in vars(v).values() if isinstance(each, type) and issubclass(each, natives) and "CODE" in vars(each)
    ]
    codes = [vars(each)["CODE"] for each in classes]
    assert len(codes) == len(set(codes)) == 36


def test_datetime_guesses_seconds() -> None:
    """Numbers of 10**11 and more are milliseconds."""
    assert v.Datetime(1_700_000_000).seconds == 1_700_000_000
    assert v.Datetime(1_700_000_000_123).seconds == 1_700_000_000.123
    assert v.Datetime(-5).seconds == -5


@given(values())
def test_hash_and_pickle(value: Value) -> None:
    """Any value has a hash, and its copy through pickle is equal and of the same class."""
    again = pickle.loads(pickle.dumps(value))
    assert again == value
    assert type(again) is type(value)
    assert hash(again) == hash(value)
    assert repr(value)


def test_equal_to_natives() -> None:
    """Typed values are equal to their native value and hash alike."""
    pairs: list[tuple[object, object]] = [
        (List([1]), (1,)),
        (Array(0x31, [1]), (1,)),
    ]
    for typed, native in pairs:
        assert typed == native
        assert hash(typed) == hash(native)
    assert Map({"a": 1}) == {"a": 1}
    native = {"a": 1}
    assert native == Map(native)
    assert Map({"a": 1}) != {"a": 2}
    assert Map() != 1
    assert v.Float(1.5) != "x"
    assert Array(0x31, [1]) != [1]


def test_map_is_read_only() -> None:
    """A map offers what a mapping offers and nothing that changes it; what it was made of may change."""
    source: dict[str, Value] = {"a": 1, "b": 2}
    made = Map(source)
    source["a"] = 3
    assert (dict(made), len(made), "a" in made, "z" in made, made["a"]) == ({"a": 1, "b": 2}, 2, True, False, 1)
    assert (list(made), list(made.keys()), list(made.values()), list(made.items())) == (
        ["a", "b"],
        ["a", "b"],
        [1, 2],
        [("a", 1), ("b", 2)],
    )
    assert not hasattr(made, "__setitem__")
    assert not hasattr(made, "__dict__")
    assert made.get("z") is None
    with pytest.raises(KeyError):
        made["z"]


def test_null_forms() -> None:
    """The forms of size 0 are empty and say that they are null."""
    pairs: list[tuple[Map | List | Array, Map | List | Array]] = [
        (v.NullMap(), Map()),
        (v.NullList(), List()),
        (v.NullArray(), Array(0xF0)),
    ]
    for null, empty in pairs:
        assert null.null
        assert not empty.null
        assert null == empty
        assert pickle.loads(pickle.dumps(null)).null
