"""What answers messages: sets of one range, in a frame that holds nothing else."""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.message import Accept
from amqp_sansio.spec.session import Completed
from amqp_sansio.wire.assembly import COMMAND, CONTROL
from amqp_sansio.wire.frames import FIRST_FRAME, FIRST_SEGMENT, FRAME_HEADER_SIZE, LAST_FRAME, LAST_SEGMENT
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.octets import command_of_set, frame_of_set, u64
from amqp_sansio.wire.segments import SegmentReader

CONTROL_SIZE: Final = FRAME_HEADER_SIZE + 14
"""Octets of the frame of a control whose one field is a set of one range."""
COMMAND_SIZE: Final = FRAME_HEADER_SIZE + 16
"""Octets of that of such a command."""
_WHOLE: Final = FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME | LAST_FRAME
_CONTROL: Final = (_WHOLE << 8 | CONTROL) << 16 | CONTROL_SIZE
_COMMAND: Final = (_WHOLE << 8 | COMMAND) << 16 | COMMAND_SIZE
_ONE_FIELD: Final = 0x0100  # flags of a command
_CHANNELS: Final = 1 << 16
_RANGE_OCTETS: Final = 8
_HALF: Final = 1 << 31

CutReply: TypeAlias = tuple[bool, bool, int, int, int, int, int]
"""Whether it is a message.accept (else a session.completed); whether it asks for an answer itself (sync, timely-reply); its
channel; both ends of the range, which belong to it; where it begins and ends in its speaker's stream."""


def may_reply(reader: SegmentReader) -> bool:
    """Whether the next frame is a control or command without anything behind it: perhaps such an answer."""
    buffer, at = reader.buffer, reader.position
    return at + 2 <= len(buffer) and buffer[at] == _WHOLE and buffer[at + 1] <= COMMAND


class Replies:
    """Cuts what answers messages in one version of the protocol."""

    __slots__ = ("_accept", "_accept_sync", "_completed", "_completed_timely")

    def __init__(self, layout: Layout) -> None:
        ids = RangeSet.of(0)
        # What stands between the place of a frame and its set, as one number; flags of the fields stand apart in a command.
        self._completed: Final = u64(bytes(4) + layout.encode_control(Completed(ids)), 0)[0]
        self._completed_timely: Final = u64(bytes(4) + layout.encode_control(Completed(ids, True)), 0)[0]
        self._accept: Final = u64(bytes(4) + layout.encode_command(Accept(ids), False), 0)[0]
        self._accept_sync: Final = u64(bytes(4) + layout.encode_command(Accept(ids), True), 0)[0]

    def cut(self, reader: SegmentReader, accepts: bool = True) -> CutReply | None:
        """The next frame if it is such an answer, and nothing is under way; then it is read.  Not `accepts`: only completions.

        None for anything else: `SegmentReader.next` reads the same octets with every check.
        """
        buffer = reader.buffer
        at = reader.position
        have = len(buffer) - at
        if have < CONTROL_SIZE:
            return None
        begins, place, head, octets, low, high = frame_of_set(buffer, at)
        size = CONTROL_SIZE
        if begins == _CONTROL:
            accepts, asks = False, head == self._completed_timely
            if not asks and head != self._completed:
                return None
        elif accepts and begins == _COMMAND and have >= COMMAND_SIZE:
            size = COMMAND_SIZE
            begins, place, head, flags, octets, low, high = command_of_set(buffer, at)
            asks = head == self._accept_sync
            place -= _CHANNELS  # track 1
            if flags != _ONE_FIELD or not (asks or head == self._accept):
                return None
        else:
            return None
        if octets != _RANGE_OCTETS or not 0 <= place < _CHANNELS or not 0 <= high - low < _HALF:
            return None
        assembler = reader.assembler
        if assembler.open or assembler.queue or reader.searching or reader.dead or reader.trace is not None:
            return None
        if assembler.heard is not None and (place << 4 | accepts) not in assembler.heard:
            return None
        start = reader.offset
        reader.skip(at + size, 1, FRAME_HEADER_SIZE)
        return accepts, asks, place, low, high, start, start + size

    @staticmethod
    def put_back(reader: SegmentReader, octets: int) -> None:
        """What was cut just now, so many octets, is to be read again."""
        reader.skip(reader.position - octets, -1, FRAME_HEADER_SIZE)


@cache
def replies_of(layout: Layout) -> Replies:
    """What cuts them in a version with this layout."""
    return Replies(layout)
