"""The observer: reads both sides of a conversation without taking part, and reports their methods and violations.

Its ears read the octets of one side each: a protocol header, then frames or octets that cannot be decoded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import attrs

from amqp_sansio.dialects import DIALECTS, Dialect
from amqp_sansio.engine.checker import Answered, ChannelDoubt, Checker, Observed, Speaker, Transfers
from amqp_sansio.engine.connection import violation_of
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.guess import Found, Guess
from amqp_sansio.errors import DecodeError, LocalProtocolError
from amqp_sansio.errors.core import many
from amqp_sansio.events import HeaderSeen, Note, OpaqueSeen, Violation
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import MutableRangeSet
from amqp_sansio.kernel.snapshots import Dumper, Loader
from amqp_sansio.kernel.value import octets_of
from amqp_sansio.ledger.credit import Subscriptions
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.protocol import SIZE, ProtocolHeader, mismatch
from amqp_sansio.wire.codec import Codec, Reading
from amqp_sansio.wire.framing import Assembly, Carries, Cut, Framing, Malformed, Reader, assembly_of
from amqp_sansio.wire.layouts.layout import HeaderDecoder, Sift

__all__ = ["Observed", "Observer", "Speaker"]

T = TypeVar("T")

_SPEAKERS: Final[tuple[Speaker, Speaker]] = ("C", "S")

VERSION: Final = 3
"""The version of the format of snapshots; the first one had no number."""
_LACKING: Final[Mapping[str, Mapping[str, object]]] = {
    "ChannelUse": {"_commits": 0, "_misordered": True, "_refused": False, "_sent": 0, "_taken": 0},
    "ConsumerTags": {"changes": 0},
    "ConversationWitness": {"_reopened": ChannelDoubt()},
    "Limits": attrs.asdict(DEFAULT_LIMITS),
}
"""See `Loader`; a snapshot lacks the limits that were added after it."""
_FORMER: Final = {"open": "_open", "_queue": "queue", "_held": "held", "_passed": "passed"}
"""How readers called their attributes up to version 2, when an object of its own, their `assembler`, had some of them."""

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


class PlacedItem(NamedTuple):
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

    def next(self) -> PlacedItem | None:
        """Returns the next item; None when it needs more octets or can read nothing more."""
        if self.state == HEADER or self.state == ANSWER:
            return self._header()
        if self.state == GUESSING and self.guess is not None:
            found = self.guess.look(self.ended)
            if found is None:
                return None
            self.received -= len(found.rest)  # the rest is received again, after what the other side said meanwhile
            self.heard -= len(found.rest)
            return PlacedItem(found.place, found.place + 1, found)
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
            return PlacedItem(thing.start, thing.end, thing)
        if thing.fatal and self.late and not self.found:
            self.be_opaque("what looked like frames is none", thing.offset)
            return None
        self.found = True
        if thing.fatal:
            self.be_opaque("behind a frame that cannot be cut", thing.offset)
        return PlacedItem(thing.offset, min(thing.offset + reader.HEAD, self.received), thing)

    def cut(self) -> Cut | None:
        """See `Reader.cut_run`.  It only reads frames like earlier ones, to which no doubt applies."""
        reader = self.reader
        if reader is None or self.state != FRAMES or not reader.known or not reader.ready():
            return None
        run = reader.cut_run(self.framing.largest, 1)
        return run[0] if run else None

    def forget(self) -> None:
        """Drops what was learned for `cut`."""
        if self.reader is not None:
            self.reader.unlearn()

    def _header(self) -> PlacedItem | None:
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
        return PlacedItem(0, len(header.octets), header)

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


class Observer:
    """An observer of one conversation: feed it the octets of both sides in order, and take events until there are none.

    `dialect` None recognises a conversation by its protocol header, as one of `dialects`; without one it is opaque.  With a
    dialect, or with `middle`, it may also begin in the middle: unknown facts are then None in events and cause no accusations.
    Where the framing is unknown, the observer uses the one of `dialects` that first shows three frames in a row, and reports a
    note.  An unknown header, and octets without any frame, are read as the first of `dialects`.

    The observer continues after a violation.  With `frames` it also reports every frame.  `strict` reports every departure from
    the letter of the specification; otherwise it tolerates what deployed peers commonly do.  `limits` bounds its memory:
    assembly_octets, buffered_octets, header_octets and empty_frames of unfinished assemblies; channels and sessions followed;
    ranges of completed ids; replay_commands as the number of transfers in a window and of results awaited, per session;
    subscriptions.

    Feeding only stores; all other work happens in `next_event`.
    """

    def __init__(
        self, dialect: Dialect[Codec] | None = None, strict: bool = False, limits: Limits = DEFAULT_LIMITS,
        frames: bool = False, *, dialects: Sequence[Dialect[Codec]] = DIALECTS, middle: bool = False,
    ) -> None:  # fmt: skip
        self._dialects: Final = tuple(dialects) if dialect is None else (dialect,)
        framings = tuple(dict.fromkeys([each.framing for each in self._dialects]))
        plugged, alone = self._dialects[0], len(framings) == 1
        self._dialect: Dialect[Codec] | None = plugged if middle and alone else dialect
        self.strict: Final = strict
        self.limits: Final = limits
        self._reading: Final = Reading.of(limits, canonical=strict)
        self._inbox: deque[tuple[Speaker, bytes | int | None, bool]] = deque()
        self._events: Final[deque[Observed]] = deque()
        self._ears: Final[dict[Speaker, Ear]] = {}
        self._plugged = plugged
        self._checker: Checker = plugged.checker(strict, limits, self._ears, self._events)
        if middle:
            self._checker.consider(_kin(plugged, self._dialects))
        known, others = middle or dialect is not None, () if alone else framings
        for who in _SPEAKERS:
            ear = self._ears[who] = Ear(limits, plugged.framing, self._checker.carries, known, others)
            ear.trace = frames
        self._at: Speaker | None = None
        self._late: set[Speaker] = set()
        """Speakers whose stream starts in its middle, or has a gap."""
        self._resuming: dict[str, int] = {}
        """Speakers whose first frame after a gap had to be searched for.  It is reported later than it was sent, like all up to
        the offset kept here, at which the search was certain; 0 before."""
        self._incomplete_view = True
        """The last argument of `Checker.set_incomplete_view`; True at first, because the state of an earlier one may say so."""
        self._eof = False
        self._client_header: ProtocolHeader | None = None

    @property
    def dialect(self) -> Dialect[Codec] | None:
        """The dialect that was given, or recognised so far."""
        return self._dialect

    def receive_data(self, speaker: Speaker, data: bytes) -> None:
        """Stores octets of `speaker`.  Raises ValueError for a speaker other than "C" and "S"."""
        self._store(speaker, data if type(data) is bytes else octets_of(data, "receive_data"), False)

    def receive_gap(self, speaker: Speaker, octets: int) -> None:
        """Records that `octets` octets of `speaker` are missing here.  The observer accuses nobody of what depends on them."""
        if octets < 0:
            raise ValueError(f"{octets} octets cannot be lost")
        self._store(speaker, octets, False)

    def receive_eof(self, speaker: Speaker) -> None:
        """Records that `speaker` ended its half of the connection."""
        self._store(speaker, None, True)

    def finish(self) -> None:
        """Ends the recording, though perhaps not the connection: as `receive_eof` for both sides, without reports about the
        end."""
        self._store("C", None, False)
        self._store("S", None, False)

    def _store(self, speaker: Speaker, what: bytes | int | None, eof: bool) -> None:
        if speaker not in self._ears:
            raise ValueError(f"a speaker is C or S, not {speaker!r}")
        self._inbox.append((speaker, what, eof))

    @property
    def stored(self) -> int:
        """The number of octets received and not processed yet."""
        return sum([len(what) for _, what, _ in self._inbox if isinstance(what, bytes)])

    def unfinished(self, speaker: Speaker) -> int | None:
        """Returns the offset at which the earliest unfinished unit of `speaker` ends so far; None when nothing is unfinished.

        Once `next_event` has returned None, later events of this speaker end at this offset or after it.
        """
        return self._ears[speaker].unfinished

    def unread(self, speaker: Speaker) -> int:
        """Returns how many octets of `speaker` belong to nothing readable; see `OpaqueSeen`."""
        return self._ears[speaker].unread

    def frames(self, speaker: Speaker) -> int:
        """Returns how many frames of `speaker` were read so far."""
        reader = self._ears[speaker].reader
        return 0 if reader is None else reader.frames

    def next_event(self) -> Observed | None:
        """Returns the next event, or None when it needs more octets first."""
        while not self._events:
            speaker = self._at
            if speaker is not None:
                ear = self._ears[speaker]
                cut = ear.cut()
                if cut is not None:
                    observed = self._checker.hear_plain(speaker, cut)
                    if observed is not None:
                        return observed
                    self._hear(speaker, PlacedItem(cut[4], cut[5], assembly_of(cut)))
                    continue
                heard = ear.next()
                if ear.trace and ear.reader is not None and ear.reader.trace:
                    for seen in ear.reader.trace:
                        self._checker.say(speaker, seen[0], seen[0] + seen[1], self._checker.frame(seen))
                    ear.reader.trace.clear()
                if heard is not None:
                    self._hear(speaker, heard)
                    continue
                if ear.opaque and not ear.told:  # an event reports the first such octet; what depends on it accuses nobody
                    ear.told = True
                    self._checker.say(speaker, ear.opaque_start, ear.opaque_start + 1, OpaqueSeen(ear.reason))
                    self._lose(speaker)
                if ear.state == GUESSING:  # one side, at its end, waits for the other to show the dialect
                    if all(each.ended for each in self._ears.values()):
                        self._plug(self._plugged, False)
                elif ear.ended:
                    self._close(speaker)
                self._at = None
            elif self._inbox:
                self._take(*self._inbox.popleft())
            else:
                return None
        return self._events.popleft()

    def next_alike(self, headers: HeaderDecoder[T], head: int = 0) -> Transfers[T] | Answered | None:
        """Returns the next transfers in bulk where they resemble earlier ones, or their answers.

        None: call `next_event`, which reports them one by one.  `headers` (see `read_headers`) reads the headers; `head` is how
        many octets of each body to return.
        """
        if self._at is None and self._inbox and not self._events:
            self._take(*self._inbox.popleft())
        speaker = self._at
        if speaker is None or self._events:
            return None
        heard = self._checker.next_alike(speaker, headers, head)
        if heard is None and self._ears[speaker].rests:
            self._at = None
        return heard

    def _family(self) -> str:
        """Returns the protocol family of the dialect in use."""
        return self._checker.FAMILY

    def _reads(self, header: bytes) -> bool:
        """Returns whether it is a protocol header of the dialect in use."""
        return header in self._plugged.spellings

    def _read_nothing(self, reason: str) -> None:
        """Only counts octets of both sides from now on: for this reason nothing can be read."""
        for ear in self._ears.values():
            ear.be_opaque(reason, 0)

    def _books(self, channel: int) -> Subscriptions | None:
        """Returns the book of the subscriptions in the session on a channel, as of the last event returned.  Callers must not
        keep it."""
        return self._checker.subscriptions(channel)

    def _in_doubt(self) -> ChannelDoubt:
        """Returns what is in doubt on channels when nothing more comes."""
        return self._checker.in_doubt()

    def read_headers(self, sift: Sift[T]) -> HeaderDecoder[T]:
        """Returns the reader of headers for `next_alike`."""
        return HeaderDecoder(self._reading, sift)

    def events(self) -> Iterator[Observed]:
        """Yields the events of `next_event` until there are none."""
        while (event := self.next_event()) is not None:
            yield event

    # What was fed.

    def _take(self, speaker: Speaker, what: bytes | int | None, eof: bool) -> None:
        ear = self._ears[speaker]
        if ear.ended and what != b"":
            if what is None or not self._eof:
                return
            if isinstance(what, bytes):
                ear.be_opaque("it comes behind the end of the stream", ear.received - ear.rest)
        self._at = speaker
        if isinstance(what, bytes):
            ear.receive(what)
        elif what is None:
            ear.finish()
            self._eof = eof
        else:
            at = ear.received
            ear.lost(what)
            self._lose(speaker)
            self._checker.say(speaker, at, ear.received, Note("gap", f"{many(what, 'octet is', 'octets are')} missing"))

    def _close(self, speaker: Speaker) -> None:
        """Reports the end of `speaker`, all of whose events were returned."""
        ear = self._ears[speaker]
        end = ear.received
        if ear.frameless:
            if ear.heard:
                self._checker.say(speaker, ear.opaque_start, ear.opaque_start + 1, OpaqueSeen("no frame was found"))
        elif ear.rest:
            text = f"the last {many(ear.rest, 'octet belongs', 'octets belong')} to a frame that did not come whole"
            self._checker.say(speaker, end - ear.rest, end, Note("stream.cut", text))
        if self._eof and self._dialect is not None:
            self._checker.findings.speaker = speaker
            self._checker.ended(speaker)
            self._checker.flush(speaker, end, end)

    # What was heard.

    def _hear(self, speaker: Speaker, heard: PlacedItem) -> None:
        start, end, thing = heard
        ear = self._ears[speaker]
        if ear.late and speaker not in self._late:
            self._lose(speaker)
        checker = self._checker
        incomplete = speaker in self._resuming or self._ears["C"].searching or self._ears["S"].searching
        if incomplete or self._incomplete_view:
            checker.set_incomplete_view(incomplete)
            self._incomplete_view = incomplete
        findings = checker.findings
        findings.speaker = speaker
        findings.offset = start
        if isinstance(thing, ProtocolHeader):
            self._header(speaker, ear, thing)
        elif isinstance(thing, Malformed):
            if not checker.excuses(speaker, thing):
                self._checker.say(speaker, start, end, violation_of(speaker, thing))
        elif isinstance(thing, Assembly):
            checker.hear(speaker, thing)
        else:
            dialect = next(each for each in self._dialects if each.framing is thing.framing)
            kin = _kin(dialect, self._dialects)
            names = " or ".join([dialect.name, *[each.name for each in kin if each.framing is not dialect.framing]])
            text = f"heard from the middle: three frames in a row are those of {names}"
            self._checker.say(speaker, start, end, Note("framing", text))
            if thing.rest:
                self._inbox.appendleft((speaker, thing.rest, False))
            self._plug(dialect)
            self._checker.consider(kin)
        if self._checker.findings.found:
            self._checker.flush(speaker, start, end)
        if speaker in self._resuming and not ear.searching:
            if not self._resuming[speaker]:
                self._resuming[speaker] = end + (0 if ear.reader is None else ear.reader.HEAD)
            elif end > self._resuming[speaker]:
                del self._resuming[speaker]
            self._checker.unsettle()  # the other side may have answered already

    def _lose(self, speaker: Speaker) -> None:
        self._late.add(speaker)
        self._resuming[speaker] = 0
        self._checker.lost(speaker)

    def _plug(self, dialect: Dialect[Codec], known: bool = True) -> None:
        """Switches to a dialect that is known now, or assumed."""
        if known:
            self._dialect = dialect
        checker = self._checker
        if dialect is not self._plugged:
            self._plugged = dialect
            checker = self._checker = dialect.checker(self.strict, self.limits, self._ears, self._events)
            for who in sorted(self._late):
                checker.lost(who)
        for who, ear in self._ears.items():
            if ear.plug(dialect.framing, checker.carries, who == "C" or dialect.handshake.greets):
                self._inbox.appendleft((who, b"", False))

    def _header(self, speaker: Speaker, ear: Ear, header: ProtocolHeader) -> None:
        end = len(header.octets)
        client, dialect = self._client_header, self._dialect
        if dialect is None:
            dialect = next((each for each in self._dialects if header.octets in each.spellings), self._plugged)
        if (unread := _why_unread(header, None if speaker == "C" else client, dialect)) is not None:
            ear.be_opaque(unread, 0)
            return
        known = header.octets in dialect.spellings
        self._checker.say(speaker, 0, end, HeaderSeen(header.octets, header.version or (dialect.name if known else None)))
        if known and self._dialect is None:
            self._plug(dialect)
        findings = self._checker.findings
        findings.channel = None
        findings.speaker = speaker
        if header.amqp and client is not None and len(client.octets) == SIZE and not client.amqp:
            self._other_protocol("C", client, dialect)
        who = "client" if speaker == "C" else "server"
        rule = "connection.protocol-header"
        if known:
            ear.read_frames()
            if speaker == "C" or client is None or client.octets in dialect.spellings or client.version is None:
                self._checker.header(speaker, True)
            else:
                self._checker.header(speaker, False)
                findings.note(rule, mismatch(header.octets, client))
        elif end < SIZE:
            findings.note(rule, f"the {who} ends within its protocol header, after {many(end, 'octet')}")
            ear.be_opaque("within a protocol header", end)
        elif not header.amqp:
            server = self._ears["S"]  # it began with our protocol header, or something in its middle could be read
            if server.found and server.reader is not None if speaker == "C" else client is not None and client.amqp:
                self._other_protocol(speaker, header, dialect)
            ear.be_opaque(f"not AMQP ({header.name})", end)
        else:
            findings.note(rule, f"the {who} speaks {header.name} ({header.octets.hex(' ')})")
            if header.version is not None:
                ear.be_opaque(f"{header.name} is not read here", end)
            else:  # qpidd serves some of them all the same
                ear.doubt = f"behind the header of {header.name}"
                ear.read_frames()
            self._checker.header(speaker, speaker == "C")
        if speaker == "C":
            self._client_header = header

    def _other_protocol(self, speaker: Speaker, header: ProtocolHeader, dialect: Dialect[Codec]) -> None:
        """Reports that `speaker` begins with another known protocol while the other side speaks AMQP, which makes it a
        violation."""
        said = f"{header.name}: {header.octets.hex(' ')}"
        text = f"the {'client' if speaker == 'C' else 'server'} does not begin with the name of the protocol"
        legal = (dialect.header.hex(" "),)
        # The violation is placed at the header, whichever side began last.
        self._checker.say(speaker, 0, SIZE, Violation(speaker, "connection.start.protocol-name", said, legal, 0, None, 0, text))

    # Plain values.

    def snapshot(self) -> tuple[object, ...]:
        """Returns the state as plain values (None, bool, int, float, str, bytes and tuples of them) for `restore`.

        Raises LocalProtocolError while there are events to take.
        """
        if self._events or self._inbox or self._at is not None:
            raise LocalProtocolError("snapshot", "events are waiting", ("next_event until it gives None",))
        for ear in self._ears.values():
            ear.forget()
        name, late = None if self._dialect is None else self._dialect.name, (self._late, set(self._resuming.items()))
        state = name, self.strict, late, self._eof, self._client_header, self._ears, self._checker.state(), self.limits
        plugged = self._plugged.name if name is None else None
        return Dumper(_classes(self._checker), _framings(self._dialects)).dump((VERSION, plugged, *state))

    @classmethod
    def restore(
        cls, snapshot: tuple[object, ...], dialect: Dialect[Codec] | None = None, dialects: Sequence[Dialect[Codec]] = DIALECTS
    ) -> Observer:
        """Returns an observer that continues where `snapshot` was taken; `dialect` is needed for one that is not in `dialects`.

        Raises DecodeError for anything but a snapshot of an observer, and for a version that this library does not read.
        """
        plugged, name = _names_in(snapshot)
        dialects = sorted(dialects, key=lambda each: each.name != plugged)
        dialect = dialect or next((each for each in dialects if each.name == name), None)
        if name is not None and dialect is None:
            raise DecodeError("snapshot", 0, f"it was taken with the dialect {name}: give it")
        made = cls(dialect, dialects=dialects)
        framing = made._dialects[0].framing

        def carries(class_code: int, code: int) -> bool:
            return made._checker.carries(class_code, code)

        state = _loader(made._checker, made._dialects, carries).load(snapshot)
        if not isinstance(state, tuple) or len(state) not in (8, 10):
            raise DecodeError("snapshot", 0, "not a snapshot of an observer")
        _, strict, late, eof, client_header, ears, witness, limits = state[-8:]
        if (
            not isinstance(limits, Limits)
            or not isinstance(ears, dict)
            or not isinstance(late, tuple)
            or [type(each) for each in late] != [set, set]
            or not isinstance(client_header, ProtocolHeader | None)
        ):
            raise DecodeError("snapshot", 0, "not a snapshot of an observer")
        for ear in ears.values():
            if len(state) == 8:  # version 1
                ear.guess, ear.framing = None, framing
                ear.plug(framing, carries)
            ear.forget()  # as when it was stored, whatever it knew how to remember then
        made = cls(dialect, bool(strict), limits, dialects=dialects)
        made._checker.consider(_kin(made._plugged, dialects))
        made._checker.resume(witness)
        made._ears.update(ears)
        made._eof, made._client_header = bool(eof), client_header
        made._late, made._resuming = late[0], dict([each if isinstance(each, tuple) else (each, 0) for each in late[1]])
        return made


def _classes(checker: Checker) -> dict[str, type]:
    """Returns the classes of which a snapshot consists, by name."""
    common = Ear, Findings, Guess, Limits, Machine, MutableRangeSet, ProtocolHeader
    return {kind.__name__: kind for kind in (*common, *checker.PARTS)}


def _framings(dialects: Sequence[Dialect[Codec]]) -> dict[str, object]:
    return {each.framing.name: each.framing for each in dialects}


def _loader(checker: Checker, dialects: Sequence[Dialect[Codec]], carries: Carries) -> Loader:
    tables = {table.name: table for table in checker.TABLES}
    return Loader(_classes(checker), tables, carries, _framings(dialects), _LACKING, _renewed)


def _renewed(records: tuple[Any, ...]) -> tuple[object, ...]:  # Any: those of a snapshot that may be forged
    """Returns the objects of a snapshot with the attributes that readers have today."""
    made: list[object] = []
    for name, *given in records:
        fields = dict(given)
        if name in ("MethodReader", "SegmentReader"):
            _, index = fields.pop("assembler", ("object", None))
            fields |= {} if index is None else dict(records[index][1:])
            fields = {_FORMER.get(field, field): value for field, value in fields.items()}
            fields.setdefault("_opening", False)  # last, so that a snapshot of today is read and written in one order
        made.append((name, *fields.items()))
    return tuple(made)


def _names_in(snapshot: tuple[object, ...]) -> tuple[object, object]:
    """Returns the names of a snapshot's dialect and of the recognised one; None for each that it lacks.

    Raises DecodeError for an unsupported version.
    """
    state = snapshot[0] if snapshot else None
    if not isinstance(state, tuple) or len(state) < 4:
        return None, None
    _, first, *names = state
    if type(first) is not int:
        return first, first
    if not 1 < first <= VERSION:
        raise DecodeError("snapshot", 0, f"its version is {first}, this library reads 1 to {VERSION}")
    return names[0] or names[1], names[1]


def _kin(dialect: Dialect[Codec], dialects: Sequence[Dialect[Codec]]) -> list[Dialect[Codec]]:
    """Returns the other dialects with the same framing."""
    return [each for each in dialects if each is not dialect and type(each.framing) is type(dialect.framing)]


def _why_unread(header: ProtocolHeader, client: ProtocolHeader | None, dialect: Dialect[Codec]) -> str | None:
    """Returns why the stream of a side is not judged, None where it is.  `client`: the header that a server answers, if any."""
    if header.tls:
        return "TLS is not read here"
    if not header.amqp and client is not None and client.amqp and client.octets not in dialect.spellings:
        return f"{client.name} is not read here"  # before 0-10 the server begins with connection.start
    if header.strange and (client is None or not client.amqp):
        return "not AMQP"  # nobody violates a protocol that neither side speaks
    return None
