"""Frames that hold nothing but one control or command whose one field is a set of one range: cut without a reader of fields."""

from __future__ import annotations

from typing import Final, TypeAlias

from amqp_sansio.wire.assembly import COMMAND, CONTROL
from amqp_sansio.wire.frames import FIRST_FRAME, FIRST_SEGMENT, FRAME_HEADER_SIZE, LAST_FRAME, LAST_SEGMENT
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

CutRange: TypeAlias = tuple[bool, bool, int, int, int, int, int]
"""Whether it is the command (else the control); whether it asks for an answer itself; its channel; both ends of the range,
which belong to it; where it begins and ends in its speaker's stream."""


def alone_next(reader: SegmentReader) -> bool:
    """Whether the next frame is a control or command without anything behind it."""
    buffer, at = reader.buffer, reader.position
    return at + 2 <= len(buffer) and buffer[at] == _WHOLE and buffer[at + 1] <= COMMAND


class OneRange:
    """Cuts one control and one command, each also with its bit that asks for an answer: given as segments with any range."""

    __slots__ = ("_command", "_command_asks", "_control", "_control_asks")

    def __init__(self, control: bytes, control_asks: bytes, command: bytes, command_asks: bytes) -> None:
        # What stands between the place of a frame and its set, as one number; flags of the fields stand apart in a command.
        self._control: Final = u64(bytes(4) + control, 0)[0]
        self._control_asks: Final = u64(bytes(4) + control_asks, 0)[0]
        self._command: Final = u64(bytes(4) + command, 0)[0]
        self._command_asks: Final = u64(bytes(4) + command_asks, 0)[0]

    def cut(self, reader: SegmentReader, commands: bool = True) -> CutRange | None:
        """The next frame if it is one of them, and nothing is under way; then it is read.  Not `commands`: only the control.

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
            commands, asks = False, head == self._control_asks
            if not asks and head != self._control:
                return None
        elif commands and begins == _COMMAND and have >= COMMAND_SIZE:
            size = COMMAND_SIZE
            begins, place, head, flags, octets, low, high = command_of_set(buffer, at)
            asks = head == self._command_asks
            place -= _CHANNELS  # track 1
            if flags != _ONE_FIELD or not (asks or head == self._command):
                return None
        else:
            return None
        if octets != _RANGE_OCTETS or not 0 <= place < _CHANNELS or not 0 <= high - low < _HALF:
            return None
        assembler = reader.assembler
        if assembler.open or assembler.queue or reader.searching or reader.dead or reader.trace is not None:
            return None
        if assembler.heard is not None and (place << 4 | commands) not in assembler.heard:
            return None
        start = reader.offset
        reader.skip(at + size, 1, FRAME_HEADER_SIZE)
        return commands, asks, place, low, high, start, start + size

    @staticmethod
    def put_back(reader: SegmentReader, octets: int) -> None:
        """What was cut just now, so many octets, is to be read again."""
        reader.skip(reader.position - octets, -1, FRAME_HEADER_SIZE)
