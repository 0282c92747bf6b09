"""One connection, either role: octets in, events out, and which part decides what.

Its life is in `lifecycle`; what each role says in the handshake is in `client_handshake` and `server_handshake`; its
`endpoints` handle what arrives on its channels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.carrier import Role, octets_of, violation_of
from amqp_sansio.engine.endpoints import Endpoints, Unheard
from amqp_sansio.engine.lifecycle import Heartbeat, Lifecycle
from amqp_sansio.errors import DecodeError, LocalProtocolError
from amqp_sansio.events import Event, Origin, SecurityLayerStarted
from amqp_sansio.kernel.machine import Refusal
from amqp_sansio.protocol import SIZE, ProtocolHeader, mismatch
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.connection import Close, CloseOk
from amqp_sansio.spec.connection import Heartbeat as HeartbeatControl
from amqp_sansio.tables import connection as words
from amqp_sansio.wire.assembly import Assembly, Malformed
from amqp_sansio.wire.framing import Reader


class Connection(Lifecycle):
    """The machine behind `ClientConnection` and `ServerConnection`, whatever is spoken on its channels.

    Octets and calls go in; octets, events and one deadline come out.  The order in a loop: `receive_data`, `tick`, `events`,
    `data_to_send`, and last `due`, the moment of the next round.
    """

    def __init__(self, role: Role, config: ClientConfig | ServerConfig, endpoints: Endpoints) -> None:
        super().__init__(role, config, endpoints)
        self._config: Final = config
        self._our_header: Final = config.dialect.header
        self._inbox_early = bytearray()  # what came before the protocol header was whole and looked at
        self._eof = False
        self._unanswered = False  # the application was asked something: if it does not answer, the policy does
        self._layer_from: int | None = None  # the inbound offset at which a security layer began just now

    # --- octets in, events out --------------------------------------------------------------------------------------------

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Stores octets that came from the other side.  Raises LocalProtocolError after `receive_eof`."""
        if self._eof:
            raise LocalProtocolError("receive_data", "the end of the octets", rule="nothing comes after receive_eof")
        octets = octets_of(data, "receive_data")
        if not octets:
            return
        self._stored = True
        if self._ended and not self._lingering:
            return
        self._undecoded = True
        if self._reader is not None:
            self._reader.receive(octets)
        else:
            self._inbox_early += octets

    def receive_eof(self) -> None:
        """The other side sends nothing more.  Saying so twice does no harm."""
        self._eof = True
        self._undecoded = True
        if self._reader is not None:
            self._reader.end()

    def next_event(self) -> Event | None:
        """The next thing that happened, None when more octets are needed.  Never raises for what the other side said."""
        events = self._events
        if events:
            return events.popleft()
        if self._unanswered:
            written = self._written
            if not self._answer_by_policy():
                self._undecoded = False
                return None
            self._answered(written)
            if events:
                return events.popleft()
        endpoints = self._endpoints
        silent = 0  # steps without an event
        while True:
            reader = self._reader
            stepping = True
            if reader is not None and self._closed_cause is None:
                ahead = reader.ahead  # as `cut_ahead` takes them, without the call
                if (cut := ahead.pop() if ahead else reader.cut_ahead() if reader.known else None) is not None:
                    # The fast path: a message in one header and at most one body frame, behind a command that came before.
                    # It means what `_step` makes of the same octets: only what passes every check there is cut so.
                    message = endpoints.hear_plain(cut)
                    if message is not None:
                        return message
                    stepping = False
                else:
                    answer = endpoints.hear_answer()  # another, likewise: what tells that a message is safe
                    if not isinstance(answer, Unheard):
                        if answer is not None:
                            return answer
                        stepping = False
                    elif reader.waits and not self._eof:
                        self._layer_from = None
                        break
            if stepping:
                written = self._written
                stepped = self._step()
                if self._written != written:
                    self._answered(written)
                if not stepped:
                    break
            if events:
                return events.popleft()
            silent += 1
            if silent == self._patience and self._open:
                return None
        self._undecoded = False
        return None

    def events(self) -> Iterator[Event]:
        """All events, until there is none for now."""
        while (event := self.next_event()) is not None:
            yield event

    def take_unread(self) -> bytes:
        """The octets behind a security layer's beginning, taken out of the inbox.

        To be called after `SecurityLayerStarted("inbound", ...)`, before the next `next_event`; unwrapped, they go into
        `receive_data` again.  Raises LocalProtocolError at any other time.
        """
        reader = self._reader
        if reader is None or self._layer_from is None or reader.offset != self._layer_from:
            raise LocalProtocolError("take_unread", self.state, rule="only where an inbound security layer begins")
        self._undecoded = False
        return reader.take()

    def _tuned(self, interval: int) -> None:
        """The size of frames is agreed on, and heartbeats every `interval` seconds."""
        assert self._reader is not None
        self._reader.max_frame_size = self._control_size = self._max_frame_size
        self._highest = self._highest_of(self._channel_max)
        self._heartbeat = Heartbeat(interval)

    def _opens(self) -> None:
        """The connection is open from now on."""
        assert self._reader is not None
        self._open = True
        self._reader.opened()

    @property
    def wants_data(self) -> bool:
        """False when nothing more is read: the connection ended, the octets ended, or the inbox is full."""
        if self._eof or (self._ended and not self._lingering):
            return False
        most = self.limits.inbox_octets if self._open else min(self.limits.inbox_octets, self.limits.handshake_inbox_octets)
        return (len(self._inbox_early) if self._reader is None else self._reader.buffered) < most

    # --- one thing at a time ----------------------------------------------------------------------------------------------

    def _step(self) -> bool:
        """Decodes one thing and steps the machines; False when there is nothing to decode."""
        if self._ended and not self._lingering:
            return False
        reader = self._reader
        if reader is None:
            return self._step_header()
        self._layer_from = None
        if self._close_end is not None and reader.offset > self._close_end:
            return self._flooded()
        if self._closed_cause is not None:
            return self._step_while_closing(reader)
        thing = reader.next()
        if reader.passed:
            self._endpoints.hear_passed(reader.take_passed(), reader.offset)
        if thing is None:
            return self._eof and self._octets_ended()
        if isinstance(thing, Malformed):
            self._hear_malformed(thing)
        elif self._framing.is_own(thing):
            self._hear_control(thing)
            return bool(self._events) or not self._unanswered
        elif self._may_carry(thing):
            self._endpoints.hear(thing)
        return True

    def _step_header(self) -> bool:
        early = bytes(self._inbox_early)
        if not early:
            return self._eof and self._octets_ended()
        headless = self.role == "client" and not self._handshake.greets and self._framing.begins(early[0])
        begins = 0 if headless else SIZE
        if len(early) < begins:
            return self._eof and self._octets_ended()
        self._inbox_early.clear()
        first = self._framing.smallest if self.profile.strict else self._largest_frame
        self._reader = self._framing.reader(
            self.limits,
            first,
            strict=self.profile.strict,
            carries=self.codec.carries,
            offset=begins,
            opening=True,
        )
        self._endpoints.begin(self._reader)
        if begins:
            self._hear_header(ProtocolHeader(early[:SIZE]))
        if not self._ended:
            self._reader.receive(early[begins:])
            if self._eof:
                self._reader.end()
        return True

    def _hear_control(self, assembly: Assembly) -> None:
        if assembly.channel and self._first_channel:
            said, legal = self.codec.said_in(assembly), ("channel 0",)
            self._blame(assembly, "connection.channel", said, legal, "class connection is on channel 0", self._codes.channel)
            return
        control = self._decode(assembly)
        if control is None:
            return
        refusal = self._dialogue.said(self.peer, control.VERB)
        if refusal is not None:
            self._hear_refused(control, refusal, assembly)
        elif type(control) is Close:
            self._say(CloseOk())
            method = self.codec.verb_at(control.class_id or 0, control.method_id or 0) or None
            self._end(Origin.PEER, control.reply_code, control.reply_text or "", method=method)
        elif type(control) is not HeartbeatControl:
            self._negotiate(control, assembly)

    def _hear_refused(self, control: Control, refusal: Refusal, assembly: Assembly) -> None:
        verb = control.VERB
        speakers, code = words.SPEAKERS[verb], self._codes.order
        if self.peer not in speakers:
            code = self._codes.direction
            text = f"only the {speakers[0]} says {verb}"
        elif verb == words.CLOSE_OK:
            text = "there was no close to answer"
        else:
            text = f"{verb} is illegal in state {self.state}"
        rule = "connection.close-ok" if verb == words.CLOSE_OK else "connection.handshake"
        legal = refusal.legal_for(self.peer)
        # A close-ok that answers nothing ends it on the spot, and so does a server that begins with anything but start.
        if verb == words.CLOSE_OK or (self.role == "client" and self._dialogue.handshake.states == ("agreed",)):
            self._drop(assembly, rule, verb, legal, text, CloseCode.FRAMING_ERROR)
        else:
            self._blame(assembly, rule, verb, legal, text, code)

    def _may_carry(self, assembly: Assembly) -> bool:
        """Whether the connection is open and has such a channel; says the violation otherwise."""
        if not self._open:
            self._fail_unit(assembly, "connection.handshake", self._dialogue.legal, "the connection is not open yet")
        elif assembly.channel < self._first_channel:
            self._fail_unit(
                assembly,
                "connection.channel",
                (f"channel {self._first_channel} or above",),
                "nothing but the connection is there",
            )
        elif assembly.channel > self._highest:
            self._fail_unit(
                assembly, self._handshake.numbering.rule, (f"channel {self._first_channel} to {self._highest}",),
                f"channel {assembly.channel} is not among the {self._channel_max} agreed on",
            )  # fmt: skip
        else:
            return True
        return False

    def _fail_unit(self, assembly: Assembly, rule: str, legal: tuple[str, ...], text: str) -> None:
        prefix = f"{self.peer}:"
        mine = tuple([entry.removeprefix(prefix) for entry in legal if ":" not in entry or entry.startswith(prefix)])
        self._blame(assembly, rule, self.codec.said_in(assembly), mine, text, self._codes.channel)

    def _hear_malformed(self, malformed: Malformed) -> None:
        if malformed.ends_connection or not self._open:
            self._fail(violation_of(self.peer, malformed))
            if malformed.fatal:
                self._lingering = False  # no close-ok can be read any more
        else:
            self._endpoints.hear_malformed(malformed)

    def _step_while_closing(self, reader: Reader) -> bool:
        """We said close: nothing counts any more but its answer and a close that crossed it."""
        assert self._close_end is not None
        thing = reader.next_answer(self._answers, self._close_end)
        if thing is None:
            if reader.offset > self._close_end:
                return self._flooded()
            return self._eof and self._octets_ended()
        if isinstance(thing, Malformed):
            self._closed(Origin.EOF)
            return True
        self._answers = tuple([each for each in self._answers if not thing.payload.startswith(each)])  # each is heard once
        try:
            control = self.codec.read_control(thing, self.reading)
        except DecodeError:
            return True
        if type(control) not in (Close, CloseOk) or self._dialogue.said(self.peer, control.VERB) is not None:
            return True
        if type(control) is Close:
            self._say(CloseOk())
        else:
            self._closed(Origin.LOCAL)
        return True

    def _octets_ended(self) -> bool:
        """The inbox is empty and nothing more comes; True when that made an event."""
        if self._closed_cause is not None:
            return self._closed(Origin.EOF)
        text = "the octets ended without a close"
        if self._reader is not None and self._reader.buffered:
            text += f", {self._reader.buffered} octets into a frame"
        elif self._inbox_early:
            early = ProtocolHeader(bytes(self._inbox_early))
            text += f", after {early.octets.hex(' ')} for a protocol header: {early.name}"
        self._end(Origin.EOF, None, text)
        return True

    # --- what endpoints need of us (engine.carrier) --------------------------------------------------------------------------

    def _ask(self) -> None:
        self._unanswered = True

    # --- what the roles do -------------------------------------------------------------------------------------------------

    def _hear_header(self, header: ProtocolHeader) -> None:
        raise NotImplementedError

    def _refuse_header(self, rule: str, header: ProtocolHeader) -> None:
        """The header is none of the version that we speak."""
        self._dialogue.said("server", words.OTHER_PROTOCOL_HEADER)
        legal = (ProtocolHeader(self._our_header).name,)
        self._drop(None, rule, header.name, legal, f"version mismatch: {mismatch(self._our_header, header)}")

    def _over_limit(self, assembly: Assembly, limit: str, most: int, unit: str) -> None:
        """More of the authentication than our limit."""
        legal, text = (f"at most {most} {unit}",), f"more than {most} {unit}"
        self._blame(assembly, f"limits.{limit}", self.codec.said_in(assembly), legal, text, self._codes.limit)

    def _negotiate(self, control: Control, assembly: Assembly) -> None:
        """A control of the handshake, legal in this state."""
        raise NotImplementedError

    def _answer_by_policy(self) -> bool:
        """Answers what the application was asked and did not answer; False while nothing may be read before it has."""
        return True

    def _layer_started(self, direction: str, offset: int) -> None:
        if direction == "inbound":
            self._layer_from = offset
        self._events.append(SecurityLayerStarted(direction, offset))
