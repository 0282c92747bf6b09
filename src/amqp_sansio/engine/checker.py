"""The interface between an observer and a family of dialects: takes what both sides send, and reports violations."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from amqp_sansio.engine.ear import Ear
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.observed import Answered, Observed, Speaker, Transfers
from amqp_sansio.engine.witness import ChannelWitness
from amqp_sansio.events import Observation
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.kernel.machine import Table
from amqp_sansio.limits import Limits
from amqp_sansio.wire.framing import Assembly, Cut, FrameCut, Malformed
from amqp_sansio.wire.headers import Headers

if TYPE_CHECKING:
    from amqp_sansio.dialects import Dialect
    from amqp_sansio.wire.codec import Codec

T = TypeVar("T")


class Checker:
    """The checker of one family; the observer creates it when it knows the dialect.  A base class.

    What was sent goes to `said` at once, verdicts to `findings`, whose speaker and offset the observer sets.  `ears` are the
    observer's.
    """

    __slots__ = ("_said", "ears", "findings")

    FAMILY: ClassVar[str] = ""
    """The name of the family; captures choose their row writer by it."""
    PARTS: ClassVar[tuple[type, ...]] = ()
    """The classes of which `state` consists, including those of the framing."""
    TABLES: ClassVar[tuple[Table, ...]] = ()
    """The tables that the machines in `state` run."""

    def __init__(self, strict: bool, limits: Limits, ears: Mapping[Speaker, Ear], said: deque[Observed]) -> None:
        self.findings = Findings(strict, limits)
        self.ears: Final = ears
        self._said: Final = said

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
        raise NotImplementedError

    def hear(self, speaker: Speaker, unit: Assembly) -> None:
        """Reports and judges a unit."""
        raise NotImplementedError

    def excuses(self, speaker: Speaker, malformed: Malformed) -> bool:
        """Returns whether what came before excuses a malformed frame of `speaker`."""
        return False

    def hear_plain(self, speaker: Speaker, cut: Cut) -> Observed | None:
        """Handles a unit that repeats an earlier one (see `Reader.cut_run`); returns its event, or None to check it in full."""
        return None

    def next_alike(self, speaker: Speaker, headers: Headers[T], head: int) -> Transfers[T] | Answered | None:
        """See `Observer.next_alike`."""
        return None

    def frame(self, cut: FrameCut) -> FrameSeen:
        """Returns a frame in the form of `Reader.trace`."""
        raise NotImplementedError

    def shake(self, shaky: bool) -> None:
        """Prepares for a unit.  `shaky`: the search for a speaker's frames goes on, so units may be missing; see `unsettle`."""
        raise NotImplementedError

    def unsettle(self) -> None:
        """Records that the next unit may be out of order: the other side may have answered what we do not have yet."""
        raise NotImplementedError

    def lost(self, speaker: Speaker) -> None:
        """Records lost octets of `speaker`: nothing that depends on them is a violation."""
        raise NotImplementedError

    def ended(self, speaker: Speaker) -> None:
        """Records that `speaker` has closed its half of the connection."""
        raise NotImplementedError

    def books(self, channel: int) -> ChannelWitness | None:
        """Returns the records of the session on a channel; None when there is none."""
        return None

    # --- snapshots ------------------------------------------------------------------------------------------------------------

    def state(self) -> object:
        """Returns what it remembers: objects of PARTS, of the machines of TABLES, and of the ledger."""
        raise NotImplementedError

    def resume(self, state: object) -> None:
        """Restores what `state` returned.  Raises DecodeError for anything else."""
        raise NotImplementedError
