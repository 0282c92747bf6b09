"""The checker of sessions (0-10): controls and commands, many transfers at once, and the witness that judges them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import ClassVar, Final, Literal, TypeVar

from amqp_sansio.engine.carrier import legal_of, rule_of
from amqp_sansio.engine.checker import Checker
from amqp_sansio.engine.consumers import Consumers
from amqp_sansio.engine.contents import ContentClass, Contents
from amqp_sansio.engine.deliveries import Deliveries
from amqp_sansio.engine.ear import Ear
from amqp_sansio.engine.observed import Observed, Speaker
from amqp_sansio.engine.quick import QUIET, Answered, QuickTransfers, Transfers
from amqp_sansio.engine.staging import Staging
from amqp_sansio.engine.witness import Witness
from amqp_sansio.engine.witness_channel import ChannelWitness
from amqp_sansio.engine.witness_content import ContentWitness
from amqp_sansio.engine.witness_credit import CreditWitness
from amqp_sansio.engine.witness_demarcation import DemarcationWitness
from amqp_sansio.engine.witness_handshake import HandshakeWitness
from amqp_sansio.engine.witness_stream import StreamWitness
from amqp_sansio.engine.wording import frame_of, judge_encoding, judge_headers, verb_of
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import CommandSeen, ControlSeen
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.kernel.machine import Table
from amqp_sansio.ledger.credit import Credit, CreditBook, Grants
from amqp_sansio.ledger.demarcation import Demarcation
from amqp_sansio.ledger.ids import Ids
from amqp_sansio.ledger.settling import Settling
from amqp_sansio.ledger.subscriptions import Subscription, Subscriptions
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.connection import Close, CloseOk, OpenOk, StartOk, TuneOk
from amqp_sansio.spec.message import Accept, Transfer
from amqp_sansio.spec.session import CommandPoint, Completed, Detach, Detached
from amqp_sansio.tables import file, stream
from amqp_sansio.tables.connection import CLOSE_BY_CLIENT, CLOSE_BY_SERVER, HANDSHAKE, ConnectionDialogue
from amqp_sansio.tables.demarcation import DEMARCATION
from amqp_sansio.tables.session import ATTACHMENT, STREAM, AttachmentDialogue
from amqp_sansio.wire.assembler import Assembler
from amqp_sansio.wire.assembly import CONTROL, Assembly, Cut, Partial
from amqp_sansio.wire.framing import FrameCut
from amqp_sansio.wire.headers import Headers
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.reading import Reading
from amqp_sansio.wire.segments import SegmentReader

T = TypeVar("T")

UNHEARD: Final = "no frame is there; a security layer may have been agreed on before, which nobody heard"
"""Why a stream that starts in its middle may not be frames at all, although something in it looked like one."""

Ears = Mapping[Literal["C", "S"], Ear]

_CONCLUDING: Final = (CommandPoint, Detach, Detached, Close, CloseOk)
"""Behind these, nothing more can come of a command under way on the channel, or of any."""

_CONNECTION_CLASS: Final = 1
_SYNC: Final = 0x01

_PARTS: Final = (
    Assembler, AttachmentDialogue, ChannelWitness, ConnectionDialogue, Consumers, ContentClass, ContentWitness, Contents,
    Credit, CreditBook, CreditWitness, Deliveries, Demarcation, DemarcationWitness, Grants, HandshakeWitness, Ids, Partial,
    SegmentReader, Settling, Staging, Subscription, Subscriptions, StreamWitness, Witness,
)  # fmt: skip

_TABLES: Final[tuple[Table, ...]] = (
    HANDSHAKE,
    CLOSE_BY_CLIENT,
    CLOSE_BY_SERVER,
    DEMARCATION,
    *ATTACHMENT.values(),
    *STREAM.values(),
    *[table for rows in (file, stream) for table in (rows.QOS, rows.CONSUMER, rows.PUBLISHING)],
    *file.STAGING.values(),
)


class SessionChecker(Checker):
    """See `Checker`."""

    __slots__ = ("_layout", "_limits", "_quick", "_reading", "_transfers", "_witness")

    FAMILY: ClassVar[str] = "sessions"
    PARTS: ClassVar[tuple[type, ...]] = _PARTS
    TABLES: ClassVar[tuple[Table, ...]] = _TABLES

    def __init__(
        self, layout: Layout, strict: bool, limits: Limits, ears: Mapping[Speaker, Ear], said: deque[Observed]
    ) -> None:
        super().__init__(strict, limits, ears, said)
        self._limits: Final = limits
        self._layout: Final = layout
        self._reading: Final = Reading.of(limits, canonical=strict)
        self._witness = Witness(strict, limits)
        self.findings = self._witness.findings
        self._transfers: dict[bytes, tuple[Command, bool]] = {}
        """Those of one subscription are the same octets over and over; values are immutable."""
        self._quick: Final = QuickTransfers(limits, self._reading)

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
        heard = self._quick.next(speaker, self.ears[speaker], self._witness, self._layout, headers, head)
        if heard is not None and self.findings.found:
            self.flush(speaker, *heard.place)
        return heard

    def frame(self, cut: FrameCut) -> FrameSeen:
        return frame_of(self._layout, cut)

    def shake(self, shaky: bool) -> None:
        self._witness.shaky = shaky
        if shaky:
            self.unsettle()

    def unsettle(self) -> None:
        self._quick.forget()
        self._witness.unsettle()

    def lost(self, speaker: Speaker) -> None:
        self._quick.forget()
        self._witness.lost(speaker)
        missed_opening(self.ears, self._witness.handshake)

    def ended(self, speaker: Speaker) -> None:
        self._witness.ended(speaker)

    def books(self, channel: int) -> ChannelWitness | None:
        return self._witness.books(channel)

    def state(self) -> object:
        return self._witness

    def resume(self, state: object) -> None:
        if not isinstance(state, Witness):
            raise DecodeError("snapshot", 0, "not the state of a checker of sessions")
        self._witness = state
        self.findings = state.findings

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
            channel = None if isinstance(control, Close | CloseOk) else assembly.channel
            for ended in reader.conclude(channel):
                self.hear(speaker, ended)
                self.flush(speaker, ended.start, ended.end)
        seen = ControlSeen(assembly.channel, verb, control, payload, assembly.complete)
        self.say(speaker, assembly.start, assembly.end, seen)
        findings = self.findings
        findings.channel = assembly.channel
        if error is not None:
            findings.breach(rule_of("control", error), verb, str(error), legal_of(error), error.code)
        if type(control) not in QUIET:
            self._quick.forget()
        if control is None:
            return
        judge_encoding(self.findings, layout, verb, payload, control, False)
        if payload[0] == _CONNECTION_CLASS:
            self._witness.connection_control(speaker, assembly.channel, control)
            hear_opening(speaker, self.ears, control, self._witness.handshake)
        else:
            self._witness.session_control(speaker, assembly.channel, control)
            if type(control) is Completed:
                self._quick.learn(speaker, assembly.channel, self._witness)
            elif isinstance(control, CommandPoint) and control.command_offset and reader is not None:
                reader.expect_rest(assembly.channel)

    def _command(self, speaker: Speaker, assembly: Assembly) -> None:
        layout = self._layout
        payload = assembly.payload
        verb = verb_of(layout, "command", payload)
        command: Command | None = None
        sync = len(payload) > 3 and payload[2] > 0 and bool(payload[3] & _SYNC)
        error: DecodeError | None = None
        cached = self._transfers.get(payload)
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
        self.say(speaker, assembly.start, assembly.end, seen)
        if not assembly.complete:
            return
        findings = self.findings
        findings.channel = assembly.channel
        if error is not None:
            findings.breach(rule_of("command", error), verb, str(error), legal_of(error), error.code)
        elif command is not None and cached is None:
            judge_encoding(findings, layout, verb, payload, command, sync)
            if isinstance(command, Transfer):
                if len(self._transfers) >= self._limits.cached_commands:
                    self._transfers.clear()
                self._transfers[payload] = (command, sync)
        if isinstance(command, Transfer | Accept) and self._quick.learn(speaker, assembly.channel, self._witness):
            reader = self._reader(speaker)
            if reader is not None and isinstance(command, Transfer):
                reader.learn(assembly.channel, payload, command, sync)
        if header:
            judge_headers(findings, layout, seen, header, self._limits, self._reading)
        if assembly.unended:
            text = "neither header nor body was marked as the last segment; the next command simply starts"
            findings.divergence("assembly.unended", verb, text, ("E header", "b E body"))

    def hear_plain(self, speaker: Speaker, cut: Cut) -> Observed | None:
        known, header, size, octets, start, end = cut
        witness = self._quick.of(speaker, known.channel, self._witness)
        if witness is None:
            return None
        body = None if size is None else octets
        seen = self._quick.one(speaker, self.findings, witness, self._layout, known, header, body, start)
        observed = Observed(speaker, start, end, seen)
        if self.findings.found:
            self.flush(speaker, start, end)
        return observed


# What the opening of a connection tells about the octets that follow: their frames' size, or a security layer.


def missed_opening(ears: Ears, handshake: HandshakeWitness) -> None:
    """We missed something: the mechanism may have been in it, and the other side need not begin with a header."""
    for ear in ears.values():
        ear.joined = ear.joined or not ear.received
        if not handshake.mechanism:
            ear.doubt = ear.doubt or UNHEARD


def hear_opening(speaker: Literal["C", "S"], ears: Ears, control: Control, handshake: HandshakeWitness) -> None:
    """`speaker` says a control of class connection."""
    ear = ears[speaker]
    if ear.reader is None:
        return
    if (isinstance(control, TuneOk) and speaker == "C") or (isinstance(control, OpenOk) and speaker == "S"):
        ear.reader.max_frame_size = handshake.max_frame_size
    if isinstance(control, StartOk) and handshake.mechanism:
        # A layer begins where authentication ends, or behind open, as in qpidd: nobody says whether there is one, or from when.
        behind = f"behind the security layer of {handshake.mechanism[:40]}" if handshake.layered else ""
        for each in ears.values():
            each.doubt = behind or ("" if each.doubt == UNHEARD else each.doubt)
