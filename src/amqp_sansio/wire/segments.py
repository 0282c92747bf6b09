"""Frames in, assemblies out: the reading of the transport of AMQP 0-10, one speaker's octets at a time.

Frames of different channels, and of the two tracks of one channel, interleave freely; those of one (channel, track) do not.
The cost is linear however the octets are cut: what is missing of a frame is remembered, and nothing is looked at twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from amqp_sansio.limits import MAX_FRAME_SIZE, Limits
from amqp_sansio.wire.assembly import BODY, COMMAND, CONTROL, HEADER, Assembly, Malformed
from amqp_sansio.wire.breaches import KINDS, check_header, describe, uncuttable
from amqp_sansio.wire.frames import (
    FIRST_FRAME,
    FIRST_SEGMENT,
    FRAME_HEADER_SIZE,
    LAST_FRAME,
    LAST_SEGMENT,
    frame_command,
    frame_control,
)
from amqp_sansio.wire.octets import frame_header
from amqp_sansio.wire.partial import BETWEEN, IN_SEGMENT, SKIPPING, Partial
from amqp_sansio.wire.resync import find_frame, plausible_header

__all__ = [
    "BODY",
    "COMMAND",
    "CONTROL",
    "HEADER",
    "Assembly",
    "Malformed",
    "SegmentReader",
    "frame_command",
    "frame_control",
]


_FIRST: Final = FIRST_SEGMENT | FIRST_FRAME
_LAST: Final = LAST_SEGMENT | LAST_FRAME
_EDGES: Final = FIRST_SEGMENT | LAST_SEGMENT
_LEGAL_FIRST: Final = ("B b control on track 0", "B b command on track 1")
_LEGAL_SEGMENT: Final = ("b header", "b body")


class SegmentReader:
    """Reads one speaker's frames.  `receive` stores; `next` cuts frames until there is something to hand out.

    `buffer` and `position` are for a fast path beside this one: the octets at hand and the index in them of the first frame not
    yet read, always at a frame boundary.  Whoever reads whole frames there itself moves `position` behind them; it may do so
    only while `idle(channel)` holds for the frames' channel, and checks `max_frame_size` and the limits itself.  `offset` is
    where `position` lies in the speaker's stream.

    `max_frame_size` (octets, frame header included) may be set at any time.  `carries(class_code, code)` tells whether a
    command may be followed by header and body; None: every one may.  `strict` takes an unended assembly (see `Assembly`) as
    the breach that it is.  `tolerant` is for an observer: what is cut off is handed out as an incomplete assembly, and every
    control or command counts, once, at its first frame; otherwise what is broken is dropped and only told as `Malformed`.
    """

    def __init__(
        self,
        limits: Limits,
        max_frame_size: int = MAX_FRAME_SIZE,
        tolerant: bool = False,
        *,
        strict: bool = False,
        carries: Callable[[int, int], bool] | None = None,
        offset: int = 0,
    ) -> None:
        self.limits: Final = limits
        self.max_frame_size = max_frame_size
        self.tolerant: Final = tolerant
        self.strict: Final = strict
        self.buffer = b""
        self.position = 0
        self.dead = False
        """A frame could not be cut: nothing more is read, what comes is only counted."""
        self.held = 0
        """Payload octets in unfinished assemblies (limits.buffered_octets)."""
        self.received = offset
        """Octets of the speaker's stream so far, those before this reader included."""
        self._carries: Final = carries
        self._base = offset
        self._pending: list[bytes] = []
        self._pending_octets = 0
        self._needed = FRAME_HEADER_SIZE
        self._open: dict[int, Partial] = {}
        self._queue: deque[Assembly | Malformed] = deque()
        self._searching = False
        self._ended = False
        self._told = -1
        self._heard: set[int] | None = None
        """After octets were lost: the (channel, track) pairs of which a first frame has been heard since."""

    @property
    def offset(self) -> int:
        """Where the first frame not yet read lies in the speaker's stream."""
        return self._base + self.position

    @property
    def buffered(self) -> int:
        """Octets received and not yet read."""
        return len(self.buffer) - self.position + self._pending_octets

    @property
    def searching(self) -> bool:
        """Whether it looks for the next frame behind lost octets."""
        return self._searching

    @property
    def unfinished(self) -> int | None:
        """Where the earliest thing under way ends so far: an assembly that goes on, or a frame of which a part has come."""
        ends = [partial.end for partial in self._open.values() if partial.state != SKIPPING]
        if self.buffered and not self.dead:
            ends.append(self.received)
        return min(ends, default=None)

    def idle(self, channel: int) -> bool:
        """Whether no command is under way on the channel."""
        return (channel << 4 | 1) not in self._open and not self._queue

    def plausible(self) -> bool | None:
        """Whether the next octets look like a frame at all (and not like those of a security layer); None: too few to tell."""
        if self._queue:
            return True
        if len(self.buffer) - self.position < self._needed and not self._refill():
            return None
        return plausible_header(self.buffer, self.position, MAX_FRAME_SIZE)

    def receive(self, octets: bytes) -> None:
        """Stores octets of the stream."""
        self.received += len(octets)
        if self.dead or not octets:
            return
        self._pending.append(octets)
        self._pending_octets += len(octets)
        if len(self.buffer) - self.position < self._needed:
            self._refill()

    def _refill(self) -> bool:
        """Joins what is stored to the buffer if that gives what is needed."""
        have = len(self.buffer) - self.position
        if have + self._pending_octets < self._needed or not self._pending_octets:
            return False
        if have:
            self._pending.insert(0, self.buffer[self.position :])
        self._base += self.position
        self.buffer = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        self.position = 0
        self._pending = []
        self._pending_octets = 0
        return True

    def next(self) -> Assembly | Malformed | None:
        """The next whole assembly, or what is wrong with the next frame; None as long as more octets are needed."""
        queue = self._queue
        while not queue:
            if self.dead:
                return None
            if self._searching and not self._search():
                return None
            buffer = self.buffer
            at = self.position
            have = len(buffer) - at
            if have < self._needed:
                if self._refill():
                    continue
                if not have and at:
                    self._base += at
                    self.buffer = b""
                    self.position = 0
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
            start = self._base + at
            payload = buffer[at + FRAME_HEADER_SIZE : at + size]
            if size > self.max_frame_size or zero or flags & 0x30 or kind > BODY or track != (kind != CONTROL):
                breach = check_header(flags, kind, size, zero, track, channel, self.max_frame_size, start)
                if breach is not None:
                    self._queue.append(breach)
                    self._told = start
                if kind > BODY or (breach is not None and not self.tolerant):
                    continue
                track &= 0x0F
            whole = self._frame(flags, kind, track, channel, start, payload)
            if whole is not None:
                return whole
        return queue.popleft()

    def _die(self, breach: Malformed) -> None:
        self._queue.append(breach)
        self.dead = True
        self._base += self.position
        self.buffer = b""
        self.position = 0
        self._pending = []
        self._pending_octets = 0

    def _report(
        self, rule: str, text: str, code: int, channel: int, start: int, said: str, legal: tuple[str, ...] = ()
    ) -> None:
        if self._told != start:  # one frame is told once, by the first rule that it breaks
            self._told = start
            self._queue.append(Malformed(rule, text, code, channel, start, False, said, legal))

    # The automaton of one (channel, track): idle, in a segment, between two segments.

    def _frame(self, flags: int, kind: int, track: int, channel: int, start: int, payload: bytes) -> Assembly | None:
        key = channel << 4 | track
        partial = self._open.get(key)
        if partial is None:
            if kind <= COMMAND and flags & _FIRST == _FIRST:
                return self._begin(key, flags, kind, track, channel, start, payload)
            if self._heard is not None and key not in self._heard:
                self._told = start  # it may continue what was lost
            self._stray(flags, kind, channel, start)
            begun = self._after_breach(key, flags, kind, track, channel, start, payload)
            if (partial := self._open.get(key)) is not None:
                partial.sound = False
            return begun
        if partial.state == SKIPPING:
            return self._skip(key, flags, kind, track, channel, start, payload)
        if partial.state == IN_SEGMENT:
            if flags & FIRST_FRAME or kind != partial.segment:
                self._break_off(key, partial, start)
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
                    self._break_off(key, partial, start)
                    return self._after_breach(key, flags, kind, track, channel, start, payload)
        elif flags & FIRST_SEGMENT:
            unended = partial.segment == HEADER and not partial.body_begun and kind == COMMAND and flags & FIRST_FRAME
            if unended and (self.tolerant or not self.strict):
                self._drop(key, partial)
                self._queue.append(partial.assembly(True, True))
                return self._begin(key, flags, kind, track, channel, start, payload)
            self._break_off(key, partial, start)
            self._report(
                "assembly.last-segment", "the assembly before this frame has not ended", 501, channel, start,
                describe(flags, kind), _LEGAL_SEGMENT,
            )  # fmt: skip
            return self._after_breach(key, flags, kind, track, channel, start, payload)
        elif not flags & FIRST_FRAME:
            self._break_off(key, partial, start)
            self._report(
                "assembly.first-frame", "the first frame of a segment must say so", 501, channel, start,
                describe(flags, kind), _LEGAL_SEGMENT,
            )  # fmt: skip
            return self._after_breach(key, flags, kind, track, channel, start, payload)
        elif kind <= partial.segment:
            goes_on = self.tolerant and kind > COMMAND
            if not goes_on:
                self._break_off(key, partial, start)
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
        if self._heard is not None and flags & _FIRST == _FIRST and len(self._heard) < 2 * self.limits.channels:
            self._heard.add(key)
        if kind == CONTROL and not flags & LAST_SEGMENT:
            self._report(
                "assembly.control", "a control is one segment", 501, channel, start, describe(flags, kind), ("B E control",)
            )
            if not self.tolerant:
                self._pass_over(key, flags, track, channel, start)
                return None
        elif flags & _LAST == _LAST and octets <= self.limits.assembly_octets:
            whole = Assembly(channel, track, kind, payload, None, None, start, start + FRAME_HEADER_SIZE + octets)
            if not self._queue:
                return whole
            self._queue.append(whole)
            return None
        if len(self._open) >= 2 * self.limits.channels:
            self._report(
                "limits.channels", "too many assemblies under way", 501, channel, start, describe(flags, kind),
                (f"at most {2 * self.limits.channels}",),
            )  # fmt: skip
            if self.tolerant:
                end = start + FRAME_HEADER_SIZE + octets
                self._queue.append(Assembly(channel, track, kind, payload, None, None, start, end, False))
            return None
        partial = self._open[key] = Partial(channel, track, kind, start)
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
            self._break_off(key, partial)
            code = 501 if partial.kind == CONTROL or limit == "empty_frames" else 506
            self._report(
                f"limits.{limit}", f"more than our limit {limit}", code, partial.channel, start,
                f"a {KINDS[partial.segment]} frame with {octets} octets", (f"{limit} {value}",),
            )  # fmt: skip
            self._pass_over(key, flags, partial.track, partial.channel, start)
            return None
        partial.add(payload)
        self.held += octets
        if not flags & LAST_FRAME:
            return None
        partial.end_segment()
        if flags & LAST_SEGMENT:
            self._drop(key, partial)
            whole = partial.assembly(True)
            if not self._queue:
                return whole
            self._queue.append(whole)
        elif partial.kind == CONTROL:  # told already where it began
            self._break_off(key, partial)
            self._pass_over(key, flags, partial.track, partial.channel, start)
        elif partial.segment == COMMAND and not self._may_carry(partial.payload):
            self._report(
                "assembly.segments", "this command carries neither header nor body", 503, partial.channel, start,
                describe(flags, COMMAND), ("B E command",),
            )  # fmt: skip
            if not self.tolerant:
                self._break_off(key, partial)
                self._pass_over(key, flags, partial.track, partial.channel, start)
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
        if kind <= COMMAND and (self.tolerant or flags & _FIRST == _FIRST):
            del self._open[key]
            return self._begin(key, flags, kind, track, channel, start, payload)
        if flags & _LAST == _LAST:
            del self._open[key]
        return None

    def _after_breach(
        self, key: int, flags: int, kind: int, track: int, channel: int, start: int, payload: bytes
    ) -> Assembly | None:
        """A frame at fault: to an observer a control or command counts as a first one; everything else is passed over."""
        if self.tolerant and kind <= COMMAND:
            return self._begin(key, flags, kind, track, channel, start, payload)
        self._pass_over(key, flags, track, channel, start)
        return None

    def _pass_over(self, key: int, flags: int, track: int, channel: int, start: int) -> None:
        if flags & _LAST == _LAST or len(self._open) >= 2 * self.limits.channels:
            return
        partial = self._open[key] = Partial(channel, track, COMMAND, start)
        partial.state = SKIPPING

    def _drop(self, key: int, partial: Partial) -> None:
        del self._open[key]
        self.held -= partial.octets

    def _break_off(self, key: int, partial: Partial, start: int = -1) -> None:
        """`start`: of the frame that breaks it off; it is not at fault when what it breaks off was already."""
        self._drop(key, partial)
        if not partial.sound and start >= 0:
            self._told = start
        if self.tolerant:
            self._queue.append(partial.assembly(False))

    # What the layers above know.

    def forget(self, channel: int) -> None:
        """Drops what is under way on a channel: its session is detached.  The rest of it, if it comes, is passed over."""
        key = channel << 4 | 1
        partial = self._open.get(key)
        if partial is not None and partial.state != SKIPPING:
            self._drop(key, partial)
            self._pass_over(key, 0, 1, channel, partial.start)

    def conclude(self, channel: int | None) -> list[Assembly]:
        """Ends the command under way on a channel, or all that is under way: its speaker has said what can only follow it.

        One of which neither header nor body is outstanding is taken for unended (see `Assembly`); others are broken off.
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
        """What comes next on track 1 of the channel is the rest of a command (command-point with an offset): skip it."""
        if channel << 4 | 1 not in self._open:
            self._pass_over(channel << 4 | 1, 0, 1, channel, self.offset)

    def take(self) -> bytes:
        """Takes the octets that were received and not yet read out again: they are behind a security layer."""
        octets = b"".join([self.buffer[self.position :], *self._pending])
        self._base = self.offset
        self.buffer = b""
        self.position = 0
        self.received -= len(octets)
        self._pending = []
        self._pending_octets = 0
        self._needed = FRAME_HEADER_SIZE
        return octets

    def lost(self, octets: int) -> None:
        """So many octets of the stream are missing behind what has been received (0: unknown where a frame begins).

        Assemblies under way are broken off; reading goes on at the next octets that look like the first frame of a control or
        command with another frame behind it.
        """
        self.received += octets
        if self.dead:
            return
        self._drain()
        self._break_off_all()
        self._base = self.received
        self.buffer = b""
        self.position = 0
        self._pending = []
        self._pending_octets = 0
        self._needed = FRAME_HEADER_SIZE
        self._heard = set()
        self._searching = True

    def finish(self) -> None:
        """The stream has ended: what is still open is handed out, incomplete, by `next` (to an observer)."""
        self._ended = True
        if not self.dead:
            self._drain()
        self._break_off_all()

    def _drain(self) -> None:
        """Reads all whole frames into the queue: what follows them is gone."""
        found: deque[Assembly | Malformed] = deque()
        while (thing := self.next()) is not None:
            found.append(thing)
        self._queue.extend(found)

    def _break_off_all(self) -> None:
        for partial in sorted(self._open.values(), key=lambda each: each.start):
            if partial.state != SKIPPING and self.tolerant:
                self._queue.append(partial.assembly(False))
        self._open.clear()
        self.held = 0

    def _search(self) -> bool:
        """Moves to the next plausible frame; False as long as more octets are needed."""
        if len(self.buffer) - self.position < self._needed and not self._refill():
            if not self._ended:
                return False
            self._needed = 0
            self._refill()
        self.position, needed = find_frame(self.buffer, self.position, self.max_frame_size, self._ended)
        self._needed = needed or FRAME_HEADER_SIZE
        self._searching = needed > 0
        return not self._searching
