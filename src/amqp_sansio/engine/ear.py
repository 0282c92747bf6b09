"""One speaker's octets as an observer hears them: a protocol header, then frames, or octets that nobody can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.limits import MAX_FRAME_SIZE, Limits
from amqp_sansio.wire.protocol import SIZE, ProtocolHeader
from amqp_sansio.wire.segments import Assembly, Malformed, SegmentReader

Thing: TypeAlias = ProtocolHeader | Assembly | Malformed

HEADER: Final = "header"
"""The first octets: a protocol header, if the conversation is heard from its beginning."""
DECIDING: Final = "deciding"
"""The header has been handed out; the observer has not yet said how to go on."""
FRAMES: Final = "frames"
OPAQUE: Final = "opaque"


class Heard(NamedTuple):
    """A thing and the octets of this speaker's stream in which it lies."""

    start: int
    end: int
    thing: Thing


class Ear:
    """`receive` stores; `next` hands out one thing.  Offsets count this speaker's octets, lost ones included.

    `late_carries`: given when the dialect is known beforehand, so that frames may come without a header before them.
    """

    __slots__ = (
        "_head",
        "_late_carries",
        "_limits",
        "ended",
        "doubt",
        "late",
        "opaque_start",
        "reader",
        "reason",
        "received",
        "state",
    )

    def __init__(self, limits: Limits, late_carries: Callable[[int, int], bool] | None = None) -> None:
        self._limits: Final = limits
        self._late_carries: Final = late_carries
        self._head = b""
        self.state = HEADER
        self.reader: SegmentReader | None = None
        self.received = 0
        self.late = False
        """It was heard from the middle, or something of it was lost."""
        self.doubt = ""
        """Why the next octets may not be frames at all ("behind a security layer"); "" when they must be."""
        self.reason = ""
        self.opaque_start = 0
        self.ended = False

    @property
    def rest(self) -> int:
        """Octets at the end that belong to a frame which never came whole."""
        return self.reader.buffered if self.reader is not None and not self.reader.dead else 0

    @property
    def opaque(self) -> int:
        """Octets that could not be read."""
        return self.received - self.opaque_start if self.state == OPAQUE else 0

    @property
    def unfinished(self) -> int | None:
        """Where the earliest thing under way ends so far: what is told of it later ends there or behind.  None: nothing is."""
        if self.state == FRAMES:
            return None if self.reader is None else self.reader.unfinished
        return self.received if self.opaque or self._head else None

    def receive(self, octets: bytes) -> None:
        self.received += len(octets)
        if self.state == FRAMES and self.reader is not None:
            self.reader.receive(octets)
        elif self.state != OPAQUE:
            self._head += octets

    def next(self) -> Heard | None:
        """The next thing; None when more octets are needed or nothing can be read any more."""
        if self.state == HEADER:
            return self._header()
        reader = self.reader
        if self.state != FRAMES or reader is None:
            return None
        if self.doubt and not reader.searching:
            plausible = reader.plausible()
            if plausible is False or (plausible is None and self.ended and reader.buffered):
                self.be_opaque(self.doubt, reader.offset)
                return None
        thing = reader.next()
        if thing is None:
            return None
        if isinstance(thing, Assembly):
            return Heard(thing.start, thing.end, thing)
        if thing.fatal:
            self.be_opaque("behind a frame that cannot be cut", thing.offset)
        return Heard(thing.offset, min(thing.offset + 12, self.received), thing)

    def _header(self) -> Heard | None:
        head = self._head
        enough = len(head) >= SIZE or self.ended
        if not head or not (enough or (self._late_carries is not None and len(head) >= 4 and head[:4] != b"AMQP")):
            return None
        if self._late_carries is not None and head[:4] != b"AMQP":
            if not enough:
                return None
            if ProtocolHeader(head[:SIZE]).name == "nothing known":
                self.late = True
                self.read_frames(self._late_carries, 0)
                return self.next()
        header = ProtocolHeader(head[:SIZE])
        self._head = head[SIZE:]
        self.state = DECIDING
        return Heard(0, len(header.octets), header)

    def read_frames(self, carries: Callable[[int, int], bool], start: int = SIZE, max_frame_size: int = MAX_FRAME_SIZE) -> None:
        """What follows is frames.  When heard from the middle, the first one is looked for."""
        reader = SegmentReader(self._limits, max_frame_size, True, carries=carries, offset=start)
        if self.late:
            reader.lost(0)
        self.reader = reader
        self.state = FRAMES
        reader.receive(self._head)
        self._head = b""
        if self.ended:
            reader.finish()

    def be_opaque(self, reason: str, start: int) -> None:
        """What follows the offset `start` cannot be read: it is only counted."""
        if self.state != OPAQUE:
            self.state = OPAQUE
            self.reason = reason
            self.opaque_start = start
            self._head = b""

    def lost(self, octets: int) -> None:
        """So many octets of the stream are missing here."""
        self.received += octets
        self.late = True
        if self.state == FRAMES and self.reader is not None:
            self.reader.lost(octets)
        elif self.state == OPAQUE:
            self.opaque_start += octets
        elif self.state == HEADER and self._late_carries is not None:
            self.read_frames(self._late_carries, self.received - len(self._head))
            self._head = b""
        else:
            self.be_opaque("the protocol header was lost", self.received)

    def finish(self) -> None:
        """Nothing more will come."""
        self.ended = True
        if self.reader is not None and self.state == FRAMES:
            self.reader.finish()
