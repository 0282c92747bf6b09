"""One speaker's octets as an observer hears them: a protocol header, then frames, or octets that nobody can read."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.limits import Limits
from amqp_sansio.protocol import SIZE, ProtocolHeader
from amqp_sansio.wire.assembly import Assembly, Cut, Malformed
from amqp_sansio.wire.framing import Carries, Framing, Reader

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

    `framing` is what reads frames, `carries` is for its reader (see there).  `known`: frames may come without a header before
    them.
    """

    __slots__ = (
        "_carries",
        "_head",
        "_known",
        "_limits",
        "doubt",
        "ended",
        "found",
        "framing",
        "heard",
        "joined",
        "late",
        "opaque_start",
        "reader",
        "reason",
        "received",
        "state",
        "told",
        "trace",
    )

    def __init__(self, limits: Limits, framing: Framing, carries: Carries, known: bool = False) -> None:
        self._limits: Final = limits
        self.framing = framing
        self._carries = carries
        self._known: Final = known
        self._head = b""
        self.state = HEADER
        self.reader: Reader | None = None
        self.received = 0
        self.heard = 0
        """`received` without what was lost."""
        self.late = False
        """It was heard from the middle, or something of it was lost."""
        self.joined = False
        """The other side was heard from the middle: this one need not begin with a header, whatever its octets look like."""
        self.doubt = ""
        """Why the next octets may not be frames at all ("behind a security layer"); "" when they must be."""
        self.reason = ""
        self.opaque_start = 0
        """Where what cannot be read begins; while frames are looked for, where the search began."""
        self.told = False
        """Whether somebody was told that nothing more can be read."""
        self.ended = False
        self.found = False
        """Something could be read."""
        self.trace = False
        """Whether every frame is told."""

    @property
    def rest(self) -> int:
        """Octets at the end that belong to a frame which never came whole."""
        return self.reader.buffered if self.reader is not None and self.state == FRAMES and not self.reader.dead else 0

    @property
    def opaque(self) -> int:
        """Octets that could not be read."""
        return self.received - self.opaque_start if self.state == OPAQUE else 0

    @property
    def frameless(self) -> bool:
        """Whether it was heard from the middle and nothing in it was ever found to be a frame."""
        return self.state == FRAMES and self.late and not self.found

    @property
    def unread(self) -> int:
        """Octets that were heard and belong to nothing that could be read."""
        skipped = 0 if self.reader is None else self.reader.skipped
        return self.opaque + self.rest + skipped

    @property
    def searching(self) -> bool:
        """The next frame is being looked for, or none will ever be found."""
        if self.told:
            return True
        if self.state == HEADER:
            return self._known and not b"AMQP".startswith(self._head[:4])
        return self.state == FRAMES and self.reader is not None and self.reader.searching

    @property
    def unfinished(self) -> int | None:
        """Where the earliest thing under way ends so far: what is told of it later ends there or behind.  None: nothing is."""
        if self.frameless and self.heard:
            return self.opaque_start + 1
        if self.state == FRAMES:
            return None if self.reader is None else self.reader.unfinished
        return self.received if self._head else None

    @property
    def rests(self) -> bool:
        """Whether frames are heard, and `next` has nothing to hand out before more octets come."""
        reader = self.reader
        if reader is None or self.state != FRAMES or self.ended or self.trace:
            return False
        return not (reader.searching or reader.dead) and reader.waits

    def receive(self, octets: bytes) -> None:
        """Stores octets; behind a point from which nothing can be read they are only counted."""
        self.received += len(octets)
        self.heard += len(octets)
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
        reader.wary = bool(self.doubt) and not reader.searching
        thing = reader.next()
        if thing is None:
            if reader.wary:
                plausible = reader.plausible()
                if plausible is False or (plausible is None and self.ended and reader.buffered):
                    if reader.break_off():
                        return self.next()
                    self.be_opaque(self.doubt, reader.offset)
            return None
        self.found = True
        if isinstance(thing, Assembly):
            return Heard(thing.start, thing.end, thing)
        if thing.fatal:
            self.be_opaque("behind a frame that cannot be cut", thing.offset)
        return Heard(thing.offset, min(thing.offset + self.framing.overhead, self.received), thing)

    def cut(self) -> Cut | None:
        """See `Reader.cut_run`.  It reads frames that were heard before: no doubt applies to them."""
        reader = self.reader
        if reader is None or self.state != FRAMES or not reader.known:
            return None
        run = reader.cut_run(self.framing.largest, 1)
        return run[0] if run else None

    def forget(self) -> None:
        """Drops what was learned for `cut`."""
        if self.reader is not None:
            self.reader.unlearn()

    def _header(self) -> Heard | None:
        head = self._head
        if len(head) < SIZE and not (self.ended and head):
            return None
        header = ProtocolHeader(head[:SIZE])
        if self._known and not header.amqp and (header.name == "nothing known" or (self.joined and not header.tls)):
            self.late = True
            self.read_frames(0)
            return self.next()
        self._head = head[SIZE:]
        self.state = DECIDING
        self.found = True
        return Heard(0, len(header.octets), header)

    def plug(self, framing: Framing, carries: Carries) -> None:
        """What is spoken is known, or known again."""
        self.framing = framing
        self._carries = carries

    def read_frames(self, start: int = SIZE) -> None:
        """What follows is frames.  When heard from the middle, the first one is looked for."""
        reader = self.framing.overhearing(self._limits, self._carries, start)
        if self.late:
            self.opaque_start = start
            reader.lost(0)
        if self.trace:
            reader.trace = []
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
        else:
            self._head = b""
            self.read_frames(self.received)

    def finish(self) -> None:
        """Nothing more will come."""
        self.ended = True
        if self.reader is not None and self.state == FRAMES:
            self.reader.finish()
