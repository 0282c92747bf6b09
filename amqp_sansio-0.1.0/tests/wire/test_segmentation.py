"""The framing of AMQP 0-10 (model 1.3)."""

from __future__ import annotations

import pytest

from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.assembly import COMMAND, CONTROL, Assembly
from amqp_sansio.wire.opening import OpeningAssembler
from amqp_sansio.wire.segmentation import SEGMENTATION
from amqp_sansio.wire.segments import SegmentReader


def test_its_sizes() -> None:
    assert (SEGMENTATION.overhead, SEGMENTATION.smallest, SEGMENTATION.largest) == (12, 4096, 65535)


@pytest.mark.parametrize(
    ("kind", "payload", "own"),
    [
        (CONTROL, b"\x01\x0a", True),
        (CONTROL, b"\x02\x01", False),  # session.attach
        (CONTROL, b"", False),
        (COMMAND, b"\x01\x0a", False),
    ],
)
def test_only_controls_of_class_connection_are_the_connections_own(kind: int, payload: bytes, own: bool) -> None:
    assert SEGMENTATION.is_own(Assembly(0, kind, kind, payload, None, None, 0, 9)) is own


@pytest.mark.parametrize("strict", [False, True])
def test_its_reader_is_one_of_a_side_of_the_conversation(strict: bool) -> None:
    """It drops what is broken, reads from where it is told, and holds the peer to a few controls before open."""
    reader = SEGMENTATION.reader(DEFAULT_LIMITS, 5000, strict=strict, carries=lambda *_: True, offset=8, opening=True)
    assert isinstance(reader, SegmentReader)
    assert (reader.tolerant, reader.strict, reader.max_frame_size, reader.offset) == (False, strict, 5000, 8)
    assert isinstance(reader.assembler, OpeningAssembler)
