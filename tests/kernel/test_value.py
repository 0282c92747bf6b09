"""Plain values are equal, hashed, pickled and shown by their fields, and show no secret."""

from __future__ import annotations

import pickle
from typing import ClassVar, Final

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.value import ValueObject, octets_of


class Pair(ValueObject):
    __slots__ = ("left", "right")
    FIELDS: ClassVar[tuple[str, ...]] = ("left", "right")

    def __init__(self, left: int, right: str = "") -> None:
        self.left: Final = left
        self.right: Final = right


class Other(Pair):
    __slots__ = ()


class Password(ValueObject):
    __slots__ = ("secret",)
    FIELDS: ClassVar[tuple[str, ...]] = ("secret",)
    SECRETS: ClassVar[frozenset[str]] = frozenset({"secret"})

    def __init__(self, secret: bytes | None) -> None:
        self.secret: Final = secret


def test_equal_by_value_and_by_class() -> None:
    assert Pair(1, "a") == Pair(1, "a")
    assert Pair(1, "a") != Pair(1, "b")
    assert Pair(1, "a") != Other(1, "a")
    assert Pair(1) != (1, "")


def test_equal_values_hash_alike() -> None:
    assert len({Pair(1, "a"), Pair(1, "a"), Other(1, "a")}) == 2


def test_values_stand_in_the_order_of_the_constructor() -> None:
    assert Pair(1, "a").values() == (1, "a")
    assert repr(Pair(1, "a")) == "Pair(left=1, right='a')"


def test_pickled_by_value() -> None:
    # `Pair` lives in a test module that cannot be imported by name, so look at what pickle is given.
    assert Pair(1, "a").__reduce__() == (Pair, (1, "a"))
    assert pickle.dumps(ValueObject()) == pickle.dumps(ValueObject())


def test_a_secret_is_shown_by_its_length() -> None:
    assert repr(Password(b"guest")) == "Password(secret=<5 octets>)"
    assert repr(Password(7)) == "Password(secret=<a secret>)"  # type: ignore[arg-type]
    assert repr(Password(None)) == "Password(secret=None)"


def test_the_repr_of_a_half_made_value_does_not_raise() -> None:
    assert repr(Pair.__new__(Pair)) == "Pair(left=None, right=None)"


def test_octets_may_be_given_in_three_types_and_no_other() -> None:
    for octets in (b"x", bytearray(b"x"), memoryview(b"x.")[::2]):
        assert octets_of(octets) == b"x"
    with pytest.raises(EncodeError, match="body: takes octets, not int"):
        octets_of(5)
