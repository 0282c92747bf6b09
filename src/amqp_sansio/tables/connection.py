"""How a connection begins and ends, in the third person: the states of a 0-10 connection, its rules of tune, and a dialect's
differences from both, as one value.

The handshake alternates, so it is one joint machine.  Close is full duplex, because what was in flight when the other side sent
close is legal: one machine per direction.  `ConnectionDialogue` passes every word to all three.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.kernel.machine import Machine, Refusal, Row, Table
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.connection import Tune, TuneOk

CLIENT: Final = "client"
SERVER: Final = "server"
OTHER_SIDE: Final = {CLIENT: SERVER, SERVER: CLIENT}

# Verbs that are not controls.
PROTOCOL_HEADER: Final = "protocol-header"
OTHER_PROTOCOL_HEADER: Final = "other-protocol-header"
"""The server answers with a version that is not the client's, and sends nothing more."""
SESSION: Final = "session-traffic"
"""Any control or command of a class other than connection."""

START: Final = "connection.start"
START_OK: Final = "connection.start-ok"
SECURE: Final = "connection.secure"
SECURE_OK: Final = "connection.secure-ok"
TUNE: Final = "connection.tune"
TUNE_OK: Final = "connection.tune-ok"
OPEN: Final = "connection.open"
OPEN_OK: Final = "connection.open-ok"
REDIRECT: Final = "connection.redirect"
HEARTBEAT: Final = "connection.heartbeat"
CLOSE: Final = "connection.close"
CLOSE_OK: Final = "connection.close-ok"
BLOCKED: Final = "connection.blocked"
UNBLOCKED: Final = "connection.unblocked"
UPDATE_SECRET: Final = "connection.update-secret"
UPDATE_SECRET_OK: Final = "connection.update-secret-ok"

SPEAKERS: Final[dict[str, tuple[str, ...]]] = {
    START: (SERVER,),
    START_OK: (CLIENT,),
    SECURE: (SERVER,),
    SECURE_OK: (CLIENT,),
    TUNE: (SERVER,),
    TUNE_OK: (CLIENT,),
    OPEN: (CLIENT,),
    OPEN_OK: (SERVER,),
    REDIRECT: (SERVER,),
    HEARTBEAT: (CLIENT, SERVER),
    CLOSE: (CLIENT, SERVER),
    CLOSE_OK: (CLIENT, SERVER),
    BLOCKED: (SERVER,),
    UNBLOCKED: (SERVER,),
    UPDATE_SECRET: (CLIENT,),
    UPDATE_SECRET_OK: (SERVER,),
}
"""Which sides may send a control of the connection at all."""

ANSWERS: Final[dict[str, tuple[str, ...]]] = {
    START: (START_OK,),
    START_OK: (SECURE, TUNE),
    SECURE: (SECURE_OK,),
    SECURE_OK: (SECURE, TUNE),
    TUNE: (TUNE_OK,),
    OPEN: (OPEN_OK, REDIRECT),
    CLOSE: (CLOSE_OK,),
    UPDATE_SECRET: (UPDATE_SECRET_OK,),
}
"""What the other side may answer even when the control came at the wrong time: the fault is not its own."""

_AFTER_HEADERS: Final = (
    "agreed",
    "started",
    "authenticating",
    "challenged",
    "tuning",
    "tuned",
    "opening",
    "open",
    "redirected",
)
_AFTER_TUNE_OK: Final = ("tuned", "opening", "open")

HANDSHAKE: Final = Table(
    "connection handshake",
    "not-begun",
    [
        Row("not-begun", CLIENT, PROTOCOL_HEADER, "header-sent"),
        Row("header-sent", SERVER, PROTOCOL_HEADER, "agreed"),
        Row("header-sent", SERVER, OTHER_PROTOCOL_HEADER, "version-refused"),
        Row("agreed", SERVER, START, "started"),
        Row("started", CLIENT, START_OK, "authenticating"),
        Row("authenticating", SERVER, SECURE, "challenged"),
        Row("authenticating", SERVER, TUNE, "tuning"),
        Row("challenged", CLIENT, SECURE_OK, "authenticating"),
        Row("tuning", CLIENT, TUNE_OK, "tuned"),
        Row("tuned", CLIENT, OPEN, "opening"),
        Row("opening", SERVER, OPEN_OK, "open"),
        Row("opening", SERVER, REDIRECT, "redirected"),
        Row("open", CLIENT, SESSION, "open"),
        Row("open", SERVER, SESSION, "open"),
        # The timers run from tune-ok on (qpidd starts them there), so a heartbeat may precede open-ok.
        *[Row(state, speaker, HEARTBEAT, state) for state in _AFTER_TUNE_OK for speaker in (CLIENT, SERVER)],
        # The two close machines judge a close and its answer.
        *[
            Row(state, speaker, verb, state)
            for state in _AFTER_HEADERS
            for speaker in (CLIENT, SERVER)
            for verb in (CLOSE, CLOSE_OK)
        ],
    ],
    final=["version-refused", "redirected"],
)
"""connection = C:HDR S:HDR S:START C:START-OK (S:SECURE C:SECURE-OK)* S:TUNE C:TUNE-OK C:OPEN (S:OPEN-OK use* | S:REDIRECT)."""

OTHER: Final = "other"
"""For the close machines: any word but close and close-ok."""


def _close(closer: str, answerer: str) -> Table:
    return Table(
        f"close by the {closer}",
        "talking",
        [
            Row("talking", closer, OTHER, "talking"),
            Row("talking", answerer, OTHER, "talking"),
            Row("talking", closer, CLOSE, "closing"),
            # The words of the other direction are judged by its own machine.
            Row("talking", answerer, CLOSE, "talking"),
            Row("talking", closer, CLOSE_OK, "talking"),
            # What the answerer sent before it received the close is legal, a crossing close included.
            Row("closing", answerer, OTHER, "closing"),
            Row("closing", answerer, CLOSE, "closing"),
            Row("closing", closer, CLOSE_OK, "closing"),
            Row("closing", answerer, CLOSE_OK, "closed"),
            Row("closed", closer, CLOSE_OK, "closed"),
        ],
        final=["talking", "closed"],
    )


CLOSE_BY_CLIENT: Final = _close(CLIENT, SERVER)
CLOSE_BY_SERVER: Final = _close(SERVER, CLIENT)
"""close = x:CLOSE y:CLOSE-OK; after its close x sends only the answer to a crossing close, after close-ok y sends nothing."""

DialogueStates: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class ConnectionDialogue:
    """The three machines of one connection: every word goes to all of them, and each may refuse it.

    `states` is a plain value: `ConnectionDialogue(d.states)` is in the same state as `d`.  `rows` are the handshake's.
    """

    __slots__ = ("close_by_client", "close_by_server", "handshake")

    def __init__(self, states: DialogueStates = ((), (), ()), rows: Table = HANDSHAKE) -> None:
        self.handshake: Final = Machine(rows, states[0])
        self.close_by_client: Final = Machine(CLOSE_BY_CLIENT, states[1])
        self.close_by_server: Final = Machine(CLOSE_BY_SERVER, states[2])

    @classmethod
    def unknown(cls, rows: Table = HANDSHAKE) -> ConnectionDialogue:
        """Returns the dialogue of a late observer: every state is possible."""
        return cls((rows.states, CLOSE_BY_CLIENT.states, CLOSE_BY_SERVER.states), rows)

    @property
    def states(self) -> DialogueStates:
        """The states of the three machines, as a plain value."""
        return self.handshake.states, self.close_by_client.states, self.close_by_server.states

    @property
    def state(self) -> str:
        """The state of the connection in one word: a state of the handshake, "closing" or "closed"."""
        closes = (self.close_by_client.states, self.close_by_server.states)
        if ("closing",) in closes:
            return "closing"
        if ("closed",) in closes:
            return "closed"
        return self.handshake.state

    @property
    def finished(self) -> bool:
        """True when neither side has anything more to send: the octets may end here."""
        return self.state == "closed" or self.handshake.finished

    def said(self, speaker: str, verb: str) -> Refusal | None:
        """Takes the word `verb` of `speaker` (a control of the connection, or one of the verbs above); returns None when it is
        legal.

        A refusal changes nothing.
        """
        word = verb if verb in (CLOSE, CLOSE_OK) else OTHER
        if not self.handshake.can(speaker, verb):
            return Refusal("connection handshake", self.handshake.states, speaker, verb, self.legal)
        for machine in (self.close_by_client, self.close_by_server):
            if not machine.can(speaker, word):
                return Refusal(machine.table.name, machine.states, speaker, verb, self.legal)
        self.handshake.step(speaker, verb)
        self.close_by_client.step(speaker, word)
        self.close_by_server.step(speaker, word)
        return None

    @property
    def legal(self) -> tuple[str, ...]:
        """Returns the words that are legal now, as "speaker:verb"."""
        closes = (self.close_by_client, self.close_by_server)
        words: list[str] = []
        for entry in self.handshake.legal:
            speaker, _, verb = entry.partition(":")
            word = verb if verb in (CLOSE, CLOSE_OK) else OTHER
            if all(machine.can(speaker, word) for machine in closes):
                words.append(entry)
        return tuple(words)

    def __repr__(self) -> str:
        return f"<ConnectionDialogue {self.state}>"


# --- tune and tune-ok -----------------------------------------------------------------------------------------------------

_TOP = 65535


class Broken(NamedTuple):
    """A rule that a tune or tune-ok breaks: "heartbeat-max.permitted-range"; `field` is the word that breaks it."""

    rule: str
    field: str
    said: int
    legal: str


class Tuning:
    """The rules of tune and tune-ok in 0-10, with heartbeats in a range that the server offers; a base for other families.

    Both roles, their settings and the observer use them.  The rules are those of class connection; `smallest` is the frame
    size, in octets, that every peer must accept (the framing's).
    """

    def said_offer(self, offer: Tune) -> Tune:
        """Returns the tune of a server with these settings; all fields are set, because C++ clients read an absent one as 0 and
        answer 0."""
        return offer

    def heard_offer(self, tune: Tune) -> Tune:
        """Returns an offer as the roles interpret it: 0 as a size, and as a lone heartbeat-max, counts as absent."""
        most = tune.heartbeat_max if tune.heartbeat_min is not None else tune.heartbeat_max or None
        return Tune(tune.channel_max or None, tune.max_frame_size or None, tune.heartbeat_min, most)

    def heard_answer(self, tune_ok: TuneOk) -> TuneOk:
        """Returns an answer as the roles interpret it: 0 and an absent field both mean what was offered, and no heartbeats."""
        return TuneOk(tune_ok.channel_max or None, tune_ok.max_frame_size or None, tune_ok.heartbeat or None)

    def broken_by_offer(self, tune: Tune, smallest: int) -> list[Broken]:
        """Returns the rules that an offer breaks."""
        broken = _too_small(tune.max_frame_size, smallest)
        low, high = tune.heartbeat_min, tune.heartbeat_max
        if high is not None:
            if low is None:
                broken.append(Broken("heartbeat-max.no-heartbeat-min", "heartbeat-max", high, "heartbeat-min with it"))
            elif high < low:
                broken.append(Broken("heartbeat-max.permitted-range", "heartbeat-max", high, f"at least {low}"))
        return broken

    def broken_by_answer(self, offer: Tune, answer: TuneOk, smallest: int) -> list[Broken]:
        """Returns the rules that an answer to this offer breaks."""
        broken: list[Broken] = []
        for field, said, offered in (
            ("channel-max", answer.channel_max, offer.channel_max),
            ("max-frame-size", answer.max_frame_size, offer.max_frame_size),
        ):
            if said is not None and offered is not None and said > offered:
                broken.append(Broken(f"{field}.upper-limit", field, said, f"at most {offered}"))
        broken += _too_small(answer.max_frame_size, smallest)
        beat, low, high = answer.heartbeat, offer.heartbeat_min, offer.heartbeat_max
        if beat:
            if (low is not None and beat < low) or (high is not None and beat > high):
                legal = f"{f'0 or {low}' if low else 0} to {_TOP if high is None else high}"
                broken.append(Broken("heartbeat.permitted-range", "heartbeat", beat, legal))
            elif low is None:
                broken.append(Broken("heartbeat.no-heartbeat-min", "heartbeat", beat, "no heartbeat"))
        return broken

    def interval_agreed(self, wanted: int, offer: Tune) -> int:
        """Returns the heartbeat interval, in seconds, of a client that wants this one; 0: none, as where none is offered."""
        low, high = offer.heartbeat_min, offer.heartbeat_max
        if not wanted or low is None:
            return 0
        interval = max(wanted, low)
        return interval if high is None else min(interval, high)


def _too_small(size: int | None, smallest: int) -> list[Broken]:
    if size is None or size >= smallest:
        return []
    return [Broken("max-frame-size.minimum", "max-frame-size", size, f"at least {smallest}")]


RANGES: Final = Tuning()


class Numbering(NamedTuple):
    """What channel-max counts.

    `highest(channel_max, strict)` is the highest channel number, and `rule` the one that a higher number breaks; `counted`:
    channel-max is how many channels may be open at a time, with any numbers.
    """

    highest: Callable[[int, bool], int]
    rule: str
    counted: bool = False


BELOW: Final = Numbering(lambda most, strict: most - 1, "connection.tune-ok.channel-max.available-channels")
"""Channels are numbered from 0 to channel-max - 1."""


class CloseCodes(NamedTuple):
    """The codes of connection.close: the existing ones (`legal`), and when each is sent.

    `host`: the virtual host does not exist.  `login`: the login failed.  `order`: a word of class connection at the wrong time;
    `direction`: by the wrong side; `channel`: anything on a channel that is not open.  `limit`: beyond one of our limits.
    Undecodable frames are 501 in every dialect.
    """

    legal: frozenset[int]
    host: int = CloseCode.INVALID_PATH
    login: int = CloseCode.CONNECTION_FORCED
    order: int = CloseCode.FRAMING_ERROR
    direction: int = CloseCode.FRAMING_ERROR
    channel: int = CloseCode.FRAMING_ERROR
    limit: int = CloseCode.CONNECTION_FORCED

    def said(self, code: int) -> int:
        """Returns the code itself; where the dialect lacks it, `direction` for 505 (unexpected-frame), else 501."""
        return int(code if code in self.legal else self.direction if code == _UNEXPECTED_FRAME else CloseCode.FRAMING_ERROR)


_UNEXPECTED_FRAME: Final = 505


class Handshake(NamedTuple):
    """The handshake of one dialect, with the names that 0-10 gives the verbs of class connection (`wire.codec`).

    `rows` are the state table, `codes` those of connection.close; `letter` are those of the specification, where `codes` are
    what deployed peers use instead.  `greets`: the server answers a protocol header that it speaks with the same one; otherwise
    it begins with start at once, and a header from it means that it speaks another version.  `version` are major and minor in
    start.  `tuning` are the rules of tune, and `numbering` says what channel-max counts.  Both sides announce the
    `capabilities` in their properties.  `silent_refusal`: a server that refuses a login sends close only to a client with the
    capability `SAYS_REFUSED`, and otherwise just drops the connection.
    """

    rows: Table
    codes: CloseCodes
    letter: CloseCodes
    greets: bool
    version: tuple[int, int] | None = None
    tuning: Tuning = RANGES
    numbering: Numbering = BELOW
    capabilities: tuple[str, ...] = ()
    silent_refusal: bool = False

    def dialogue(self) -> ConnectionDialogue:
        """Returns a connection before its first word."""
        return ConnectionDialogue(rows=self.rows)


_CODES: Final = CloseCodes(frozenset(map(int, CloseCode)))
SESSIONS: Final = Handshake(HANDSHAKE, _CODES, _CODES, greets=True)
"""The handshake of 0-10."""
SAYS_REFUSED: Final = "authentication_failure_close"
"""The capability of a client that wants a close when its login fails: an extension of RabbitMQ to 0-9-1."""
