"""Plays generated conversations with the implementation: `ClientConnection` and `ServerConnection`.

A conversation of a grammar is played with one of them: its peer's words come as octets; for its own words the player calls its
methods, as an application does.  The words are what crossed the wire.  So that role has reached the rows that they cover, and
blamed no legal word of its peer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.config import ClientConfig, Profile, ServerConfig
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import AmqpError
from amqp_sansio.events import ConnectionClosed, Event, Origin, SessionDetached
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.grammar.walks import Conversation
from amqp_sansio.kernel.machine import Machine, Table
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.protocol import SIZE
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.spec.execution import Exception_, Result
from amqp_sansio.tables import connection as connection_rows
from amqp_sansio.tables import content_classes
from amqp_sansio.tables import demarcation as demarcation_rows
from amqp_sansio.tables import session as session_rows
from amqp_sansio.tables import transfer as transfer_rows
from amqp_sansio.tables.session import ENDPOINT, KEPT, OVER, TRANSPORT
from amqp_sansio.testing.speech.parts import PARTS, Part, opening
from amqp_sansio.testing.speech.step import Speaker, Step
from amqp_sansio.testing.speech.word_encoder import Setting, speaker_of
from amqp_sansio.wire.framing import CONTROL, Malformed
from amqp_sansio.wire.layouts.layout import decode_headers
from amqp_sansio.wire.segments import SegmentReader
from tools.witnesses import lives
from tools.witnesses.coverage import generated

Move: TypeAlias = tuple[str, str, str]
"""State, speaker and verb of a row."""

ROLES: Final[tuple[Speaker, ...]] = ("client", "server")
_C, _S = ROLES
_EXPLICIT, _NONE = (transfer_rows.EXPLICIT,), (transfer_rows.NONE,)

TABLES: Final[dict[str, tuple[Table, ...]]] = {
    "connection": (connection_rows.HANDSHAKE, connection_rows.CLOSE_BY_CLIENT, connection_rows.CLOSE_BY_SERVER),
    "session: attachment": (session_rows.ATTACHMENT[_C], session_rows.ATTACHMENT[_S]),
    "session: commands": (session_rows.STREAM[_C], session_rows.STREAM[_S]),
    "message: explicit, pre-acquired": _EXPLICIT,
    "message: explicit, not-acquired": _EXPLICIT,
    "message: none, pre-acquired": _NONE,
    "message: none, not-acquired": _NONE,
    "tx": (demarcation_rows.DEMARCATION,),
    "dtx: demarcation": (demarcation_rows.DEMARCATION,),
    "file: quality of service": (content_classes.QOS["file"],),
    "file: consumer": (content_classes.CONSUMER["file"],),
    "file: publishing": (content_classes.PUBLISHING["file"],),
    "file: staging": (content_classes.STAGING[_C], content_classes.STAGING[_S]),
    "file: delivery": (content_classes.DELIVERY,),
    "file: delivery without ack": (content_classes.DELIVERY,),
    "stream: quality of service": (content_classes.QOS["stream"],),
    "stream: consumer": (content_classes.CONSUMER["stream"],),
    "stream: publishing": (content_classes.PUBLISHING["stream"],),
}
"""The tables of each part whose conversations are played."""


_ANSWERED: Final = "our side says detached only to answer detach, and behind its detach its peer is silent until then"
EXCUSED: Final[dict[Speaker, dict[tuple[str, Move], str]]] = {
    us: {
        **{
            (session_rows.ATTACHMENT[us].name, ("detached", them, verb)): _ANSWERED
            for verb in (session_rows.OTHER, session_rows.ATTACHED)
        },
        (ENDPOINT[us].name, ("refused", TRANSPORT, KEPT)): "a session that was refused does not outlive its attachment",
        (ENDPOINT[us].name, ("attaching", TRANSPORT, OVER)): "only by a peer that breaks a rule, which no conversation does",
    }
    for us, them in zip(ROLES, reversed(ROLES), strict=True)
}
"""By role: rows of its peer that it does not reach although it can be in their state, and why."""


class Player:
    """One of our connections: its own words are method calls, its peer's words arrive as octets."""

    def __init__(self, us: Speaker, timeout: int = 0) -> None:
        self.us: Final = us
        profile = Profile(completion="manual")
        self.connection: Final = (
            ClientConnection(ClientConfig(profile=profile))
            if us == "client"
            else ServerConnection(ServerConfig(profile=profile))
        )
        self.blamed: str | None = None
        """The rule that it reports its peer to have broken."""
        self._timeout: Final = timeout
        self._reader: Final = SegmentReader(DEFAULT_LIMITS)
        self._header = b""

    @property
    def session(self) -> Session | None:
        """The session that it uses."""
        return next(iter(self.connection.sessions), None)

    def hear(self, octets: bytes) -> None:
        """Passes in octets of its peer."""
        self.connection.receive_data(octets)

    def said(self) -> list[Step]:
        """Hands out its events, and returns its output."""
        for event in self.connection.events():
            self._look(event)
        octets = self.connection.data_to_send()
        steps: list[Step] = []
        missing = SIZE - len(self._header)
        if missing and octets:
            self._header += octets[:missing]
            steps.append(Step(self.us, self._header))
        self._reader.receive(octets[missing:])
        while (unit := self._reader.next()) is not None:
            assert not isinstance(unit, Malformed), unit
            payload, layout = unit.payload, AMQP_0_10.codec
            if unit.kind == CONTROL:
                steps.append(Step(self.us, layout.decode_control(payload, 0, len(payload)), unit.channel))
                continue
            command, sync = layout.decode_command(payload, 0, len(payload))
            header = decode_headers(unit.header, 0, len(unit.header)) if unit.header else None
            steps.append(Step(self.us, command, unit.channel, sync=sync, header=header, body=unit.body))
        return steps

    def _look(self, event: Event) -> None:
        if isinstance(event, (ConnectionClosed, SessionDetached)) and event.origin is Origin.VIOLATION:
            self.blamed = self.blamed or (event.violation.rule if event.violation is not None else "")

    def say(self, step: Step) -> None:
        """Calls the method of a step, unless it sends the step by itself.  Raises what its methods raise."""
        said = step.said
        if isinstance(said, bytes):
            return
        if step.verb == "connection.close":
            self.connection.close()
        session = self.session
        if isinstance(said, controls.Attach) and isinstance(self.connection, ClientConnection):
            (session or self.connection.session(said.name or b"", timeout=self._timeout)).attach(force=True)
        elif session is None:
            return
        elif isinstance(said, Result):
            session.result(said.command_id or 0, said.value)
        elif isinstance(said, Exception_):
            session.fail(said.command_id, ErrorCode(said.error_code or 0), said.description or "")
        elif isinstance(said, Command):
            session.send(said, *(step.header or ()), body=step.body or b"", sync=step.sync)
        elif isinstance(said, controls.Detach):
            session.detach()
        elif isinstance(said, controls.Flush):
            session.flush(said.expected, said.confirmed, said.completed)
        elif isinstance(said, (controls.Completed, controls.Confirmed)):
            ids = session._inbound.outstanding.freeze()
            if ids and isinstance(said, controls.Completed):
                session.complete(ids)
            elif ids:
                session.confirm(ids)


class Played(NamedTuple):
    """The outcome of a played conversation: the words that crossed the wire, and what our side refused."""

    words: tuple[Word, ...]
    blamed: str | None


def play(us: Speaker, part: Part, said: Conversation, timeout: int = 0) -> Played:
    """Plays a conversation as long as our side sends what it should."""
    player = Player(us, timeout)
    voice = part.voice(Setting())
    words: list[Word] = []

    pending: list[tuple[str, bool]] = []  # sent by our side and not reached by the conversation yet, and whether it counts

    def take(begun: bool, wanted: Step | None = None) -> None:
        for step in player.said():
            word = voice.hear(step)
            if wanted is not None and step.verb == wanted.verb:
                word, wanted = wanted.word or word, None
            voice.told(step)
            pending.append((step.verb, word is not None))
            if begun and word is not None:
                words.append(word)

    def ours(begun: bool, step: Step) -> bool:
        if not any(verb == step.verb for verb, _ in pending):
            try:
                player.say(step)
            except AmqpError:
                return False
            take(begun, step)
        for at, (verb, counted) in enumerate(pending):
            if verb == step.verb:
                del pending[at]
                if begun and step.word and not counted:
                    words.append(step.word)
                return True
        return not begun or isinstance(step.said, controls.CommandPoint)  # sent with the first command

    def steps(begun: bool, some: Iterable[Step]) -> bool:
        for step in some:
            if step.speaker == us:
                if not ours(begun, step):
                    return False
                continue
            voice.told(step)
            if begun and step.word:
                words.append(step.word)
            player.hear(step.octets)
            take(begun)
        return player.blamed is None

    take(part.opening == "nothing")
    if steps(part.opening == "nothing", opening(part.opening, voice)):
        voice.foresee(said)
        for word in said:
            if not steps(True, [*voice.ahead(word), *voice.say(word)]):
                break
    return Played(tuple(words), player.blamed)


def follow(table: Table, words: Iterable[Word]) -> Iterator[Move]:
    """Yields the rows of a table that words cover, up to the first that it refuses."""
    known = {f"{row.speaker}:{row.verb}" for row in table.rows}
    machine = Machine(table)
    for word in words:
        heard = word if word in known else f"{word.partition(':')[0]}:{connection_rows.OTHER}"
        if heard not in known:
            continue
        speaker, _, verb = heard.partition(":")
        state = machine.state
        if machine.step(speaker, verb) is not None:
            return
        yield state, speaker, verb


class Walk:
    """The rows of one table that the grammars' conversations cover, and which of them one role reached."""

    def __init__(self, table: Table, us: Speaker) -> None:
        self.table: Final = table
        self.us: Final = us
        self.legal: Final[set[Move]] = set()
        """Rows that the grammar's conversations cover."""
        self.taken: Final[set[Move]] = set()
        """Rows covered with our side."""
        self._heard_in: Final[set[str]] = set()  # states in which our side received something before it sent anything
        self._entered: Final[set[str]] = {table.initial}

    def add(self, said: Iterable[Word], played: Iterable[Word]) -> None:
        """Adds a conversation, and its outcome."""
        self.legal.update(follow(self.table, said))
        for move in follow(self.table, played):
            self.taken.add(move)
            self._entered.add(self.table.moves[move])
            if not self._ours(move):
                self._heard_in.add(move[0])

    def _ours(self, move: Move) -> bool:
        return move[1] != TRANSPORT and speaker_of(f"{move[1]}:") == self.us

    @property
    def unsaid(self) -> set[Move]:
        """Returns rows in which our side would send something that it does not send there."""
        return {move for move in self.legal - self.taken if self._ours(move)}

    @property
    def unheard(self) -> set[Move]:
        """Returns rows of its peer in states that our side does not enter, or leaves by its answer before it receives more."""
        return {move for move in self.legal - self.taken if not self._ours(move) and move[0] not in self._heard_in}

    @property
    def gaps(self) -> set[Move]:
        """Returns unreached rows of its peer, without a reason, in states where our side can receive something."""
        excused = EXCUSED[self.us]
        missing = self.legal - self.taken - self.unsaid - self.unheard
        return {move for move in missing if (self.table.name, move) not in excused}


class Reached(NamedTuple):
    """What one role reached, and the legal conversations that it objected to."""

    walks: list[Walk]
    faults: list[tuple[str, Played]]


def reached(us: Speaker, lengths: Iterable[int] = (20, 60), seed: int = 1) -> Reached:
    """Plays the generated conversations of every part with a connection of this role."""
    lengths = tuple(lengths)
    walks = {table.name: Walk(table, us) for tables in TABLES.values() for table in tables}
    faults: list[tuple[str, Played]] = []
    for name, tables in TABLES.items():
        part = PARTS[name]
        for said in generated(part.language, lengths, Random(seed)):
            played = play(us, part, said)
            if played.blamed is not None:
                faults.append((name, played))
            for table in tables:
                walks[table.name].add(said, played.words)
    life = Walk(ENDPOINT[us], us)
    for said in lives.conversations(us, lengths, seed):
        life.add(said, lives.live(us, said))
    return Reached([*walks.values(), life], faults)


def report(us: Speaker, found: Reached) -> str:
    """Returns a line for each table, each unreached row, and each legal conversation that it objected to."""
    lines = [f"  {us}:"]
    for walk in found.walks:
        rest = f"{len(walk.unsaid)} it never says, {len(walk.unheard)} it does not wait for"
        lines.append(f"    {len(walk.taken):4} of {len(walk.legal):4} legal rows, {rest}: {walk.table.name}")
        lines += [f"          not reached: {state} {speaker}:{verb}" for state, speaker, verb in sorted(walk.gaps)]
    lines += [f"    {name}: it objects, {played.blamed}, to: {' '.join(played.words)}" for name, played in found.faults]
    return "\n".join(lines)
