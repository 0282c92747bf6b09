"""The framing of the older dialects: methods, each perhaps followed by a content, in frames with an end octet."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import Limits
from amqp_sansio.wire.framing import CONTROL, Assembly, Carries, Framing, Reader
from amqp_sansio.wire.method_frames import (
    FRAME_MAX_SIZE,
    FRAME_MIN_SIZE,
    HEARTBEAT,
    METHOD,
    OVERHEAD,
    find_three_method_frames,
    frame_method,
    put_frame,
)

USUAL_FRAME_SIZE: Final = 131072
"""RabbitMQ's default, which clients accept."""


class MethodFraming(Framing):
    """Frames of up to four GiB, with an overhead of eight octets.

    `extra`: the dialect has out-of-band and trace frames. The reader is imported with the first connection, because importing
    the package builds all dialects.
    """

    def __init__(self, extra: bool) -> None:
        super().__init__(OVERHEAD, FRAME_MIN_SIZE, USUAL_FRAME_SIZE, FRAME_MAX_SIZE)
        self.extra: Final = extra
        if extra:
            self.name += ", with traces"

    def reader(
        self, limits: Limits, max_frame_size: int, *, strict: bool, carries: Carries, offset: int, opening: bool
    ) -> Reader:
        from amqp_sansio.wire.method_reader import MethodReader

        return MethodReader(limits, max_frame_size, False, carries, offset=offset, opening=opening, extra=self.extra)

    def overhearing(self, limits: Limits, carries: Carries, offset: int) -> Reader:
        from amqp_sansio.wire.method_reader import MethodReader

        return MethodReader(limits, self.largest, True, carries, offset=offset, extra=self.extra)

    def find(self, octets: bytes, start: int, ended: bool) -> tuple[int, int]:
        return find_three_method_frames(octets, start, ended)

    def begins(self, octet: int) -> bool:
        return octet == METHOD

    def is_own(self, unit: Assembly) -> bool:
        return unit.kind == CONTROL

    def own(self, payload: bytes, max_frame: int) -> bytes:
        """See `Framing.own`; a control with an empty payload is a heartbeat."""
        if payload:
            return frame_method(0, payload, max_frame)
        if max_frame < OVERHEAD:
            raise EncodeError("heartbeat", f"a frame of at most {max_frame} octets, not {OVERHEAD}")
        return put_frame(HEARTBEAT, 0, b"")


METHODS: Final = MethodFraming(False)
"""Without out-of-band and trace frames: 0-9-1."""
METHODS_AND_TRACES: Final = MethodFraming(True)
"""With them: 0-8 and 0-9."""
