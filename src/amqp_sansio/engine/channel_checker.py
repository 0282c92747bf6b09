"""The checker of the older dialects: reads the methods and contents of channels, and passes them to the witness."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from amqp_sansio.dialects import Dialect
from amqp_sansio.engine.channel_witness import ConversationWitness, NumberedWitness, OpeningWitness
from amqp_sansio.engine.channel_witness_use import ChannelUse, Consumers, Question, Questions, References
from amqp_sansio.engine.channels.breaches import rule_of_unreadable, within_table
from amqp_sansio.engine.checker import Checker
from amqp_sansio.engine.connection import legal_of, rule_of
from amqp_sansio.engine.ear import Ear
from amqp_sansio.engine.observed import Observed, Speaker
from amqp_sansio.engine.witness_connection import WHO
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import ControlSeen, MethodSeen
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.kernel.machine import Table
from amqp_sansio.kernel.value import Value
from amqp_sansio.ledger.consumer_tags import ConsumerTags, Leaving
from amqp_sansio.ledger.ids import Ids
from amqp_sansio.ledger.pending_replies import PendingReplies
from amqp_sansio.ledger.tags import Deliveries, Tags
from amqp_sansio.limits import MIN_MAX_FRAME_SIZE, Limits
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.connection import Close, Heartbeat, OpenOk, TuneOk
from amqp_sansio.tables.channel import CLOSE as CLOSE_CHANNEL
from amqp_sansio.tables.channel import LIFE, MODE, REFERENCE, REPLIES, may_say
from amqp_sansio.tables.channel_connection import PIPELINED
from amqp_sansio.tables.connection import CLOSE_BY_CLIENT, CLOSE_BY_SERVER, ConnectionDialogue
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import COMMAND, CONTROL, Assembly, FrameCut, Malformed, Partial
from amqp_sansio.wire.method_codec import MethodCodec
from amqp_sansio.wire.method_frames import METHOD, NAMES
from amqp_sansio.wire.method_reader import MethodReader
from amqp_sansio.wire.reading import Reading
from amqp_sansio.wire.repeated import RepeatedDeliveries, RepeatedProperties

_NORMAL: Final = 200  # reply-success


class ChannelChecker(Checker):
    """Checks a conversation on channels; see `Checker`.

    With `counted`, channel-max is the number of channels, not the highest channel number.  `variants` loads other editions of
    the same document, in which an unreadable method may be readable.
    """

    __slots__ = ("_counting", "_deliveries", "_others", "_properties", "_reading", "_told", "_variants", "_witness")

    FAMILY: ClassVar[str] = "channels"
    PARTS: ClassVar[tuple[type, ...]] = (
        ChannelUse, ConnectionDialogue, ConsumerTags, Consumers, ConversationWitness, Deliveries, Ids, Leaving, MethodReader,
        NumberedWitness, OpeningWitness, Partial, PendingReplies, Question, Questions, References, Tags,
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
        super().__init__(strict, limits, ears, said)
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
        self._witness = ConversationWitness(strict, limits, counted)
        self.findings = self._witness.findings

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
        having = [each for each in (self._codec, *self._others) if class_code << 16 | code in each.methods.kinds]
        return bool(having) and all(each.carries(class_code, code) for each in having)

    def header(self, speaker: Speaker, same: bool) -> None:
        self._witness.header(speaker, same)

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

    def shake(self, shaky: bool) -> None:
        self._witness.shaky = shaky
        if shaky:
            self._witness.unsettle()

    def unsettle(self) -> None:
        self._witness.unsettle()

    def lost(self, speaker: Speaker) -> None:
        self._witness.lost(speaker)
        for ear in self.ears.values():
            ear.joined = ear.joined or not ear.received

    def ended(self, speaker: Speaker) -> None:
        self._witness.ended(speaker)

    def state(self) -> object:
        return self._witness, self._codec.name, tuple([each.name for each in self._others]), self._told

    def resume(self, state: object) -> None:
        codecs = {each.name: each for each in (self._codec, *self._others)}
        if isinstance(state, tuple) and len(state) == 4 and isinstance(state[0], ConversationWitness):
            self._witness, name, others, self._told = state
            self.findings = self._witness.findings
            if name in codecs and isinstance(others, tuple) and all(other in codecs for other in others):
                self._others = [codecs[other] for other in others]
                self._take(codecs[name])
                return
        raise DecodeError("snapshot", 0, "not the state of a checker of channels")

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
        properties: Value | None = None
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
            unread = "content.table" if within_table(wrong) else "content.properties"
            rule = rule_of("content", wrong) if wrong.limit else unread
            self.findings.breach(rule, verb, str(wrong), legal_of(wrong), wrong.code)

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
