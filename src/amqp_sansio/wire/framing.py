"""The interface of a family's framing for connections and observers: readers, and the assemblies that they return.

Readers and framings are base classes rather than protocols: each message makes several calls to a reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.limits import MAX_FRAME_SIZE, Limits

C = TypeVar("C")  # a command of a session, or a delivery of a channel; compiled code needs a bound

CONTROL: Final = 0
"""Segment type of a control (track 0)."""
COMMAND: Final = 1
"""Segment type of a command (track 1)."""
HEADER: Final = 2
"""Segment type of the header segment after a command (track 1)."""
BODY: Final = 3
"""Segment type of the body segment after a command (track 1)."""

CONNECTION_SCOPE: Final = 501
"""The code that ends the whole connection (framing-error); every other code ends one session."""


class Assembly(ValueObject):
    """A control, or a command with its content.

    * `kind` is CONTROL or COMMAND; `payload` is the control or command segment.
    * `header` and `body` are the other segments, None when absent (b"" is an empty segment).
    * `start` is the offset of its first frame in this speaker's stream, `end` the offset after its last one: frames of other
      channels, and controls, may be in between.
    * `complete` is False when it was broken off, or is incomplete at the end of the stream.
    * `unended` is True for a command (and its header) that was never marked as ended and that the next command simply followed:
      qpidd sends an empty message like that.
    """

    __slots__ = ("channel", "track", "kind", "payload", "header", "body", "start", "end", "complete", "unended")
    FIELDS: ClassVar[tuple[str, ...]] = (
        "channel", "track", "kind", "payload", "header", "body", "start", "end", "complete", "unended",
    )  # fmt: skip

    def __init__(
        self,
        channel: int,
        track: int,
        kind: int,
        payload: bytes,
        header: bytes | None,
        body: bytes | None,
        start: int,
        end: int,
        complete: bool = True,
        unended: bool = False,
    ) -> None:
        self.channel: Final = channel
        self.track: Final = track
        self.kind: Final = kind
        self.payload: Final = payload
        self.header: Final = header
        self.body: Final = body
        self.start: Final = start
        self.end: Final = end
        self.complete: Final = complete
        self.unended: Final = unended


class Malformed(ValueObject):
    """A frame that breaks a rule.

    * `rule` is the specification's rule where it has one, else a path under "frame." or "assembly." for the tables of frame
      headers and of segment order, or "limits." and the name of the limit.
    * `code` is 501 (the connection ends), 503 (misplaced segments: the session ends) or 506 (a limit: the session ends).
    * `offset` is the offset of the frame in this speaker's stream.
    * `fatal`: the end of the frame is unknown, so nothing after it can be read.
    * `said` and `legal` describe the frame, and the frames that would have been legal.
    * `method`: class and method number, in 32 bits, of the incomplete content or command on its channel; 0 for none.
    """

    __slots__ = ("rule", "text", "code", "channel", "offset", "fatal", "said", "legal", "method")
    FIELDS: ClassVar[tuple[str, ...]] = ("rule", "text", "code", "channel", "offset", "fatal", "said", "legal", "method")

    def __init__(
        self,
        rule: str,
        text: str,
        code: int,
        channel: int,
        offset: int,
        fatal: bool = False,
        said: str = "",
        legal: tuple[str, ...] = (),
        method: int = 0,
    ) -> None:
        self.rule: Final = rule
        self.text: Final = text
        self.code: Final = code
        self.channel: Final = channel
        self.offset: Final = offset
        self.fatal: Final = fatal
        self.said: Final = said
        self.legal: Final = legal
        self.method: Final = method

    @property
    def ends_connection(self) -> bool:
        """Whether it ends the connection rather than one session."""
        return self.code == CONNECTION_SCOPE

    @property
    def numbers(self) -> tuple[int, int]:
        """Class and method number of `method`."""
        return self.method >> 16, self.method & 0xFFFF


class KnownCommand(Generic[C]):
    """The meaning of a command's frame, remembered because each message repeats it."""

    __slots__ = ("account", "channel", "command", "payload", "place", "sync")

    def __init__(self, channel: int, command: C, sync: bool, payload: bytes, account: Any = None) -> None:
        self.channel: Final = channel
        self.place: Final = 1 << 16 | channel  # octets 4 to 7 of its frames: track 1, and the channel
        self.command: Final = command
        self.sync: Final = sync
        self.payload: Final = payload
        self.account: Final = account  # the counter to charge.  Any: only the code that learned the command knows its type


Cut: TypeAlias = tuple[KnownCommand[Any], bytes, "int | None", bytes, int, int]
"""A known command with its content.

The known command, its header segment, the octets of its body (None: no body segment), the first of those octets, and where in
its speaker's stream it begins and ends.
"""


def assembly_of(cut: Cut) -> Assembly:
    """Returns the unit that was cut, for the general path."""
    known, header, _, body, start, end = cut
    return Assembly(known.channel, 1, COMMAND, known.payload, header, body or None, start, end)


IN_SEGMENT: Final = 1
"""The next frame continues the segment (b=0)."""
BETWEEN: Final = 2
"""The next frame begins another segment (B=0, b=1)."""
SKIPPING: Final = 3
"""The rest of a broken assembly is skipped, up to its end or to the next first frame."""

AHEAD: Final = 64
"""The most messages that are cut ahead of the one returned."""
_SMALL: Final = 512
"""Smaller payloads are collected in one bytearray: an object for each would cost more than its octets."""


class Partial:
    """An incomplete assembly, at most one per (channel, track).  Keeps the parts, and joins them when their segment ends."""

    __slots__ = (
        "channel", "track", "kind", "start", "end", "state", "segment", "edges", "octets", "segment_octets", "empties", "sound",
        "rest", "_payload", "_header", "_body", "_parts", "_small",
    )  # fmt: skip

    def __init__(self, channel: int, track: int, kind: int, start: int) -> None:
        self.channel: Final = channel
        self.track: Final = track
        self.kind: Final = kind
        self.start: Final = start
        self.end = start
        self.state = IN_SEGMENT
        self.segment = kind
        """Type of the current segment, or of the last one when between two."""
        self.edges = 0
        """The B and E bits of that segment's first frame."""
        self.octets = 0
        """Payload octets of all frames so far."""
        self.segment_octets = 0
        self.empties = 0
        """The number of consecutive frames without payload."""
        self.sound = True
        """False when its first frame was illegal."""
        self.rest = False
        """Whether skipping starts with the next frame, which by command-point must not begin a command."""
        self._payload: bytes | None = None
        self._header: list[bytes] | None = None  # its header segments: one, except that an observer keeps any others
        self._body: list[bytes] | None = None
        self._parts: list[bytes] = []
        self._small: bytearray | None = None

    @property
    def method(self) -> int:
        """The class and code of a command whose segment is whole, as in `Malformed`; 0 for none."""
        payload = self._payload or b""
        return payload[0] << 16 | payload[1] if self.kind == COMMAND and len(payload) > 1 else 0

    @property
    def body_begun(self) -> bool:
        """Whether a body segment has begun."""
        return self._body is not None

    def begin_segment(self, segment: int, edges: int) -> None:
        """Records the first frame of a segment; `edges` are its B and E bits."""
        self.state = IN_SEGMENT
        self.segment = segment
        self.edges = edges
        self.segment_octets = 0
        self.empties = 0

    def add(self, octets: bytes) -> None:
        """Adds the payload of one frame."""
        count = len(octets)
        self.octets += count
        self.segment_octets += count
        if count >= _SMALL:
            if self._small:
                self._parts.append(bytes(self._small))
                self._small = None
            self._parts.append(octets)
        elif count:
            if self._small is None:
                self._small = bytearray(octets)
            else:
                self._small += octets

    def end_segment(self) -> None:
        """Joins the parts of the current segment.  An additional header or body is appended to the first one."""
        octets = self._joined()
        if self.segment == HEADER:
            self._header = _with(self._header, octets)
        elif self.segment == BODY:
            self._body = _with(self._body, octets)
        else:
            self._payload = octets
        self.state = BETWEEN

    def assembly(self, complete: bool, unended: bool = False) -> Assembly:
        """Returns what has arrived of it, at its end or where it was broken off."""
        if self.state == IN_SEGMENT:
            self.end_segment()
        return Assembly(
            self.channel,
            self.track,
            self.kind,
            self._payload or b"",
            _whole(self._header),
            _whole(self._body),
            self.start,
            self.end,
            complete,
            unended,
        )

    @property
    def payload(self) -> bytes:
        """The control or command segment, once it has ended."""
        return self._payload or b""

    def _joined(self) -> bytes:
        if self._small:
            self._parts.append(bytes(self._small))
        self._small = None
        parts = self._parts
        self._parts = []
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _with(segments: list[bytes] | None, octets: bytes) -> list[bytes]:
    """Adds a segment to the list; keeps an empty one only if it is the first."""
    if segments is None:
        return [octets]
    if octets:
        segments.append(octets)
    return segments


def _whole(segments: list[bytes] | None) -> bytes | None:
    if segments is None:
        return None
    return segments[0] if len(segments) == 1 else b"".join(segments)


Carries: TypeAlias = Callable[[int, int], bool]
"""Whether a method or command with these numbers (class, method) may carry a content."""

FrameCut: TypeAlias = tuple[int, int, int, int, int, int, bytes]
"""A frame: start, size, flags, segment type, track, channel, begin of the payload; 0 for what the framing lacks."""


class Reader:
    """Reads one speaker's frames: `receive` stores; `next` reads frames until there is something to return.

    * `max_frame_size` counts the whole frame, and may be set at any time.
    * `tolerant` is for an observer, which gets broken-off assemblies as incomplete; otherwise they are dropped, and only
      reported as `Malformed`.
    * `offset` is the stream offset of its first octet.
    * `opening` restricts the peer to a few controls on channel 0 until `opened` is called.
    * `buffer` and `position` are the octets at hand and the index of the first unread frame, always at a frame boundary.

    The cost is linear however the octets are split: the reader remembers what is missing of a frame (`_needed`), and looks at
    nothing twice.
    """

    HEAD: ClassVar[int] = 0
    """Octets at the beginning of every frame that determine its size."""

    def __init__(self, limits: Limits, max_frame_size: int, tolerant: bool, offset: int, opening: bool = False) -> None:
        self.limits: Final = limits
        self.max_frame_size = max_frame_size
        self.tolerant: Final = tolerant
        self.dead = False
        """Whether the end of a frame was unknown: nothing more is read, only counted."""
        self.wary = False
        """Stop before octets that do not look like a frame (`plausible`), even if complete frames come before them."""
        self.received = offset
        """Octets of the speaker's stream so far, including those before this reader."""
        self.known: Final[dict[bytes, KnownCommand[Any]]] = {}
        """What repeats with every message, by the octets of its frames (limits.cached_commands), for `cut_run`."""
        self.frames = 0
        """The number of frames read so far."""
        self.skipped = 0
        """Octets skipped: before a frame was found, or of an incomplete frame."""
        self.ahead: list[Cut] = []  # the rest of a run, in reverse order
        self.trace: list[FrameCut] | None = None
        """On request, every frame read."""
        self.queue: Final[deque[Assembly | Malformed]] = deque()
        """What was found and not returned yet."""
        self.held = 0
        """Payload octets in incomplete units (limits.buffered_octets)."""
        self.passed: dict[int, int] = {}
        """Octets of frames skipped after something was broken off, by channel, since `take_passed`; none for an observer."""
        self._open: Final[dict[int, Partial]] = {}  # incomplete units, by channel or by channel and track
        self._opening = opening
        self.buffer = b""
        self.position = 0
        self._base = offset
        self._pending: list[bytes] = []
        self._pending_octets = 0
        self._needed = self.HEAD
        self._searching = False
        self._ended = False

    # --- implemented by each family -------------------------------------------------------------------------------------------

    def next(self) -> Assembly | Malformed | None:
        """Returns the next complete unit or the violation in the next frame; None when more octets are needed."""
        raise NotImplementedError

    def next_answer(self, heads: tuple[bytes, ...], until: int) -> Assembly | Malformed | None:
        """Like `next`, after our close: returns the next control that begins with one of `heads`, or a fatal violation.

        Skips everything else, up to the first frame after offset `until`, as cheaply as possible: the other side may send any
        amount.
        """
        while self.offset <= until and (thing := self.next()) is not None:
            if thing.fatal if isinstance(thing, Malformed) else thing.payload.startswith(heads):
                return thing
        return None

    def forget(self, channel: int) -> None:
        """Drops what is incomplete on a channel, and skips the rest of it."""
        raise NotImplementedError

    def _find(self, octets: bytes, start: int) -> tuple[int, int]:
        """Finds the next frame from `start` on that another frame (or, at EOF, the end) follows.

        Returns (index, 0), or (index, octets needed from there on) when there are too few to decide.  Linear: octets before the
        index are not looked at again.
        """
        raise NotImplementedError

    def _plausible_at(self, octets: bytes, at: int) -> bool:
        """Returns whether a frame could begin with these octets."""
        raise NotImplementedError

    def _begin_search(self) -> None:
        """Prepares for the search after a gap: the next frame may continue a lost one."""

    def cut_run(self, head: int, most: int) -> list[Cut]:
        """The fast path for contents: returns up to `most` messages of one channel that repeat known ones, until one needs the
        general path.

        `head` is how many octets of each body are wanted.  Empty when more octets are needed or the next unit is a different
        one: then `next` reads the same octets with every check.  The caller has seen that as many are at hand as are needed
        (`ready`).
        """
        return []

    # --- what was found -------------------------------------------------------------------------------------------------------

    def opened(self) -> None:
        """Records that the connection is open: units of every channel may come from now on."""
        self._opening = False

    def break_off(self) -> bool:
        """Breaks off what is incomplete, which `next` then returns (to an observer).  Returns False when there is nothing."""
        under_way = sorted(self._open.values(), key=lambda each: each.start)
        if self.tolerant:
            self.queue.extend([partial.assembly(False) for partial in under_way if partial.state != SKIPPING])
        self._open.clear()
        self.held = 0
        return bool(under_way)

    def take_passed(self) -> Mapping[int, int]:
        """Returns `passed` and resets it."""
        passed, self.passed = self.passed, {}
        return passed

    def cut_ahead(self) -> Cut | None:
        """Returns the next message of a run, with the rest in `ahead`, in reverse order; None as for `cut_run`.

        Code that takes those from `ahead` itself saves the call.
        """
        ahead = self.ahead
        if not ahead:
            if len(self.buffer) - self.position < self._needed and not self.ready():
                return None
            ahead = self.cut_run(MAX_FRAME_SIZE, AHEAD)
            if not ahead:
                return None
            ahead.reverse()
            self.ahead = ahead
        return ahead.pop()

    def unlearn(self) -> None:
        """Forgets what was learned, and what was cut ahead with it."""
        self.known.clear()
        self._return_ahead()

    def _return_ahead(self) -> None:
        """Puts back what was cut ahead."""
        ahead, self.ahead = self.ahead, []
        if ahead:
            self.skip(ahead[-1][4] - self._base, -sum([3 if cut[3] else 2 for cut in ahead]), self.HEAD)

    # --- the octets at hand ---------------------------------------------------------------------------------------------------

    @property
    def offset(self) -> int:
        """The offset of the first unread frame in the speaker's stream."""
        return self.ahead[-1][4] if self.ahead else self._base + self.position

    @property
    def buffered(self) -> int:
        """The number of octets received and not read yet."""
        return len(self.buffer) + self._base - self.offset + self._pending_octets

    @property
    def searching(self) -> bool:
        """Whether it searches for the next frame after a gap."""
        return self._searching

    @property
    def unfinished(self) -> int | None:
        """The current end of the earliest incomplete unit or frame; None without one."""
        ends = [partial.end for partial in self._open.values() if partial.state != SKIPPING]
        if self.buffered and not self.dead:
            ends.append(self.received)
        return min(ends, default=None)

    @property
    def waits(self) -> bool:
        """Whether `next` needs more octets, as far as is known: it may need even more then."""
        return not (self.queue or self.ready())

    def plausible(self) -> bool | None:
        """Whether the next octets look like a frame (rather than a security layer); None when there are too few to decide.

        Only meaningful when `next` returns None.
        """
        if len(self.buffer) - self.position < self._needed and not self._refill():
            return None
        return self._plausible_at(self.buffer, self.position)

    def receive(self, octets: bytes) -> None:
        """Stores octets of the stream."""
        size = len(octets)
        self.received += size
        if self.dead or not octets:
            return
        if not self._pending and len(self.buffer) == self.position and not self.ahead:  # nearly always: nothing to join it to
            self._base += self.position
            self.buffer = octets
            self.position = 0
        else:
            self._pending.append(octets)
            self._pending_octets += size

    def ready(self) -> bool:
        """Returns whether as many octets are at hand as were found to be needed.  Releases a buffer that is read to its end."""
        if self.ahead:  # the buffer stays: they may have to be put back
            return True
        at = self.position
        have = len(self.buffer) - at
        if have >= self._needed or (self._pending_octets and self._refill()):
            return True
        if at and not have:
            self._base += at
            self.buffer = b""
            self.position = 0
        return False

    def _refill(self) -> bool:
        """Joins the stored octets to the buffer if that provides what is needed."""
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

    def skip(self, position: int, frames: int, needed: int) -> None:
        """Records that `frames` frames were read elsewhere: continues at `position`, once `needed` octets are at hand."""
        self.position = position
        self.frames += frames
        self._needed = needed

    def _search(self) -> bool:
        """Moves to the next plausible frame; returns False when more octets are needed."""
        if len(self.buffer) - self.position < self._needed and not self._refill():
            if not self._ended:
                return False
            self._needed = 0
            self._refill()
        before = self.position
        self.position, needed = self._find(self.buffer, before)
        self.skipped += self.position - before
        self._needed = needed or self.HEAD
        self._searching = needed > 0
        return not self._searching

    def take(self) -> bytes:
        """Removes and returns the unread octets, which belong to a security layer."""
        octets = b"".join([self.buffer[self.position :], *self._pending])
        self._base = self.offset
        self.received -= len(octets)
        self._empty()
        self._needed = self.HEAD
        return octets

    def lost(self, octets: int) -> None:
        """Records that `octets` octets are missing after what was received (0: unknown, within a frame).

        Breaks off incomplete units.  Reading continues at the next octets that look like the first frame of a unit, followed by
        another frame.
        """
        if self.dead:
            self.received += octets
            return
        self._drain()
        self.skipped += self.buffered
        self.received += octets
        self.break_off()
        self._base = self.received
        self._empty()
        self._needed = self.HEAD
        self._begin_search()
        self._searching = True

    def end(self) -> None:
        """Records EOF: the last frame need not wait for a following one."""
        self._ended = True
        if not self._searching:
            self._needed = self.HEAD

    def finish(self) -> None:
        """Ends the stream: `next` returns what is still incomplete (to an observer)."""
        self._ended = True
        if not self.dead:
            self._drain()
        self.break_off()

    def _drain(self) -> None:
        """Reads all complete frames into the queue, because what follows them is lost."""
        if not self._searching:
            self._needed = self.HEAD  # the fast path may wait for more than one frame
        found: deque[Assembly | Malformed] = deque()
        while (thing := self.next()) is not None:
            found.append(thing)
        self.queue.extend(found)

    def _die(self, breach: Malformed) -> None:
        """Stops reading: the end of a frame is unknown."""
        self.break_off()
        self.queue.append(breach)
        self.dead = True
        self._base += self.position
        self._empty()

    def _empty(self) -> None:
        """Drops the unread octets."""
        self.buffer = b""
        self.position = 0
        self._pending = []
        self._pending_octets = 0


class Framing:
    """The framing of one family; `smallest` and `largest` are sizes of whole frames in octets.

    Before the sides have negotiated a size, the letter allows no frame larger than `smallest`.  `usual` is the default of the
    largest frame that a side wants.  `overhead` is the octets of a frame other than its payload.
    """

    HEAD: ClassVar[int] = 0
    """See `Reader.HEAD`."""

    def __init__(self, overhead: int, smallest: int, usual: int, largest: int) -> None:
        self.name = type(self).__name__
        """Its name in snapshots."""
        self.overhead: Final = overhead
        self.smallest: Final = smallest
        self.usual: Final = usual
        self.largest: Final = largest

    def reader(
        self, limits: Limits, max_frame_size: int, *, strict: bool, carries: Carries, offset: int, opening: bool
    ) -> Reader:
        """Returns a reader for one of the two sides.

        `strict` enforces the letter of segment order; `opening` restricts the peer to a few controls of the connection until
        `Reader.opened` is called.
        """
        raise NotImplementedError

    def overhearing(self, limits: Limits, carries: Carries, offset: int) -> Reader:
        """Returns a tolerant reader for an observer."""
        raise NotImplementedError

    def find(self, octets: bytes, start: int, ended: bool) -> tuple[int, int]:
        """Finds three consecutive frames from `start` on, which distinguish this framing from others.

        Returns (index, 0), or (index, octets needed from there on) while there are too few to decide; when the octets have
        `ended`, it can find no more.  Linear: octets before the index are not looked at again.
        """
        at, last = start, len(octets) - self.HEAD
        while True:
            at, needed = self.find_one(octets, at)
            if not needed:
                second = at + self.size_at(octets, at)
                third = second + self.size_at(octets, second)
                if third > last:
                    needed = third + self.HEAD - at
                elif self.plausible_at(octets, third):
                    return at, 0
            if needed and (not ended or at >= last):
                return at, needed
            at += 1

    def find_one(self, octets: bytes, start: int) -> tuple[int, int]:
        """Finds a frame from `start` on that another one follows; see `find`."""
        raise NotImplementedError

    def size_at(self, octets: bytes, at: int) -> int:
        """Returns the octets of the whole frame at `at`, of which at least the head is there."""
        raise NotImplementedError

    def plausible_at(self, octets: bytes, at: int) -> bool:
        """Returns whether a frame could begin with these octets."""
        raise NotImplementedError

    def begins(self, octet: int) -> bool:
        """Returns whether a server's first frame may begin with this octet; if not, it sent a header or something else."""
        return octet != 0x41  # the A of AMQP

    def is_own(self, unit: Assembly) -> bool:
        """Returns whether a unit is a control of class connection, rather than of a channel."""
        raise NotImplementedError

    def own(self, payload: bytes, max_frame: int) -> bytes:
        """Encodes the frame of a control of the connection.  Raises EncodeError when it exceeds `max_frame` octets."""
        raise NotImplementedError
