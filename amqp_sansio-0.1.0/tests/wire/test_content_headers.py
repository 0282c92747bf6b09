"""Property words: the flags of any properties, in one word or more, are read and written again to the same octets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.value import Value
from amqp_sansio.wire.content_headers import read_properties, write_properties


def _properties(count: int) -> tuple[tuple[str, str], ...]:
    return tuple([(f"p{n}", ("uint8", "str8", "uint64")[n % 3]) for n in range(count)])


def _listed(*values: object) -> list[object]:
    return list(values)


class Made(Value):
    """Properties p0, p1 and so on."""

    def __init__(self, values: list[object]) -> None:
        vars(self).update({f"p{n}": value for n, value in enumerate(values)})


def _write(values: list[object]) -> bytes:
    return write_properties("made", Made(values), _properties(len(values)))


@given(st.data(), st.integers(0, 40))
def test_what_is_written_is_read(data: st.DataObject, count: int) -> None:
    """Absent is None; no prefix is read, nor with more behind it."""
    kinds = [st.integers(0, 255), st.text(st.characters(codec="utf-8"), max_size=5), st.integers(0, (1 << 64) - 1)]
    values = [data.draw(st.none() | kinds[n % 3]) for n in range(count)]
    b = _write(values)
    assert read_properties(_listed, "made", _properties(count), b"xy" + b + b"z", 2, 2 + len(b)) == values
    for wrong in [*[b[:cut] for cut in range(len(b))], b + b"\0"]:
        with pytest.raises(DecodeError) as raised:
            read_properties(_listed, "made", _properties(count), wrong, 0, len(wrong))
        assert raised.value.code == 502


def test_flags_go_from_the_highest_bit_and_the_lowest_says_that_more_follow() -> None:
    assert _write([1, None, None]) == b"\x80\x00\x01"
    assert _write([None] * 14 + [7 << 56]) == b"\x00\x02\x07" + bytes(7)
    assert _write([None] * 15 + [9]) == b"\x00\x01\x80\x00\x09"
    assert _write([None] * 30 + [9]) == b"\x00\x01\x00\x01\x80\x00\x09"
    assert _write([]) == b"\0\0"


@pytest.mark.parametrize(
    ("octets", "rule"),
    [(b"\x10\x00\x01", "flag 3 belongs to none of its 3"), (b"\0\1\0\0", "no further word"), (b"\0\1" * 9, "no further word")],
)
def test_flags_of_no_property_are_refused(octets: bytes, rule: str) -> None:
    with pytest.raises(DecodeError, match=rule):
        read_properties(_listed, "made", _properties(3), octets, 0, len(octets))


def test_fifteen_properties_take_one_word() -> None:
    """Behind a word that holds them all no other one may come, not even an empty one."""
    with pytest.raises(DecodeError, match="15 properties have no further word of flags"):
        read_properties(_listed, "made", _properties(15), b"\0\1\0\0", 0, 4)
    assert read_properties(_listed, "made", _properties(16), b"\0\1\0\0", 0, 4) == [None] * 16
