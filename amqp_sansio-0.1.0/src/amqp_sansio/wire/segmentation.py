"""The framing of AMQP 0-10: controls, and commands with header and body, as segments in frames."""

from __future__ import annotations

from typing import Final

from amqp_sansio.limits import MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE, Limits
from amqp_sansio.wire.assembly import CONTROL, Assembly
from amqp_sansio.wire.frames import FRAME_HEADER_SIZE, frame_control
from amqp_sansio.wire.framing import Carries, Framing, Reader
from amqp_sansio.wire.resync import find_three
from amqp_sansio.wire.segments import SegmentReader

_CONNECTION_CLASS: Final = b"\x01"


class Segmentation(Framing):
    """Frames of at most 65535 octets, twelve of which are no payload."""

    def __init__(self) -> None:
        super().__init__(FRAME_HEADER_SIZE, MIN_MAX_FRAME_SIZE, MAX_FRAME_SIZE, MAX_FRAME_SIZE)

    def reader(
        self, limits: Limits, max_frame_size: int, *, strict: bool, carries: Carries, offset: int, opening: bool
    ) -> Reader:
        return SegmentReader(limits, max_frame_size, strict=strict, carries=carries, offset=offset, opening=opening)

    def overhearing(self, limits: Limits, carries: Carries, offset: int) -> Reader:
        return SegmentReader(limits, MAX_FRAME_SIZE, True, carries=carries, offset=offset)

    def find(self, octets: bytes, start: int, ended: bool) -> tuple[int, int]:
        return find_three(octets, start, self.largest, ended)

    def is_own(self, unit: Assembly) -> bool:
        return unit.kind == CONTROL and unit.payload[:1] == _CONNECTION_CLASS

    def own(self, payload: bytes, max_frame: int) -> bytes:
        return frame_control(0, payload, max_frame)


SEGMENTATION: Final = Segmentation()
