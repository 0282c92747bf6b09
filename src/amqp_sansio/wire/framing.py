"""How a family frames its methods, as connections and observers see it: readers, and the assemblies that they hand out.

Readers and framings are base classes and no protocols: a message asks a reader several things.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from amqp_sansio.kernel.value import Value
from amqp_sansio.limits import Limits

C = TypeVar("C")  # a command of a session, or a delivery of a channel: compiled code asks for its bound

CONTROL: Final = 0
"""Segment type of a control (track 0)."""
COMMAND: Final = 1
"""Segment type of a command (track 1)."""
HEADER: Final = 2
"""Segment type of the header segment behind a command (track 1)."""
BODY: Final = 3
"""Segment type of the body segment behind a command (track 1)."""

CONNECTION_SCOPE: Final = 501
"""The code with which the whole connection ends (framing-error); every other code ends one session."""


class Assembly(Value):
    """A control, or a command with what it carries.

    `kind` is CONTROL or COMMAND; `payload` is the octets of its control or command segment; `header` and `body` are those
    of the other segments, None where there is no such segment (b"" is a segment without octets).  `start` is the
    offset, in the octets of this speaker's stream, of its first frame, `end` the offset behind its last one: frames of other
    channels, and controls, may lie between.  `complete` is False when it was broken off or is still open at the end;
    `unended` is True for a command and its header that were never marked as ended, behind which the next command
    simply started: qpidd delivers a message with neither header nor body of its own like that.
    """

    __slots__ = ("channel", "track", "kind", "payload", "header", "body", "start", "end", "complete", "unended")
    FIELDS: ClassVar[tuple[str, ...]] = (
        "channel", "track", "kind", "payload", "header", "body", "start", "end", "complete", "unended",
    )  # fmt: skip
    __match_args__ = ("channel", "track", "kind", "payload", "header", "body", "start", "end", "complete", "unended")

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


class Malformed(Value):
    """A frame that breaks a rule.

    `rule` is the specification's rule where it has one, else a path under "frame." or "assembly." for the tables of frame
    headers and of segment order, or "limits." and the name of the limit.  `code` is 501 (the connection ends), 503 (segments
    in the wrong order or where there may be none: the session ends) or 506 (a limit: the session ends).  `offset` is the
    place of the frame in this speaker's stream.  `fatal`: the frame cannot be cut, so nothing behind it can be read.
    `said` and `legal` tell, for a person, what the frame was and what it could have been.  `method`: class and method of the
    content under way on its channel, in 32 bits; 0 for none, or where contents are no such thing.
    """

    __slots__ = ("rule", "text", "code", "channel", "offset", "fatal", "said", "legal", "method")
    FIELDS: ClassVar[tuple[str, ...]] = ("rule", "text", "code", "channel", "offset", "fatal", "said", "legal", "method")
    __match_args__ = ("rule", "text", "code", "channel", "offset", "fatal", "said", "legal", "method")

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
        """Whether the connection ends by it, and not one session only."""
        return self.code == CONNECTION_SCOPE

    @property
    def numbers(self) -> tuple[int, int]:
        """Class and method of `method`."""
        return self.method >> 16, self.method & 0xFFFF


class KnownCommand(Generic[C]):
    """What the frame of a command means, remembered because the same frame comes again with every message."""

    __slots__ = ("account", "channel", "command", "payload", "place", "sync")

    def __init__(self, channel: int, command: C, sync: bool, payload: bytes, account: Any = None) -> None:
        self.channel: Final = channel
        self.place: Final = 1 << 16 | channel  # octets 4 to 7 of its frames: track 1, and the channel
        self.command: Final = command
        self.sync: Final = sync
        self.payload: Final = payload
        self.account: Final = account  # where it is counted.  Any: of whoever learns it, who alone reads it


Cut: TypeAlias = tuple[KnownCommand[Any], bytes, "int | None", bytes, int, int]
"""Such a command with its content: what is known of it, its header segment, the octets of its body (None: it has no body
segment) and the first of them, and where in its speaker's stream it begins and ends."""


IN_SEGMENT: Final = 1
"""The next frame continues the segment (b=0)."""
BETWEEN: Final = 2
"""The next frame begins another segment (B=0, b=1)."""
SKIPPING: Final = 3
"""What is left of a broken assembly is passed over, up to its end or to the next first frame."""

_SMALL: Final = 512
"""Payloads of fewer octets are gathered in one bytearray: an object each would cost more than its octets."""


class Partial:
    """One per (channel, track) at most.  Parts are kept as they came and joined once, when their segment ends."""

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
        """Type of the segment under way, or of the last one when between two."""
        self.edges = 0
        """The B and E bits of that segment's first frame."""
        self.octets = 0
        """Payload octets of all its frames so far."""
        self.segment_octets = 0
        self.empties = 0
        """Frames without payload in a row."""
        self.sound = True
        """False when its first frame was at fault already."""
        self.rest = False
        """Skipping begins with the next frame, which by command-point must not begin a command."""
        self._payload: bytes | None = None
        self._header: list[bytes] | None = None  # its segments: one, but for an observer, to whom a speaker may say more
        self._body: list[bytes] | None = None
        self._parts: list[bytes] = []
        self._small: bytearray | None = None

    @property
    def body_begun(self) -> bool:
        """Whether a body segment has begun."""
        return self._body is not None

    def begin_segment(self, segment: int, edges: int) -> None:
        """The first frame of a segment has come; `edges` are its B and E."""
        self.state = IN_SEGMENT
        self.segment = segment
        self.edges = edges
        self.segment_octets = 0
        self.empties = 0

    def add(self, octets: bytes) -> None:
        """One frame's payload."""
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
        """Joins what has come of the segment under way.  A second header or body comes behind the first one, in the end."""
        octets = self._joined()
        if self.segment == HEADER:
            self._header = _with(self._header, octets)
        elif self.segment == BODY:
            self._body = _with(self._body, octets)
        else:
            self._payload = octets
        self.state = BETWEEN

    def assembly(self, complete: bool, unended: bool = False) -> Assembly:
        """What there is of it, at its end or where it was broken off."""
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
    """The segments with one more, of which none but the first is kept without octets."""
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
"""Whether a method or command, by its class and its own number, may be followed by a content."""

FrameCut: TypeAlias = tuple[int, int, int, int, int, int, bytes]
"""A frame as it was cut: start, size, flags, segment type, track, channel, begin of the payload; 0 for what it has not."""


class Reader:
    """Reads one speaker's frames: `receive` stores; `next` cuts frames until there is something to hand out.

    `max_frame_size` is octets, all of the frame included, and may be set at any time.  `tolerant` is for an observer: what is
    cut off is handed out as incomplete; otherwise what is broken is dropped and only told as `Malformed`.  `offset` is where
    the octets begin that it is given.

    `buffer` and `position` are the octets at hand and the index in them of the first frame not yet read, always at a frame
    boundary.  The cost is linear however the octets are cut: what is missing of a frame is remembered (`_needed`), and nothing
    is looked at twice.
    """

    HEAD: ClassVar[int] = 0
    """Octets with which every frame begins, and which tell its size."""

    def __init__(self, limits: Limits, max_frame_size: int, tolerant: bool, offset: int) -> None:
        self.limits: Final = limits
        self.max_frame_size = max_frame_size
        self.tolerant: Final = tolerant
        self.dead = False
        """A frame could not be cut: nothing more is read, what comes is only counted."""
        self.wary = False
        """Stop before octets that do not look like a frame (`plausible`), however many frames before them are at hand."""
        self.received = offset
        """Octets of the speaker's stream so far, those before this reader included."""
        self.known: Final[dict[bytes, KnownCommand[Any]]] = {}
        """What comes with every message, by the octets of its frames (limits.cached_commands), for `cut_run`."""
        self.frames = 0
        """Frames cut so far."""
        self.skipped = 0
        """Octets passed over: before a frame was found, or of a frame that did not come whole."""
        self.ahead: list[Cut] = []  # of a run, the next one last
        self.trace: list[FrameCut] | None = None
        """On request, each frame cut."""
        self.buffer = b""
        self.position = 0
        self._base = offset
        self._pending: list[bytes] = []
        self._pending_octets = 0
        self._needed = self.HEAD
        self._searching = False
        self._ended = False

    # --- what a family brings ---------------------------------------------------------------------------------------------

    @property
    def queue(self) -> deque[Assembly | Malformed]:
        """What was found and not handed out."""
        raise NotImplementedError

    def next(self) -> Assembly | Malformed | None:
        """The next whole unit, or what is wrong with the next frame; None as long as more octets are needed."""
        raise NotImplementedError

    def next_answer(self, heads: tuple[bytes, ...], until: int) -> Assembly | Malformed | None:
        """As `next`, after our close: the next control that begins with one of `heads`, or what makes the octets
        behind it unreadable.  All else is passed over, up to the first frame behind offset `until`, as cheaply as can be: the
        other side may send as much of it as it likes.
        """
        while self.offset <= until and (thing := self.next()) is not None:
            if thing.fatal if isinstance(thing, Malformed) else thing.payload.startswith(heads):
                return thing
        return None

    def break_off(self) -> bool:
        """What is under way goes no further: `next` hands it out, incomplete (to an observer).  False when nothing is."""
        raise NotImplementedError

    def forget(self, channel: int) -> None:
        """Drops what is under way on a channel.  The rest of it, if it comes, is passed over."""
        raise NotImplementedError

    def opened(self) -> None:
        """The connection is open: units of every channel may come from now on."""
        raise NotImplementedError

    def _unfinished_units(self) -> list[int]:
        """Where units that go on end so far."""
        raise NotImplementedError

    def _find(self, octets: bytes, start: int) -> tuple[int, int]:
        """Where from `start` on the next frame begins that another one follows (when the stream has ended: up to its end).

        Gives (index, 0), or (index, octets needed from there on) when there are too few to tell.  Linear: no octet before the
        index is looked at again.
        """
        raise NotImplementedError

    def _plausible_at(self, octets: bytes, at: int) -> bool:
        """Whether a frame could begin with the octets that are there."""
        raise NotImplementedError

    def _begin_search(self) -> None:
        """Octets were lost: what comes next may continue what was among them."""

    @property
    def passed(self) -> Mapping[int, int]:
        """Octets of frames that were passed over behind what was broken off, by channel, since they were taken."""
        return {}

    def take_passed(self) -> Mapping[int, int]:
        """What `passed` counts; it begins anew."""
        return {}

    def cut_run(self, head: int, most: int) -> list[Cut]:
        """The fast path for content: messages like others before them, at most `most`, until one is not as plain as that.

        `head` is how many octets of bodies are wanted.  Empty where more octets are needed, and where the next one is another:
        then `next` reads the same octets with every check.
        """
        return []

    def cut_ahead(self) -> Cut | None:
        """The next message of a run, the others of which are `ahead`, the next one last; None as for `cut_run`.

        Code that takes those from `ahead` itself saves the call.
        """
        return None

    def unlearn(self) -> None:
        """Forgets what is known, and what was cut ahead by it."""

    # --- the octets at hand -----------------------------------------------------------------------------------------------

    @property
    def offset(self) -> int:
        """Where the first frame not yet read lies in the speaker's stream."""
        return self.ahead[-1][4] if self.ahead else self._base + self.position

    @property
    def buffered(self) -> int:
        """Octets received and not yet read."""
        return len(self.buffer) + self._base - self.offset + self._pending_octets

    @property
    def searching(self) -> bool:
        """Whether it looks for the next frame behind lost octets."""
        return self._searching

    @property
    def unfinished(self) -> int | None:
        """Where the earliest thing under way ends so far: a unit that goes on, or a frame of which a part has come."""
        ends = self._unfinished_units()
        if self.buffered and not self.dead:
            ends.append(self.received)
        return min(ends, default=None)

    @property
    def waits(self) -> bool:
        """Whether more octets are needed, as far as `next` has found out: it may want more than it knew of."""
        return not (self.queue or self.ready())

    def plausible(self) -> bool | None:
        """Whether the next octets look like a frame at all (and not like those of a security layer); None: too few to tell.

        To be asked when `next` has nothing to hand out.
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
        """Whether as many octets are at hand as were found to be needed.  A buffer that is read to its end is let go."""
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

    def _search(self) -> bool:
        """Moves to the next plausible frame; False as long as more octets are needed."""
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
        """Takes the octets that were received and not yet read out again: they are behind a security layer."""
        octets = b"".join([self.buffer[self.position :], *self._pending])
        self._base = self.offset
        self.received -= len(octets)
        self._empty()
        self._needed = self.HEAD
        return octets

    def lost(self, octets: int) -> None:
        """`octets` octets of the stream are missing behind what has been received (0: unknown where a frame begins).

        Units under way are broken off; reading goes on at the next octets that look like the first frame of one with another
        frame behind it.
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
        """Nothing more comes: no frame waits for those behind it."""
        self._ended = True
        if not self._searching:
            self._needed = self.HEAD

    def finish(self) -> None:
        """The stream has ended: what is still open is handed out, incomplete, by `next` (to an observer)."""
        self._ended = True
        if not self.dead:
            self._drain()
        self.break_off()

    def _drain(self) -> None:
        """Reads all whole frames into the queue: what follows them is gone."""
        if not self._searching:
            self._needed = self.HEAD  # the quick way may wait for more than one frame
        found: deque[Assembly | Malformed] = deque()
        while (thing := self.next()) is not None:
            found.append(thing)
        self.queue.extend(found)

    def _die(self, breach: Malformed) -> None:
        """A frame cannot be cut."""
        self.break_off()
        self.queue.append(breach)
        self.dead = True
        self._base += self.position
        self._empty()

    def _empty(self) -> None:
        """Drops what was received and not read."""
        self.buffer = b""
        self.position = 0
        self._pending = []
        self._pending_octets = 0


class Framing:
    """The frames of one family: `smallest` and `largest` are octets of a frame, all of it included.

    Before the sides have agreed on a size, the letter allows no frame larger than `smallest`.  `usual` is the largest frame
    that a side wants if it does not say.  `overhead` is how many octets of a frame are no payload.
    """

    def __init__(self, overhead: int, smallest: int, usual: int, largest: int) -> None:
        self.name = type(self).__name__
        """What snapshots call it."""
        self.overhead: Final = overhead
        self.smallest: Final = smallest
        self.usual: Final = usual
        self.largest: Final = largest

    def reader(
        self, limits: Limits, max_frame_size: int, *, strict: bool, carries: Carries, offset: int, opening: bool
    ) -> Reader:
        """A reader for one of the two sides.  `strict` takes to the letter how units are put together; `opening` holds the
        peer to a few controls of the connection until `Reader.opened` is called."""
        raise NotImplementedError

    def overhearing(self, limits: Limits, carries: Carries, offset: int) -> Reader:
        """A reader, tolerant, for a third person."""
        raise NotImplementedError

    def find(self, octets: bytes, start: int, ended: bool) -> tuple[int, int]:
        """Where, from `start` on, three frames in a row begin, which tells this framing from others: (index, 0), or
        (index, octets needed from there on) as long as there are too few to tell; none will be found where they have `ended`.

        Linear: no octet before the index is looked at again.
        """
        raise NotImplementedError

    def begins(self, octet: int) -> bool:
        """Whether the first frame of a server may begin with this octet; else it said a header, or speaks something else."""
        return octet != 0x41  # the A of AMQP

    def is_own(self, unit: Assembly) -> bool:
        """Whether the connection itself is spoken of, by a word of class connection, and none of its channels."""
        raise NotImplementedError

    def own(self, payload: bytes, max_frame: int) -> bytes:
        """The frame of a control of the connection.  EncodeError when it is larger than `max_frame` octets."""
        raise NotImplementedError
