"""The checker of sessions (0-10): reads controls and commands, transfers in batches, and passes them to the witness."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import ClassVar, Final, TypeVar

from amqp_sansio.engine.checker import Checker
from amqp_sansio.engine.contents import Consumers, ContentClass, Contents, ContentWitness, Deliveries, Staging
from amqp_sansio.engine.demarcation import Demarcation, DemarcationWitness
from amqp_sansio.engine.ear import FRAMES, Ear
from amqp_sansio.engine.inbound import replies_of
from amqp_sansio.engine.observed import Answered, Observed, Speaker, Transfers, TransferSeen
from amqp_sansio.engine.witness import ChannelWitness, Witness
from amqp_sansio.engine.witness_connection import WHO
from amqp_sansio.engine.witness_handshake import HandshakeWitness
from amqp_sansio.engine.witness_stream import CreditWitness, StreamWitness
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.events import CommandSeen, ControlSeen
from amqp_sansio.events.observed import SECRET_VERBS, FrameSeen
from amqp_sansio.kernel.machine import Table
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import Credit, CreditBook, Grants
from amqp_sansio.ledger.ids import Ids, Settling
from amqp_sansio.ledger.subscriptions import Subscription, Subscriptions
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.connection import Close, CloseOk, OpenOk, StartOk, TuneOk
from amqp_sansio.spec.message import Accept, DeliveryProperties, Transfer
from amqp_sansio.spec.session import CommandPoint, Completed, Confirmed, Detach, Detached, Expected, Flush, KnownCompleted
from amqp_sansio.tables.connection import CLOSE_BY_CLIENT, CLOSE_BY_SERVER, HANDSHAKE, ConnectionDialogue
from amqp_sansio.tables.content_classes import CONSUMER, PUBLISHING, QOS, STAGING
from amqp_sansio.tables.demarcation import DEMARCATION
from amqp_sansio.tables.session import ATTACHMENT, STREAM, AttachmentDialogue
from amqp_sansio.wire.frames import FIRST_FRAME, FIRST_SEGMENT, FRAME_HEADER_SIZE
from amqp_sansio.wire.framing import COMMAND, CONTROL, Assembly, Cut, FrameCut, Partial
from amqp_sansio.wire.headers import Headers
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.primitives import frame_header, u32
from amqp_sansio.wire.reading import Reading
from amqp_sansio.wire.segments import COMMAND_SIZE, Assembler, SegmentReader, alone_next

T = TypeVar("T")

UNHEARD: Final = "no frame is there; a security layer may have been agreed on before, which nobody heard"
"""Why a stream that starts in the middle may not consist of frames, although something in it looked like one."""

_CONCLUDING: Final = (CommandPoint, Detach, Detached, Close, CloseOk)
"""Controls after which an incomplete command on the channel, or on any, can never be completed."""

_CONNECTION_CLASS: Final = 1
_SYNC: Final = 0x01
_BEGINS: Final = FIRST_SEGMENT | FIRST_FRAME

QUIET: Final = frozenset((Completed, Confirmed, Expected, Flush, KnownCompleted))
"""Controls that change no state in which a transfer is legal."""
REPEATING: Final = 256
"""The largest delivery properties, in octets, that are remembered for repetition."""


class SessionChecker(Checker):
    """Checks a conversation in sessions; see `Checker`.

    It judges transfers and their answers fast on quiet channels, where they change no state: the rows accept these commands
    there, so stepping them is left out.
    """

    __slots__ = ("_commands", "_deliveries", "_layout", "_limits", "_quiet", "_reading", "_replies", "_witness")

    FAMILY: ClassVar[str] = "sessions"
    PARTS: ClassVar[tuple[type, ...]] = (
        Assembler, AttachmentDialogue, ChannelWitness, ConnectionDialogue, Consumers, ContentClass, ContentWitness, Contents,
        Credit, CreditBook, CreditWitness, Deliveries, Demarcation, DemarcationWitness, Grants, HandshakeWitness, Ids, Partial,
        SegmentReader, Settling, Staging, Subscription, Subscriptions, StreamWitness, Witness,
    )  # fmt: skip
    TABLES: ClassVar[tuple[Table, ...]] = (
        HANDSHAKE, CLOSE_BY_CLIENT, CLOSE_BY_SERVER, DEMARCATION, *QOS.values(), *CONSUMER.values(),
        *PUBLISHING.values(), *ATTACHMENT.values(), *STREAM.values(), *STAGING.values(),
    )  # fmt: skip

    def __init__(
        self, layout: Layout, strict: bool, limits: Limits, ears: Mapping[Speaker, Ear], said: deque[Observed]
    ) -> None:
        super().__init__(strict, limits, ears, said)
        self._limits: Final = limits
        self._layout: Final = layout
        self._reading: Final = Reading.of(limits, canonical=strict)
        self._replies: Final = replies_of(layout)
        self._quiet: Final[dict[str, dict[int, ChannelWitness]]] = {"C": {}, "S": {}}
        """The channels on which a transfer changes no state, by speaker."""
        self._commands: Final[dict[bytes, tuple[Command, bool]]] = {}
        """Known commands by their octets: transfers of one subscription repeat them, and values are immutable."""
        self._deliveries: Final[dict[bytes, Struct]] = {}
        """Delivery properties by their octets, likewise."""
        self._follow(Witness(strict, limits))

    def _follow(self, witness: Witness) -> None:
        self._witness = witness
        self.findings = witness.findings

    def carries(self, class_code: int, code: int) -> bool:
        verb = self._layout.verb_of("command", class_code, code)
        return verb in self._layout.segments or verb.rpartition(".")[2].isdigit()

    def header(self, speaker: Speaker, same: bool) -> None:
        self._witness.header(speaker, same)

    def hear(self, speaker: Speaker, unit: Assembly) -> None:
        if unit.kind == CONTROL:
            self._control(speaker, unit)
        else:
            self._command(speaker, unit)

    def next_alike(self, speaker: Speaker, headers: Headers[T], head: int) -> Transfers[T] | Answered | None:
        ear = self.ears[speaker]
        reader = ear.reader
        if not isinstance(reader, SegmentReader) or ear.state != FRAMES or not reader.ready():
            return None
        heard: Transfers[T] | Answered | None
        if alone_next(reader):
            heard = self._answer(speaker, reader)
        elif reader.known:
            heard = self._run(speaker, reader, headers, head)
        else:
            return None
        if heard is not None and self.findings.found:
            self.flush(speaker, *heard.place)
        return heard

    def frame(self, cut: FrameCut) -> FrameSeen:
        _, _, flags, kind, track, channel, payload = cut
        begins = kind <= COMMAND and flags & _BEGINS == _BEGINS
        verb = verb_of(self._layout, ("control", "command")[kind], payload) if begins else None
        return FrameSeen(flags, kind, track, channel, verb)

    def shake(self, shaky: bool) -> None:
        self._witness.shaky = shaky
        if shaky:
            self.unsettle()

    def unsettle(self) -> None:
        self._stir()
        self._witness.unsettle()

    def lost(self, speaker: Speaker) -> None:
        self._stir()
        self._witness.lost(speaker)
        for ear in self.ears.values():  # the mechanism is unknown, and the other side need not begin with a header
            ear.joined = ear.joined or not ear.received
            if not self._witness.handshake.mechanism:
                ear.doubt = ear.doubt or UNHEARD

    def ended(self, speaker: Speaker) -> None:
        self._witness.ended(speaker)

    def books(self, channel: int) -> ChannelWitness | None:
        return self._witness.books(channel)

    def state(self) -> object:
        return self._witness

    def resume(self, state: object) -> None:
        if not isinstance(state, Witness):
            raise DecodeError("snapshot", 0, "not the state of a checker of sessions")
        self._follow(state)

    def _reader(self, speaker: Speaker) -> SegmentReader | None:
        reader = self.ears[speaker].reader
        return reader if isinstance(reader, SegmentReader) else None

    def _control(self, speaker: Speaker, assembly: Assembly) -> None:
        layout = self._layout
        payload = assembly.payload
        verb = verb_of(layout, "control", payload)
        control: Control | None = None
        error: DecodeError | None = None
        if assembly.complete:
            try:
                control = layout.decode_control(payload, 0, len(payload), self._reading)
            except DecodeError as caught:
                error = caught
        reader = self._reader(speaker)
        if isinstance(control, _CONCLUDING) and reader is not None:
            for ended in reader.conclude(None if isinstance(control, Close | CloseOk) else assembly.channel):
                self.hear(speaker, ended)
                self.flush(speaker, ended.start, ended.end)
        seen = ControlSeen(assembly.channel, verb, control, payload, assembly.complete)
        self._said.append(Observed(speaker, assembly.start, assembly.end, seen))
        findings = self.findings
        findings.channel = assembly.channel
        if error is not None:
            findings.undecodable("control", verb, error)
        if type(control) not in QUIET:
            self._stir()
        if control is None:
            return
        self._judge_encoding(verb, payload, control, False)
        if payload[0] == _CONNECTION_CLASS:
            self._witness.connection_control(speaker, assembly.channel, control)
            self._hear_opening(speaker, control)
        else:
            self._witness.session_control(speaker, assembly.channel, control)
            if type(control) is Completed:
                self._learn(speaker, assembly.channel)
            elif isinstance(control, CommandPoint) and control.command_offset and reader is not None:
                reader.expect_rest(assembly.channel)

    def _command(self, speaker: Speaker, assembly: Assembly) -> None:
        layout = self._layout
        payload = assembly.payload
        verb = verb_of(layout, "command", payload)
        command: Command | None = None
        sync = len(payload) > 3 and payload[2] > 0 and bool(payload[3] & _SYNC)
        error: DecodeError | None = None
        cached = self._commands.get(payload)
        if cached is not None:
            command, sync = cached
        else:
            try:
                command, sync = layout.decode_command(payload, 0, len(payload), self._reading)
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
        self._said.append(Observed(speaker, assembly.start, assembly.end, seen))
        if not assembly.complete:
            return
        findings = self.findings
        if error is not None:
            findings.undecodable("command", verb, error)
        elif command is not None and cached is None:
            self._judge_encoding(verb, payload, command, sync)
            if isinstance(command, Transfer):
                if len(self._commands) >= self._limits.cached_commands:
                    self._commands.clear()
                self._commands[payload] = (command, sync)
        if isinstance(command, Transfer | Accept) and self._learn(speaker, assembly.channel):
            reader = self._reader(speaker)
            if reader is not None and isinstance(command, Transfer):
                reader.learn(assembly.channel, payload, command, sync)
        if header:
            self._judge_headers(seen, header)
        if assembly.unended:
            text = "neither header nor body was marked as the last segment; the next command simply starts"
            findings.divergence("assembly.unended", verb, text, ("E header", "b E body"))

    def hear_plain(self, speaker: Speaker, cut: Cut) -> Observed | None:
        known, header, size, body, start, end = cut
        quiet = self._quiet_on(speaker, known.channel)
        if quiet is None:
            return None
        findings = self.findings
        findings.speaker, findings.offset, findings.channel = speaker, start, known.channel
        octets = len(body) + len(header)
        id = quiet.transfer(WHO[speaker], known.command, octets, octets if findings.strict else len(body))
        what = quiet.name, id, "message.transfer", known.command, known.sync, known.payload, header
        seen = CommandSeen(known.channel, *what, None if size is None else body)
        if not self._read_headers(seen, header):
            self._judge_headers(seen, header)
        observed = Observed(speaker, start, end, seen)
        if findings.found:
            self.flush(speaker, start, end)
        return observed

    # --- quiet channels -------------------------------------------------------------------------------------------------------

    def _stir(self) -> None:
        """Forgets the quiet channels: a state has changed, or may have."""
        self._quiet["C"].clear()
        self._quiet["S"].clear()

    def _learn(self, speaker: str, channel: int) -> bool:
        """Records a transfer; returns whether the channel is quiet for the next ones like it."""
        settled = self._witness.settled(speaker, channel)
        if settled is None:
            return False
        self._quiet[speaker][channel] = settled
        return True

    def _quiet_on(self, speaker: str, channel: int) -> ChannelWitness | None:
        """Returns the witness of the channel; None when a transfer on it needs every check."""
        found = self._quiet[speaker].get(channel)
        return found if found is None or self._witness.books(channel) is found else None

    def _read_headers(self, seen: CommandSeen, header: bytes) -> bool:
        """Decodes a header whose sizes were checked, and stores the result in `seen`.  Returns whether it was decodable."""
        first = 4 + u32(header, 0)[0]
        octets = header[:first]
        found, layout = self._deliveries.get(octets), self._layout
        try:
            if found is None:
                (found,) = layout.decode_headers(header, 0, first, self._reading)
                if first <= REPEATING and isinstance(found, DeliveryProperties):
                    if len(self._deliveries) >= self._limits.cached_commands:
                        self._deliveries.clear()
                    self._deliveries[octets] = found
            if first == len(header):
                seen.remember((found,))
            else:
                seen.remember((found, *layout.decode_headers(header, first, len(header), self._reading)))
        except DecodeError:
            return False
        return True

    def _answer(self, speaker: Speaker, reader: SegmentReader) -> Answered | None:
        """Judges an answer to messages if it comes next and has the simplest form; None when it needs every check."""
        cut = self._replies.cut(reader) if self._limits.assembly_octets >= COMMAND_SIZE else None
        if cut is None:
            return None
        accepts, sync, channel, low, high, start, end = cut
        quiet = self._quiet_on(speaker, channel)
        if quiet is None:
            self._replies.put_back(reader, end - start)
            return None
        findings = self.findings
        findings.speaker, findings.channel, findings.offset = speaker, channel, start
        ids = RangeSet.span(low, high)
        id: int | None = None
        if accepts:
            id = quiet.accepts(WHO[speaker], ids)
        else:
            quiet.completes(WHO[speaker], ids)
        return Answered(speaker, channel, quiet.name, accepts, sync, id, ids, start, end)

    def _run(self, speaker: Speaker, reader: SegmentReader, headers: Headers[T], head: int) -> Transfers[T] | None:
        """Judges the next transfers of a channel together; None when one of them needs every check.

        Findings belong after the last transfer returned.
        """
        if len(reader.buffer) - reader.position < FRAME_HEADER_SIZE:
            return None
        channel = frame_header(reader.buffer, reader.position)[5]
        quiet = self._quiet_on(speaker, channel)
        if quiet is None:
            return None
        run = reader.cut_run(head)
        if not run:
            return None
        if run[0][0].channel != channel:
            reader.put_back(run)
            return None
        items: list[TransferSeen[T]] = []
        sizes: list[int] = []
        bodies: list[int] = []
        read_header = headers.read
        command, alike = run[0][0], True
        for known, header, body, first, start, end in run:
            read = read_header(header)
            if read is None:
                break
            if known is not command:
                alike = False
            octets = len(header)
            size = body or 0
            sizes.append(octets + size)
            bodies.append(size)
            items.append((known, octets, body, first, start, end, read[0], read[1]))
        if not items:
            reader.put_back(run)
            return None
        findings = self.findings
        findings.speaker, findings.channel = speaker, channel
        who = WHO[speaker]
        charges = sizes if findings.strict else bodies
        id = quiet.transfers(who, command.command, sizes, charges) if alike else None
        if id is None:  # one by one, up to the first with a finding
            ids: list[int | None] = []
            for item, octets, charge in zip(items, sizes, charges, strict=True):
                findings.offset = item[4]
                ids.append(quiet.transfer(who, item[0].command, octets, charge))
                if findings.found:
                    break
            del items[len(ids) :]
            id = ids[0]
        if len(items) < len(run):
            reader.put_back(run[len(items) :])
        return Transfers(speaker, channel, quiet.name, id, alike, items)

    def _judge_headers(self, seen: CommandSeen, header: bytes) -> None:
        """Decodes a header, reports what is unreadable in it, and stores the rest in `seen`."""
        try:
            self._layout.walk_headers(header, 0, len(header), self._limits)
            seen.remember(self._layout.decode_headers(header, 0, len(header), self._reading))
        except DecodeError as error:
            self.findings.undecodable("header", seen.verb, error)

    def _judge_encoding(self, verb: str, payload: bytes, thing: Control | Command, sync: bool) -> None:
        """Reports deviations without a meaning: octets after the last field, in session.header, or in an unusual encoding."""
        try:
            layout = self._layout
            again = layout.encode_control(thing) if isinstance(thing, Control) else layout.encode_command(thing, sync)
        except EncodeError as error:
            text = f"it is not to be written again: {error}"
        else:
            if again == payload:
                return
            text = f"{len(payload)} octets where {len(again)} say the same"
            if verb not in SECRET_VERBS:
                text += f": {again[:40].hex(' ')}"
        said = verb if verb in SECRET_VERBS else f"{verb} as {payload[:40].hex(' ')}"
        self.findings.divergence("encoding", said, text, about=verb)

    def _hear_opening(self, speaker: Speaker, control: Control) -> None:
        """Handles a control of class connection for what it says of the octets behind: the frame size, or a security layer."""
        ear, handshake = self.ears[speaker], self._witness.handshake
        if ear.reader is None:
            return
        if (isinstance(control, TuneOk) and speaker == "C") or (isinstance(control, OpenOk) and speaker == "S"):
            ear.reader.max_frame_size = handshake.max_frame_size
        if isinstance(control, StartOk) and handshake.mechanism:
            # A layer begins after authentication or, as in qpidd, after open: no control says whether one exists, or from when.
            behind = f"behind the security layer of {handshake.mechanism[:40]}" if handshake.layered else ""
            for each in self.ears.values():
                each.doubt = behind or ("" if each.doubt == UNHEARD else each.doubt)


def verb_of(layout: Layout, kind: str, payload: bytes) -> str:
    """Returns the name of a method, or its numbers; "?" for a missing number."""
    if len(payload) >= 2:
        return layout.verb_of(kind, payload[0], payload[1])
    return f"{payload[0]}.?" if payload else "?.?"
