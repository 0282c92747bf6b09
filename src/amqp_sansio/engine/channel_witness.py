"""The witness of a connection in an older dialect and of its channels: runs the state machines, and reports violations."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.channel_witness_use import ChannelUse
from amqp_sansio.engine.channels.breaches import order_of
from amqp_sansio.engine.connection import capabilities_of
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness_connection import WHO, ConnectionWitness
from amqp_sansio.kernel.machine import Machine, Refusal
from amqp_sansio.limits import MAX_CHANNELS, MIN_MAX_FRAME_SIZE, Limits
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.connection import Redirect, Start, StartOk, Tune, TuneOk
from amqp_sansio.tables.channel import CAPABILITIES, LIFE, OPEN_OK, RESUMED, WORK, may_say
from amqp_sansio.tables.channel import CLOSE as CLOSE_CHANNEL
from amqp_sansio.tables.channel import CLOSE_OK as CLOSE_OK_CHANNEL
from amqp_sansio.tables.channel import OPEN as OPEN_CHANNEL
from amqp_sansio.tables.channel import RESUME as RESUME_CHANNEL
from amqp_sansio.tables.channel_connection import INTERVAL, MINIMUM, PIPELINED
from amqp_sansio.tables.connection import (
    CLIENT,
    CLOSE_OK,
    HEARTBEAT,
    OTHER_SIDE,
    SERVER,
    SESSION,
    UPDATE_SECRET,
    UPDATE_SECRET_OK,
    Broken,
    ConnectionDialogue,
)

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
_LIVES: Final = (OPEN_CHANNEL, OPEN_OK, CLOSE_CHANNEL, CLOSE_OK_CHANNEL)


class ConversationWitness(ConnectionWitness):
    """The `ConnectionWitness` of a conversation on channels.

    With `counted`, channel-max is the number of channels; otherwise it is the highest channel number.
    """

    __slots__ = ("_channels", "_open", "_secrets", "counted", "opening")

    def __init__(self, strict: bool, limits: Limits, counted: bool) -> None:
        super().__init__(strict, limits, PIPELINED)
        self.opening: Final = OpeningWitness(self.findings)
        self.counted = counted
        self._secrets = 0
        self._channels: dict[int, NumberedWitness] = {}
        self._open: set[int] = set()
        """The channels known to be open, by number."""

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
        if verb == HEARTBEAT or (not may_say(WHO[speaker], verb, True) and self._turned(speaker, verb)):
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

    def _turned(self, speaker: str, verb: str) -> bool:
        """Reports a control that only the other side may send."""
        who, other = WHO[speaker], SERVER if speaker == "C" else CLIENT
        text = f"the {who} says what only the {other} may say"
        self.findings.breach("method.direction", verb, text, (), _COMMAND_INVALID)
        return True

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
        if not self.dialogue.quiet(WHO[speaker], SESSION) and not self._legal(speaker, SESSION, verb):
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


class NumberedWitness:
    """One channel from one opening to the next.

    Reports into `findings`, whose speaker and offset the caller sets.  `late`: we missed part of it, so nothing that depends on
    the missing part is a violation.
    """

    __slots__ = ("_findings", "_late", "_life", "_use")

    def __init__(self, findings: Findings, late: bool) -> None:
        self._findings: Final = findings
        self._late = late
        self._life = Machine.unknown(LIFE) if late else Machine(LIFE)
        self._use: ChannelUse | None = None
        """None until the channel is used: of a great many channels most are idle."""

    @property
    def reopens(self) -> bool:
        """Whether channel.open starts it anew."""
        return self._life.can(CLIENT, OPEN_CHANNEL)

    def hear(self, speaker: str, verb: str, method: Method, answered: bool = True) -> None:
        """Judges a method that its sender's role may send; `answered`: the dialect has an answer to it."""
        resumes = verb in (RESUME_CHANNEL, RESUMED) and self._life.can(speaker, verb)
        word = verb if resumes or verb in _LIVES else WORK
        before = self._life.state
        refusal = self._life.step(speaker, word)
        if refusal is not None:
            rule, text = order_of(before, word)
            self._findings.breach(rule, verb, text, refusal.legal_for(speaker), _CHANNEL_ERROR)
            if before in ("not-open", "closed"):
                self.lose()  # the other side may consider it open
            elif word == WORK:
                self.refused(speaker, verb)
        elif word == WORK:
            self._used().hear(speaker, verb, method, answered)
        elif self._use is not None and verb == CLOSE_CHANNEL:
            self._use.close(speaker)
        elif self._use is not None and verb == CLOSE_OK_CHANNEL:
            self._use.close(CLIENT, SERVER)

    def may_break_off(self, speaker: str) -> bool:
        """Returns whether `speaker` owes close-ok, for which it may leave its content unfinished."""
        return self._life.can(speaker, CLOSE_OK_CHANNEL)

    def broken_off(self, speaker: str, verb: str, method: Method) -> None:
        """Handles a method whose content is incomplete here."""
        self._used().break_off(speaker, verb, method)

    def refused(self, speaker: str, verb: str) -> None:
        """Records a method that came at the wrong time.  The other side may accept it, so later methods are not blamed."""
        self._used().ask(speaker, verb, None)
        self._used().taken(verb)

    def lose(self) -> None:
        """Records that we missed some methods."""
        self._late = True
        self._life.forget()
        if self._use is not None:
            self._use.lose()

    def _used(self) -> ChannelUse:
        if self._use is None:
            self._use = ChannelUse(self._findings, self._late)
        return self._use
