"""The checker of sessions (0-10): reads controls and commands, transfers in batches, and judges them by its witness."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeVar

from amqp_sansio.engine.checker import WHO, Answered, Checker, ConnectionWitness, Observed, Speaker, Transfers, TransferSeen
from amqp_sansio.engine.contents import (
    CONTENT_VERBS,
    Consumers,
    ContentClass,
    Contents,
    ContentWitness,
    Deliveries,
    Staging,
    is_global,
)  # fmt: skip
from amqp_sansio.engine.demarcation import Demarcation, DemarcationWitness
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.inbound import replies_of
from amqp_sansio.engine.observer import FRAMES, Ear
from amqp_sansio.engine.witness import ChannelWitness, CreditWitness, StreamWitness
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.errors.core import session_name
from amqp_sansio.events import CommandSeen, ControlSeen
from amqp_sansio.events.observed import SECRET_VERBS, FrameSeen
from amqp_sansio.kernel.machine import Refusal, Table
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import Credit, CreditBook, Grants, Subscription, Subscriptions
from amqp_sansio.ledger.ids import Ids, Settling
from amqp_sansio.limits import MAX_CHANNELS, MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE, Limits
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.connection import Close, CloseOk, Open, OpenOk, Redirect, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.message import Accept, DeliveryProperties, Transfer
from amqp_sansio.spec.session import (
    Attach,
    Attached,
    CommandPoint,
    Completed,
    Confirmed,
    Detach,
    Detached,
    Expected,
    Flush,
    KnownCompleted,
)
from amqp_sansio.tables.connection import (
    CLOSE_BY_CLIENT,
    CLOSE_BY_SERVER,
    HANDSHAKE,
    OTHER,
    RANGES,
    SESSION,
    ConnectionDialogue,
)
from amqp_sansio.tables.content_classes import CONSUMER, PUBLISHING, QOS, STAGING
from amqp_sansio.tables.demarcation import DEMARCATION
from amqp_sansio.tables.session import ATTACHMENT, STREAM, AttachmentDialogue
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.framing import COMMAND, CONTROL, Assembly, Cut, FrameCut, Partial
from amqp_sansio.wire.layouts.layout import HeaderDecoder, Layout
from amqp_sansio.wire.primitives import frame_header, u32
from amqp_sansio.wire.segments import (
    COMMAND_SIZE,
    FIRST_FRAME,
    FIRST_SEGMENT,
    FRAME_HEADER_SIZE,
    SegmentReader,
    alone_next,
)

T = TypeVar("T")

LAYERLESS: Final = ("ANONYMOUS", "PLAIN", "EXTERNAL", "CRAM-MD5", "LOGIN", "AMQPLAIN")
"""Mechanisms without a security layer; the SCRAM family has none either."""

CLOSE_CODES: Final = {200: "normal", 320: "connection-forced", 402: "invalid-path", 501: "framing-error"}

_WRONG: Final = {
    "max-frame-size.minimum": "a maximum below what everybody must accept",
    "heartbeat-max.permitted-range": "the maximum lies below the minimum",
    "heartbeat-max.no-heartbeat-min": "without a minimum there is no maximum",
    "channel-max.upper-limit": "the client asks for more than the server offered",
    "max-frame-size.upper-limit": "the client asks for more than the server offered",
    "heartbeat.permitted-range": "a heartbeat outside of what was offered",
    "heartbeat.no-heartbeat-min": "the server offered no heartbeat",
}


class HandshakeWitness:
    """Remembers the offers, and judges the answers.  Accuses no side because of something it missed."""

    __slots__ = ("_findings", "channels", "insist", "locales", "max_frame_size", "mechanism", "mechanisms", "offered")

    def __init__(self, findings: Findings) -> None:
        self._findings: Final = findings
        self.mechanisms: tuple[str, ...] | None = None
        self.locales: tuple[str, ...] | None = None
        self.mechanism = ""
        self.offered: tuple[int | None, int | None, int | None, int | None] | None = None
        """channel-max, max-frame-size, heartbeat-min and heartbeat-max as the server offered them."""
        self.channels = MAX_CHANNELS
        """The negotiated number of channels."""
        self.max_frame_size = MAX_FRAME_SIZE
        self.insist = False

    @property
    def layered(self) -> bool:
        """Whether the mechanism may have started a security layer."""
        return bool(self.mechanism) and self.mechanism not in LAYERLESS and not self.mechanism.startswith("SCRAM-")

    def hear(self, control: Control) -> None:
        """Judges a control of class connection that was legal in its state."""
        hear = _HEARS.get(type(control))
        if hear is not None:
            hear(self, control)

    def _start(self, control: Start) -> None:
        self.mechanisms = _words(control.mechanisms)
        self.locales = _words(control.locales)
        if self.locales is not None and "en_US" not in self.locales:
            text = "every server supports the locale en_US"
            self._findings.letter("connection.start.locales.required-support", "connection.start", text, ("en_US",))

    def _start_ok(self, control: StartOk) -> None:
        self.mechanism = control.mechanism or ""
        if control.mechanism is None:
            self._required("connection.start-ok", "mechanism")
        elif self.mechanisms is not None and control.mechanism not in self.mechanisms:
            self._findings.breach(
                "connection.start-ok.mechanism.validity",
                f'connection.start-ok with mechanism "{_short(control.mechanism)}"',
                "the client chose a mechanism that the server did not offer",
                self.mechanisms,
            )
        if control.locale is None:
            self._required("connection.start-ok", "locale")
        elif self.locales is not None and control.locale not in self.locales:
            said = f'connection.start-ok with locale "{_short(control.locale)}"'
            text = "the client chose a locale that the server did not offer"
            self._findings.letter("connection.start-ok.locale", said, text, self.locales)

    def _tune(self, control: Tune) -> None:
        self.offered = (control.channel_max, control.max_frame_size, control.heartbeat_min, control.heartbeat_max)
        for rule, field, value, legal in RANGES.broken_by_offer(control, MIN_MAX_FRAME_SIZE):
            said, text = f"connection.tune with {field} {value}", _WRONG[rule]
            if rule == "heartbeat-max.no-heartbeat-min":
                self._findings.letter(f"connection.tune.{rule}", f"{said} and without heartbeat-min", text, (legal,))
                continue
            if rule == "heartbeat-max.permitted-range":
                said = f"connection.tune with heartbeat-min {control.heartbeat_min}, heartbeat-max {value}"
            self._findings.breach(f"connection.tune.{rule}", said, text, (legal,), 501)

    def _tune_ok(self, control: TuneOk) -> None:
        if self.offered is None:
            return
        offer = Tune(*self.offered)
        if control.channel_max is None:
            self._required("connection.tune-ok", "channel-max")
        for rule, field, value, legal in RANGES.broken_by_answer(offer, control, MIN_MAX_FRAME_SIZE):
            judged, said, text = f"connection.tune-ok.{rule}", f"connection.tune-ok with {field} {value}", _WRONG[rule]
            if rule == "heartbeat.no-heartbeat-min":
                self._findings.divergence(judged, said, text, (legal,))
            elif rule == "max-frame-size.minimum" and not value:
                self._findings.letter(judged, said, f"{text}; peers take 0 for no answer", (legal,))
            else:
                self._findings.breach(judged, said, text, (legal,))
        self.channels = control.channel_max or offer.channel_max or MAX_CHANNELS
        self.max_frame_size = max(control.max_frame_size or offer.max_frame_size or MAX_FRAME_SIZE, FRAME_FLOOR)

    def _open(self, control: Open) -> None:
        self.insist = control.insist
        if control.virtual_host is None:
            self._required("connection.open", "virtual-host")

    def _redirect(self, control: Redirect) -> None:
        if self.insist:
            text = "the client insisted on this server"
            legal = ("connection.open-ok", "connection.close")
            self._findings.breach("connection.open.insist.behavior", "connection.redirect", text, legal)
        self._findings.note("connection.redirect", "the server redirects the client")

    def _close(self, control: Close) -> None:
        code = control.reply_code
        if code is not None and code not in CLOSE_CODES:
            said = f"connection.close with reply-code {code}"
            legal = tuple([f"{number} {name}" for number, name in CLOSE_CODES.items()])
            self._findings.letter("connection.close.reply-code", said, "nobody knows this close code", legal)
        if code != 200:
            name = CLOSE_CODES.get(code or 0, "unknown")
            who = "client" if self._findings.speaker == "C" else "server"
            reason = f": {_short(control.reply_text)}" if control.reply_text else ""
            self._findings.note("connection.close", f"the {who} closes the connection with {code} {name}{reason}")

    def _required(self, verb: str, field: str) -> None:
        self._findings.letter(f"{verb}.{field}", verb, f"the field {field} is required", (field,), about=field)


_HEARS: Final[dict[type[Control], Callable[[HandshakeWitness, Any], None]]] = {  # Any: each row takes its own control
    Start: HandshakeWitness._start,
    StartOk: HandshakeWitness._start_ok,
    Tune: HandshakeWitness._tune,
    TuneOk: HandshakeWitness._tune_ok,
    Open: HandshakeWitness._open,
    Redirect: HandshakeWitness._redirect,
    Close: HandshakeWitness._close,
}

FRAME_FLOOR: Final = 256
"""A smaller maximum counts as a mistake in the fields rather than as a limit for frames."""


def _words(values: tuple[object, ...] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple([str(value) for value in values])


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "..."


_FRAMING: Final = 501


class Witness(ConnectionWitness):
    """The `ConnectionWitness` of a conversation in sessions."""

    __slots__ = ("_channels", "_name_octets", "_sessions", "handshake")

    def __init__(self, strict: bool, limits: Limits) -> None:
        super().__init__(strict, limits, HANDSHAKE)
        self.handshake: Final = HandshakeWitness(self.findings)
        self._channels: dict[int, ChannelWitness] = {}
        self._sessions: dict[bytes, int] = {}
        self._name_octets = 0

    # --- controls -------------------------------------------------------------------------------------------------------------

    def connection_control(self, speaker: str, channel: int, control: Control) -> None:
        """Judges a control of class connection."""
        self.findings.channel = None
        if channel:
            text = "controls of the connection go on channel 0"
            self.findings.letter("connection.channel", f"{control.VERB} on channel {channel}", text, ("channel 0",))
        if self._legal(speaker, control.VERB, control.VERB):
            self.handshake.hear(control)

    def session_control(self, speaker: str, channel: int, control: Control) -> None:
        """Judges a control of class session."""
        word = WHO[speaker]
        self.findings.channel = channel
        legal = self._permits(speaker, channel, control.VERB)
        witness = self._channel(channel)
        if not legal:
            witness.refused(word, control)
            return
        if isinstance(control, Attach):
            self._name_octets += len(control.name or b"")
            if self._name_octets > self.findings.limits.buffered_octets:
                self._forget("limits.buffered_octets")
                witness = self._channel(channel)
            witness.attach(word, control, self.shaky, control.name in self._sessions)
        elif isinstance(control, Attached):
            if witness.attach_answered(word, control) and control.name is not None:
                self._one_transport(control.name, channel)
        elif isinstance(control, Detach):
            witness.detach(word, control)
        elif isinstance(control, Detached):
            witness.detached(word, control)
        else:
            witness.control(word, control)

    # --- commands -------------------------------------------------------------------------------------------------------------

    def command(
        self, speaker: str, channel: int, verb: str, command: Command | None, octets: int, body: int | None = None
    ) -> tuple[bytes | None, int | None]:
        """Judges a command; returns its session and its id, None where unknown.

        `octets` counts header and body, `body` the body alone (None: unknown).
        """
        self.findings.channel = channel
        legal = self._permits(speaker, channel, verb)
        witness = self._channel(channel)
        if not legal:
            witness.refused(WHO[speaker], command, octets)
            return None, None
        id = witness.command(WHO[speaker], verb, command, octets, body)
        if command is not None and verb in CONTENT_VERBS and is_global(command):
            for other in self._channels.values():
                if other is not witness:
                    other.content.close_window()
        return witness.name, id

    def settled(self, speaker: str, channel: int) -> ChannelWitness | None:
        """Returns the witness of a channel on which a transfer of `speaker` changes no state.

        Until a control other than those about completion comes, `ChannelWitness.transfer` may judge the next ones.
        """
        witness = self._channels.get(channel)
        if witness is None or self.shaky or channel >= self.handshake.channels or not witness.quiet(WHO[speaker]):
            return None
        return witness if self._quiet(WHO[speaker]) else None

    def books(self, channel: int) -> ChannelWitness | None:
        """Returns the records of the session on a channel; None while the channel is unused."""
        return self._channels.get(channel)

    def broken_off(self, speaker: str, channel: int) -> tuple[bytes | None, int | None]:
        """Handles a command that never came whole: returns its session and its id.  Its content is not judged."""
        witness = self._channels.get(channel)
        return (None, None) if witness is None else (witness.name, witness.taken(WHO[speaker]))

    def lost(self, speaker: str) -> None:
        self._late = True
        self.unsettle()
        for witness in self._channels.values():
            witness.lost(WHO[speaker])

    def unsettle(self) -> None:
        """Makes every state possible: the next unit may come out of order."""
        self.dialogue = ConnectionDialogue.unknown()
        for witness in self._channels.values():
            witness.unsettle()

    def _may_end(self) -> bool:
        return self.dialogue.finished and self.dialogue.state != "closing"  # a close after a redirect is answered, too

    def _blame(self, who: str, word: str, verb: str, refusal: Refusal) -> None:
        state = self.dialogue.state
        rule, text = "connection.sequence", f"{verb} while the connection is {state}"
        legal = refusal.legal_for(who)
        if state in ("closing", "closed"):  # Python clients answer what crossed their close
            self.findings.divergence(rule, verb, text, legal, _FRAMING, about=verb)
        else:
            self.findings.breach(rule, verb, text, legal, _FRAMING)

    def _quiet(self, who: str) -> bool:
        """Returns whether what `who` sends on a channel changes no state of the connection, as nearly always."""
        dialogue = self.dialogue
        return (
            dialogue.handshake.stays(who, SESSION)
            and dialogue.close_by_client.stays(who, OTHER)
            and dialogue.close_by_server.stays(who, OTHER)
        )

    def _permits(self, speaker: str, channel: int, verb: str) -> bool:
        """Returns whether the state of the connection permits a verb of its sessions; if so, also judges the channel number.

        When N channels were negotiated they are 0 to N-1; a peer that counts from 1 to N is tolerated.
        """
        agreed, quiet = self.handshake.channels, self._quiet(WHO[speaker])  # for nearly all words
        legal = quiet or self._legal(speaker, SESSION, verb)
        if not legal or channel < agreed:
            return legal
        said = f"{verb} on channel {channel}"
        text = "a channel beyond what was agreed on"
        rule, numbers = "connection.tune-ok.channel-max.available-channels", (f"channels 0 to {agreed - 1}",)
        if channel == agreed:
            self.findings.letter(rule, said, text, numbers)
        elif channel not in self._channels and self._late:  # the other side may have used it first
            self.findings.note(rule, f"{said}: {text}")
        elif channel not in self._channels:
            self.findings.breach(rule, said, text, numbers, _FRAMING)
        return legal

    def _channel(self, number: int) -> ChannelWitness:
        witness = self._channels.get(number)
        if witness is None:
            if len(self._channels) >= self.findings.limits.channels:
                self._forget("limits.channels")
            witness = self._channels[number] = ChannelWitness(self.findings, number, self._late)
        return witness

    def _forget(self, limit: str) -> None:
        """Stops following the sessions so far: one of our limits is reached."""
        self.findings.note(limit, f"more than our limit {limit}: we no longer track the open sessions")
        self._channels.clear()
        self._sessions.clear()
        self._name_octets = 0
        self._late = True

    def _one_transport(self, name: bytes, channel: int) -> None:
        before = self._sessions.get(name)
        old = self._channels.get(before) if before is not None and before != channel else None
        if old is not None and old.attached and old.name == name:
            text = f"the session is still attached on channel {before}"
            rule, said = "session.attach.one-transport-per-session", f"session.attached of {session_name(name[:80])}"
            self.findings.divergence(rule, said, text, (f"session.detached on channel {before}",))
        self._sessions[name] = channel
        if len(self._sessions) > self.findings.limits.sessions:
            del self._sessions[next(iter(self._sessions))]


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
        AttachmentDialogue, ChannelWitness, ConnectionDialogue, Consumers, ContentClass, ContentWitness, Contents,
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
        self._witness = Witness(strict, limits)
        super().__init__(self._witness, ears, said)
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

    def carries(self, class_code: int, code: int) -> bool:
        verb = self._layout.verb_of("command", class_code, code)
        return verb in self._layout.segments or verb.rpartition(".")[2].isdigit()

    def hear(self, speaker: Speaker, unit: Assembly) -> None:
        if unit.kind == CONTROL:
            self._control(speaker, unit)
        else:
            self._command(speaker, unit)

    def next_alike(self, speaker: Speaker, headers: HeaderDecoder[T], head: int) -> Transfers[T] | Answered | None:
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

    def unsettle(self) -> None:
        self._stir()
        super().unsettle()

    def lost(self, speaker: Speaker) -> None:
        self._stir()
        super().lost(speaker)
        if not self._witness.handshake.mechanism:
            for ear in self.ears.values():
                ear.doubt = ear.doubt or UNHEARD

    def subscriptions(self, channel: int) -> Subscriptions | None:
        witness = self._witness.books(channel)
        return None if witness is None else witness.subscriptions

    def state(self) -> object:
        return self._witness

    def resume(self, state: object) -> None:
        if not isinstance(state, Witness):
            raise DecodeError("snapshot", 0, "not the state of a checker of sessions")
        self._witness = state
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
        command: Command | None = None
        error: DecodeError | None = None
        cached = self._commands.get(payload)
        if cached is not None:
            command, sync = cached
            verb = command.VERB
        else:
            verb = verb_of(layout, "command", payload)
            sync = len(payload) > 3 and payload[2] > 0 and bool(payload[3] & _SYNC)
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

    def _run(self, speaker: Speaker, reader: SegmentReader, headers: HeaderDecoder[T], head: int) -> Transfers[T] | None:
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
