from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.kernel.plain_codec import pack, unpack

ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
PLAIN = st.recursive(ATOMS, lambda inner: st.lists(inner).map(tuple), max_leaves=30)


@given(PLAIN)
def test_what_was_packed_comes_out_again(value: object) -> None:
    """Every plain value is itself after packing and unpacking, types included."""
    assert repr(unpack(pack(value))) == repr(value)


@given(st.binary(max_size=60))
def test_anything_else_is_refused_or_read_but_never_more(octets: bytes) -> None:
    """Whatever the octets are, unpacking them gives a value or ValueError."""
    with suppress(ValueError):
        unpack(octets)


@given(PLAIN, st.data())
def test_what_is_cut_off_is_refused(value: object, data: st.DataObject) -> None:
    """No beginning of packed octets is a value, and nothing may stand behind one."""
    octets = pack(value)
    with pytest.raises(ValueError):  # noqa: PT011 -- any sentence
        unpack(octets[: data.draw(st.integers(0, len(octets) - 1))])
    with pytest.raises(ValueError, match="octets follow"):
        unpack(octets + b"\0")


def test_nothing_but_plain_values() -> None:
    with pytest.raises(TypeError):
        pack([1])
    deep: object = ()
    for _ in range(300):
        deep = (deep,)
    with pytest.raises(ValueError, match="nested too deep"):
        unpack(pack(deep))


def test_a_text_that_comes_again_is_packed_as_its_number() -> None:
    """However long a text is, every time but the first it takes two octets: that it comes again, and which one it is."""
    first, second = "a" * 300, "b" * 300
    once = len(pack((first, second, first)))
    assert len(pack((first, second, first, second, first))) == once + 4
