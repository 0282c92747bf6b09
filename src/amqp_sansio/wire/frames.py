"""Frames of 0-10, a header of twelve octets and a payload: splits output into frames, and assembles incoming ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import MAX_FRAME_SIZE, Limits
from amqp_sansio.wire.framing import BETWEEN, BODY, COMMAND, CONTROL, HEADER, IN_SEGMENT, SKIPPING, Assembly, Malformed, Partial
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


def frame_begun(channel: int, payload: bytes) -> bytes:
    """Encodes the frame of a complete command segment that a header or body follows."""
    return _head(0x0B, COMMAND, len(payload) + FRAME_HEADER_SIZE, 0, 1, channel, 0) + payload


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
        rule, text, said = "frame.size", "a frame is at least as large as its header", f"a frame of {size} octets"
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


class Assembler:
    """Takes frames one by one.

    `frame` returns the assembly that it completes if there is nothing else; otherwise everything goes to `queue`.  `carries`,
    `strict` and `tolerant`: see `SegmentReader`.
    """

    __slots__ = ("_carries", "heard", "held", "limits", "open", "passed", "queue", "strict", "told", "tolerant")

    def __init__(self, limits: Limits, tolerant: bool, strict: bool, carries: Callable[[int, int], bool] | None) -> None:
        self.limits: Final = limits
        self.tolerant: Final = tolerant
        self.strict: Final = strict
        self._carries: Final = carries
        self.open: dict[int, Partial] = {}
        """Incomplete assemblies, by channel << 4 | track."""
        self.held = 0
        """Payload octets in them (limits.buffered_octets)."""
        self.queue: deque[Assembly | Malformed] = deque()
        self.passed: dict[int, int] = {}
        """Octets of skipped frames by channel since `take_passed`; not counted for an observer."""
        self.told = -1
        """Offset of the last frame for which a violation was reported."""
        self.heard: set[int] | None = None
        """After a gap: the (channel, track) pairs that have had a first frame since."""

    def _report(
        self, rule: str, text: str, code: int, channel: int, start: int, said: str, legal: tuple[str, ...] = ()
    ) -> None:
        if self.told != start:  # once for each frame: the first rule that it breaks
            self.told = start
            self.queue.append(Malformed(rule, text, code, channel, start, False, said, legal))

    # The state machine of one (channel, track): idle, in a segment, between two segments.

    def frame(self, flags: int, kind: int, track: int, channel: int, start: int, payload: bytes) -> Assembly | None:
        """Takes the next frame; returns the assembly that it completes, or None: look in `queue`."""
        key = channel << 4 | track
        partial = self.open.get(key)
        if partial is None:
            if kind <= COMMAND and flags & _FIRST == _FIRST:
                return self._begin(key, flags, kind, track, channel, start, payload)
            if self.heard is not None and key not in self.heard:
                self.told = start  # it may continue what was lost
            self._stray(flags, kind, channel, start)
            begun = self._after_breach(key, flags, kind, track, channel, start, payload)
            if (partial := self.open.get(key)) is not None:
                partial.sound = False
            return begun
        if partial.state == SKIPPING:
            return self._skip(key, flags, kind, track, channel, start, payload)
        if partial.state == IN_SEGMENT:
            if flags & FIRST_FRAME or kind != partial.segment:
                self.break_off(key, partial, start)
                self._report(
                    "assembly.last-frame", "the segment before this frame has not ended", 501, channel, start,
                    describe(flags, kind), (f"a frame without b that continues the {KINDS[partial.segment]} segment",),
                )  # fmt: skip
                return self._after_breach(key, flags, kind, track, channel, start, payload)
            if flags & _EDGES != partial.edges:
                self._report(
                    "assembly.same-segment", "the frames of one segment have the same B and E", 501, channel, start,
                    describe(flags, kind), (describe(partial.edges, partial.segment),),
                )  # fmt: skip
                partial.edges = flags & _EDGES
                if not self.tolerant:
                    self.break_off(key, partial, start)
                    return self._after_breach(key, flags, kind, track, channel, start, payload)
        elif flags & FIRST_SEGMENT:
            unended = partial.segment == HEADER and not partial.body_begun and kind == COMMAND and flags & FIRST_FRAME
            if unended and (self.tolerant or not self.strict):
                self.drop(key, partial)
                self.queue.append(partial.assembly(True, True))
                return self._begin(key, flags, kind, track, channel, start, payload)
            self.break_off(key, partial, start)
            self._report(
                "assembly.last-segment", "the assembly before this frame has not ended", 501, channel, start,
                describe(flags, kind), _LEGAL_SEGMENT,
            )  # fmt: skip
            return self._after_breach(key, flags, kind, track, channel, start, payload)
        elif not flags & FIRST_FRAME:
            self.break_off(key, partial, start)
            self._report(
                "assembly.first-frame", "the first frame of a segment must say so", 501, channel, start,
                describe(flags, kind), _LEGAL_SEGMENT,
            )  # fmt: skip
            return self._after_breach(key, flags, kind, track, channel, start, payload)
        elif kind <= partial.segment:
            goes_on = self.tolerant and kind > COMMAND
            if not goes_on:
                self.break_off(key, partial, start)
            self._report(
                "assembly.segment-order", f"a {KINDS[kind]} segment behind a {KINDS[partial.segment]} segment", 503, channel,
                start, describe(flags, kind), tuple([f"b {name}" for name in KINDS[partial.segment + 1 :]]) or _LEGAL_FIRST,
            )  # fmt: skip
            if not goes_on:
                return self._after_breach(key, flags, kind, track, channel, start, payload)
            partial.begin_segment(kind, flags & _EDGES)
        else:
            partial.begin_segment(kind, flags & _EDGES)
        return self._continue(key, partial, flags, start, payload)

    def _stray(self, flags: int, kind: int, channel: int, start: int) -> None:
        said = describe(flags, kind)
        if kind > COMMAND:
            text = f"a {KINDS[kind]} segment without a command before it"
            self._report("assembly.first-segment", text, 501, channel, start, said, _LEGAL_FIRST)
        else:
            text = f"the first frame of a {KINDS[kind]} must say so"
            self._report("assembly.first-frame", text, 501, channel, start, said, _LEGAL_FIRST)

    def _begin(self, key: int, flags: int, kind: int, track: int, channel: int, start: int, payload: bytes) -> Assembly | None:
        octets = len(payload)
        if self.heard is not None and flags & _FIRST == _FIRST and len(self.heard) < 2 * self.limits.channels:
            self.heard.add(key)
        if kind == CONTROL and not flags & LAST_SEGMENT:
            self._report(
                "assembly.control", "a control is one segment", 501, channel, start, describe(flags, kind), ("B E control",)
            )
            if not self.tolerant:
                self.pass_over(key, flags, track, channel, start)
                return None
        elif flags & _LAST == _LAST and octets <= self.limits.assembly_octets:
            whole = Assembly(channel, track, kind, payload, None, None, start, start + FRAME_HEADER_SIZE + octets)
            if not self.queue:
                return whole
            self.queue.append(whole)
            return None
        if len(self.open) >= 2 * self.limits.channels:
            self._report(
                "limits.channels", "too many assemblies under way", 501, channel, start, describe(flags, kind),
                (f"at most {2 * self.limits.channels}",),
            )  # fmt: skip
            if self.tolerant:
                end = start + FRAME_HEADER_SIZE + octets
                self.queue.append(Assembly(channel, track, kind, payload, None, None, start, end, False))
            return None
        partial = self.open[key] = Partial(channel, track, kind, start)
        partial.edges = flags & _EDGES
        return self._continue(key, partial, flags, start, payload)

    def _continue(self, key: int, partial: Partial, flags: int, start: int, payload: bytes) -> Assembly | None:
        octets = len(payload)
        partial.end = start + FRAME_HEADER_SIZE + octets
        exceeded = self._exceeded(partial, flags, octets)
        if exceeded is not None:
            limit, value = exceeded
            rest = self.limits.assembly_octets - partial.octets
            if limit == "assembly_octets" and not partial.octets and rest > 0:
                partial.add(payload[:rest])  # so that an observer can still name it
                self.held += rest
            self.break_off(key, partial)
            code = 501 if partial.kind == CONTROL or limit == "empty_frames" else 506
            self._report(
                f"limits.{limit}", f"more than our limit {limit}", code, partial.channel, start,
                f"a {KINDS[partial.segment]} frame with {octets} octets", (f"{limit} {value}",),
            )  # fmt: skip
            segment = -1 if flags & LAST_FRAME else partial.segment
            self.pass_over(key, flags, partial.track, partial.channel, start, segment)
            return None
        partial.add(payload)
        self.held += octets
        if not flags & LAST_FRAME:
            return None
        partial.end_segment()
        if flags & LAST_SEGMENT:
            self.drop(key, partial)
            whole = partial.assembly(True)
            if not self.queue:
                return whole
            self.queue.append(whole)
        elif partial.kind == CONTROL:  # reported where it began
            self.break_off(key, partial)
            self.pass_over(key, flags, partial.track, partial.channel, start)
        elif partial.segment == COMMAND and not self._may_carry(partial.payload):
            self._report(
                "assembly.segments", "this command carries neither header nor body", 503, partial.channel, start,
                describe(flags, COMMAND), ("B E command",),
            )  # fmt: skip
            if not self.tolerant:
                self.break_off(key, partial)
                self.pass_over(key, flags, partial.track, partial.channel, start)
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

    def _skip(self, key: int, flags: int, kind: int, track: int, channel: int, start: int, payload: bytes) -> Assembly | None:
        partial = self.open[key]
        if not self.tolerant:
            self.passed[channel] = self.passed.get(channel, 0) + FRAME_HEADER_SIZE + len(payload)
        begins = flags & _FIRST == _FIRST or (self.tolerant and (flags & FIRST_FRAME or kind != partial.segment))
        rest, partial.rest = partial.rest, False
        if kind <= COMMAND and begins:
            del self.open[key]
            if rest and flags & _FIRST == _FIRST:
                self._report(
                    "session.command-point.nonzero-offset", "the rest of a command was announced", 501, channel, start,
                    describe(flags, kind), ("a frame without B or without b",),
                )  # fmt: skip
            return self._begin(key, flags, kind, track, channel, start, payload)
        if flags & LAST_FRAME:
            partial.segment = -1
        if flags & _LAST == _LAST:
            del self.open[key]
        return None

    def _after_breach(
        self, key: int, flags: int, kind: int, track: int, channel: int, start: int, payload: bytes
    ) -> Assembly | None:
        """Handles an illegal frame: for an observer a control or command counts as a first frame; skips the rest."""
        if self.tolerant and kind <= COMMAND:
            return self._begin(key, flags, kind, track, channel, start, payload)
        self.pass_over(key, flags, track, channel, start)
        return None

    def take_passed(self) -> dict[int, int]:
        """Returns `passed` and resets it."""
        passed, self.passed = self.passed, {}
        return passed

    def pass_over(self, key: int, flags: int, track: int, channel: int, start: int, segment: int = -1) -> None:
        """Skips the rest of a refused assembly.

        `segment`: the type of the incomplete segment, whose remaining frames begin nothing.
        """
        if flags & _LAST == _LAST or len(self.open) >= 2 * self.limits.channels:
            return
        partial = self.open[key] = Partial(channel, track, COMMAND, start)
        partial.state = SKIPPING
        partial.segment = segment

    def expect_rest(self, channel: int, start: int) -> None:
        """Skips the rest of a command, which comes next on track 1 of the channel."""
        key = channel << 4 | 1
        if key not in self.open:
            self.pass_over(key, 0, 1, channel, start)
        if key in self.open and self.open[key].state == SKIPPING:
            self.open[key].rest = True

    def drop(self, key: int, partial: Partial) -> None:
        """Removes an assembly, complete or not."""
        del self.open[key]
        self.held -= partial.octets

    def break_off(self, key: int, partial: Partial, start: int = -1) -> None:
        """Breaks off an assembly; `start` is the frame that does, which is not at fault if the assembly already was."""
        self.drop(key, partial)
        if not partial.sound and start >= 0:
            self.told = start
        if self.tolerant:
            self.queue.append(partial.assembly(False))

    def forget(self, channel: int) -> None:
        """Drops the incomplete command of a detached session's channel, and skips the rest of it."""
        key = channel << 4 | 1
        partial = self.open.get(key)
        if partial is not None and partial.state != SKIPPING:
            self.drop(key, partial)
            self.pass_over(key, 0, 1, channel, partial.start)

    def conclude(self, channel: int | None) -> list[Assembly]:
        """Ends the incomplete command on a channel, or on all of them: its speaker has sent what can only follow it.

        A command with no header or body outstanding counts as unended (see `Assembly`); others are broken off.
        """
        keys = list(self.open) if channel is None else [channel << 4 | 1]
        ended = []
        for key in keys:
            partial = self.open.get(key)
            if partial is not None and partial.state != SKIPPING:
                self.drop(key, partial)
                unended = partial.segment == HEADER and partial.state == BETWEEN and not partial.body_begun
                ended.append(partial.assembly(unended, unended))
        if channel is None:
            self.open.clear()
        return ended

    def break_off_all(self) -> None:
        """Breaks off everything that is incomplete: nothing more comes."""
        for partial in sorted(self.open.values(), key=lambda each: each.start):
            if partial.state != SKIPPING and self.tolerant:
                self.queue.append(partial.assembly(False))
        self.open.clear()
        self.held = 0


class OpeningAssembler(Assembler):
    """Accepts only one control at a time, on channel 0, of at most `Limits.handshake_octets`.

    A single complete frame passes on any channel, so that the connection can name it when it refuses it.
    """

    __slots__ = ()

    def frame(self, flags: int, kind: int, track: int, channel: int, start: int, payload: bytes) -> Assembly | None:
        """See `Assembler.frame`."""
        most = self.limits.handshake_octets
        partial = self.open.get(0)
        if (channel or track) and flags & WHOLE != WHOLE:
            self._report(
                "connection.handshake", "the connection is not open yet", 501, channel, start, describe(flags, kind),
                ("a control on channel 0",),
            )  # fmt: skip
        elif len(payload) + (0 if partial is None else partial.octets) > most:
            self._report(
                "limits.handshake_octets", "more than our limit handshake_octets before the connection is open", 501, channel,
                start, f"{describe(flags, kind)} with {len(payload)} octets", (f"at most {most} octets",),
            )  # fmt: skip
        else:
            return super().frame(flags, kind, track, channel, start, payload)
        return None
