"""What connections and observers ask of frames is there in every family; assemblies and breaches are plain values."""

from __future__ import annotations

import pickle

import pytest
from tests.families.made_up import LINES, LineReader, Lines

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.framing import BETWEEN, BODY, COMMAND, HEADER, IN_SEGMENT, Assembly, Framing, Malformed, Partial, Reader
from amqp_sansio.wire.method_frames import METHODS, MethodFraming
from amqp_sansio.wire.method_reader import MethodReader
from amqp_sansio.wire.segments import SEGMENTATION, Segmentation, SegmentReader

PAIRS = [
    *[(Reader, made) for made in (SegmentReader, LineReader, MethodReader)],
    *[(Framing, made) for made in (Segmentation, Lines, MethodFraming)],
]
FRAMINGS = [SEGMENTATION, LINES, METHODS]


def control(framing: Framing) -> bytes:
    """A control of the connection, of four octets."""
    return b"\x00\x0a\x00\x33" if framing is METHODS else b"\x01\x0a\x00\x00"


def asked(base: type) -> set[str]:
    """What a family has to bring."""
    code = {name: value.fget if isinstance(value, property) else value for name, value in vars(base).items()}
    return {
        name for name, made in code.items() if "NotImplementedError" in getattr(getattr(made, "__code__", None), "co_names", ())
    }


@pytest.mark.skipif(COMPILED, reason="a compiled method has no code to look into")
@pytest.mark.parametrize(("base", "made"), PAIRS)
def test_a_family_brings_all_that_is_asked_of_one(base: type, made: type) -> None:
    assert asked(base)
    assert {name for name in asked(base) if getattr(made, name) is getattr(base, name)} == set()


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_reader_goes_on_behind_lost_octets(framing: Framing) -> None:
    """At the next frame that another one follows, or the end; what is passed over is counted."""
    frame = framing.own(control(framing), 4096)
    reader = framing.reader(DEFAULT_LIMITS, 4096, strict=True, carries=lambda *_: False, offset=8, opening=False)
    reader.receive(frame + frame[:5])
    assert isinstance(reader.next(), Assembly)
    reader.lost(100)
    assert reader.searching
    reader.receive(b"\xff" * 9 + frame + frame)
    reader.end()
    units = []
    while (unit := reader.next()) is not None:
        units.append(unit)
    assert [type(unit) for unit in units] == [Assembly, Assembly]
    assert (reader.skipped, reader.searching) == (5 + 9, False)
    assert reader.offset == reader.received == 8 + 3 * len(frame) + 5 + 100 + 9
    assert reader.take() == b""


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_reader_that_lost_its_place_counts_the_octets_that_arrive_and_those_that_are_lost(framing: Framing) -> None:
    """Behind a frame without an end it reads nothing more, but still tells how far the stream has come."""
    reader = framing.reader(DEFAULT_LIMITS, 4096, strict=True, carries=lambda *_: False, offset=8, opening=False)
    frame = framing.own(control(framing), 4096)
    reader.receive(frame + b"\xff" * 20)
    assert isinstance(reader.next(), Assembly)
    assert isinstance(reader.next(), Malformed)
    assert reader.dead
    assert reader.offset == 8 + len(frame)
    reader.lost(100)
    reader.receive(b"\xff" * 7)
    reader.lost(3)
    assert reader.received == 8 + len(frame) + 20 + 100 + 7 + 3
    assert reader.next() is None


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_control_of_the_connection_is_read_as_its_own(framing: Framing) -> None:
    """In every framing: in one frame, with no more than its overhead, known as the connection's own by who reads it."""
    frame = framing.own(control(framing), 4096)
    assert len(frame) == 4 + framing.overhead
    reader = framing.reader(DEFAULT_LIMITS, 4096, strict=True, carries=lambda *_: False, offset=8, opening=True)
    reader.receive(frame[:-1])
    assert reader.next() is None
    reader.receive(frame[-1:])
    assert not reader.waits
    unit = reader.next()
    assert isinstance(unit, Assembly)
    assert framing.is_own(unit)
    assert (unit.start, unit.end, unit.payload) == (8, 8 + len(frame), control(framing))
    assert (reader.offset, reader.buffered, reader.received) == (8 + len(frame), 0, 8 + len(frame))


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("more", [0, 1])
def test_no_frame_is_larger_than_may_be_written(framing: Framing, more: int) -> None:
    payload = bytes(framing.smallest - framing.overhead + more)
    if more:
        with pytest.raises(EncodeError, match=str(framing.smallest)):
            framing.own(payload, framing.smallest)
    else:
        assert len(framing.own(payload, framing.smallest)) == framing.smallest


@pytest.mark.parametrize("framing", FRAMINGS)
def test_three_frames_in_a_row_tell_a_framing(framing: Framing) -> None:
    """Two do not, and what no other framing writes is found in none of the others."""
    frame = framing.own(control(framing), 4096)
    assert framing.find(b"\xff" * 5 + frame * 3, 0, False) == (5, 0)
    at, needed = framing.find(b"\xff" * 5 + frame * 2, 0, False)
    assert at == 5
    assert needed > 2 * len(frame)
    assert framing.find(b"\xff" * 5 + frame * 2, 0, True)[1]
    for other in FRAMINGS:
        assert other is framing or other.find(frame * 5, 0, False)[1]


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
