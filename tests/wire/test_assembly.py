"""Assemblies and breaches are plain values."""

from __future__ import annotations

import pickle

from amqp_sansio.wire.assembly import BETWEEN, BODY, COMMAND, HEADER, IN_SEGMENT, Assembly, Malformed, Partial


def test_plain_values() -> None:
    assembly = Assembly(1, 1, COMMAND, b"c", b"h", None, 0, 40)
    malformed = Malformed("assembly.segments", "text", 503, 1, 40)
    for thing in (assembly, malformed):
        assert pickle.loads(pickle.dumps(thing)) == thing
        assert hash(thing) == hash(pickle.loads(pickle.dumps(thing)))
    assert assembly.complete
    assert not assembly.unended
    assert not malformed.ends_connection
    assert not malformed.fatal


def test_parts_are_joined_segment_by_segment() -> None:
    partial = Partial(1, 1, COMMAND, 100)
    for octets in (b"ab", b"", b"c" * 600, b"d", b"e"):
        partial.add(octets)
    partial.end_segment()
    assert partial.state == BETWEEN
    assert partial.payload == b"ab" + b"c" * 600 + b"de"
    partial.begin_segment(HEADER, 0)
    assert partial.state == IN_SEGMENT
    partial.add(b"h")
    partial.end_segment()
    partial.begin_segment(BODY, 4)
    partial.add(b"body")
    partial.end = 900
    whole = partial.assembly(True)
    assert (whole.payload, whole.header, whole.body, whole.start, whole.end) == (partial.payload, b"h", b"body", 100, 900)
    assert partial.octets == 609


def test_what_was_broken_off_keeps_what_came() -> None:
    partial = Partial(1, 1, COMMAND, 0)
    partial.add(b"ab")
    broken = partial.assembly(False)
    assert (broken.payload, broken.header, broken.body, broken.complete) == (b"ab", None, None, False)


def test_a_second_segment_of_a_kind_goes_behind_the_first() -> None:
    partial = Partial(1, 1, COMMAND, 0)
    partial.end_segment()
    for octets in (b"one", b"two"):
        partial.begin_segment(HEADER, 0)
        partial.add(octets)
        partial.end_segment()
    assert partial.assembly(True).header == b"onetwo"
    assert not partial.body_begun


def test_what_has_come_is_not_copied_when_a_further_segment_comes() -> None:
    """To an observer each of a million tiny segments behind a large one cost a copy of all."""
    partial = Partial(1, 1, COMMAND, 0)
    partial.end_segment()
    large = b"x" * 100_000
    for octets in (large, b"", b"y", b"", b"z"):
        partial.begin_segment(BODY, 4)
        partial.add(octets)
        partial.end_segment()
        assert partial._body is not None
        assert partial._body[0] is large
    assert partial._body is not None
    assert len(partial._body) == 3  # those without octets are not kept
    assert partial.assembly(True).body == large + b"yz"
