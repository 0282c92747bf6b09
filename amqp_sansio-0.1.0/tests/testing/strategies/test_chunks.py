"""Octets in pieces."""

from __future__ import annotations

from hypothesis import find, given
from hypothesis import strategies as st

from amqp_sansio.testing.strategies import chunkings


# The pieces are the octets, and none is empty.
@given(st.binary(max_size=100).flatmap(lambda octets: st.tuples(st.just(octets), chunkings(octets))))
def test_the_pieces_are_the_octets(drawn: tuple[bytes, tuple[bytes, ...]]) -> None:
    octets, pieces = drawn
    assert b"".join(pieces) == octets
    assert all(pieces)


def test_they_shrink_to_the_whole() -> None:
    assert find(chunkings(b"abcdef"), lambda _: True) == (b"abcdef",)
    assert find(chunkings(b"abcdef"), lambda pieces: len(pieces) == 2)[:1] in ((b"a",), (b"abcde",))


@given(chunkings(b""))
def test_of_nothing_there_is_nothing(pieces: tuple[bytes, ...]) -> None:
    assert pieces == ()


@given(chunkings(b"x"))
def test_one_octet_is_not_cut(pieces: tuple[bytes, ...]) -> None:
    assert pieces == (b"x",)
