"""Reads one speaker's frames in AMQP 0-10, and assembles controls and commands.

Frames of different channels, and of the two tracks of one channel, interleave freely; those of one (channel, track) do not.
The cost is linear however the octets are split: it remembers what is missing of a frame, and looks at nothing twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from struct import error
from typing import Any, ClassVar, Final, TypeAlias

from amqp_sansio.limits import MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE, Limits
from amqp_sansio.spec.base import Command
from amqp_sansio.wire.frames import (
    FIRST_FRAME,
    FIRST_SEGMENT,
    FRAME_HEADER_SIZE,
    LAST_FRAME,
    LAST_SEGMENT,
    WHOLE,
    Assembler,
    OpeningAssembler,
    check_header,
    frame_begun,
    frame_control,
    uncuttable,
)
from amqp_sansio.wire.framing import (
    BODY,
    COMMAND,
    CONTROL,
    HEADER,
    SKIPPING,
    Assembly,
    Carries,
    Cut,
    Framing,
    KnownCommand,
    Malformed,
    Reader,
)
from amqp_sansio.wire.primitives import (
    command_of_set,
    frame_begin,
    frame_begin32,
    frame_header,
    frame_of_set,
    put_frame_of_set,
    u16,
    u32,
    u64,
)
from amqp_sansio.wire.resync import find_frame, find_three, plausible_header

# The first two octets (flags, segment type) of frames that are complete segments.
_WHOLE_HEADER: Final = (FIRST_FRAME | LAST_FRAME) << 8 | HEADER
_LAST_HEADER: Final = (LAST_SEGMENT | FIRST_FRAME | LAST_FRAME) << 8 | HEADER
_LAST_BODY: Final = (LAST_SEGMENT | FIRST_FRAME | LAST_FRAME) << 8 | BODY
_LEAST_HEADER: Final = FRAME_HEADER_SIZE + 8
"""Octets of the frame of a header with one empty struct."""

_Head: TypeAlias = tuple[KnownCommand[Any], int, int, int, bool]
"""A known command, and the head of a header frame that follows it.

The command; where the header begins and ends, relative to the command; octets of the header after its first struct; whether the
header is the last segment.
"""
_HEADS: Final = 1024
"""The most of them that are remembered; when there are more, it forgets all and starts over."""

MOST_AT_ONCE: Final = 1024
"""The most commands (with their contents) of one run."""
AHEAD: Final = 64
"""How many of them are cut ahead of the one returned."""


class SegmentReader(Reader):
    """Reads one speaker's frames, and assembles controls and commands.

    A fast path outside this class may read complete frames at `position` and advance it, but only while `idle(channel)` holds
    for their channel; it checks `max_frame_size` and the limits itself.

    * `carries(class_code, code)` returns whether header and body may follow a command; None: always.
    * `strict` treats an unended assembly (see `Assembly`) as the violation that it is.
    * `tolerant`: every control or command counts, once, at its first frame.
    * `opening` restricts the peer to a few controls on channel 0 until `opened` is called.
    """

    HEAD: ClassVar[int] = FRAME_HEADER_SIZE

    def __init__(
        self,
        limits: Limits,
        max_frame_size: int = MAX_FRAME_SIZE,
        tolerant: bool = False,
        *,
        strict: bool = False,
        carries: Callable[[int, int], bool] | None = None,
        offset: int = 0,
        opening: bool = False,
    ) -> None:
        super().__init__(limits, max_frame_size, tolerant, offset)
        self.strict: Final = strict
        self.assembler = (OpeningAssembler if opening else Assembler)(limits, tolerant, strict, carries)
        self._carries: Final = carries
        self._heads: dict[bytes, _Head] = {}  # by their octets, up to the size of the first struct
        self._head_octets = 0  # of the last one
        self._largest_known = 0  # the size of frames that they were checked against

    @property
    def queue(self) -> deque[Assembly | Malformed]:
        return self.assembler.queue

    @property
    def waits(self) -> bool:  # as in the base class, with one call less
        return not (self.assembler.queue or self.ready())

    @property
    def held(self) -> int:
        """Payload octets in incomplete assemblies (limits.buffered_octets)."""
        return self.assembler.held

    def _unfinished_units(self) -> list[int]:
        return [partial.end for partial in self.assembler.open.values() if partial.state != SKIPPING]

    @property
    def passed(self) -> Mapping[int, int]:
        return self.assembler.passed

    def take_passed(self) -> Mapping[int, int]:
        return self.assembler.take_passed()

    def opened(self) -> None:
        queue = self.assembler.queue
        self.assembler = Assembler(self.limits, self.tolerant, self.strict, self._carries)
        self.assembler.queue = queue

    def idle(self, channel: int) -> bool:
        """Returns whether no command is incomplete on the channel."""
        return (channel << 4 | 1) not in self.assembler.open and not self.assembler.queue

    def _plausible_at(self, octets: bytes, at: int) -> bool:
        return plausible_header(octets, at, MAX_FRAME_SIZE)

    def _find(self, octets: bytes, start: int) -> tuple[int, int]:
        return find_frame(octets, start, self.max_frame_size, self._ended)

    def _begin_search(self) -> None:
        self.assembler.heard = set()

    def next(self) -> Assembly | Malformed | None:
        if self.ahead:
            self._return_ahead()
        assembler = self.assembler
        queue = self.assembler.queue
        while not queue:
            if self.dead:
                return None
            if self._searching and not self._search():
                return None
            buffer = self.buffer
            at = self.position
            have = len(buffer) - at
            if have < self._needed:
                if self.ready():
                    continue
                return None
            if self.wary and not plausible_header(buffer, at, MAX_FRAME_SIZE):
                return None
            flags, kind, size, zero, track, channel, _ = frame_header(buffer, at)
            if size < FRAME_HEADER_SIZE or flags & 0xC0:
                self._die(uncuttable(flags, size, channel, self.offset))
                break
            if have < size:
                self._needed = size
                continue
            self._needed = FRAME_HEADER_SIZE
            self.position = at + size
            self.frames += 1
            start = self._base + at
            payload = buffer[at + FRAME_HEADER_SIZE : at + size]
            if self.trace is not None:
                self.trace.append((start, size, flags, kind, track, channel, payload[:2]))
            if size > self.max_frame_size or zero or flags & 0x30 or kind > BODY or track != (kind != CONTROL):
                breach = check_header(flags, kind, size, zero, track, channel, self.max_frame_size, start)
                if breach is not None:
                    self.assembler.queue.append(breach)
                    assembler.told = start
                if kind > BODY or (breach is not None and not self.tolerant):
                    continue
                track &= 0x0F
            whole = assembler.frame(flags, kind, track, channel, start, payload)
            if whole is not None:
                return whole
        return queue.popleft()

    def next_answer(self, heads: tuple[bytes, ...], until: int) -> Assembly | Malformed | None:
        """See `Reader.next_answer`: the awaited control fits into a single frame."""
        if self.ahead:
            self._return_ahead()
        queue = self.assembler.queue
        queue.clear()
        while not self.dead:
            buffer, at, have = self.buffer, self.position, len(self.buffer)
            last, size = until - self._base, FRAME_HEADER_SIZE
            while have - at >= FRAME_HEADER_SIZE and at <= last:
                flags, kind, size, _, _, channel, _ = frame_header(buffer, at)
                if size < FRAME_HEADER_SIZE or flags & 0xC0:
                    self.position = at
                    self._die(uncuttable(flags, size, channel, self.offset))
                    return queue.popleft()
                if have - at < size:
                    break
                begun, at = at, at + size
                if not kind and buffer.startswith(heads, begun + FRAME_HEADER_SIZE, at) and flags & WHOLE == WHOLE:
                    self.position = at
                    self._needed = FRAME_HEADER_SIZE
                    start = self._base + begun
                    return Assembly(
                        channel, 0, CONTROL, buffer[begun + FRAME_HEADER_SIZE : at], None, None, start, start + size
                    )
            self.position = at
            self._needed = size if FRAME_HEADER_SIZE <= have - at < size else FRAME_HEADER_SIZE
            if at > last or not self.ready():
                return None
        return None

    def learn(self, channel: int, payload: bytes, command: Command, sync: bool, account: object = None) -> None:
        """Remembers a single-frame command by its octets: each message repeats it."""
        if len(self.known) >= self.limits.cached_commands:
            self.known.clear()
        self._heads.clear()
        self.known[frame_begun(channel, payload)] = KnownCommand(channel, command, sync, payload, account)

    def skip(self, position: int, frames: int, needed: int) -> None:
        """Records that the caller has read `frames` frames: continues at `position`, once `needed` octets are at hand."""
        self.position = position
        self.frames += frames
        self._needed = needed

    def cut_run(self, head: int, most: int = MOST_AT_ONCE) -> list[Cut]:
        """The fast path for contents: returns up to `most` known commands of one channel, until one needs the general path.

        Each has one header frame and at most one body frame, not empty.  `head` is how many octets of each body are wanted.
        Empty when more octets are needed or the next unit is a different one: then `next` reads the same octets with every
        check.  Headers in practice have one or two structs; others are left to `next` and `walk_headers`.
        """
        assembler = self.assembler
        if assembler.open or assembler.queue or self._searching or self.dead or self.trace is not None or not self.ready():
            return []
        buffer = self.buffer
        at = self.position
        base = self._base
        have = len(buffer)
        largest = self.max_frame_size
        if largest != self._largest_known:
            self._heads.clear()
            self._largest_known = largest
        heads, head_octets = self._heads, self._head_octets
        head_size = FRAME_HEADER_SIZE
        run: list[Cut] = []
        bodiless = 0
        needed = head_size
        place = -1
        body: int | None = None
        frame = at
        try:
            for _ in range(most):
                found = heads.get(buffer[at : at + head_octets])
                if found is None:  # else all in it is as it was checked once; most messages have one of a few sizes
                    found = self._head(at)
                    if found is None:
                        needed = self._needed
                        break
                    head_octets = self._head_octets
                known, header_begin, header_end, behind, alone = found
                if known.place != place:
                    if place >= 0:
                        break
                    place = known.place
                end = frame = at + header_end
                if alone:
                    body, first = None, b""
                else:
                    begins, size, where = frame_begin(buffer, frame)
                    if begins != _LAST_BODY or where != place or size <= head_size or size > largest:
                        break
                    end += size
                    body_at = frame + head_size
                    body = size - head_size
                    first = buffer[body_at:end] if body <= head else buffer[body_at : body_at + head]
                if have < end:
                    needed = end - at
                    break
                if behind and u32(buffer, frame - behind)[0] != behind - 4:
                    break
                run.append((known, buffer[at + header_begin : frame], body, first, base + at, base + end))
                if alone:
                    bodiless += 1
                at = end
        except error:  # the head of the frame behind the header is not whole
            needed = frame + head_size - at
        self.position = at
        self.frames += 3 * len(run) - bodiless
        self._needed = FRAME_HEADER_SIZE if self._ended else needed
        return run

    def _head(self, at: int) -> _Head | None:
        """Returns, and remembers, what `_heads` holds of the octets from `at` on, which are not remembered yet.

        Returns None when more octets are needed (`_needed`) or anything else comes.
        """
        buffer, have = self.buffer, len(self.buffer) - at
        self._needed = FRAME_HEADER_SIZE
        if have < FRAME_HEADER_SIZE:
            return None
        command_size = u16(buffer, at + 2)[0]
        known = self.known.get(buffer[at : at + command_size])
        if known is None:
            return None
        octets = command_size + FRAME_HEADER_SIZE + 4
        if have < octets:
            head_end = command_size + FRAME_HEADER_SIZE
            self._needed = head_end if have < head_end else command_size + u16(buffer, at + command_size + 2)[0]
            return None
        begins, size, where, walked = frame_begin32(buffer, at + command_size)
        behind = size - FRAME_HEADER_SIZE - 4 - walked
        alone = begins == _LAST_HEADER
        if where != known.place or not _LEAST_HEADER <= size <= self.max_frame_size or not (alone or begins == _WHOLE_HEADER):
            return None
        if behind and (walked < 2 or behind < 8):
            return None
        if len(self._heads) >= _HEADS:
            self._heads.clear()
        self._head_octets = octets
        found = self._heads[buffer[at : at + octets]] = known, octets - 4, command_size + size, behind, alone
        return found

    def put_back(self, run: Iterable[Cut]) -> None:
        """Puts back the last ones of a run."""
        if back := list(run):
            self.skip(back[0][4] - self._base, -sum([2 if cut[2] is None else 3 for cut in back]), FRAME_HEADER_SIZE)

    def cut_ahead(self) -> Cut | None:
        ahead = self.ahead
        if not ahead:
            ahead = self.cut_run(MAX_FRAME_SIZE, AHEAD)
            if not ahead:
                return None
            ahead.reverse()
            self.ahead = ahead
        return ahead.pop()

    def unlearn(self) -> None:
        self.known.clear()
        self._heads = {}  # a reader of an earlier snapshot has none
        self._head_octets = self._largest_known = 0
        self._return_ahead()

    def _return_ahead(self) -> None:
        ahead, self.ahead = self.ahead, []
        self.put_back(reversed(ahead))

    # --- what the layers above know -------------------------------------------------------------------------------------------

    def forget(self, channel: int) -> None:
        """Drops the incomplete command of a detached session's channel, and skips the rest of it."""
        self.assembler.forget(channel)

    def conclude(self, channel: int | None) -> list[Assembly]:
        """Ends the incomplete command on a channel, or on all of them: its speaker has sent what can only follow it."""
        return self.assembler.conclude(channel)

    def expect_rest(self, channel: int) -> None:
        """Skips the rest of a command, which comes next on track 1 of the channel (command-point with an offset)."""
        self.assembler.expect_rest(channel, self.offset)

    def break_off(self) -> bool:
        under_way = bool(self.assembler.open)
        self.assembler.break_off_all()
        return under_way


_CONNECTION_CLASS: Final = b"\x01"


def codes_of(payload: bytes) -> tuple[int, int]:
    """Returns class code and code of a command segment; 0 when it is too short."""
    return (payload[0], payload[1]) if len(payload) >= 2 else (0, 0)


class Segmentation(Framing):
    """Frames of at most 65535 octets, with an overhead of twelve."""

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


CONTROL_SIZE: Final = FRAME_HEADER_SIZE + 14
"""Octets of the frame of a control whose only field is a set of one range."""
COMMAND_SIZE: Final = FRAME_HEADER_SIZE + 16
"""Octets of the frame of a command with such a field."""
_WHOLE: Final = FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME | LAST_FRAME
_CONTROL: Final = (_WHOLE << 8 | CONTROL) << 16 | CONTROL_SIZE
_COMMAND: Final = (_WHOLE << 8 | COMMAND) << 16 | COMMAND_SIZE
_ONE_FIELD: Final = 0x0100  # flags of a command
_CHANNELS: Final = 1 << 16
_RANGE_OCTETS: Final = 8
_HALF: Final = 1 << 31

CutRange: TypeAlias = tuple[bool, bool, int, int, int, int, int]
"""What `OneRange` cuts.

Whether it is the command (else the control); whether it asks for an answer; its channel; the first and last id of the range;
where it begins and ends in its speaker's stream.
"""


def alone_next(reader: SegmentReader) -> bool:
    """Returns whether the next frame is a control or command without segments after it."""
    buffer, at = reader.buffer, reader.position
    return at + 2 <= len(buffer) and buffer[at] == _WHOLE and buffer[at + 1] <= COMMAND


class OneRange:
    """Cuts one control and one command, with and without the bit that asks for an answer, and writes the control.

    Takes samples with any range.
    """

    __slots__ = ("_command", "_command_asks", "_control", "_control_asks")

    def __init__(self, control: bytes, control_asks: bytes, command: bytes, command_asks: bytes) -> None:
        # The octets between the place of a frame and its set, as one number; a command has the flags of its fields separately.
        self._control: Final = u64(bytes(4) + control, 0)[0]
        self._control_asks: Final = u64(bytes(4) + control_asks, 0)[0]
        self._command: Final = u64(bytes(4) + command, 0)[0]
        self._command_asks: Final = u64(bytes(4) + command_asks, 0)[0]

    def cut(self, reader: SegmentReader, commands: bool = True) -> CutRange | None:
        """Reads the next frame if it is one of them, and nothing is incomplete.  Without `commands`, only the control.

        Returns None for anything else: `SegmentReader.next` reads the same octets with every check.
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
        if assembler.open or assembler.queue or reader._searching or reader.dead or reader.trace is not None:
            return None
        if assembler.heard is not None and (place << 4 | commands) not in assembler.heard:
            return None
        start = reader.offset if reader.ahead else reader._base + at
        reader.position = at + size  # `skip` inlined
        reader.frames += 1
        reader._needed = FRAME_HEADER_SIZE
        return commands, asks, place, low, high, start, start + size

    def control(self, channel: int, low: int, high: int, asks: bool) -> bytes:
        """Writes the control with a range of less than half of all ids, in its frame."""
        head = self._control_asks if asks else self._control
        return put_frame_of_set(_CONTROL, channel, head, _RANGE_OCTETS, low, high)

    @staticmethod
    def put_back(reader: SegmentReader, octets: int) -> None:
        """Puts back the `octets` octets that were cut just now."""
        reader.skip(reader.position - octets, -1, FRAME_HEADER_SIZE)
