"""One speaker's octets as an observer reads them: a protocol header, then frames or octets that cannot be decoded."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.engine.guess import Found, Guess
from amqp_sansio.limits import Limits
from amqp_sansio.protocol import SIZE, ProtocolHeader
from amqp_sansio.wire.framing import Assembly, Carries, Cut, Framing, Malformed, Reader

Thing: TypeAlias = ProtocolHeader | Assembly | Malformed | Found
"""One item of a stream.  Found: the framing of its frames, where several were possible."""

HEADER: Final = "header"
"""Expects a protocol header: we have the beginning of the conversation."""
ANSWER: Final = "answer"
"""Expects frames, or a header for another version: this side answers, and need not send a header."""
DECIDING: Final = "deciding"
"""The header has been handed out; the observer has not decided yet how to continue."""
GUESSING: Final = "guessing"
"""The stream starts in the middle, and its framing is not known yet."""
FRAMES: Final = "frames"
OPAQUE: Final = "opaque"


class Heard(NamedTuple):
    """An item, and where it is in this speaker's stream."""

    start: int
    end: int
    thing: Thing


class Ear:
    """Reads one speaker's stream: `receive` stores, `next` hands out one item.  Offsets include lost octets.

    `framing` creates the reader of frames, and `carries` is passed to it.  `known`: frames may come without a header before
    them.  `others`: further candidate framings for a stream that starts in the middle.  Hands out the first framing in which
    three consecutive frames are found; the observer then plugs it in.
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
        """The search for the framing of a stream that starts in the middle."""
        self._known: Final = known
        self._head = b""
        self.state = HEADER
        self.reader: Reader | None = None
        self.received = 0
        self.heard = 0
        """`received` without lost octets."""
        self.late = False
        """Whether the stream starts in the middle, or some of it was lost."""
        self.joined = False
        """Whether the other side's stream starts in the middle: then this one need not begin with a header either."""
        self.doubt = ""
        """Why the next octets may not be frames at all ("behind a security layer"); "" when they must be."""
        self.reason = ""
        self.opaque_start = 0
        """Where the unreadable octets begin; during a search for frames, where the search began."""
        self.told = False
        """Whether the caller knows that nothing more can be read."""
        self.ended = False
        self.found = False
        """Whether anything could be read."""
        self.trace = False
        """Whether to hand out every frame."""

    @property
    def rest(self) -> int:
        """The octets at the end that belong to an incomplete frame."""
        if self.state == GUESSING and self.guess is not None:
            return self.guess.size
        return self.reader.buffered if self.reader is not None and self.state == FRAMES and not self.reader.dead else 0

    @property
    def opaque(self) -> int:
        """The octets that could not be read."""
        return self.received - self.opaque_start if self.state == OPAQUE else 0

    @property
    def frameless(self) -> bool:
        """Whether the stream starts in the middle and no frame was ever found in it."""
        return self.state in (FRAMES, GUESSING) and self.late and not self.found

    @property
    def unread(self) -> int:
        """The octets that arrived and are part of nothing readable."""
        skipped = 0 if self.reader is None else self.reader.skipped
        return self.opaque + self.rest + skipped + (0 if self.guess is None else self.guess.passed)

    @property
    def searching(self) -> bool:
        """Whether it searches for the next frame, or has given up."""
        if self.told:
            return True
        if self.state == HEADER:
            return self._known and not b"AMQP".startswith(self._head[:4])
        return self.state == GUESSING or (self.state == FRAMES and self.reader is not None and self.reader._searching)

    @property
    def unfinished(self) -> int | None:
        """A lower bound for the end offset of every later event; None when nothing is incomplete."""
        if self.frameless and self.heard:
            return self.opaque_start + 1
        if self.state == FRAMES:
            return None if self.reader is None else self.reader.unfinished
        return self.received if self._head else None

    @property
    def rests(self) -> bool:
        """Whether it reads frames, and `next` needs more octets to hand out anything."""
        reader = self.reader
        if reader is None or self.state != FRAMES or self.ended or self.trace:
            return False
        return not (reader._searching or reader.dead or reader.queue or reader.ready())

    def receive(self, octets: bytes) -> None:
        """Stores octets; once the stream is unreadable, only counts them."""
        self.received += len(octets)
        self.heard += len(octets)
        if self.state == FRAMES and self.reader is not None:
            self.reader.receive(octets)
        elif self.state == GUESSING and self.guess is not None:
            self.guess.receive(octets)
        elif self.state != OPAQUE:
            self._head += octets

    def next(self) -> Heard | None:
        """Returns the next item; None when it needs more octets or can read nothing more."""
        if self.state == HEADER or self.state == ANSWER:
            return self._header()
        if self.state == GUESSING and self.guess is not None:
            found = self.guess.look(self.ended)
            if found is None:
                return None
            self.received -= len(found.rest)  # the rest is received again, after what the other side said meanwhile
            self.heard -= len(found.rest)
            return Heard(found.place, found.place + 1, found)
        reader = self.reader
        if self.state != FRAMES or reader is None:
            return None
        reader.wary = bool(self.doubt)  # also after the first frames that a search finds
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
        """See `Reader.cut_run`.  It only reads frames like earlier ones, to which no doubt applies."""
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
        """Sets or changes the framing; returns whether octets waited for it, which are read now."""
        former, self.framing = self.framing, framing
        if not greets and self.state == HEADER:
            self.state = ANSWER
        self._carries = carries
        guess, self.guess = self.guess, None
        if self.state == FRAMES and self.reader is not None and former is not framing:
            self._head = self.reader.take()  # the octets were taken for something else
            self.read_frames(self.reader.offset)
            return True
        if self.state == OPAQUE and self.reader is not None and former is not framing:
            dead = framing.overhearing(self._limits, carries, self.reader.offset)  # counts on as the former one did
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
        """Continues in the middle of the stream, whose framing may be unknown."""
        if self.guess is not None:
            self.state = GUESSING
            self.guess.begin(start)
            self.guess.receive(self._head)
            self._head = b""
        else:
            self.read_frames(start)

    def read_frames(self, start: int = SIZE) -> None:
        """Reads frames from here on.  In the middle of a stream, searches for the first one."""
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
        """Stops reading at the offset `start`: what follows is only counted."""
        if self.state != OPAQUE:
            self.state = OPAQUE
            self.reason = reason
            self.opaque_start = start
            self._head = b""

    def lost(self, octets: int) -> None:
        """Records that `octets` octets of the stream are missing here."""
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
        """Records the end of the stream."""
        self.ended = True
        if self.reader is not None and self.state == FRAMES:
            self.reader.finish()
