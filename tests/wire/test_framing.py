"""What connections and observers ask of frames is there in every family."""

from __future__ import annotations

import pytest
from tests.families.made_up import LINES, Lines

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.assembly import Assembly
from amqp_sansio.wire.framing import Framing, Reader
from amqp_sansio.wire.segmentation import SEGMENTATION, Segmentation
from amqp_sansio.wire.segments import SegmentReader


def asked(base: type) -> set[str]:
    return {name for name in vars(base) if not name.startswith("_")}


@pytest.mark.skipif(COMPILED, reason="a compiled class lists its attributes beside its methods")
def test_the_reader_of_segments_does_all_that_is_asked_of_a_reader() -> None:
    assert {name for name in asked(Reader) if getattr(SegmentReader, name) is getattr(Reader, name)} == set()


@pytest.mark.skipif(COMPILED, reason="a compiled class lists its attributes beside its methods")
@pytest.mark.parametrize("made", [Segmentation, Lines])
def test_a_framing_does_all_that_is_asked_of_one(made: type[Framing]) -> None:
    assert {name for name in asked(Framing) if getattr(made, name) is getattr(Framing, name)} == set()


@pytest.mark.parametrize("framing", [SEGMENTATION, LINES])
def test_a_control_of_the_connection_is_read_as_its_own(framing: Framing) -> None:
    """In every framing: in one frame, with no more than its overhead, known as the connection's own by who reads it."""
    frame = framing.own(b"\x01\x0a\x00\x00", 4096)
    assert len(frame) == 4 + framing.overhead
    reader = framing.reader(DEFAULT_LIMITS, 4096, strict=True, carries=lambda *_: False, offset=8, opening=True)
    reader.receive(frame[:-1])
    assert reader.next() is None
    reader.receive(frame[-1:])
    assert not reader.waits
    unit = reader.next()
    assert isinstance(unit, Assembly)
    assert framing.is_own(unit)
    assert (unit.start, unit.end, unit.payload) == (8, 8 + len(frame), b"\x01\x0a\x00\x00")
    assert (reader.offset, reader.buffered, reader.received) == (8 + len(frame), 0, 8 + len(frame))


@pytest.mark.parametrize("framing", [SEGMENTATION, LINES])
@pytest.mark.parametrize("more", [0, 1])
def test_no_frame_is_larger_than_may_be_written(framing: Framing, more: int) -> None:
    payload = bytes(framing.smallest - framing.overhead + more)
    if more:
        with pytest.raises(EncodeError, match=str(framing.smallest)):
            framing.own(payload, framing.smallest)
    else:
        assert len(framing.own(payload, framing.smallest)) == framing.smallest
