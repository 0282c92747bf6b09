"""The interface between an observer and a family of dialects: it takes both sides' words, and reports violations."""

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
    """The checker of one family, plugged into an observer when it is known what is spoken.  A base class.

    The words go to `said` at once, the verdicts to `findings`, whose speaker and offset the observer sets; `ears` are the
    observer's.
    """

    __slots__ = ("_said", "ears", "findings")

    FAMILY: ClassVar[str] = ""
    """What the family is called; captures find by it what writes its rows."""
    PARTS: ClassVar[tuple[type, ...]] = ()
    """The classes of which `state` consists, those of the framing included."""
    TABLES: ClassVar[tuple[Table, ...]] = ()
    """The tables that machines in `state` run."""

    def __init__(self, strict: bool, limits: Limits, ears: Mapping[Speaker, Ear], said: deque[Observed]) -> None:
        self.findings = Findings(strict, limits)
        self.ears: Final = ears
        self._said: Final = said

    def say(self, speaker: Speaker, start: int, end: int, event: Observation) -> None:
        """Tells what lies in these octets of what `speaker` said."""
        self._said.append(Observed(speaker, start, end, event))

    def flush(self, speaker: Speaker, start: int, end: int) -> None:
        """Hands out the findings, after the words that they are about."""
        found = self.findings.found
        while found:
            self._said.append(Observed(speaker, start, end, found.popleft()))

    def consider(self, others: Sequence[Dialect[Codec]]) -> None:
        """The stream starts in its middle: as far as frames tell, it may be in one of these others as well."""

    def carries(self, class_code: int, code: int) -> bool:
        """Whether what has these numbers may have a content; of what is unknown nobody can say that it may not."""
        raise NotImplementedError

    # What is heard.

    def header(self, speaker: Speaker, same: bool) -> None:
        """A protocol header; `same`: it is that of the dialect under observation."""
        raise NotImplementedError

    def hear(self, speaker: Speaker, unit: Assembly) -> None:
        """Any unit: says what it is, and judges it."""
        raise NotImplementedError

    def excuses(self, speaker: Speaker, malformed: Malformed) -> bool:
        """Whether the words before it excuse a frame of `speaker` that is wrong otherwise."""
        return False

    def hear_plain(self, speaker: Speaker, cut: Cut) -> Observed | None:
        """A unit like others before it (see `Reader.cut_run`): its event, which nothing may come before.  None: it needs every
        check."""
        return None

    def next_alike(self, speaker: Speaker, headers: Headers[T], head: int) -> Transfers[T] | Answered | None:
        """See `Observer.next_alike`."""
        return None

    def frame(self, cut: FrameCut) -> FrameSeen:
        """A frame as it stands in `Reader.trace`."""
        raise NotImplementedError

    def shake(self, shaky: bool) -> None:
        """Before a unit.  `shaky`: we do not have all of what a speaker says yet, for the search for its frames goes on; as
        with `unsettle`."""
        raise NotImplementedError

    def unsettle(self) -> None:
        """The next word may be out of turn: the other side may have answered already what we do not have yet."""
        raise NotImplementedError

    def lost(self, speaker: Speaker) -> None:
        """Some octets of `speaker` were lost: nobody is accused of what depends on them."""
        raise NotImplementedError

    def ended(self, speaker: Speaker) -> None:
        """`speaker` has ended its half of the connection."""
        raise NotImplementedError

    def books(self, channel: int) -> ChannelWitness | None:
        """What is kept of the session on a channel; None where there is none."""
        return None

    # Plain values.

    def state(self) -> object:
        """What it remembers: objects of PARTS, of TABLES' machines and of the ledger."""
        raise NotImplementedError

    def resume(self, state: object) -> None:
        """Goes on with what `state` gave.  DecodeError for anything else."""
        raise NotImplementedError
