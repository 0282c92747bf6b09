"""The observer: reads both sides of a conversation without taking part, and reports their methods and violations."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from amqp_sansio.dialects import DIALECTS, Dialect
from amqp_sansio.engine.checker import Checker
from amqp_sansio.engine.connection import violation_of
from amqp_sansio.engine.ear import GUESSING, Ear, Heard
from amqp_sansio.engine.observed import Answered, Observed, Speaker, Transfers
from amqp_sansio.engine.observer_snapshot import VERSION, dump, load_state, names_in
from amqp_sansio.engine.witness import ChannelWitness
from amqp_sansio.errors import DecodeError, LocalProtocolError
from amqp_sansio.errors.core import many
from amqp_sansio.events import HeaderSeen, Note, OpaqueSeen, Violation
from amqp_sansio.kernel.octets import octets_of
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.protocol import SIZE, ProtocolHeader, mismatch
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import Assembly, Malformed, assembly_of
from amqp_sansio.wire.headers import Headers, Sift
from amqp_sansio.wire.reading import Reading

__all__ = ["Observed", "Observer", "Speaker"]

T = TypeVar("T")

_SPEAKERS: Final[tuple[Speaker, Speaker]] = ("C", "S")


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
                    self._hear(speaker, Heard(cut[4], cut[5], assembly_of(cut)))
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

    def next_alike(self, headers: Headers[T], head: int = 0) -> Transfers[T] | Answered | None:
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

    def _books(self, channel: int) -> ChannelWitness | None:
        """Returns the record of the session on a channel, as of the last event returned.  Callers must not keep it."""
        return self._checker.books(channel)

    def read_headers(self, sift: Sift[T]) -> Headers[T]:
        """Returns the reader of headers for `next_alike`."""
        return Headers(self._reading, sift)

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

    def _hear(self, speaker: Speaker, heard: Heard) -> None:
        start, end, thing = heard
        ear = self._ears[speaker]
        if ear.late and speaker not in self._late:
            self._lose(speaker)
        checker = self._checker
        checker.shake(speaker in self._resuming or self._ears["C"].searching or self._ears["S"].searching)
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
        return dump((VERSION, plugged, *state), self._checker, self._dialects)

    @classmethod
    def restore(
        cls, snapshot: tuple[object, ...], dialect: Dialect[Codec] | None = None, dialects: Sequence[Dialect[Codec]] = DIALECTS
    ) -> Observer:
        """Returns an observer that continues where `snapshot` was taken; `dialect` is needed for one that is not in `dialects`.

        Raises DecodeError for anything but a snapshot of an observer, and for a version that this library does not read.
        """
        plugged, name = names_in(snapshot)
        dialects = sorted(dialects, key=lambda each: each.name != plugged)
        dialect = dialect or next((each for each in dialects if each.name == name), None)
        if name is not None and dialect is None:
            raise DecodeError("snapshot", 0, f"it was taken with the dialect {name}: give it")
        made = cls(dialect, dialects=dialects)
        _, strict, late, eof, client_header, ears, state, limits = load_state(
            snapshot, made._checker, made._dialects, lambda class_code, code: made._checker.carries(class_code, code)
        )
        made = cls(dialect, strict, limits, dialects=dialects)
        made._checker.consider(_kin(made._plugged, dialects))
        made._checker.resume(state)
        made._ears.update(ears)
        made._eof, made._client_header = eof, client_header
        made._late, made._resuming = late[0], dict([each if isinstance(each, tuple) else (each, 0) for each in late[1]])
        return made


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
