"""Typed values: plain, immutable, equal to what they stand for."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from tests.wire.strategies import values

from amqp_sansio.spec import values as v
from amqp_sansio.spec.values import Array, List, Map, Value


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
