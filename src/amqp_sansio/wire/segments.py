"""The frames and segments of AMQP 0-10: writes controls and commands as frames, and reads one speaker's frames.

A frame is a header of twelve octets and a payload.  Frames of different channels, and of the two tracks of one channel,
interleave freely; those of one (channel, track) do not.  Reading costs the same however the octets are split: the reader
remembers what is missing of a frame, and looks at nothing twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from struct import error
from typing import Any, ClassVar, Final, TypeAlias

from amqp_sansio.errors import EncodeError
from amqp_sansio.errors.core import many
from amqp_sansio.limits import MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE, Limits
from amqp_sansio.spec.base import Command
from amqp_sansio.wire.framing import (
    BETWEEN,
    BODY,
    COMMAND,
    CONTROL,
    HEADER,
    IN_SEGMENT,
    SKIPPING,
    Assembly,
    Carries,
    Cut,
    Framing,
    KnownCommand,
    Malformed,
    Partial,
    Reader,
)
from amqp_sansio.wire.primitives import (
    command_of_set,
    frame_begin,
    frame_begin32,
    frame_header,
    frame_of_set,
    put_frame_header,
    put_frame_of_set,
    u16,
    u32,
    u64,
)
from amqp_sansio.wire.primitives import put_frame_header as _head

FRAME_HEADER_SIZE: Final = 12
"""Octets of a frame header; the size field of a frame includes them."""

FIRST_SEGMENT: Final = 0x08
LAST_SEGMENT: Final = 0x04
FIRST_FRAME: Final = 0x02
LAST_FRAME: Final = 0x01
WHOLE: Final = FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME | LAST_FRAME
"""The flags of a frame that is a complete assembly."""

KINDS: Final = ("control", "command", "header", "body")
"""The segment types by number."""


def frame_control(channel: int, payload: bytes, max_frame: int = MAX_FRAME_SIZE) -> bytes:
    """Encodes a control as one frame, as deployed peers require.  Raises EncodeError when it exceeds `max_frame` octets."""
    size = len(payload) + FRAME_HEADER_SIZE
    if size > max_frame:
        raise _too_large("control", size, max_frame)
    return _head(0x0F, CONTROL, size, 0, 0, channel, 0) + payload


def frame_command(
    channel: int,
    payload: bytes,
    header: bytes | None = None,
    body: bytes | None = None,
    max_frame: int = MAX_FRAME_SIZE,
    split_header: bool = False,
) -> list[bytes]:
    """Encodes a command and its content as frames of at most `max_frame` octets, headers included.

    None omits a segment; an empty body is one empty frame.  Only the body is ever split, as deployed peers require: raises
    EncodeError when the command or the header exceeds one frame.  `split_header` splits such a header as well, to forward a
    message from a peer with larger frames.
    """
    size = len(payload) + FRAME_HEADER_SIZE
    if size > max_frame:
        raise _too_large("command", size, max_frame)
    if header is None and body is None:
        return [_head(0x0F, COMMAND, size, 0, 1, channel, 0) + payload]
    frames = [_head(0x0B, COMMAND, size, 0, 1, channel, 0) + payload]
    if header is not None:
        size = len(header) + FRAME_HEADER_SIZE
        if size <= max_frame:
            frames.append(_head(0x07 if body is None else 0x03, HEADER, size, 0, 1, channel, 0) + header)
        elif split_header:
            _split(frames, channel, HEADER, 0 if body is not None else 0x04, header, max_frame)
        else:
            raise _too_large("header", size, max_frame)
    if body is not None:
        size = len(body) + FRAME_HEADER_SIZE
        if size <= max_frame:
            frames.append(_head(0x07, BODY, size, 0, 1, channel, 0) + body)
        else:
            _split(frames, channel, BODY, 0x04, body, max_frame)
    return frames


def _split(frames: list[bytes], channel: int, kind: int, last_segment: int, body: bytes, max_frame: int) -> None:
    """Adds a segment of this kind as several frames; `last_segment` is the flag, 0x04 or 0, that all of them carry."""
    room = max_frame - FRAME_HEADER_SIZE
    if room < 1:
        raise EncodeError("frame", f"a frame of {max_frame} octets has no room for a body")
    last = (len(body) - 1) // room * room
    head = _head(last_segment, kind, max_frame, 0, 1, channel, 0)
    frames.append(_head(last_segment | 0x02, kind, max_frame, 0, 1, channel, 0) + body[:room])
    for at in range(room, last, room):
        frames.append(head + body[at : at + room])
    rest = body[last:]
    frames.append(_head(last_segment | 0x01, kind, len(rest) + FRAME_HEADER_SIZE, 0, 1, channel, 0) + rest)


def _too_large(what: str, size: int, max_frame: int) -> EncodeError:
    return EncodeError(what, f"its segment must fit into one frame of {max_frame} octets, and takes {size}")


# --- incoming frames ------------------------------------------------------------------------------------------------------


def describe(flags: int, kind: int) -> str:
    """Describes a frame in words: "B E b e control"."""
    marks = [
        mark for bit, mark in ((FIRST_SEGMENT, "B"), (LAST_SEGMENT, "E"), (FIRST_FRAME, "b"), (LAST_FRAME, "e")) if flags & bit
    ]
    return " ".join([*marks, KINDS[kind]])


def uncuttable(flags: int, size: int, channel: int, offset: int) -> Malformed:
    """Returns the violation of a frame whose end cannot be determined."""
    if flags & 0xC0:
        rule, text, said = "frame.version", "the framing version must be 0", f"framing version {flags >> 6}"
        legal = "framing version 0"
    else:
        rule, text, said = "frame.size", "a frame is at least as large as its header", f"a frame of {many(size, 'octet')}"
        legal = "12 octets or more"
    return Malformed(rule, text, 501, channel, offset, True, said, (legal,))


def check_header(
    flags: int, kind: int, size: int, zero: int, track: int, channel: int, max_frame_size: int, offset: int
) -> Malformed | None:
    """Returns the first violation in a frame header.  Ignores octets 8 to 11, as peers do."""
    legal: tuple[str, ...]
    if size > max_frame_size:
        rule, text = "connection.tune-ok.max-frame-size.max-frame-size", "a frame larger than what was agreed"
        said, legal = f"a frame of {size} octets", (f"at most {max_frame_size} octets",)
    elif flags & 0x30 or zero or track & 0xF0:
        rule, text = "frame.reserved", "the reserved bits of a frame header must be 0"
        said, legal = f"reserved bits {flags & 0x30:#04x}, octet 4 {zero:#04x}, octet 5 {track:#04x}", ("0",)
    elif kind > BODY:
        rule, text, said, legal = "frame.segment-type", "nobody knows this segment type", f"segment type {kind}", KINDS
    elif track != (kind != CONTROL):
        rule, text = "frame.track", "controls go on track 0, everything else on track 1"
        said, legal = f"a {KINDS[kind]} on track {track}", (f"track {int(kind != CONTROL)}",)
    else:
        return None
    return Malformed(rule, text, 501, channel, offset, False, said, legal)


_FIRST: Final = FIRST_SEGMENT | FIRST_FRAME
_LAST: Final = LAST_SEGMENT | LAST_FRAME
_EDGES: Final = FIRST_SEGMENT | LAST_SEGMENT

_LEGAL_FIRST: Final = ("B b control on track 0", "B b command on track 1")
_LEGAL_SEGMENT: Final = ("b header", "b body")


# The first two octets (flags, segment type) of frames that are complete segments.
_WHOLE_HEADER: Final = (FIRST_FRAME | LAST_FRAME) << 8 | HEADER
_LAST_HEADER: Final = (LAST_SEGMENT | FIRST_FRAME | LAST_FRAME) << 8 | HEADER
_LAST_BODY: Final = (LAST_SEGMENT | FIRST_FRAME | LAST_FRAME) << 8 | BODY
_LEAST_HEADER: Final = FRAME_HEADER_SIZE + 8
"""Octets of the frame of a header with one empty struct."""


def frame_begun(channel: int, payload: bytes) -> bytes:
    """Encodes the frame of a complete command segment that a header or body follows: each message repeats it."""
    return put_frame_header(0x0B, COMMAND, len(payload) + FRAME_HEADER_SIZE, 0, 1, channel, 0) + payload


_Head: TypeAlias = tuple[KnownCommand[Any], int, int, int, bool]
"""A known command, and the head of a header frame that follows it.

The command; where the header begins and ends, relative to the command; octets of the header after its first struct; whether the
header is the last segment.
"""
_Frame: TypeAlias = tuple[int, int, int, int, int, bytes]
"""Flags, segment type, track and channel of a frame, where it begins in its speaker's stream, and its payload."""
_HEADS: Final = 1024
"""The most of them that are remembered; when there are more, it forgets all and starts over."""

MOST_AT_ONCE: Final = 1024
"""The most commands (with their contents) of one run."""


class SegmentReader(Reader):
    """Reads one speaker's frames, and assembles controls and commands.

    A fast path outside this class may read complete frames at `position` and advance it, but only while `idle(channel)` holds
    for their channel; it checks `max_frame_size` and the limits itself.

    * `carries(class_code, code)` returns whether header and body may follow a command; None: always.
    * `strict` treats an unended assembly (see `Assembly`) as the violation that it is.
    * `tolerant`: every control or command counts, once, at its first frame.
    * `opening`: a complete frame passes on any channel, so that the connection can name it when it refuses it.
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
        super().__init__(limits, max_frame_size, tolerant, offset, opening)
        self.strict: Final = strict
        self.told = -1
        """Offset of the last frame for which a violation was reported."""
        self.heard: set[int] | None = None
        """After a gap: the channels and tracks that have had a first frame since, as channel << 4 | track, like `_open`."""
        self._carries: Final = carries
        self._heads: dict[bytes, _Head] = {}  # by their octets, up to the size of the first struct
        self._head_octets = 0  # of the last one
        self._largest_known = 0  # the size of frames that they were checked against

    def idle(self, channel: int) -> bool:
        """Returns whether no command is incomplete on the channel."""
        return (channel << 4 | 1) not in self._open and not self.queue

    def _plausible_at(self, octets: bytes, at: int) -> bool:
        return plausible_header(octets, at, MAX_FRAME_SIZE)

    def _find(self, octets: bytes, start: int) -> tuple[int, int]:
        return find_frame(octets, start, self.max_frame_size, self._ended)

    def _begin_search(self) -> None:
        self.heard = set()

    def next(self) -> Assembly | Malformed | None:
        if self.ahead:
            self._return_ahead()
        queue = self.queue
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
                    queue.append(breach)
                    self.told = start
                if kind > BODY or (breach is not None and not self.tolerant):
                    continue
                track &= 0x0F
            frame = flags, kind, track, channel, start, payload
            if self._opening and self._is_early(frame):
                continue
            whole = self._frame(frame)
            if whole is not None:
                return whole
        return queue.popleft()

    def next_answer(self, heads: tuple[bytes, ...], until: int) -> Assembly | Malformed | None:
        """See `Reader.next_answer`: the awaited control fits into a single frame."""
        if self.ahead:
            self._return_ahead()
        queue = self.queue
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

    def cut_run(self, head: int, most: int = MOST_AT_ONCE) -> list[Cut]:
        """The fast path for contents: returns up to `most` known commands of one channel, until one needs the general path.

        Each has one header frame and at most one body frame, not empty.  `head` is how many octets of each body are wanted.
        Empty when more octets are needed or the next unit is a different one: then `next` reads the same octets with every
        check.  Headers in practice have one or two structs; others are left to `next` and `walk_headers`.
        """
        if self._open or self.queue or self._searching or self.dead or self.trace is not None:
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

    def unlearn(self) -> None:
        self._heads = {}  # a reader of an earlier snapshot has none
        self._head_octets = self._largest_known = 0
        super().unlearn()

    # --- what the layers above know -------------------------------------------------------------------------------------------

    def forget(self, channel: int) -> None:
        """Drops the incomplete command of a detached session's channel, and skips the rest of it."""
        key = channel << 4 | 1
        partial = self._open.get(key)
        if partial is not None and partial.state != SKIPPING:
            self._drop(key, partial)
            self._pass_over(0, 1, channel, partial.start)

    def conclude(self, channel: int | None) -> list[Assembly]:
        """Ends the incomplete command on a channel, or on all of them: its speaker has sent what can only follow it.

        A command with no header or body outstanding counts as unended (see `Assembly`); others are broken off.
        """
        keys = list(self._open) if channel is None else [channel << 4 | 1]
        ended = []
        for key in keys:
            partial = self._open.get(key)
            if partial is not None and partial.state != SKIPPING:
                self._drop(key, partial)
                unended = partial.segment == HEADER and partial.state == BETWEEN and not partial.body_begun
                ended.append(partial.assembly(unended, unended))
        if channel is None:
            self._open.clear()
        return ended

    def expect_rest(self, channel: int) -> None:
        """Skips the rest of a command, which comes next on track 1 of the channel (command-point with an offset)."""
        key = channel << 4 | 1
        if key not in self._open:
            self._pass_over(0, 1, channel, self.offset)
        if key in self._open and self._open[key].state == SKIPPING:
            self._open[key].rest = True

    # --- the assembly of segments ---------------------------------------------------------------------------------------------

    def _is_early(self, frame: _Frame) -> bool:
        """Returns whether a frame must not come before the connection is open, and reports it."""
        flags, kind, track, channel, _, payload = frame
        most, octets, partial = self.limits.handshake_octets, len(payload), self._open.get(0)
        if (channel or track) and flags & WHOLE != WHOLE:
            self._report(frame, "connection.handshake", "the connection is not open yet", ("a control on channel 0",))
        elif octets + (0 if partial is None else partial.octets) > most:
            text = "more than our limit handshake_octets before the connection is open"
            said = f"{describe(flags, kind)} with {octets} octets"
            self._report(frame, "limits.handshake_octets", text, (f"at most {most} octets",), said=said)
        else:
            return False
        return True

    def _report(
        self, frame: _Frame, rule: str, text: str, legal: tuple[str, ...], code: int = 501, said: str = "", method: int = 0
    ) -> None:
        flags, kind, _, channel, start, _ = frame
        if self.told != start:  # once for each frame: the first rule that it breaks
            self.told = start
            self.queue.append(Malformed(rule, text, code, channel, start, False, said or describe(flags, kind), legal, method))

    # The state machine of one (channel, track): idle, in a segment, between two segments.

    def _frame(self, frame: _Frame) -> Assembly | None:
        """Takes the next frame; returns the assembly that it completes, or None: look in `queue`."""
        flags, kind, track, channel, start, _ = frame
        key = channel << 4 | track
        partial = self._open.get(key)
        if partial is None:
            if kind <= COMMAND and flags & _FIRST == _FIRST:
                return self._begin(frame)
            if self.heard is not None and key not in self.heard:
                self.told = start  # it may continue what was lost
            if kind > COMMAND:
                text = f"a {KINDS[kind]} segment without a command before it"
                self._report(frame, "assembly.first-segment", text, _LEGAL_FIRST)
            else:
                self._report(frame, "assembly.first-frame", f"the first frame of a {KINDS[kind]} must say so", _LEGAL_FIRST)
            begun = self._after_breach(frame)
            if (partial := self._open.get(key)) is not None:
                partial.sound = False
            return begun
        if partial.state == SKIPPING:
            return self._skip(frame, partial)
        if partial.state == IN_SEGMENT:
            if flags & FIRST_FRAME or kind != partial.segment:
                self._break_off(key, partial, start)
                legal = f"a frame without b that continues the {KINDS[partial.segment]} segment"
                self._report(frame, "assembly.last-frame", "the segment before this frame has not ended", (legal,))
                return self._after_breach(frame)
            if flags & _EDGES != partial.edges:
                legal = describe(partial.edges, partial.segment)
                self._report(frame, "assembly.same-segment", "the frames of one segment have the same B and E", (legal,))
                partial.edges = flags & _EDGES
                if not self.tolerant:
                    self._break_off(key, partial, start)
                    return self._after_breach(frame)
        elif flags & FIRST_SEGMENT:
            unended = partial.segment == HEADER and not partial.body_begun and kind == COMMAND and flags & FIRST_FRAME
            if unended and (self.tolerant or not self.strict):
                self._drop(key, partial)
                self.queue.append(partial.assembly(True, True))
                return self._begin(frame)
            self._break_off(key, partial, start)
            self._report(frame, "assembly.last-segment", "the assembly before this frame has not ended", _LEGAL_SEGMENT)
            return self._after_breach(frame)
        elif not flags & FIRST_FRAME:
            self._break_off(key, partial, start)
            self._report(frame, "assembly.first-frame", "the first frame of a segment must say so", _LEGAL_SEGMENT)
            return self._after_breach(frame)
        elif kind <= partial.segment:
            goes_on = self.tolerant and kind > COMMAND
            if not goes_on:
                self._break_off(key, partial, start)
            text = f"a {KINDS[kind]} segment behind a {KINDS[partial.segment]} segment"
            following = tuple([f"b {name}" for name in KINDS[partial.segment + 1 :]])
            self._report(frame, "assembly.segment-order", text, following or _LEGAL_FIRST, 503)
            if not goes_on:
                return self._after_breach(frame)
            partial.begin_segment(kind, flags & _EDGES)
        else:
            partial.begin_segment(kind, flags & _EDGES)
        return self._continue(frame, partial)

    def _begin(self, frame: _Frame) -> Assembly | None:
        flags, kind, track, channel, start, payload = frame
        key, octets = channel << 4 | track, len(payload)
        end = start + FRAME_HEADER_SIZE + octets
        if self.heard is not None and flags & _FIRST == _FIRST and len(self.heard) < 2 * self.limits.channels:
            self.heard.add(key)
        if kind == CONTROL and not flags & LAST_SEGMENT:
            self._report(frame, "assembly.control", "a control is one segment", ("B E control",))
            if not self.tolerant:
                self._pass_over(flags, track, channel, start)
                return None
        elif flags & _LAST == _LAST and octets <= self.limits.assembly_octets:
            whole = Assembly(channel, track, kind, payload, None, None, start, end)
            if not self.queue:
                return whole
            self.queue.append(whole)
            return None
        if len(self._open) >= 2 * self.limits.channels:
            legal = f"at most {2 * self.limits.channels}"
            self._report(frame, "limits.channels", "too many assemblies under way", (legal,))
            if self.tolerant:
                self.queue.append(Assembly(channel, track, kind, payload, None, None, start, end, False))
            return None
        partial = self._open[key] = Partial(channel, track, kind, start)
        partial.edges = flags & _EDGES
        return self._continue(frame, partial)

    def _continue(self, frame: _Frame, partial: Partial) -> Assembly | None:
        flags, _, track, channel, start, payload = frame
        key, octets = channel << 4 | track, len(payload)
        partial.end = start + FRAME_HEADER_SIZE + octets
        exceeded = self._exceeded(partial, flags, octets)
        if exceeded is not None:
            limit, value = exceeded
            rest = self.limits.assembly_octets - partial.octets
            if limit == "assembly_octets" and not partial.octets and rest > 0:
                partial.add(payload[:rest])  # so that an observer can still name it
                self.held += rest
            self._break_off(key, partial)
            said, text = f"a {KINDS[partial.segment]} frame with {many(octets, 'octet')}", f"more than our limit {limit}"
            code = 501 if partial.kind == CONTROL or limit == "empty_frames" else 506
            self._report(frame, f"limits.{limit}", text, (f"{limit} {value}",), code, said, partial.method)
            self._pass_over(flags, track, channel, start, -1 if flags & LAST_FRAME else partial.segment)
            return None
        partial.add(payload)
        self.held += octets
        if not flags & LAST_FRAME:
            return None
        partial.end_segment()
        if flags & LAST_SEGMENT:
            self._drop(key, partial)
            whole = partial.assembly(True)
            if not self.queue:
                return whole
            self.queue.append(whole)
        elif partial.kind == CONTROL:  # reported where it began
            self._break_off(key, partial)
            self._pass_over(flags, track, channel, start)
        elif partial.segment == COMMAND and not self._may_carry(partial.payload):
            text, said = "this command carries neither header nor body", describe(flags, COMMAND)
            self._report(frame, "assembly.segments", text, ("B E command",), 503, said)
            if not self.tolerant:
                self._break_off(key, partial)
                self._pass_over(flags, track, channel, start)
        return None

    def _exceeded(self, partial: Partial, flags: int, octets: int) -> tuple[str, int] | None:
        limits = self.limits
        if octets:
            partial.empties = 0
        elif not flags & LAST_FRAME:
            partial.empties += 1
            if partial.empties > limits.empty_frames:
                return "empty_frames", limits.empty_frames
        if partial.octets + octets > limits.assembly_octets:
            return "assembly_octets", limits.assembly_octets
        if partial.segment == HEADER and partial.segment_octets + octets > limits.header_octets:
            return "header_octets", limits.header_octets
        if self.held + octets > limits.buffered_octets:
            return "buffered_octets", limits.buffered_octets
        return None

    def _may_carry(self, payload: bytes) -> bool:
        return self._carries is None or (len(payload) >= 2 and self._carries(payload[0], payload[1]))

    def _skip(self, frame: _Frame, partial: Partial) -> Assembly | None:
        flags, kind, track, channel, _, payload = frame
        if not self.tolerant:
            self.passed[channel] = self.passed.get(channel, 0) + FRAME_HEADER_SIZE + len(payload)
        begins = flags & _FIRST == _FIRST or (self.tolerant and (flags & FIRST_FRAME or kind != partial.segment))
        rest, partial.rest = partial.rest, False
        if kind <= COMMAND and begins:
            del self._open[channel << 4 | track]
            if rest and flags & _FIRST == _FIRST:
                rule, legal = "session.command-point.nonzero-offset", "a frame without B or without b"
                self._report(frame, rule, "the rest of a command was announced", (legal,))
            return self._begin(frame)
        if flags & LAST_FRAME:
            partial.segment = -1
        if flags & _LAST == _LAST:
            del self._open[channel << 4 | track]
        return None

    def _after_breach(self, frame: _Frame) -> Assembly | None:
        """Handles an illegal frame: for an observer a control or command counts as a first frame; skips the rest."""
        flags, kind, track, channel, start, _ = frame
        if self.tolerant and kind <= COMMAND:
            return self._begin(frame)
        self._pass_over(flags, track, channel, start)
        return None

    def _pass_over(self, flags: int, track: int, channel: int, start: int, segment: int = -1) -> None:
        """Skips the rest of a refused assembly.

        `segment`: the type of the incomplete segment, whose remaining frames begin nothing.
        """
        if flags & _LAST == _LAST or len(self._open) >= 2 * self.limits.channels:
            return
        partial = self._open[channel << 4 | track] = Partial(channel, track, COMMAND, start)
        partial.state = SKIPPING
        partial.segment = segment

    def _drop(self, key: int, partial: Partial) -> None:
        """Removes an assembly, complete or not."""
        del self._open[key]
        self.held -= partial.octets

    def _break_off(self, key: int, partial: Partial, start: int = -1) -> None:
        """Breaks off an assembly; `start` is the frame that does, which is not at fault if the assembly already was."""
        self._drop(key, partial)
        if not partial.sound and start >= 0:
            self.told = start
        if self.tolerant:
            self.queue.append(partial.assembly(False))


_CONNECTION_CLASS: Final = b"\x01"


def codes_of(payload: bytes) -> tuple[int, int]:
    """Returns class code and code of a command segment; 0 when it is too short."""
    return (payload[0], payload[1]) if len(payload) >= 2 else (0, 0)


class Segmentation(Framing):
    """Frames of at most 65535 octets, with an overhead of twelve."""

    HEAD: ClassVar[int] = FRAME_HEADER_SIZE

    def __init__(self) -> None:
        super().__init__(FRAME_HEADER_SIZE, MIN_MAX_FRAME_SIZE, MAX_FRAME_SIZE, MAX_FRAME_SIZE)

    def reader(
        self, limits: Limits, max_frame_size: int, *, strict: bool, carries: Carries, offset: int, opening: bool
    ) -> Reader:
        return SegmentReader(limits, max_frame_size, strict=strict, carries=carries, offset=offset, opening=opening)

    def overhearing(self, limits: Limits, carries: Carries, offset: int) -> Reader:
        return SegmentReader(limits, MAX_FRAME_SIZE, True, carries=carries, offset=offset)

    def find_one(self, octets: bytes, start: int) -> tuple[int, int]:
        return find_frame(octets, start, MAX_FRAME_SIZE, False)

    def size_at(self, octets: bytes, at: int) -> int:
        return octets[at + 2] << 8 | octets[at + 3]

    def plausible_at(self, octets: bytes, at: int) -> bool:
        return plausible_header(octets, at, MAX_FRAME_SIZE)

    def is_own(self, unit: Assembly) -> bool:
        return unit.kind == CONTROL and unit.payload[:1] == _CONNECTION_CLASS

    def own(self, payload: bytes, max_frame: int) -> bytes:
        return frame_control(0, payload, max_frame)


SEGMENTATION: Final = Segmentation()


CONTROL_SIZE: Final = FRAME_HEADER_SIZE + 14
"""Octets of the frame of a control whose only field is a set of one range."""
COMMAND_SIZE: Final = FRAME_HEADER_SIZE + 16
"""Octets of the frame of a command whose only field is a set of one range."""
_CONTROL: Final = (WHOLE << 8 | CONTROL) << 16 | CONTROL_SIZE
_COMMAND: Final = (WHOLE << 8 | COMMAND) << 16 | COMMAND_SIZE
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
    return at + 2 <= len(buffer) and buffer[at] == WHOLE and buffer[at + 1] <= COMMAND


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
        if reader._open or reader.queue or reader._searching or reader.dead or reader.trace is not None:
            return None
        if reader.heard is not None and (place << 4 | commands) not in reader.heard:
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


_FRAME_BEGINS: Final = re.compile(
    rb"[\x0e\x0f]\x00..\x00\x00..\x00{4}[\x01\x02][\x01-\x10]"  # a control: class connection or session
    rb"|[\x0a\x0b\x0e\x0f]\x01..\x00\x01..\x00{4}[\x03-\x0a][\x01-\x20]\x01[\x00\x01]"  # a command and its session.header
    rb"|[\x00-\x0f][\x02\x03]..\x00\x01..\x00{4}",  # a frame of a header or body
    re.DOTALL,
)
_LONGEST: Final = 16
"""Octets that the pattern looks at."""


def find_frame(octets: bytes, start: int, max_frame_size: int, ended: bool) -> tuple[int, int]:
    """Finds the first frame from `start` on that another one follows.

    It begins a control or command, or belongs to a header or body.  Returns (index, 0), or (index, octets needed from there on)
    when there are too few to decide.  When the stream has `ended`, a frame up to its very last octet is enough.  Linear: octets
    before the index are not looked at again.
    """
    at = start
    while match := _FRAME_BEGINS.search(octets, at):
        at = match.start()
        size = octets[at + 2] << 8 | octets[at + 3]
        if FRAME_HEADER_SIZE <= size <= max_frame_size:
            behind = at + size
            if behind + FRAME_HEADER_SIZE <= len(octets):
                if plausible_header(octets, behind, max_frame_size):
                    return at, 0
            elif not ended:
                return at, size + FRAME_HEADER_SIZE
            elif behind == len(octets):
                return at, 0
        at += 1
    if ended:
        return len(octets), _LONGEST
    return max(at, len(octets) - _LONGEST + 1), _LONGEST


def plausible_header(octets: bytes, at: int, max_frame_size: int) -> bool:
    """Returns whether the twelve octets at `at` could be a frame header; no real peer sets a reserved octet."""
    kind = octets[at + 1]
    size = octets[at + 2] << 8 | octets[at + 3]
    return (
        octets[at] < 0x10
        and kind <= 3
        and FRAME_HEADER_SIZE <= size <= max_frame_size
        and octets[at + 4] == 0
        and octets[at + 5] == (kind != 0)
        and octets[at + 8 : at + 12] == b"\0\0\0\0"
    )
