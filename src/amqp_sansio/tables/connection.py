"""The states of a 0-10 connection, in the third person.

The handshake alternates, so it is one joint machine.  Close is full duplex, because what was in flight when the other side sent
close is legal: one machine per direction.  `ConnectionDialogue` passes every word to all three.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from amqp_sansio.kernel.machine import Machine, Refusal, Row, Table

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

    def quiet(self, speaker: str, verb: str) -> bool:
        """True when `speaker` may send `verb` now, outside a close, without a change of state."""
        if not self.handshake.stays(speaker, verb):
            return False
        return self.close_by_client.stays(speaker, OTHER) and self.close_by_server.stays(speaker, OTHER)

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
