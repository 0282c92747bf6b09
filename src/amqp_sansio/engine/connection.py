"""One connection in either role: input, output, timers, heartbeats and its end; and what its endpoints, one for each channel
number, need of it.

`engine.handshake` defines what each role sends in the handshake.

Names with a leading underscore are not for applications.  The engine's modules, and the broker and the client that are built on
it, call them on one another to skip the checks of the public methods (docs/topics/laws.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from amqp_sansio.config import ClientConfig, ClientExchange, Profile, ServerConfig, ServerExchange
from amqp_sansio.errors import ConnectionClosedError, DecodeError, EncodeError, LocalProtocolError
from amqp_sansio.errors.core import many
from amqp_sansio.events import ConnectionClosed, Event, Origin, SecurityLayerStarted, Violation
from amqp_sansio.kernel.machine import Refusal, spoken_by
from amqp_sansio.kernel.timers import AT_ONCE, earliest, moment_of
from amqp_sansio.kernel.value import octets_of
from amqp_sansio.limits import MAX_CHANNELS, MAX_FRAME_SIZE, Limits
from amqp_sansio.protocol import SIZE, ProtocolHeader, mismatch
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.connection import Close, CloseOk
from amqp_sansio.spec.connection import Heartbeat as HeartbeatControl
from amqp_sansio.spec.values import Map
from amqp_sansio.tables import connection as words
from amqp_sansio.wire.codec import Codec, Reading
from amqp_sansio.wire.framing import Assembly, Cut, Malformed, Reader

if TYPE_CHECKING:
    from amqp_sansio.dialects import ConnectionCode


KEY: Final = "capabilities"
"""The key of the table of capabilities (booleans) in client-properties and server-properties."""


class Capabilities(NamedTuple):
    """The capabilities of each side, by name; empty until the side has announced them."""

    client: frozenset[str] = frozenset()
    server: frozenset[str] = frozenset()

    def of(self, role: str) -> frozenset[str]:
        """Returns the capabilities of one side, "client" or "server"."""
        return self.client if role == "client" else self.server

    def __repr__(self) -> str:
        return f"Capabilities(client={sorted(self.client)}, server={sorted(self.server)})"


def capabilities_of(properties: Mapping[str, object] | None) -> frozenset[str]:
    """Returns the capabilities that a side announces in its properties."""
    told = (properties or {}).get(KEY)
    return frozenset([str(name) for name, value in told.items() if value]) if isinstance(told, Mapping) else frozenset()


Role: TypeAlias = Literal["client", "server"]

CommandId: TypeAlias = int
"""The id of a command in one half of a session: 0 to 2**32 - 1, then 0 again."""


def rule_of(what: str, error: DecodeError) -> str:
    """Returns the rule that undecodable octets break: one of our limits, or that a `what` (such as a control) be decodable."""
    return f"limits.{error.limit}" if error.limit is not None else f"{what}.undecodable"


def legal_of(error: DecodeError) -> tuple[str, ...]:
    """Returns what would have been accepted: the limit's value, or nothing where the octets are malformed."""
    return (error.rule.partition(";")[0],) if error.limit is not None else ()


def violation_of(speaker: str, malformed: Malformed) -> Violation:
    """Returns the violation that the sender of a malformed frame committed."""
    return Violation(
        speaker, malformed.rule, malformed.said, malformed.legal, malformed.code, malformed.channel, malformed.offset,
        malformed.text,
    )  # fmt: skip


def clip(text: str) -> str:
    """Truncates a text to what a str8 holds: 255 octets."""
    return text.encode(errors="replace")[:255].decode(errors="ignore")


class Carrier:
    """A connection as its endpoints see it.

    A base class rather than a protocol: each message makes several calls to it.
    """

    def __init__(
        self, role: Role, codec: Codec, limits: Limits, profile: Profile, max_frame_size: int, *, eager_headers: bool
    ) -> None:
        self.role: Final[Role] = role
        """The role of this side."""
        self.peer: Final[Role] = "server" if role == "client" else "client"
        self.codec: Final = codec
        """Encodes and decodes methods."""
        self.limits: Final = limits
        """The limits on what a peer may cost."""
        self.profile: Final = profile
        """How closely to follow the letter of the specification."""
        self.eager_headers: Final = eager_headers
        """True when an undecodable header field is a violation on receipt."""
        self.reading: Final = Reading.of(limits, canonical=profile.strict)
        """The limits and the profile in the form that the layout takes."""
        self._capabilities = Capabilities()
        self._blocked = False
        self._max_frame_size = max_frame_size
        self._channel_max = MAX_CHANNELS - 1
        self._closed_cause: str | None = None
        self._wake: Callable[[], object] | None = None  # called once there is output to take, or the connection has ended
        self._outbox: list[bytes] = []
        self._written = 0  # octets, those in the outbox included
        self._taken = 0

    @property
    def capabilities(self) -> Capabilities:
        """What both sides announced that they support beyond their version (0-8 to 0-9-1)."""
        return self._capabilities

    @property
    def blocked(self) -> bool:
        """Whether the server has paused publishing on the connection (connection.blocked, 0-9-1)."""
        return self._blocked

    def capable(self, capability: str) -> bool:
        """Returns whether the other side announced this capability."""
        return capability in self.capabilities.of(self.peer)

    def _decode(self, unit: Assembly) -> Control | None:
        """Decodes the control of a unit; None when it cannot be decoded, and then the connection has failed."""
        try:
            return self.codec.read_control(unit, self.reading)
        except DecodeError as error:
            said, code = self.codec.verb_in(unit), self.codec.code_of(error)
            self._blame(unit, rule_of("control", error), said, legal_of(error), str(error), code)
            return None

    def _blame(
        self, unit: Assembly, rule: str, said: str, legal: tuple[str, ...], text: str, code: int = CloseCode.FRAMING_ERROR
    ) -> None:
        """Reports that the peer broke a rule of the connection with this unit; see `_fail`."""
        self._fail(Violation(self.peer, rule, said, legal, code, unit.channel, unit.start, text))

    def _write(self, octets: bytes) -> None:
        """Appends whole frames to the output."""
        if self._wake is not None and self._written == self._taken:
            self._wake()
        self._outbox.append(octets)
        self._written += len(octets)

    @property
    def _has_room(self) -> bool:
        """Whether the output has room for frames that can wait."""
        raise NotImplementedError

    def _emit(self, event: Event) -> None:
        """Queues an event."""
        raise NotImplementedError

    def _ask(self) -> None:
        """Notes that the application was asked something: if it does not answer, the configured policy does."""
        raise NotImplementedError

    def _code(self, said: str, code: object) -> int:
        """Checks the code that the application gives for a close.  Raises LocalProtocolError for one that the dialect lacks."""
        raise NotImplementedError

    def _at_fault(self, verb: object) -> tuple[int, int] | None:
        """Returns class and method number of the verb at fault; None for "".  Raises EncodeError for an unknown verb."""
        found = self.codec.numbers_of(verb) if isinstance(verb, str) else None
        if found is None and verb != "":
            raise EncodeError("method", f'takes the name of one that the dialect has, such as "queue.bind", not {verb!r:.80}')
        return found

    def _close_for(self, code: int, text: str, verb: str) -> None:
        """Closes the connection because the application refuses what the other side sent; `verb` names it, "" for nothing."""
        raise NotImplementedError

    def _fail(self, violation: Violation, verb: str = "") -> None:
        """Closes the connection because the peer broke a rule; ConnectionClosed(VIOLATION) is the last event.

        `verb` is the method at fault, where the violation's `said` does not begin with it.
        """
        raise NotImplementedError


class Unheard:
    """The type of UNHEARD: the next unit is not an answer."""

    __slots__ = ()


UNHEARD: Final = Unheard()

AnswerEvent: TypeAlias = Event | Unheard | None
"""The event of an answer; None where it has none, or shares one with other answers; UNHEARD when the next unit is not an
answer."""


class Endpoints:
    """All endpoints of one connection.

    A base class rather than a protocol: every message passes through it.  A Connection hands over each unit that is not its
    own, on a channel within the negotiated range, and calls `flush` before its octets are taken.
    """

    def __init__(self) -> None:
        self.pending = 0
        """The number of endpoints that have gathered something to write; when 0, `flush` does nothing."""
        self.roomless = 0
        """The number of endpoints that wait for room in the output; when 0, `go_on` does nothing."""

    def begin(self, reader: Reader) -> None:
        """Receives the reader of the other side's frames, once its protocol header has arrived."""
        raise NotImplementedError

    def flush(self) -> None:
        """Writes what the endpoints have gathered."""
        raise NotImplementedError

    def go_on(self) -> None:
        """Lets the first endpoint that waits for room continue, after octets were taken."""
        raise NotImplementedError

    def hear(self, unit: Assembly) -> None:
        """Handles a complete unit that does not belong to the connection itself."""
        raise NotImplementedError

    def hear_plain(self, cut: Cut) -> Event | None:
        """Handles a message that repeats an earlier one (`Reader.cut_run`); returns its event, or None when it has none."""
        raise NotImplementedError

    def hear_answer(self) -> AnswerEvent:
        """Reads the next unit if it confirms messages and no other unit is incomplete."""
        raise NotImplementedError

    def hear_malformed(self, malformed: Malformed) -> None:
        """Handles a malformed frame that concerns a single endpoint."""
        raise NotImplementedError

    def hear_passed(self, passed: Mapping[int, int], offset: int) -> None:
        """Counts skipped octets of aborted contents, by channel in `passed`, up to `offset` in the stream."""
        raise NotImplementedError

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        """Ends all endpoints before ConnectionClosed is queued, because the connection ends."""
        raise NotImplementedError


_WHO: Final = {
    Origin.PEER: "the other side closed the connection",
    Origin.TIMEOUT: "time ran out",
    Origin.EOF: "the connection ended",
}


class Heartbeat:
    """The two timers of a connection, from tune-ok on.

    `interval` is in seconds; 0 disables both.  A heartbeat is due when nothing was written for one interval; the other side
    counts as gone when no octet arrived for two.  Heartbeats are never answered: if both sides did, they would never stop.
    """

    __slots__ = ("heard_at", "interval", "wrote_at")

    def __init__(self, interval: int) -> None:
        self.interval: Final = interval
        self.heard_at: float | None = None
        """The last tick before which octets had arrived.  None: the timers start at the next tick."""
        self.wrote_at: float | None = None
        """Octets were last taken to be written then or later."""

    def gone(self, now: float) -> bool:
        """Returns whether the other side was silent for two intervals."""
        return bool(self.interval) and self.heard_at is not None and now >= self.heard_at + 2 * self.interval

    def deadline(self, speaks: bool) -> float | None:
        """Returns when the next timer expires: the other side counts as gone or, if `speaks` (heartbeats may still be sent),
        one is due."""
        heard, wrote, interval = self.heard_at, self.wrote_at, self.interval
        if not interval or heard is None or wrote is None:
            return None
        gone, due = heard + 2 * interval, wrote + interval
        return due if speaks and due < gone else gone


class Connection(Carrier):
    """The base of `ClientConnection` and `ServerConnection`, and of their counterparts with channels.

    Octets and calls go in; octets, events and one deadline come out.  A loop calls `receive_data`, `tick`, `events`,
    `data_to_send`, and last `due`, the moment of its next round.
    """

    def __init__(self, role: Role, config: ClientConfig | ServerConfig, endpoints: Endpoints) -> None:
        dialect, framing = config.dialect, config.dialect.framing
        super().__init__(
            role, dialect.codec, config.limits, config.profile, framing.smallest, eager_headers=config.headers == "eager"
        )
        self._framing: Final = framing
        self._handshake: Final = dialect.handshake
        self._codes: Final = dialect.handshake.letter if config.profile.error_codes == "spec" else dialect.handshake.codes
        self._first_channel: Final = dialect.first_channel
        self._endpoints: Final = endpoints
        self._now: float | None = None
        self._channel_max = min(config.channel_max, config.limits.channels)
        self._largest_frame = min(config.max_frame_size, max(config.limits.inbox_octets, MAX_FRAME_SIZE))
        self._highest = self._highest_number()
        self._control_size = framing.largest  # octets of the largest control of the connection that we write
        self._heartbeat = Heartbeat(0)
        self._dialogue: Final = dialect.handshake.dialogue()
        self._open = False
        self._events: deque[Event] = deque()
        self._reader: Reader | None = None
        self._undecoded = False  # octets were stored since next_event last ran dry
        self._patience = 0  # steps without an event after which next_event returns once open, `_undecoded` still set; 0: never
        self._stored = False  # octets were stored since the last tick
        self._taken_then = -1  # how much was taken when that changed last, or nothing waited; and when
        self._taken_at = 0.0
        self._answers_then = 0  # how much was taken when what follows was counted from
        self._answers_waiting = 0  # octets that answer what the other side said, and wait
        self._most_waiting = 1 << 62  # octets in the outbox from which on what can wait is written when they were taken
        self._closing: Close | None = None  # our close that waits for its close-ok
        self._close_until: float | None = None
        self._close_end: int | None = None  # the inbound offset up to which that is looked for
        self._answers: tuple[bytes, ...] = ()  # the octets with which it begins, and those of a close that crosses ours
        self._handshake_until: float | None = None
        self._ended = False  # ConnectionClosed is queued or handed out
        self._lingering = False  # ended by our close; its close-ok may still come
        self._our_header: Final = config.dialect.header
        self._inbox_early = bytearray()  # what came before the protocol header was whole and looked at
        self._eof = False
        self._mechanism = ""  # of authentication; at a client between start-ok and tune
        self._rounds = 0  # of authentication
        self._unanswered = False  # the application was asked something: if it does not answer, the policy does
        self._layer_from: int | None = None  # the inbound offset at which a security layer began just now

    def _highest_number(self) -> int:
        """Returns the highest channel number."""
        return self._handshake.numbering.highest(self._channel_max, self.profile.strict)

    def _told(self, properties: Map) -> Map:
        """Returns our client- or server-properties with our capabilities added, unless they list capabilities already."""
        names = self._handshake.capabilities
        return properties if not names or KEY in properties else Map({**properties, KEY: Map(dict.fromkeys(names, True))})

    # --- octets in, events out --------------------------------------------------------------------------------------------

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Stores octets from the other side.  Raises LocalProtocolError after `receive_eof`."""
        if self._eof:
            raise LocalProtocolError("receive_data", "the end of the octets", rule="nothing comes after receive_eof")
        octets = data if type(data) is bytes else octets_of(data, "receive_data")
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
        """Records that the other side sends nothing more.  Repeating the call does no harm."""
        self._eof = True
        self._undecoded = True
        if self._reader is not None:
            self._reader.end()

    def next_event(self) -> Event | None:
        """Returns the next event, or None when it needs more octets.  Never raises for what the other side sent."""
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
        silent = 0  # steps without an event
        while True:
            stepping, reader = True, self._reader
            if reader is not None and self._closed_cause is None:
                cut: Cut | None
                if reader.ahead:
                    cut = reader.ahead.pop()  # as `cut_ahead` takes them, without the call
                elif not self._eof and reader.waits:
                    self._layer_from = None
                    break
                else:
                    cut = reader.cut_ahead() if reader.known else None
                if cut is not None:
                    # The fast path: a message in one header and at most one body frame, after a command that came before.
                    # It means what `_step` makes of the same octets: only what passes every check there is cut so.
                    message = self._endpoints.hear_plain(cut)
                    if message is not None:
                        return message
                    stepping = False
                else:
                    answer = self._endpoints.hear_answer()  # another, likewise: what tells that a message is safe
                    if not isinstance(answer, Unheard):
                        if answer is not None:
                            return answer
                        stepping = False
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
        """Yields events until there is none for now."""
        while (event := self.next_event()) is not None:
            yield event

    def take_unread(self) -> bytes:
        """Takes the octets after the start of a security layer out of the inbox.

        Call it after `SecurityLayerStarted("inbound", ...)` and before the next `next_event`, then pass the unwrapped octets to
        `receive_data`.  Raises LocalProtocolError at any other time.
        """
        reader = self._reader
        if reader is None or self._layer_from is None or reader.offset != self._layer_from:
            raise LocalProtocolError("take_unread", self.state, rule="only where an inbound security layer begins")
        self._undecoded = False
        return reader.take()

    def _tuned(self, interval: int) -> None:
        """Applies the negotiated frame size, and a heartbeat interval of `interval` seconds."""
        assert self._reader is not None
        self._reader.max_frame_size = self._control_size = self._max_frame_size
        self._highest = self._highest_number()
        self._heartbeat = Heartbeat(interval)

    def _opens(self) -> None:
        """Marks the connection as open."""
        assert self._reader is not None
        self._open = True
        self._reader.opened()

    @property
    def wants_data(self) -> bool:
        """False when it reads nothing more: the connection ended, the input ended, or the inbox is full."""
        if self._eof or (self._ended and not self._lingering):
            return False
        most = self.limits.inbox_octets if self._open else min(self.limits.inbox_octets, self.limits.handshake_inbox_octets)
        return (len(self._inbox_early) if self._reader is None else self._reader.buffered) < most

    # --- octets out --------------------------------------------------------------------------------------------------------

    def data_to_send(self) -> bytes:
        """Takes all octets to be written now."""
        if self._endpoints.pending:
            self._flush()
        outbox = self._outbox
        if not outbox:
            return b""
        if self._now is not None:
            self._heartbeat.wrote_at = self._now
        octets = b"".join(outbox) if len(outbox) > 1 else outbox[0]
        outbox.clear()
        self._taken = self._written
        endpoints = self._endpoints
        while endpoints.roomless and self._has_room and self._closed_cause is None:
            endpoints.go_on()
        return octets

    @property
    def bytes_to_send(self) -> int:
        """At least how many octets `data_to_send` would return; 0 when there are none."""
        return self._written - self._taken + self._endpoints.pending

    def _flush(self) -> None:
        while self._endpoints.pending and self._closed_cause is None:
            self._endpoints.flush()

    # --- where it stands --------------------------------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """True when ConnectionClosed was returned, all output was taken, and the connection waits for nothing more."""
        return self._ended and not self._lingering and not self._events and not self._outbox

    @property
    def eventful(self) -> bool:
        """True when `next_event` can return an event without reading more."""
        return bool(self._events)

    @property
    def lingers(self) -> bool:
        """True after our close, while its answer may still arrive; the connection is not finished until it does or time runs
        out."""
        return self._lingering

    @property
    def is_open(self) -> bool:
        """True between open-ok and close."""
        return self._open and self._closed_cause is None

    @property
    def closed_cause(self) -> str | None:
        """Why the connection can send nothing more; None while it can."""
        return self._closed_cause

    @property
    def now(self) -> float | None:
        """The moment of the last tick (monotonic seconds); None before the first."""
        return self._now

    @property
    def max_frame_size(self) -> int:
        """The largest frame that this side writes, in octets with the frame header, as negotiated."""
        return self._max_frame_size

    @property
    def channel_max(self) -> int:
        """The negotiated channel-max (before tune: the wanted one).  It permits channels 0 to channel_max - 1 in 0-10 and 1 to
        channel_max in 0-9-1; in 0-8 and 0-9 it is the number of channels that may be open at a time."""
        return self._channel_max

    @property
    def state(self) -> str:
        """The state of the conversation, in one word."""
        return self._dialogue.state

    # --- what the caller may say ---------------------------------------------------------------------------------------------

    def close(self, code: ConnectionCode = CloseCode.NORMAL, text: str = "") -> None:
        """Sends connection.close; ConnectionClosed follows when it is answered.

        `code` is one of the dialect's (0-10: 200, 320, 402 or 501); `text` has at most 255 octets.  Before the protocol headers
        agree, no close can be sent, and the connection just ends.  Raises ConnectionClosedError when it is closed or closing.
        """
        self._close_for(code, text, "")

    def _close_for(self, code: int, text: str, verb: str) -> None:
        """Closes as `close` does, because of what the other side sent: `verb` names it, "" for nothing in particular."""
        self._must_be_alive("connection.close")
        code = self._code(words.CLOSE, code)
        close = Close(code, text, *(self._at_fault(verb) or (None, None)))
        octets = self.codec.write_control(close)
        if not self._dialogue.handshake.can(self.role, words.CLOSE):
            self._end(Origin.LOCAL, code, text)
            return
        self._flush()
        self._closed_cause = f"closed by us: {code} {text}".rstrip()
        self._say(close, octets)
        self._begin_close(close)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.state}>"

    def _may_say(self) -> tuple[str, ...]:
        """Returns the verbs that this side may send now."""
        return spoken_by(self.role, self._dialogue.legal)

    def _must_be_alive(self, said: str) -> None:
        if self._closed_cause is not None:
            raise ConnectionClosedError(said, self._closed_cause)

    # --- one thing at a time ----------------------------------------------------------------------------------------------

    def _step(self) -> bool:
        """Decodes one unit and steps the state machines; returns False when there is nothing to decode."""
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
            if thing.ends_connection or not self._open:
                self._fail(violation_of(self.peer, thing), self.codec.verb_at(*thing.numbers))
                if thing.fatal:
                    self._lingering = False  # no close-ok can be read any more
            else:
                self._endpoints.hear_malformed(thing)
        elif self._framing.is_own(thing):
            self._hear_control(thing)
            return bool(self._events) or not self._unanswered
        elif self._may_carry(thing):
            self._endpoints.hear(thing)
        return True

    def _step_header(self) -> bool:
        early = bytes(self._inbox_early)
        headless = early and self.role == "client" and not self._handshake.greets and self._framing.begins(early[0])
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
            said, legal = self.codec.verb_in(assembly), ("channel 0",)
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
            code = self._codes.direction
            text = "there was no close to answer"
        else:
            text = f"{verb} is illegal in state {self.state}"
        rule = "connection.close-ok" if verb == words.CLOSE_OK else "connection.handshake"
        # A close-ok that answers nothing ends it on the spot, and so does a server that begins with anything but start.
        at_once = verb == words.CLOSE_OK or (self.role == "client" and self._dialogue.handshake.states == ("agreed",))
        (self._drop if at_once else self._blame)(assembly, rule, verb, refusal.legal_for(self.peer), text, code)

    def _may_carry(self, assembly: Assembly) -> bool:
        """Returns whether the connection is open and has such a channel; reports a violation otherwise."""
        legal: tuple[str, ...]
        if not self._open:
            rule, text = "connection.handshake", "the connection is not open yet"
            legal = spoken_by(self.peer, self._dialogue.legal)
        elif assembly.channel < self._first_channel:
            rule, text = "connection.channel", "nothing but the connection is there"
            legal = (f"channel {self._first_channel} or above",)
        elif assembly.channel > self._highest:
            rule = self._handshake.numbering.rule
            text = f"channel {assembly.channel} is not among the {self._channel_max} agreed on"
            legal = (f"channel {self._first_channel} to {self._highest}",)
        else:
            return True
        self._blame(assembly, rule, self.codec.verb_in(assembly), legal, text, self._codes.channel)
        return False

    def _step_while_closing(self, reader: Reader) -> bool:
        """Reads on after our close, ignoring all but its answer and a close that crossed it."""
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
        """Handles the end of the input once the inbox is empty; returns True when that made an event."""
        if self._closed_cause is not None:
            return self._closed(Origin.EOF)
        text = "the octets ended without a close"
        if self._reader is not None and self._reader.buffered:
            text += f", {many(self._reader.buffered, 'octet')} into a frame"
        elif self._inbox_early:
            early = ProtocolHeader(bytes(self._inbox_early))
            text += f", after {early.octets.hex(' ')} for a protocol header: {early.name}"
        self._end(Origin.EOF, None, text)
        return True

    # --- what endpoints need of us (`Carrier`) -------------------------------------------------------------------------------

    def _ask(self) -> None:
        self._unanswered = True

    @property
    def _has_room(self) -> bool:
        return self._written - self._taken < self._most_waiting

    def _code(self, said: str, code: object) -> int:
        known = self._codes.legal
        if not isinstance(code, int) or code not in known:
            legal = tuple([str(each) for each in sorted(known)])
            raise LocalProtocolError(f"{said} with code {code!r:.80}", self.state, legal, f"{said}.reply-code")
        return int(code)

    def _emit(self, event: Event) -> None:
        self._events.append(event)

    def _fail(self, violation: Violation, verb: str = "") -> None:
        if self._closed_cause is not None:
            return
        code = self._codes.said(violation.code)
        text = f"{violation.said}: {violation.text}"
        self._closed_cause = f"{violation.speaker} broke {violation.rule}: {text}"
        if self._dialogue.handshake.can(self.role, words.CLOSE):
            close = Close(code, clip(text), *(self.codec.numbers_of(verb or violation.said.partition(" ")[0]) or (None, None)))
            self._say(close)
            self._begin_close(close)
            self._lingering = True
        self._end(Origin.VIOLATION, code, text, violation)

    # --- what the roles do -------------------------------------------------------------------------------------------------

    def _hear_header(self, header: ProtocolHeader) -> None:
        raise NotImplementedError

    def _refuse_header(self, rule: str, header: ProtocolHeader) -> None:
        """Ends the connection over a protocol header of another version."""
        self._dialogue.said("server", words.OTHER_PROTOCOL_HEADER)
        legal = (ProtocolHeader(self._our_header).name,)
        self._drop(None, rule, header.name, legal, f"version mismatch: {mismatch(self._our_header, header)}")

    def _over_limit(self, assembly: Assembly, limit: str, most: int, count: int, unit: str) -> bool:
        """Returns whether there is more authentication data than a limit of ours allows, and reports it."""
        if count <= most:
            return False
        legal, text = (f"at most {most} {unit}",), f"more than {most} {unit}"
        self._blame(assembly, f"limits.{limit}", self.codec.verb_in(assembly), legal, text, self._codes.limit)
        return True

    def _negotiate(self, control: Control, assembly: Assembly) -> None:
        """Handles a control of the handshake that is legal in this state."""
        raise NotImplementedError

    def _answer_by_policy(self) -> bool:
        """Answers for the application by policy where it did not; returns False while reading must wait for an answer."""
        return True

    def _start_layer(self, exchange: ClientExchange | ServerExchange | None, direction: str, offset: int) -> None:
        """Starts the security layer of a mechanism that has one."""
        if exchange is None or not exchange.security_layer:
            return
        if direction == "inbound":
            self._layer_from = offset
        self._events.append(SecurityLayerStarted(direction, offset))

    # --- ends ----------------------------------------------------------------------------------------------------------------

    def _drop(self, unit: Assembly | None, rule: str, said: str, legal: tuple[str, ...], text: str, code: int = 0) -> None:
        """Ends the connection without a close, over a rule that the peer broke with this unit or with its protocol header."""
        channel, offset = (None, 0) if unit is None else (unit.channel, unit.start)
        violation = Violation(self.peer, rule, said, legal, code, channel, offset, text)
        text = f"{said}: {text}"
        self._closed_cause = f"{self.peer} broke {rule}: {text}"
        self._end(Origin.VIOLATION, None, text, violation)

    def _begin_close(self, close: Close) -> None:
        self._closing = close  # its time begins at the next tick: the last one may be long ago
        limits = self.limits
        most = limits.close_octets if self._open else min(limits.close_octets, limits.handshake_inbox_octets)
        self._close_end = most if self._reader is None else self._reader.offset + most
        answer = self.codec.write_control(CloseOk())
        self._answers = answer, self.codec.write_control(close)[: len(answer)]

    def _end(
        self, origin: Origin, code: int | None, text: str, violation: Violation | None = None, method: str | None = None
    ) -> None:
        if self._ended:
            return
        if self._closed_cause is None:
            said = _WHO.get(origin, "it was closed here") + (f" ({code})" if code is not None else "")
            self._closed_cause = f"{said}: {text}" if text else said
        self._endpoints.lose(origin, self._closed_cause, violation)
        self._events.append(ConnectionClosed(origin, code, text, violation, method))
        self._ended = True
        if origin is Origin.TIMEOUT:
            self._discard()
        if self._wake is not None:
            self._wake()

    def _discard(self) -> None:
        """Discards the output, which nobody will read."""
        self._outbox.clear()
        self._taken = self._written

    def _closed(self, origin: Origin) -> bool:
        """Ends the wait for the answer to our close: it arrived, or never will."""
        if self._lingering:
            self._lingering = False
            if origin is Origin.TIMEOUT:
                self._discard()
            return False
        close = self._closing or Close()
        self._end(origin, close.reply_code, close.reply_text or "")
        return True

    def _flooded(self) -> bool:
        """Gives up waiting when too many octets follow our close; returns True when that made an event."""
        if self._lingering:
            self._lingering = False
            return False
        self._end(
            Origin.VIOLATION, None, "more octets follow our close than we read",
            Violation(
                self.peer, "limits.close_octets", "octets after our close", (words.CLOSE_OK,), 0, None, self._close_end or 0,
                "no answer to our close among the octets that we read after it",
            ),
        )  # fmt: skip
        return True

    def _answered(self, written: int) -> None:
        """Counts output since `written` as answers to the other side; too many that it does not read end the connection."""
        octets = self._written - written
        if not octets or not self._open or self._closed_cause is not None:
            return
        if self._answers_then != self._taken:
            self._answers_then, self._answers_waiting = self._taken, 0
        self._answers_waiting += octets
        most = self.limits.answer_octets
        if self._answers_waiting > most:
            said, text = "what wants to be answered", "too many octets of answers wait, and nobody reads them"
            offset = 0 if self._reader is None else self._reader.offset
            legal = (f"at most {most} octets of answers that wait to be taken",)
            violation = Violation(self.peer, "limits.answer_octets", said, legal, 0, None, offset, text)
            self._end(Origin.VIOLATION, None, text, violation)
            self._discard()

    def _say(self, control: Control, octets: bytes | None = None) -> None:
        """Sends a control of the connection on channel 0.  The caller has checked that it is legal."""
        payload = self.codec.write_control(control) if octets is None else octets
        frame = self._framing.own(payload, self._control_size)
        refusal = self._dialogue.said(self.role, control.VERB)
        if refusal is not None:
            raise LocalProtocolError(control.VERB, self.state, refusal.legal_for(self.role))
        self._write(frame)

    def _fits(self, control: Control) -> None:
        """Raises EncodeError unless the control fits into one frame: of the size that all accept (strict), or of any."""
        framing = self._framing
        most = framing.smallest if self.profile.strict else framing.largest
        size = framing.overhead + len(self.codec.write_control(control))
        if size > most:
            raise EncodeError(control.VERB, f"a frame of at most {most} octets, not {size}: nothing larger is agreed on yet")

    # --- time ----------------------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        """Advances the clock to `now` (monotonic seconds) and does what is due: sends a heartbeat, or gives up on the other
        side.

        Call it after `receive_data` and before `next_event`: octets stored since the last tick count as received at this one.
        The peer does not time out while octets wait to be decoded, unless it has also stopped taking our output, since they may
        wait for that.  Returns what `due` would at this point, before the events; callers that tick after their events need
        nothing else.
        """
        self._now = now = moment_of(now)
        heard = self._stored or (self._undecoded and not self._untaken(now))
        self._stored = False
        if self._ended and not self._lingering:
            return None
        if self._closing is not None:
            if self._close_until is None:
                self._close_until = now + self.limits.close_seconds
            elif now >= self._close_until and not self._undecoded:
                self._closed(Origin.TIMEOUT)
            return self.due
        beat = self._heartbeat
        if heard or beat.heard_at is None:
            beat.heard_at = now
        if beat.wrote_at is None or (self._open and self._outbox):
            beat.wrote_at = now
        if not self._open:
            if self._handshake_until is None:
                self._handshake_until = now + self.limits.handshake_seconds
            if now >= self._handshake_until and not self._undecoded:
                self._end(Origin.TIMEOUT, None, f"the connection was not open within {self.limits.handshake_seconds} seconds")
                return None
        moment = beat.deadline(self._open)
        if moment is not None and now >= moment:
            if beat.gone(now):
                self._end(Origin.TIMEOUT, None, f"not an octet for {2 * beat.interval} seconds, twice the heartbeat interval")
                return None
            self._say(HeartbeatControl())
            beat.wrote_at = now
            return self.due
        return moment if self._open else self.due

    def _untaken(self, now: float) -> bool:
        """Returns whether waiting output was left untaken for two intervals."""
        if self._taken != self._taken_then or not self._outbox:
            self._taken_then, self._taken_at = self._taken, now
        return now >= self._taken_at + 2 * self._heartbeat.interval and bool(self._outbox)

    @property
    def due(self) -> float | None:
        """The next moment at which `tick` has something to do (monotonic seconds); None when no timer runs.

        Read it last, after `data_to_send`.  It is no later than the last tick when a timer starts with the next one: those of
        the handshake, of heartbeats and of our close.  What `tick` puts off while octets wait to be decoded is not due before
        they are decoded.
        """
        if self._ended and not self._lingering:
            return None
        now = self._now
        if now is None:
            return AT_ONCE
        if self._closing is not None:
            if self._close_until is None:
                return now
            return None if self._undecoded else self._close_until
        beat = self._heartbeat
        if beat.interval and beat.heard_at is None:
            return now
        moment = beat.deadline(self._open)
        return moment if self._open or self._undecoded else earliest(self._handshake_until, moment)

    @property
    def untimed(self) -> bool:
        """True when octets were stored since the last tick, so that their time of arrival is not known yet."""
        return self._stored or self._now is None
