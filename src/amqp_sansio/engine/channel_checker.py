"""The checker of the older dialects: reads the methods and contents of channels, and judges them by its witness."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from amqp_sansio.dialects import Dialect
from amqp_sansio.engine.channel_witness import ChannelUse, Consumers, NumberedWitness, Question, Questions, References
from amqp_sansio.engine.channels.breaches import rule_of_content, rule_of_unreadable
from amqp_sansio.engine.checker import WHO, ChannelDoubt, Checker, ConnectionWitness, Observed, Speaker
from amqp_sansio.engine.connection import capabilities_of, legal_of
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.observer import Ear
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import ControlSeen, MethodSeen
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.kernel.machine import Refusal, Table
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.ledger.consumer_tags import ConsumerTags, Leaving
from amqp_sansio.ledger.ids import Ids
from amqp_sansio.ledger.pending_replies import PendingReplies
from amqp_sansio.ledger.tags import Deliveries, Tags
from amqp_sansio.limits import MAX_CHANNELS, MIN_MAX_FRAME_SIZE, Limits
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.connection import Close, Heartbeat, OpenOk, Redirect, Start, StartOk, Tune, TuneOk
from amqp_sansio.tables.channel import CAPABILITIES, LIFE, MODE, REFERENCE, REPLIES, may_say
from amqp_sansio.tables.channel import CLOSE as CLOSE_CHANNEL
from amqp_sansio.tables.channel import CLOSE_OK as CLOSE_OK_CHANNEL
from amqp_sansio.tables.channel import OPEN as OPEN_CHANNEL
from amqp_sansio.tables.channel import RESUME as RESUME_CHANNEL
from amqp_sansio.tables.channel_connection import INTERVAL, MINIMUM, PIPELINED
from amqp_sansio.tables.connection import (
    CLOSE_BY_CLIENT,
    CLOSE_BY_SERVER,
    CLOSE_OK,
    HEARTBEAT,
    OTHER,
    OTHER_SIDE,
    SESSION,
    UPDATE_SECRET,
    UPDATE_SECRET_OK,
    Broken,
    ConnectionDialogue,
)
from amqp_sansio.wire.codec import Codec, Reading
from amqp_sansio.wire.framing import COMMAND, CONTROL, Assembly, FrameCut, Malformed, Partial
from amqp_sansio.wire.method_codec import MethodCodec, RepeatedDeliveries, RepeatedProperties
from amqp_sansio.wire.method_frames import METHOD, NAMES
from amqp_sansio.wire.method_reader import MethodReader

_SMALL: Final = f"everybody must accept frames of {MIN_MAX_FRAME_SIZE} octets"


class OpeningWitness:
    """Remembers what was offered, and judges the answers. Accuses no side because of something it missed."""

    __slots__ = (
        "_answer", "_answered", "_capabilities", "_chosen", "_findings", "_mechanism", "_mechanisms", "_offer", "agreed",
        "channels", "frame_max",
    )  # fmt: skip

    def __init__(self, findings: Findings) -> None:
        self._findings: Final = findings
        self._mechanisms: tuple[str, ...] | None = None
        self._mechanism: str | None = None
        self._chosen = 0
        """The verb and offset at which the client chose its mechanism."""
        self._capabilities: dict[str, tuple[str, ...]] = {}
        self._offer: tuple[int, int] | None = None
        self._answer: tuple[int, int] | None = None
        self._answered = 0
        self.agreed = False
        """Whether tune-ok has arrived."""
        self.channels = MAX_CHANNELS
        """The negotiated channel-max; `MAX_CHANNELS` for unlimited."""
        self.frame_max = 0
        """The largest negotiated frame in octets; 0 for unlimited."""

    def able(self, speaker: str, capability: str) -> bool | None:
        """Returns whether this side announced a capability; None when we missed its properties."""
        told = self._capabilities.get(speaker)
        return None if told is None else capability in told

    def hear(self, control: Control) -> None:
        """Judges a control of class connection that was legal in its state."""
        if isinstance(control, Start):
            self._capabilities["server"] = tuple(sorted(capabilities_of(control.server_properties)))
            self._mechanisms = None if control.mechanisms is None else tuple([str(each) for each in control.mechanisms])
            if self._mechanism is not None:
                self._judge_mechanism(self._mechanism)
        elif isinstance(control, StartOk):
            self._capabilities["client"] = tuple(sorted(capabilities_of(control.client_properties)))
            self._mechanism, self._chosen = control.mechanism or "", self._findings.offset
            if self._mechanisms is not None:
                self._judge_mechanism(self._mechanism)
        elif isinstance(control, Tune):
            self._offer = control.channel_max or 0, control.max_frame_size or 0
            self._judge("connection.tune", INTERVAL.broken_by_offer(control, MIN_MAX_FRAME_SIZE))
            if self._answer is not None:  # the client did not wait for start
                late = INTERVAL.broken_by_answer(control, TuneOk(*self._answer), MIN_MAX_FRAME_SIZE)
                self._judge("connection.tune-ok", [each for each in late if each.rule != MINIMUM], ("C", self._answered))
        elif isinstance(control, TuneOk):
            self._answer = control.channel_max or 0, control.max_frame_size or 0
            self._answered = self._findings.offset
            offer = Tune(*self._offer) if self._offer is not None else Tune()
            self._judge("connection.tune-ok", INTERVAL.broken_by_answer(offer, control, MIN_MAX_FRAME_SIZE))
            self.agreed = True
            self.channels = control.channel_max or MAX_CHANNELS
            self.frame_max = control.max_frame_size or 0
        elif isinstance(control, Redirect):
            self._findings.note("connection.redirect", "the server redirects the client")

    def _judge_mechanism(self, mechanism: str) -> None:
        offered = self._mechanisms or ()
        if mechanism not in offered:
            said = f'connection.start-ok with mechanism "{mechanism[:200]}"'
            text = "the client chose a mechanism that the server did not offer"
            before = "C", self._chosen
            self._findings.breach("connection.start-ok.mechanism.validity", said, text, offered, before=before)

    def _judge(self, verb: str, broken: list[Broken], before: tuple[str, int] | None = None) -> None:
        for rule, field, said, legal in broken:
            text = _SMALL if rule == MINIMUM else "the client asks for more than the server offered"
            self._findings.breach(f"{verb}.{rule}", f"{verb} with {field} {said}", text, (legal,), before=before)


_CHANNEL_ERROR: Final = 504
_COMMAND_INVALID: Final = 503


class ConversationWitness(ConnectionWitness):
    """The `ConnectionWitness` of a conversation on channels.

    With `counted`, channel-max is the number of channels; otherwise it is the highest channel number.
    """

    __slots__ = ("_channels", "_open", "_reopened", "_secrets", "counted", "opening")

    def __init__(self, strict: bool, limits: Limits, counted: bool) -> None:
        super().__init__(strict, limits, PIPELINED)
        self.opening: Final = OpeningWitness(self.findings)
        self.counted = counted
        self._secrets = 0
        self._channels: dict[int, NumberedWitness] = {}
        self._open: set[int] = set()
        """The channels known to be open, by number."""
        self._reopened = ChannelDoubt()
        """What is in doubt on channels whose numbers were opened again."""

    @property
    def late(self) -> bool:
        """Whether we missed part of the conversation."""
        return self._late

    # --- the connection -------------------------------------------------------------------------------------------------------

    def header(self, speaker: str, same: bool) -> None:
        super().header(speaker, False)  # servers send one only to refuse

    def control(self, speaker: str, channel: int, verb: str, control: Control | None) -> None:
        """Judges a control of class connection; None when only its name could be read."""
        findings = self.findings
        findings.channel = channel or None
        if channel:
            text = "methods of class connection go on channel 0"
            findings.breach("connection.channel", f"{verb} on channel {channel}", text, ("channel 0",), _CHANNEL_ERROR)
            return
        if verb == HEARTBEAT:
            return
        if not may_say(WHO[speaker], verb, True):
            self._turned(speaker, verb)
            return
        self._able(WHO[speaker], verb)
        if self._legal(speaker, verb, verb):
            if control is not None:
                self.opening.hear(control)
            else:
                self.opening.agreed = True  # we do not know the values
            if verb == UPDATE_SECRET:
                self._secrets += 1
            elif verb == UPDATE_SECRET_OK:
                if not self._secrets and not self._late:
                    findings.breach("reply.unasked", verb, "nobody asked for it", (), _COMMAND_INVALID)
                self._secrets = max(0, self._secrets - 1)
            elif verb == CLOSE_OK and speaker == "S":
                for witness in self._channels.values():
                    witness.take_all()

    def in_doubt(self) -> ChannelDoubt:
        """Returns what is in doubt on all channels when nothing more comes."""
        return ChannelDoubt.total([self._reopened, *[witness.in_doubt() for witness in self._channels.values()]])

    def _turned(self, speaker: str, verb: str) -> None:
        """Reports a method that only the other side may send."""
        text = f"the {WHO[speaker]} says what only the {OTHER_SIDE[WHO[speaker]]} may say"
        self.findings.breach("method.direction", verb, text, (), _COMMAND_INVALID)

    def _blame(self, who: str, word: str, verb: str, refusal: Refusal) -> None:
        state, legal = self.dialogue.state, refusal.legal_for(who)
        if word == CLOSE_OK:
            rule, text, code = "reply.unasked", "nobody has said connection.close", _COMMAND_INVALID
        elif self.dialogue.handshake.can(who, word):
            rule, text, code = "connection.closed", "nothing may follow a side's own close of the connection", _CHANNEL_ERROR
        elif word == SESSION:
            rule, text, code = "connection.not-open", f"the connection is not open (state {state})", _CHANNEL_ERROR
        else:
            rule, text, code = "connection.sequence", f"{verb} while the connection is {state}", _CHANNEL_ERROR
        self.findings.breach(rule, verb, text, legal, code)

    def _able(self, who: str, verb: str) -> None:
        """Checks that the other side announced the capability that an extension needs."""
        capability = CAPABILITIES.get((who, verb))
        if capability is None:
            return
        other = OTHER_SIDE[who]
        if self.opening.able(other, capability) is False:
            text = f"the {other} did not say that it has the capability {capability}"
            self.findings.divergence(f"capability.{capability}", verb, text, (), _COMMAND_INVALID, about=verb)

    # --- channels -------------------------------------------------------------------------------------------------------------

    def method(
        self, speaker: str, channel: int, verb: str, method: Method, extended: bool = True, answered: bool = True
    ) -> None:
        """Judges a complete method of another class; `extended`: the dialect has RabbitMQ's extensions; `answered`: it has an
        answer to the method."""
        who = WHO[speaker]
        findings = self.findings
        findings.channel = channel
        if not channel:
            text = "channel 0 is for class connection alone"
            findings.breach("channel.zero", verb, text, ("channel 1 or more",), _CHANNEL_ERROR)
            return
        if not may_say(who, verb, extended):
            self._turned(speaker, verb)
            return
        dialogue = self.dialogue
        # As nearly always: then no machine moves.  Inline, for speed, what `session_checker.Witness._quiet` says.
        quiet = (
            dialogue.handshake.stays(who, SESSION)
            and dialogue.close_by_client.stays(who, OTHER)
            and dialogue.close_by_server.stays(who, OTHER)
        )
        if not quiet and not self._legal(speaker, SESSION, verb):
            if channel in self._channels:
                self._channels[channel].refused(who, verb)
            return
        self._able(who, verb)
        witness = self._channel(channel, verb)
        witness.hear(who, verb, method, answered)
        if verb in (OPEN_CHANNEL, RESUME_CHANNEL):
            self._open.add(channel)
        elif verb == CLOSE_OK_CHANNEL and witness.reopens:
            self._open.discard(channel)

    def may_break_off(self, speaker: str, channel: int) -> bool:
        """Returns whether a side may leave its content unfinished because the other one has closed the channel."""
        witness = self._channels.get(channel)
        return witness is not None and witness.may_break_off(WHO[speaker])

    def broken_off(self, speaker: str, channel: int, verb: str, method: Method) -> None:
        """Handles a method whose content is incomplete here; the other side may have it all, so later ones are not blamed."""
        witness = self._channels.get(channel)
        if witness is not None and may_say(WHO[speaker], verb, True):
            witness.broken_off(WHO[speaker], verb, method)

    def unreadable(self, channel: int, verb: str) -> None:
        """Handles a method of which only the verb is readable; the other side may have read it, as in `broken_off`."""
        if channel:
            self._channel(channel, verb).lose()

    def _channel(self, number: int, verb: str) -> NumberedWitness:
        witness = self._channels.get(number)
        if verb == OPEN_CHANNEL and (witness is None or witness.reopens) and not self.shaky:
            self._in_range(number, verb)
            if witness is not None:
                self._reopened = ChannelDoubt.total([self._reopened, witness.in_doubt()])
            witness = None
            late = False
        else:
            late = self._late
        if witness is None:
            if number not in self._channels and len(self._channels) >= self.findings.limits.channels:
                self.findings.note("limits.channels", "more channels than our limit: we no longer track those so far")
                self._forget()
            witness = self._channels[number] = NumberedWitness(self.findings, late)
        return witness

    def _in_range(self, number: int, verb: str) -> None:
        """Checks a channel number against channel-max: a count in some versions, the highest number in others."""
        most = self.opening.channels
        if number <= most:
            return
        rule, said = "connection.tune-ok.channel-max", f"{verb} on channel {number}"
        if not self.counted:
            text = f"channels are numbered up to {most}"
            self.findings.breach(rule, said, text, (f"channels 1 to {most}",), _CHANNEL_ERROR)
            return
        open_ = len(self._open)
        if open_ >= most and not self._late:
            text = f"{open_} channels are open, and {most} were agreed on"
            self.findings.breach(f"{rule}.count", said, text, (f"at most {most} channels",), _CHANNEL_ERROR)
        else:
            self.findings.note(rule, f"{said}: some peers take the agreed {most} for the highest number")

    # --- gaps -----------------------------------------------------------------------------------------------------------------

    def lost(self, speaker: str) -> None:
        self.unsettle()

    def unsettle(self) -> None:
        """Makes every state possible again: octets were lost, or may come out of order."""
        self.dialogue = ConnectionDialogue.unknown(PIPELINED)
        self._forget()

    def _forget(self) -> None:
        """Forgets all channels; whatever comes next counts as late."""
        self._late = True
        self._channels.clear()
        self._open.clear()


_NORMAL: Final = 200  # reply-success


class ChannelChecker(Checker):
    """Checks a conversation on channels; see `Checker`.

    With `counted`, channel-max is the number of channels, not the highest channel number.  `variants` loads other editions of
    the same document, in which an unreadable method may be readable.
    """

    __slots__ = ("_counting", "_deliveries", "_others", "_properties", "_reading", "_told", "_variants", "_witness")

    FAMILY: ClassVar[str] = "channels"
    PARTS: ClassVar[tuple[type, ...]] = (
        ChannelDoubt, ChannelUse, ConnectionDialogue, ConsumerTags, Consumers, ConversationWitness, Deliveries, Ids, Leaving,
        MethodReader, NumberedWitness, OpeningWitness, Partial, PendingReplies, Question, Questions, References, Tags,
    )  # fmt: skip
    TABLES: ClassVar[tuple[Table, ...]] = (PIPELINED, CLOSE_BY_CLIENT, CLOSE_BY_SERVER, LIFE, MODE, *REFERENCE.values())

    def __init__(
        self,
        codec: MethodCodec,
        strict: bool,
        limits: Limits,
        ears: Mapping[Speaker, Ear],
        said: deque[Observed],
        counted: bool = False,
        variants: Callable[[], tuple[MethodCodec, ...]] = tuple,
    ) -> None:
        self._witness = ConversationWitness(strict, limits, counted)
        super().__init__(self._witness, ears, said)
        self._variants: Final = variants
        self._told: set[tuple[str, str]] = set()
        """Verbs that exist in another edition only, with the name of that edition."""
        self._counting: Final = {codec.name: counted}
        """For each dialect, whether channel-max is a count."""
        self._others: list[MethodCodec] = []
        """The other candidate dialects, for a stream that starts in the middle."""
        self._reading: Final = Reading.of(limits, canonical=strict)
        self._deliveries = RepeatedDeliveries(codec, self._reading, limits)
        self._properties = RepeatedProperties(codec, self._reading)

    @property
    def _codec(self) -> MethodCodec:
        return self._deliveries.codec

    def _take(self, codec: MethodCodec) -> None:
        """Settles on this dialect."""
        if codec is not self._codec:
            self._deliveries = RepeatedDeliveries(codec, self._reading, self.findings.limits)
            self._properties = RepeatedProperties(codec, self._reading)
        self._witness.counted = any(self._counting[each.name] for each in (codec, *self._others))

    def consider(self, others: Sequence[Dialect[Codec]]) -> None:
        self._others = [each.codec for each in others if isinstance(each.codec, MethodCodec)]
        self._counting.update({each.codec.name: each.handshake.numbering.counted for each in others})
        self._take(self._codec)

    def carries(self, class_code: int, code: int) -> bool:
        if not self._others:
            return self._codec.carries(class_code, code)
        having = [each for each in (self._codec, *self._others) if class_code << 16 | code in each.kinds]
        return bool(having) and all(each.carries(class_code, code) for each in having)

    def hear(self, speaker: Speaker, unit: Assembly) -> None:
        self.findings.channel = unit.channel
        if unit.kind == CONTROL:
            self._control(speaker, unit)
        elif unit.kind == COMMAND:
            self._method(speaker, unit)
        else:
            name = NAMES[unit.kind]
            self.findings.note(f"frame.{name}", f"a frame of type {name}, which no known peer uses")

    def excuses(self, speaker: Speaker, malformed: Malformed) -> bool:
        """Excuses a side that breaks off its content in order to answer the other side's close."""
        return malformed.rule == "content.interrupted" and self._witness.may_break_off(speaker, malformed.channel)

    def frame(self, cut: FrameCut) -> FrameSeen:
        _, _, _, kind, _, channel, payload = cut
        verb = self._codec.verb_of(payload or b"?") if kind == METHOD else None  # "?": without octets it would be a heartbeat
        return FrameSeen(0, kind, 0, channel, verb)

    def state(self) -> object:
        return self._witness, self._codec.name, tuple([each.name for each in self._others]), self._told

    def resume(self, state: object) -> None:
        codecs = {each.name: each for each in (self._codec, *self._others)}
        if isinstance(state, tuple) and len(state) == 4 and isinstance(state[0], ConversationWitness):
            self._witness, name, others, self._told = state
            self._follow(self._witness)
            if name in codecs and isinstance(others, tuple) and all(other in codecs for other in others):
                self._others = [codecs[other] for other in others]
                self._take(codecs[name])
                return
        raise DecodeError("snapshot", 0, "not the state of a checker of channels")

    def in_doubt(self) -> ChannelDoubt:
        return self._witness.in_doubt()

    # --- units ----------------------------------------------------------------------------------------------------------------

    def _control(self, speaker: Speaker, unit: Assembly) -> None:
        """Checks a method of class connection, or a heartbeat."""
        verb = self._codec.verb_of(unit.payload)
        control: Control | None = None
        error: DecodeError | None = None
        if not unit.payload:
            control = Heartbeat()
        else:
            try:
                said = self._read(speaker, unit.payload)
                verb, control = said.VERB, said if isinstance(said, Control) else None
            except DecodeError as caught:
                error = caught
        self.say(speaker, unit.start, unit.end, ControlSeen(unit.channel, verb, control, unit.payload))
        witness = self._witness
        if error is not None:
            if self._undecodable(verb, error):
                witness.control(speaker, unit.channel, verb, None)
            return
        if not witness.opening.agreed and unit.end - unit.start > MIN_MAX_FRAME_SIZE:
            text, legal = f"no frame is larger than {MIN_MAX_FRAME_SIZE} octets before tune", (f"{MIN_MAX_FRAME_SIZE} octets",)
            self.findings.divergence("frame.before-tune", f"{verb} in {unit.end - unit.start} octets", text, legal, 501)
        witness.control(speaker, unit.channel, verb, control)
        if isinstance(control, TuneOk | OpenOk):
            self._limit_frames(speaker)
        elif isinstance(control, Close):
            self._tell_close(speaker, "connection", control)

    def _limit_frames(self, speaker: Speaker) -> None:
        """Applies the negotiated frame size, which binds each side from its own tune or tune-ok on."""
        reader, opening = self.ears[speaker].reader, self._witness.opening
        if reader is not None and opening.agreed and opening.frame_max:
            reader.max_frame_size = max(opening.frame_max, MIN_MAX_FRAME_SIZE)

    def _method(self, speaker: Speaker, unit: Assembly) -> None:
        """Checks a method of another class, with its content."""
        verb = self._codec.verb_of(unit.payload)
        method: Method | None = None
        properties: ValueObject | None = None
        error: DecodeError | None = None
        wrong: DecodeError | None = None
        try:
            said = self._read(speaker, unit.payload)
            verb, method = said.VERB, said if isinstance(said, Method) else None
        except DecodeError as caught:
            error = caught
        if unit.header is not None:
            try:
                properties = self._properties.read(unit.header)
            except DecodeError as caught:
                wrong = caught
        seen = MethodSeen(unit.channel, verb, method, unit.payload, unit.header, properties, unit.body, unit.complete)
        self.say(speaker, unit.start, unit.end, seen)
        if error is not None:
            if self._undecodable(verb, error):
                self._witness.unreadable(unit.channel, verb)
        elif method is not None and not unit.complete:
            self._witness.broken_off(speaker, unit.channel, verb, method)
        elif method is not None:
            self._witness.method(speaker, unit.channel, verb, method, self._codec.extended, self._answers(verb))
            if verb == CLOSE_CHANNEL:
                self._tell_close(speaker, f"channel {unit.channel}", method)
        if wrong is not None:
            self.findings.channel = unit.channel
            self.findings.breach(rule_of_content(wrong), verb, str(wrong), legal_of(wrong), wrong.code)

    def _answers(self, verb: str) -> bool:
        """Returns whether the dialect, or one of several candidates, has an answer to a method."""
        replies = REPLIES.get(verb)
        return replies is not None and any(not each.verbs.isdisjoint(replies) for each in (self._codec, *self._others))

    def _read(self, speaker: Speaker, payload: bytes) -> Method | Control:
        """Reads a method.  Raises DecodeError.

        Of several candidate dialects, drops those in which it cannot be read or `speaker` may not send it.
        """
        if not self._others:
            return self._read_exactly(payload)
        readable = [each for each in (self._codec, *self._others) if self._reads(each, payload)]
        spoken = [each for each in readable if may_say(WHO[speaker], each.verb_of(payload), each.extended)]
        if readable:
            codec, *self._others = spoken or readable
            self._take(codec)
            if not self._others:
                self.findings.note("dialect", f"the dialect of this stream without a beginning is {self._codec.name}")
        return self._read_exactly(payload)

    def _read_exactly(self, payload: bytes) -> Method | Control:
        """Reads a method by the dialect.  If only another edition can read it, notes so: the observer's caller chooses the
        edition."""
        try:
            return self._deliveries.read(payload)
        except DecodeError:
            for codec in self._variants():
                if self._reads(codec, payload):
                    verb = codec.verb_of(payload)
                    if (verb, codec.name) not in self._told:
                        self._told.add((verb, codec.name))
                        self.findings.note("variant", f"{verb} is not that of {self._codec.name}: it is {codec.name}")
                    break
            raise

    def _reads(self, codec: MethodCodec, payload: bytes) -> bool:
        try:
            codec.read(payload, self._reading)
        except DecodeError:
            return False
        return True

    def _undecodable(self, verb: str, error: DecodeError) -> bool:
        """Reports what is unreadable in a method.  Returns False if the dialect has no such method; otherwise the other side
        may have read it."""
        rule = rule_of_unreadable(verb, error)
        self.findings.breach(rule, verb, str(error), legal_of(error), error.code)
        return rule != "method.unknown"

    def _tell_close(self, speaker: Speaker, what: str, method: Method | Control) -> None:
        """Notes which side closes with which code, and the method at fault."""
        said = dict(zip(method.FIELDS, method.values(), strict=True))
        code, class_id, method_id = said.get("reply_code"), said.get("class_id"), said.get("method_id")
        if code == _NORMAL or not isinstance(class_id, int) or not isinstance(method_id, int):
            return
        who = "client" if speaker == "C" else "server"
        about = self._codec.verb_of(class_id.to_bytes(2, "big") + method_id.to_bytes(2, "big")) if class_id else "no method"
        text = str(said.get("reply_text", ""))[:200]
        self.findings.note(f"{what.partition(' ')[0]}.close", f"the {who} closes the {what} with {code} about {about}: {text}")
