"""The third person: hears both speakers of a conversation, is neither, and says what was said and who broke the protocol."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, TypeVar

from amqp_sansio.dialects import AMQP_0_10, SessionDialect
from amqp_sansio.engine import layers, wording
from amqp_sansio.engine.carrier import legal_of, rule_of
from amqp_sansio.engine.ear import Ear, Heard
from amqp_sansio.engine.observed import Observed, Speaker
from amqp_sansio.engine.observer_snapshot import dump, load_state
from amqp_sansio.engine.quick import QUIET, Answered, QuickTransfers, Transfers
from amqp_sansio.engine.witness import Witness
from amqp_sansio.engine.witness_channel import ChannelWitness
from amqp_sansio.engine.wording import carries_of, dialect_of, frame_of, judge_encoding, judge_headers, verb_of, violation_of
from amqp_sansio.errors import DecodeError, LocalProtocolError
from amqp_sansio.events import CommandSeen, ControlSeen, HeaderSeen, Note, Observation, OpaqueSeen
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.protocol import SIZE, ProtocolHeader, mismatch
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.connection import Close, CloseOk
from amqp_sansio.spec.message import Accept, Transfer
from amqp_sansio.spec.session import CommandPoint, Completed, Detach, Detached
from amqp_sansio.wire.reading import Reading
from amqp_sansio.wire.segments import COMMAND, CONTROL, Assembly, Cut, Malformed
from amqp_sansio.wire.transfers import Headers, Sift

__all__ = ["Observed", "Observer", "Speaker"]

T = TypeVar("T")

_CONCLUDING: Final = (CommandPoint, Detach, Detached, Close, CloseOk)
"""Behind these, nothing more can come of a command under way on the channel, or of any."""

_SPEAKERS: Final[tuple[Speaker, Speaker]] = ("C", "S")
_CONNECTION_CLASS: Final = 1
_SYNC: Final = 0x01


class Observer:
    """Feed it what both sides say, in the order in which it was said, and ask for events until there is none.

    `dialect`: None recognises a conversation by its protocol header; one that begins otherwise is opaque.  With a dialect
    given it may also begin in the middle; what is not known then is None in events and held against nobody.

    It goes on after a violation.  With `frames` every frame is told too.  `strict` reports every departure from the letter;
    otherwise what deployed peers do everywhere is tolerated.  `limits` bounds what it remembers: assembly_octets,
    buffered_octets, header_octets and empty_frames of what is under way; channels and sessions followed; ranges of completed
    ids; replay_commands as the number of transfers in a window and of results awaited, per session; subscriptions.

    What is fed is stored; everything else happens in `next_event`.
    """

    def __init__(
        self, dialect: SessionDialect | None = None, strict: bool = False, limits: Limits = DEFAULT_LIMITS, frames: bool = False
    ) -> None:
        self.dialect: SessionDialect | None = dialect
        """The dialect given, or recognised by now."""
        self.strict: Final = strict
        self.limits: Final = limits
        self._reading: Final = Reading.of(limits, canonical=strict)
        carries = carries_of(dialect or AMQP_0_10)
        self._ears: Final[dict[Speaker, Ear]] = {who: Ear(limits, carries, dialect is not None) for who in _SPEAKERS}
        for ear in self._ears.values():
            ear.trace = frames
        self._witness = Witness(strict, limits)
        self._inbox: deque[tuple[Speaker, bytes | int | None, bool]] = deque()
        self._events: deque[Observed] = deque()
        self._at: Speaker | None = None
        self._late: set[str] = set()
        """Speakers that were heard from the middle, or of whom something was lost."""
        self._resuming: set[str] = set()
        """Those of whom no frame has been found since: their next one is told later than it was said."""
        self._eof = False
        self._client_header: ProtocolHeader | None = None
        self._transfers: dict[bytes, tuple[Command, bool]] = {}
        """Those of one subscription are the same octets over and over; values are immutable."""
        self._quick: Final = QuickTransfers(limits, self._reading)

    def receive_data(self, speaker: Speaker, data: bytes) -> None:
        """Stores what `speaker` says.  ValueError for any other speaker than "C" and "S"."""
        self._store(speaker, data if type(data) is bytes else memoryview(data).tobytes(), False)

    def receive_gap(self, speaker: Speaker, octets: int) -> None:
        """So many octets of `speaker` are missing here: nobody is accused of what depends on them."""
        if octets < 0:
            raise ValueError(f"{octets} octets cannot be lost")
        self._store(speaker, octets, False)

    def receive_eof(self, speaker: Speaker) -> None:
        """`speaker` says nothing more: it ended its half of the connection."""
        self._store(speaker, None, True)

    def finish(self) -> None:
        """The recording ends here, the connection perhaps not: as `receive_eof` for both, without a word about it."""
        self._store("C", None, False)
        self._store("S", None, False)

    def _store(self, speaker: Speaker, what: bytes | int | None, eof: bool) -> None:
        if speaker not in self._ears:
            raise ValueError(f"a speaker is C or S, not {speaker!r}")
        self._inbox.append((speaker, what, eof))

    @property
    def stored(self) -> int:
        """Octets received and not yet looked at."""
        return sum([len(what) for _, what, _ in self._inbox if isinstance(what, bytes)])

    def unfinished(self, speaker: Speaker) -> int | None:
        """The offset at which the earliest thing that `speaker` has under way ends so far; None when nothing is under way.

        Once `next_event` has given None, everything told of this speaker later ends there or behind.
        """
        return self._ears[speaker].unfinished

    def unread(self, speaker: Speaker) -> int:
        """Octets of `speaker` that belong to nothing that could be read: see `OpaqueSeen`."""
        return self._ears[speaker].unread

    def frames(self, speaker: Speaker) -> int:
        """Frames of `speaker` that were cut so far."""
        reader = self._ears[speaker].reader
        return 0 if reader is None else reader.frames

    def next_event(self) -> Observed | None:
        """The next thing observed; None when more must be heard first."""
        while not self._events:
            speaker = self._at
            if speaker is not None:
                ear = self._ears[speaker]
                cut = ear.cut()
                if cut is not None:
                    observed = self._transfer(speaker, ear, cut)
                    if observed is not None:
                        return observed
                    continue
                heard = ear.next()
                if ear.trace:
                    self._frames(speaker, ear)
                if heard is not None:
                    self._hear(speaker, heard)
                    continue
                if ear.opaque and not ear.told:  # the first such octet is there; what depends on it accuses nobody
                    ear.told = True
                    self._say(speaker, ear.opaque_start, ear.opaque_start + 1, OpaqueSeen(ear.reason))
                    self._lose(speaker)
                if ear.ended:
                    self._close(speaker)
                self._at = None
            elif self._inbox:
                self._take(*self._inbox.popleft())
            else:
                return None
        return self._events.popleft()

    def next_alike(self, headers: Headers[T], head: int = 0) -> Transfers[T] | Answered | None:
        """The next transfers, many at once, where they are like others before them, or what answers them.

        None: ask `next_event`, which tells them one by one.  `headers` (see `read_headers`) reads headers; of each body `head`
        octets are wanted.
        """
        if self._at is None and self._inbox and not self._events:
            self._take(*self._inbox.popleft())
        speaker = self._at
        if speaker is None or self._events:
            return None
        ear = self._ears[speaker]
        heard = self._quick.next(speaker, ear, self._witness, (self.dialect or AMQP_0_10).codec, headers, head)
        if heard is None:
            if ear.rests:
                self._at = None
        elif self._witness.findings.found:
            self._flush(speaker, *heard.place)
        return heard

    def _books(self, channel: int) -> ChannelWitness | None:
        """What is kept of the session on a channel, behind what was handed out last, for those who ask anew each time."""
        return self._witness.books(channel)

    def read_headers(self, sift: Sift[T]) -> Headers[T]:
        """What `next_alike` reads headers with."""
        return Headers(self._reading, sift)

    def events(self) -> Iterator[Observed]:
        """What `next_event` gives, until there is nothing more."""
        while (event := self.next_event()) is not None:
            yield event

    # What was fed.

    def _take(self, speaker: Speaker, what: bytes | int | None, eof: bool) -> None:
        ear = self._ears[speaker]
        if ear.ended:
            return
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
            self._say(speaker, at, ear.received, Note("gap", f"{what} octets are missing"))

    def _close(self, speaker: Speaker) -> None:
        """All that `speaker` said has been handed out."""
        ear = self._ears[speaker]
        end = ear.received
        if ear.frameless:
            if ear.heard:
                self._say(speaker, ear.opaque_start, ear.opaque_start + 1, OpaqueSeen("no frame was found"))
        elif ear.rest:
            text = f"the last {ear.rest} octets belong to a frame that did not come whole"
            self._say(speaker, end - ear.rest, end, Note("stream.cut", text))
        if self._eof and self.dialect is not None:
            self._witness.findings.speaker = speaker
            self._witness.ended(speaker)
            self._flush(speaker, end, end)

    def _say(self, speaker: Speaker, start: int, end: int, event: Observation) -> None:
        self._events.append(Observed(speaker, start, end, event))

    def _flush(self, speaker: Speaker, start: int, end: int) -> None:
        """What the witness found, behind what it heard."""
        found = self._witness.findings.found
        while found:
            self._events.append(Observed(speaker, start, end, found.popleft()))

    def _frames(self, speaker: Speaker, ear: Ear) -> None:
        """Tells the frames that were cut."""
        trace = None if ear.reader is None else ear.reader.trace
        if trace:
            for cut in trace:
                self._say(speaker, cut[0], cut[0] + cut[1], frame_of(self.dialect or AMQP_0_10, cut))
            trace.clear()

    # What was heard.

    def _hear(self, speaker: Speaker, heard: Heard) -> None:
        start, end, thing = heard
        ear = self._ears[speaker]
        if ear.late and speaker not in self._late:
            self._lose(speaker)
        witness = self._witness
        witness.shaky = speaker in self._resuming or self._ears["C"].searching or self._ears["S"].searching
        if witness.shaky:
            self._quick.forget()
            witness.unsettle()
        findings = self._witness.findings
        findings.speaker = speaker
        findings.offset = start
        if isinstance(thing, ProtocolHeader):
            self._header(speaker, ear, thing)
        elif isinstance(thing, Malformed):
            self._say(speaker, start, end, violation_of(speaker, thing))
        elif thing.kind == CONTROL:
            self._control(speaker, ear, thing)
        else:
            self._command(speaker, thing)
        self._flush(speaker, start, end)
        if speaker in self._resuming and not ear.searching:
            self._resuming.discard(speaker)
            self._quick.forget()
            witness.unsettle()  # the other side may have answered already

    def _lose(self, speaker: Speaker) -> None:
        self._late.add(speaker)
        self._resuming.add(speaker)
        self._quick.forget()
        self._witness.lost(speaker)
        layers.unheard(self._ears, self._witness.handshake)

    def _header(self, speaker: Speaker, ear: Ear, header: ProtocolHeader) -> None:
        end = len(header.octets)
        client, dialect = self._client_header, self.dialect or AMQP_0_10
        if (unread := wording.why_unread(header, None if speaker == "C" else client, dialect)) is not None:
            ear.be_opaque(unread, 0)
            return
        self._say(speaker, 0, end, HeaderSeen(header.octets, header.version))
        findings = self._witness.findings
        findings.channel = None
        who = "client" if speaker == "C" else "server"
        rule = "connection.protocol-header"
        if header.octets == dialect.header:
            self.dialect = dialect
            ear.read_frames()
            if speaker == "C" or client is None or client.octets == header.octets or client.version is None:
                self._witness.header(speaker, True)
            else:
                self._witness.header(speaker, False)
                findings.note(rule, mismatch(header.octets, client))
        elif end < SIZE:
            findings.note(rule, f"the {who} ends within its protocol header, after {end} octets")
            ear.be_opaque("within a protocol header", end)
        elif not header.amqp:
            said = f"{header.name}: {header.octets.hex(' ')}"
            text = f"the {who} does not begin with the name of the protocol"
            findings.breach("connection.start.protocol-name", said, text, (dialect.header.hex(" "),))
            ear.be_opaque(f"not AMQP ({header.name})", end)
        else:
            findings.note(rule, f"the {who} speaks {header.name} ({header.octets.hex(' ')})")
            if header.version is not None:
                ear.be_opaque(f"{header.name} is not read here", end)
            else:  # qpidd serves some of them all the same
                ear.doubt = f"behind the header of {header.name}"
                ear.read_frames()
            self._witness.header(speaker, speaker == "C")
        if speaker == "C":
            self._client_header = header

    def _control(self, speaker: Speaker, ear: Ear, assembly: Assembly) -> None:
        dialect = self.dialect or AMQP_0_10
        payload = assembly.payload
        verb = verb_of(dialect, "control", payload)
        control: Control | None = None
        error: DecodeError | None = None
        if assembly.complete:
            try:
                control = dialect.codec.decode_control(payload, 0, len(payload), self._reading)
            except DecodeError as caught:
                error = caught
        if isinstance(control, _CONCLUDING) and ear.reader is not None:
            channel = None if isinstance(control, Close | CloseOk) else assembly.channel
            for ended in ear.reader.conclude(channel):
                if ended.kind == CONTROL:
                    self._control(speaker, ear, ended)
                else:
                    self._command(speaker, ended)
                self._flush(speaker, ended.start, ended.end)
        seen = ControlSeen(assembly.channel, verb, control, payload, assembly.complete)
        self._say(speaker, assembly.start, assembly.end, seen)
        findings = self._witness.findings
        findings.channel = assembly.channel
        if error is not None:
            findings.breach(rule_of("control", error), verb, str(error), legal_of(error), error.code)
        if type(control) not in QUIET:
            self._quick.forget()
        if control is None:
            return
        judge_encoding(self._witness.findings, dialect.codec, verb, payload, control, False)
        if payload[0] == _CONNECTION_CLASS:
            self._witness.connection_control(speaker, assembly.channel, control)
            layers.heard(speaker, self._ears, control, self._witness.handshake)
        else:
            self._witness.session_control(speaker, assembly.channel, control)
            if type(control) is Completed:
                self._quick.learn(speaker, assembly.channel, self._witness)
            elif isinstance(control, CommandPoint) and control.command_offset and ear.reader is not None:
                ear.reader.expect_rest(assembly.channel)

    def _command(self, speaker: Speaker, assembly: Assembly) -> None:
        dialect = self.dialect or AMQP_0_10
        payload = assembly.payload
        verb = verb_of(dialect, "command", payload)
        command: Command | None = None
        sync = len(payload) > 3 and payload[2] > 0 and bool(payload[3] & _SYNC)
        error: DecodeError | None = None
        cached = self._transfers.get(payload)
        if cached is not None:
            command, sync = cached
        else:
            try:
                command, sync = dialect.codec.decode_command(payload, 0, len(payload), self._reading)
            except DecodeError as caught:
                error = caught
        header, body = assembly.header, assembly.body
        octets = len(header or b"") + len(body or b"")
        if assembly.complete:
            session, id = self._witness.command(speaker, assembly.channel, verb, command, octets, len(body or b""))
        else:
            session, id = self._witness.broken_off(speaker, assembly.channel)
        ended = assembly.complete and not assembly.unended
        seen = CommandSeen(assembly.channel, session, id, verb, command, sync, payload, header, body, ended)
        self._say(speaker, assembly.start, assembly.end, seen)
        if not assembly.complete:
            return
        findings = self._witness.findings
        findings.channel = assembly.channel
        if error is not None:
            findings.breach(rule_of("command", error), verb, str(error), legal_of(error), error.code)
        elif command is not None and cached is None:
            judge_encoding(findings, dialect.codec, verb, payload, command, sync)
            if isinstance(command, Transfer):
                if len(self._transfers) >= self.limits.cached_commands:
                    self._transfers.clear()
                self._transfers[payload] = (command, sync)
        if isinstance(command, Transfer | Accept) and self._quick.learn(speaker, assembly.channel, self._witness):
            reader = self._ears[speaker].reader
            if reader is not None and isinstance(command, Transfer):
                reader.learn(assembly.channel, payload, command, sync)
        if header:
            judge_headers(findings, dialect.codec, seen, header, self.limits, self._reading)
        if assembly.unended:
            text = "neither header nor body was marked as the last segment; the next command simply starts"
            findings.divergence("assembly.unended", verb, text, ("E header", "b E body"))

    def _transfer(self, speaker: Speaker, ear: Ear, cut: Cut) -> Observed | None:
        """A transfer like others before it, whole: what `_hear` and `_command` do, at once.  None: events are waiting."""
        known, header, size, octets, start, end = cut
        body = None if size is None else octets
        witness = self._quick.of(speaker, known.channel, self._witness)
        if witness is None:
            whole = Assembly(known.channel, 1, COMMAND, known.payload, header, body, start, end)
            self._hear(speaker, Heard(start, end, whole))
            return None
        findings, layout = self._witness.findings, (self.dialect or AMQP_0_10).codec
        seen = self._quick.one(speaker, findings, witness, layout, known, header, body, start)
        observed = Observed(speaker, start, end, seen)
        if findings.found:
            self._flush(speaker, start, end)
        return observed

    # Plain values.

    def snapshot(self) -> tuple[object, ...]:
        """Where it stands, as plain values (None, bool, int, float, str, bytes and tuples of them) that `restore` takes.

        LocalProtocolError as long as there are events to be taken.
        """
        if self._events or self._inbox or self._at is not None:
            raise LocalProtocolError("snapshot", "events are waiting", ("next_event until it gives None",))
        for ear in self._ears.values():
            ear.forget()
        name, late = None if self.dialect is None else self.dialect.name, (self._late, self._resuming)
        return dump((name, self.strict, late, self._eof, self._client_header, self._ears, self._witness, self.limits))

    @classmethod
    def restore(cls, snapshot: tuple[object, ...], dialect: SessionDialect | None = None) -> Observer:
        """An observer that goes on where `snapshot` was taken; `dialect` is needed when it was one that is not in `dialects`.

        DecodeError when it is not a snapshot of an observer.
        """
        carries = carries_of(dialect or dialect_of(snapshot) or AMQP_0_10)
        name, strict, late, eof, client_header, ears, witness, limits = load_state(snapshot, carries)
        made = cls(None, strict, limits)
        made.dialect = dialect or dialect_of(snapshot)
        if name is not None and made.dialect is None:
            raise DecodeError("snapshot", 0, f"it was taken with the dialect {name}: give it")
        made._ears.update(ears)
        made._witness, made._eof, made._client_header = witness, eof, client_header
        made._late, made._resuming = late
        return made
