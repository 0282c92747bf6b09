"""One speaker's octets, as an observer reads them: a protocol header, then frames, or octets that cannot be decoded."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.engine.guess import Found, Guess
from amqp_sansio.limits import Limits
from amqp_sansio.protocol import SIZE, ProtocolHeader
from amqp_sansio.wire.framing import Assembly, Carries, Cut, Framing, Malformed, Reader

Thing: TypeAlias = ProtocolHeader | Assembly | Malformed | Found
"""One thing of a stream.  Found: the framing of its frames, where they could have been in any of several."""

HEADER: Final = "header"
"""The first octets: a protocol header, if we have the beginning of the conversation."""
ANSWER: Final = "answer"
"""The first octets of a side that is asked for no header: frames, or the header of another version."""
DECIDING: Final = "deciding"
"""The header has been handed out; the observer has not yet said how to go on."""
GUESSING: Final = "guessing"
"""It starts in the middle, and nobody knows yet in which of several framings its frames are."""
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
    them.  `others`: in the middle they may be in any of these framings.  The first in which three frames in a row are found is
    handed out, for the observer to plug it in.
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
        "guess",
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

    def __init__(
        self, limits: Limits, framing: Framing, carries: Carries, known: bool = False, others: tuple[Framing, ...] = ()
    ) -> None:
        self._limits: Final = limits
        self.framing = framing
        self._carries = carries
        self.guess: Guess | None = Guess(others) if others else None
        """In the middle, as long as nobody knows the framing."""
        self._known: Final = known
        self._head = b""
        self.state = HEADER
        self.reader: Reader | None = None
        self.received = 0
        self.heard = 0
        """`received` without what was lost."""
        self.late = False
        """It starts in the middle, or something of it was lost."""
        self.joined = False
        """The other side starts in the middle: this one need not begin with a header, whatever its octets look like."""
        self.doubt = ""
        """Why the next octets may not be frames at all ("behind a security layer"); "" when they must be."""
        self.reason = ""
        self.opaque_start = 0
        """Where what cannot be read begins; while frames are looked for, where the search began."""
        self.told = False
        """Whether the caller has learned that nothing more can be read."""
        self.ended = False
        self.found = False
        """Something could be read."""
        self.trace = False
        """Whether to hand out every frame."""

    @property
    def rest(self) -> int:
        """Octets at the end that belong to a frame which never came whole."""
        if self.state == GUESSING and self.guess is not None:
            return self.guess.size
        return self.reader.buffered if self.reader is not None and self.state == FRAMES and not self.reader.dead else 0

    @property
    def opaque(self) -> int:
        """Octets that could not be read."""
        return self.received - self.opaque_start if self.state == OPAQUE else 0

    @property
    def frameless(self) -> bool:
        """Whether it starts in the middle and nothing in it was ever found to be a frame."""
        return (self.state == FRAMES or self.state == GUESSING) and self.late and not self.found

    @property
    def reads_frames(self) -> bool:
        """Whether it began as our protocol does, or something in its middle could be read."""
        return self.found and self.reader is not None

    @property
    def unread(self) -> int:
        """Octets that arrived and belong to nothing that could be read."""
        skipped = 0 if self.reader is None else self.reader.skipped
        passed = 0 if self.guess is None else self.guess.passed
        return self.opaque + self.rest + skipped + passed

    @property
    def searching(self) -> bool:
        """The next frame is being looked for, or none will ever be found."""
        if self.told:
            return True
        if self.state == HEADER:
            return self._known and not b"AMQP".startswith(self._head[:4])
        return self.state == GUESSING or (self.state == FRAMES and self.reader is not None and self.reader._searching)

    @property
    def unfinished(self) -> int | None:
        """Lower bound of the end offset of every later event; None when nothing is under way."""
        if self.frameless and self.heard:
            return self.opaque_start + 1
        if self.state == FRAMES:
            return None if self.reader is None else self.reader.unfinished
        return self.received if self._head else None

    @property
    def rests(self) -> bool:
        """Whether it reads frames, and `next` has nothing to hand out before more octets come."""
        reader = self.reader
        if reader is None or self.state != FRAMES or self.ended or self.trace:
            return False
        return not (reader._searching or reader.dead) and reader.waits

    def receive(self, octets: bytes) -> None:
        """Stores octets; behind a point from which nothing can be read they are only counted."""
        self.received += len(octets)
        self.heard += len(octets)
        if self.state == FRAMES and self.reader is not None:
            self.reader.receive(octets)
        elif self.state == GUESSING and self.guess is not None:
            self.guess.receive(octets)
        elif self.state != OPAQUE:
            self._head += octets

    def next(self) -> Heard | None:
        """The next thing; None when more octets are needed or nothing can be read any more."""
        if self.state == HEADER or self.state == ANSWER:
            return self._header()
        if self.state == GUESSING and self.guess is not None:
            return self._guessed(self.guess)
        reader = self.reader
        if self.state != FRAMES or reader is None:
            return None
        reader.wary = bool(self.doubt)  # also behind the first frames that a search finds
        thing = reader.next()
        if thing is None:
            if reader.wary and not reader._searching:
                plausible = reader.plausible()
                if plausible is False or (plausible is None and self.ended and reader.buffered):
                    if reader.break_off():
                        return self.next()
                    self.be_opaque(self.doubt, reader.offset)
            return None
        if isinstance(thing, Assembly):
            self.found = True
            return Heard(thing.start, thing.end, thing)
        if thing.fatal and self.late and not self.found:
            self.be_opaque("what looked like frames is none", thing.offset)
            return None
        self.found = True
        if thing.fatal:
            self.be_opaque("behind a frame that cannot be cut", thing.offset)
        return Heard(thing.offset, min(thing.offset + reader.HEAD, self.received), thing)

    def cut(self) -> Cut | None:
        """See `Reader.cut_run`.  It reads frames that arrived before: no doubt applies to them."""
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
            self._read_middle(0)
            return self.next()
        if self.state == ANSWER and not header.amqp:
            self.read_frames(0)
            return self.next()
        self._head = head[SIZE:]
        self.state = DECIDING
        self.found = True
        return Heard(0, len(header.octets), header)

    def plug(self, framing: Framing, carries: Carries, greets: bool = True) -> bool:
        """What is spoken is known, or known again; whether octets waited for it, which are read now."""
        former, self.framing = self.framing, framing
        if not greets and self.state == HEADER:
            self.state = ANSWER
        self._carries = carries
        guess, self.guess = self.guess, None
        if self.state == FRAMES and self.reader is not None and former is not framing:
            self._head = self.reader.take()  # it was taken for something else
            self.read_frames(self.reader.offset)
            return True
        if self.state == OPAQUE and self.reader is not None and former is not framing:
            dead = framing.overhearing(self._limits, carries, self.reader.offset)  # it counts as the former one did, no more
            dead.frames, dead.skipped, dead.dead = self.reader.frames, self.reader.skipped, True
            self.reader = dead
        if guess is None or self.state != GUESSING:
            return False
        self._head = guess.take()
        self.read_frames(guess.base)
        self.opaque_start = guess.begun
        if self.reader is not None:
            self.reader.skipped += guess.passed
        return True

    def _read_middle(self, start: int) -> None:
        """Frames may follow, in one framing or another."""
        if self.guess is not None:
            self.state = GUESSING
            self.guess.begin(start)
            self.guess.receive(self._head)
            self._head = b""
        else:
            self.read_frames(start)

    def _guessed(self, guess: Guess) -> Heard | None:
        found = guess.look(self.ended)
        if found is None:
            return None
        self.received -= len(found.rest)  # it is received again behind what the other side said meanwhile
        self.heard -= len(found.rest)
        return Heard(found.place, found.place + 1, found)

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
        """`octets` octets of the stream are missing here."""
        self.received += octets
        self.late = True
        if self.state == FRAMES and self.reader is not None:
            self.reader.lost(octets)
        elif self.state == OPAQUE:
            self.opaque_start += octets
        elif self.state == GUESSING and self.guess is not None:
            self.guess.lost(octets)
        else:
            self._head = b""
            self._read_middle(self.received)

    def finish(self) -> None:
        """Nothing more will come."""
        self.ended = True
        if self.reader is not None and self.state == FRAMES:
            self.reader.finish()
