"""The interface between an observer and a family of dialects: takes what both sides send, and reports violations."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from amqp_sansio.engine.findings import Findings
from amqp_sansio.events import Observation
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.kernel.machine import Refusal, Table
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import Subscriptions
from amqp_sansio.limits import Limits
from amqp_sansio.spec.message import Accept, Transfer
from amqp_sansio.spec.session import Completed
from amqp_sansio.tables.connection import (
    ANSWERS,
    CLIENT,
    OTHER_PROTOCOL_HEADER,
    PROTOCOL_HEADER,
    SERVER,
    ConnectionDialogue,
)
from amqp_sansio.wire.framing import Assembly, Cut, FrameCut, KnownCommand, Malformed
from amqp_sansio.wire.layouts.layout import HeaderDecoder

if TYPE_CHECKING:
    from amqp_sansio.dialects import Dialect
    from amqp_sansio.engine.observer import Ear
    from amqp_sansio.wire.codec import Codec

T = TypeVar("T")

Speaker: TypeAlias = Literal["C", "S"]
"""C: the side that opened the connection, or that sent the protocol header first.  S: the other one."""


class Observed(NamedTuple):
    """What was observed, which side sent it, and where in its stream; `end` is the offset after the last octet."""

    speaker: Speaker
    start: int
    end: int
    event: Observation


class ChannelDoubt(NamedTuple):
    """How much is in doubt on channels: publishes that the server may not have taken, deliveries that the client has not
    settled, commits that the server has not answered."""

    publishes: int = 0
    deliveries: int = 0
    commits: int = 0

    @classmethod
    def total(cls, each: Iterable[ChannelDoubt]) -> ChannelDoubt:
        """Returns the sum of all."""
        return cls(*[sum(column) for column in zip(*each, strict=True)])


TransferSeen: TypeAlias = tuple[KnownCommand[Transfer], int, "int | None", bytes, int, int, T, "bytes | None"]
"""A transfer.

Its command, the numbers of octets in its header and in its body (None: no body segment), the first octets of the body, where it
begins and ends in the stream, what the caller's `HeaderDecoder` returned for its header, and its message-id.
"""


class Transfers(NamedTuple, Generic[T]):
    """Consecutive transfers of one speaker on one channel, with ids from `id` on (None: unknown).

    `alike`: all of them have the same command.
    """

    speaker: Speaker
    channel: int
    session: bytes | None
    id: int | None
    alike: bool
    items: list[TransferSeen[T]]

    @property
    def place(self) -> tuple[int, int]:
        """Where the last one begins and ends."""
        return self.items[-1][4:6]


class Answered(NamedTuple):
    """An answer to messages: a message.accept with an `id` (`accepts`), or a session.completed of these `ids`.

    `start` and `end` are its place in its speaker's stream.
    """

    speaker: Speaker
    channel: int
    session: bytes | None
    accepts: bool
    sync: bool
    id: int | None
    ids: RangeSet
    start: int
    end: int

    @property
    def verb(self) -> str:
        """The name of the command or control."""
        return Accept.VERB if self.accepts else Completed.VERB

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins and ends."""
        return self.start, self.end


WHO: Final[dict[str, str]] = {"C": CLIENT, "S": SERVER}
"""The name of each side in tables, by its name in observations."""


class ConnectionWitness:
    """Judges what concerns the connection.  A base class: each family decides what to report, and what to forget after a gap.

    Findings collect in `findings.found`; the caller sets `findings.offset` to the unit under judgement.
    """

    __slots__ = ("_ended", "_excused", "_late", "dialogue", "findings", "shaky")

    def __init__(self, strict: bool, limits: Limits, handshake: Table) -> None:
        self.findings: Final = Findings(strict, limits)
        self.dialogue = ConnectionDialogue(rows=handshake)
        self.shaky = False
        """Whether units may be missing, because the search for a speaker's frames goes on.  Snapshots store it by this name."""
        self._late = False
        self._ended = False
        self._excused: set[tuple[str, str]] = set()

    def header(self, speaker: str, same: bool) -> None:
        """Judges a protocol header; `same`: it is that of the dialect under observation."""
        verb = PROTOCOL_HEADER if same or speaker == "C" else OTHER_PROTOCOL_HEADER
        if self.dialogue.said(WHO[speaker], verb) is not None and not self._late:
            self.findings.note("connection.protocol-header", f"the {WHO[speaker]} sends its header unasked")
            self.lost("S" if speaker == "C" else "C")  # we missed the beginning of the other side

    def lost(self, speaker: str) -> None:
        """Makes every state possible again: octets of `speaker` were lost."""
        raise NotImplementedError

    def unsettle(self) -> None:
        """Makes every state possible: the next unit may come out of order."""
        raise NotImplementedError

    def ended(self, speaker: str) -> None:
        """Judges the end of `speaker`'s octets."""
        if self._ended:
            return
        self._ended = True
        self.findings.channel = None
        if self._late or self._may_end():
            return
        who, state = WHO[speaker], self.dialogue.state
        if state == "closing":
            self.findings.note("connection.close-ok", f"the {who} ends the connection without close-ok")
        elif state.startswith(("authenticating", "challenged")):
            self.findings.note("connection.authentication", f"the {who} ends the connection during authentication")
        else:
            self.findings.note("connection.eof", f"the {who} ends the connection without connection.close (state {state})")

    def _may_end(self) -> bool:
        """Returns whether neither side has anything left to send."""
        return self.dialogue.finished

    def _legal(self, speaker: str, word: str, verb: str) -> bool:
        """Returns whether the machines accept `verb`, which their tables call `word`; if not, `_blame` reports it."""
        refusal = self.dialogue.said(WHO[speaker], word)
        if refusal is None:
            return True
        if (speaker, verb) in self._excused:  # it answers a request that we have reported as illegal
            self._excused.discard((speaker, verb))
            return False
        other = "S" if speaker == "C" else "C"
        self._excused.update([(other, answer) for answer in ANSWERS.get(verb, ())])
        self._blame(WHO[speaker], word, verb, refusal)
        return False

    def _blame(self, who: str, word: str, verb: str, refusal: Refusal) -> None:
        """Reports the rule that `who` broke.  The machines stay in their states."""
        raise NotImplementedError


class Checker:
    """The checker of one family; the observer creates it when it knows the dialect.  A base class.

    It appends what a side sent to `said` at once, and verdicts to `findings`, whose speaker and offset the observer sets.
    `witness` judges what concerns the connection; `ears` are the observer's.
    """

    __slots__ = ("_connection", "_said", "ears", "findings")

    FAMILY: ClassVar[str] = ""
    """The name of the family; captures choose their row writer by it."""
    PARTS: ClassVar[tuple[type, ...]] = ()
    """The classes of which `state` consists, including those of the framing."""
    TABLES: ClassVar[tuple[Table, ...]] = ()
    """The tables that the machines in `state` run."""

    def __init__(self, witness: ConnectionWitness, ears: Mapping[Speaker, Ear], said: deque[Observed]) -> None:
        self._connection = witness
        self.findings = witness.findings
        self.ears: Final = ears
        self._said: Final = said

    def _follow(self, witness: ConnectionWitness) -> None:
        """Replaces the witness by that of a snapshot."""
        self._connection = witness
        self.findings = witness.findings

    def say(self, speaker: Speaker, start: int, end: int, event: Observation) -> None:
        """Reports what these octets of `speaker` contain."""
        self._said.append(Observed(speaker, start, end, event))

    def flush(self, speaker: Speaker, start: int, end: int) -> None:
        """Hands out the findings, after the events that they are about."""
        found = self.findings.found
        while found:
            self._said.append(Observed(speaker, start, end, found.popleft()))

    def consider(self, others: Sequence[Dialect[Codec]]) -> None:
        """Receives the other candidate dialects of a stream that starts in the middle."""

    def carries(self, class_code: int, code: int) -> bool:
        """Returns whether a unit with these numbers may carry a content; True for unknown numbers."""
        raise NotImplementedError

    # --- units ----------------------------------------------------------------------------------------------------------------

    def header(self, speaker: Speaker, same: bool) -> None:
        """Judges a protocol header; `same`: it is that of the dialect under observation."""
        self._connection.header(speaker, same)

    def hear(self, speaker: Speaker, unit: Assembly) -> None:
        """Reports and judges a unit."""
        raise NotImplementedError

    def excuses(self, speaker: Speaker, malformed: Malformed) -> bool:
        """Returns whether what came before excuses a malformed frame of `speaker`."""
        return False

    def hear_plain(self, speaker: Speaker, cut: Cut) -> Observed | None:
        """Handles a unit that repeats an earlier one (see `Reader.cut_run`); returns its event, or None to check it in full."""
        return None

    def next_alike(self, speaker: Speaker, headers: HeaderDecoder[T], head: int) -> Transfers[T] | Answered | None:
        """See `Observer.next_alike`."""
        return None

    def frame(self, cut: FrameCut) -> FrameSeen:
        """Returns a frame in the form of `Reader.trace`."""
        raise NotImplementedError

    def set_incomplete_view(self, incomplete: bool) -> None:
        """Prepares for the next unit; `incomplete`: units may be missing, because the search for a speaker's frames goes on.

        Called before each unit while the view is incomplete (see `unsettle`), and once when it is complete again.
        """
        self._connection.shaky = incomplete
        if incomplete:
            self.unsettle()

    def unsettle(self) -> None:
        """Records that the next unit may be out of order: it may answer octets that we do not have yet."""
        self._connection.unsettle()

    def lost(self, speaker: Speaker) -> None:
        """Records lost octets of `speaker`: nothing that depends on them is a violation."""
        self._connection.lost(speaker)
        for ear in self.ears.values():  # octets of a side that we have not heard yet need not begin with a protocol header
            ear.joined = ear.joined or not ear.received

    def ended(self, speaker: Speaker) -> None:
        """Records that `speaker` has closed its half of the connection."""
        self._connection.ended(speaker)

    def subscriptions(self, channel: int) -> Subscriptions | None:
        """Returns the book of the client's subscriptions in the session on a channel; None when there is none."""
        return None

    def in_doubt(self) -> ChannelDoubt:
        """Returns what is in doubt when nothing more comes, as far as the channels tell; sessions tell it in rows."""
        return ChannelDoubt()

    # --- snapshots ------------------------------------------------------------------------------------------------------------

    def state(self) -> object:
        """Returns what it remembers: objects of PARTS, of the machines of TABLES, and of the ledger."""
        raise NotImplementedError

    def resume(self, state: object) -> None:
        """Restores what `state` returned.  Raises DecodeError for anything else."""
        raise NotImplementedError
