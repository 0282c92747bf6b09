"""Credit as a third person can judge it: the books of one side's subscriptions, and what is told of the deliveries to them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final

from amqp_sansio.engine.credit import INFINITE, MESSAGE, OCTET, WINDOW_MODE
from amqp_sansio.engine.credit_book import CREDIT_RULE, DESTINATION_RULE, UNITS, CreditBook
from amqp_sansio.engine.findings import Findings
from amqp_sansio.kernel.picking import pick, take
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.message import Cancel, Flow, Flush, SetFlowMode, Stop, Subscribe

_BARRIERS: Final = 1024
"""Commands that take credit back and are not completed yet, per session; beyond it the accounting stops."""


class Grant:
    """One subscription: its credit, and whether it is judged any more."""

    __slots__ = ("book", "cancel_id", "told", "uncounted")

    def __init__(self, book: CreditBook) -> None:
        self.book: Final = book
        self.cancel_id: int | None = None
        self.told = False
        """Nothing is told any more: it was, or the credit is not to be known."""
        self.uncounted = False
        """Deliveries came without a limit in window mode; by the letter, their completion gives credit after a stop, too."""


class CreditWitness:
    """The subscriptions of one side of a session, and the deliveries to them by the other side.

    `octets` of a delivery are those of its body; of its header, too, when strict, which Broker-J does not count.
    """

    __slots__ = ("_barriers", "_findings", "_grants", "_live", "accounting")

    def __init__(self, findings: Findings, accounting: bool) -> None:
        self._findings: Final = findings
        self._grants: dict[str, Grant] = {}
        self._barriers: dict[int, str] = {}
        self._live: dict[int, tuple[str, int]] = {}
        self.accounting = accounting
        """False when the subscriptions are not all known: nobody is held to anything."""

    def hear(self, id: int | None, command: Command) -> None:
        """The subscriber says something about its credit, as its command `id`."""
        if not self.accounting:
            return
        if isinstance(command, Subscribe):
            self._subscribe(command.destination or "")
            return
        if not isinstance(command, Cancel | Flow | Flush | SetFlowMode | Stop):
            return
        destination = command.destination or ""
        grant = self._grants.get(destination)
        if grant is None:
            return
        if isinstance(command, Flow):
            grant.book.grant(OCTET if command.unit else MESSAGE, INFINITE if command.value is None else command.value)
        elif isinstance(command, SetFlowMode):
            self._mode(grant, destination, command.flow_mode or 0)
        elif id is None or len(self._barriers) >= _BARRIERS:
            self.stop()
        else:
            grant.book.take_back(id, isinstance(command, Flush))
            self._barriers[id] = destination
            if isinstance(command, Cancel):
                grant.cancel_id = id

    def _subscribe(self, destination: str) -> None:
        if len(self._grants) >= self._findings.limits.subscriptions:
            self.stop()
            return
        before = self._grants.get(destination)
        if before is None:
            self._grants[destination] = Grant(CreditBook())
        elif before.cancel_id is not None:
            self._grants[destination] = Grant(CreditBook.behind(before.book))
        else:  # refused, or a second one of that name: then nobody knows which of them a delivery is for
            before.told = True

    def _mode(self, grant: Grant, destination: str, mode: int) -> None:
        flow = grant.book.flow
        if not flow.ends_empty:
            if not grant.told:
                self._findings.letter(
                    "message.set-flow-mode.mode-switching",
                    f"message.set-flow-mode of destination {destination[:80]!r}",
                    "the mode changes only while there is no credit",
                    ("message.stop", "message.flush"),
                    about=destination[:80],
                )
            if mode != flow.mode:
                grant.told = True  # changed under way: when it takes effect is not to be known
        grant.book.set_mode(mode)

    def stop(self) -> None:
        """Gives up the accounting: something is not known any more."""
        self.accounting = False
        self._grants.clear()
        self._barriers.clear()
        self._live.clear()

    def carried_out(self, ids: RangeSet) -> None:
        """The deliverer has completed these commands of the subscriber: what they take back is gone."""
        if not self._barriers:
            return
        for id in pick(ids, self._barriers):
            destination = self._barriers.pop(id)
            grant = self._grants.get(destination)
            if grant is None:
                continue
            if grant.cancel_id == id:
                del self._grants[destination]
                continue
            grant.book.carried_out(id)
            grant.told = grant.told or grant.uncounted

    def delivered(self, id: int | None, destination: str, octets: int) -> None:
        """The deliverer sends a transfer that is charged with so many octets."""
        if not self.accounting:
            return
        grant = self._grants.get(destination)
        if grant is None:
            self._findings.divergence(
                DESTINATION_RULE,
                f"message.transfer to destination {destination[:80]!r}",
                "a transfer to a destination that nobody subscribed with",
                tuple([repr(name[:80]) for name in list(self._grants)[:10]]),
                about=destination[:80],
            )
            return
        book = grant.book
        if not book.limited:
            grant.uncounted = grant.uncounted or book.flow.mode == WINDOW_MODE
            return
        unit = book.spend(octets, octets)
        if unit is not None:
            self._excess(grant, destination, unit, octets)
        if book.flow.mode == WINDOW_MODE and id is not None:
            if len(self._live) >= self._findings.limits.replay_commands:
                self.stop()
            else:
                self._live[id] = (destination, octets)

    def deliveries(self, id: int, destination: str, octets: Sequence[int]) -> bool:
        """As many transfers at once, the first as command `id`, if credit allows them all: whether they were taken so."""
        if not self.accounting:
            return True
        grant = self._grants.get(destination)
        if grant is None:
            return False
        book = grant.book
        window = book.flow.mode == WINDOW_MODE
        if not book.limited:
            grant.uncounted = grant.uncounted or window
            return True
        count = len(octets)
        if window and len(self._live) + count > self._findings.limits.replay_commands:
            return False
        if not book.spend_run(count, sum(octets)):
            return False
        if window:
            self._live.update(zip(range(id, id + count), zip(repeat(destination), octets), strict=False))
        return True

    def _excess(self, grant: Grant, destination: str, unit: int, octets: int) -> None:
        if grant.told:
            return
        grant.told = True
        left = (grant.book.octets if unit == OCTET else grant.book.messages) or 0
        cost = octets if unit == OCTET else 1
        self._findings.divergence(
            CREDIT_RULE,
            f"message.transfer to destination {destination[:80]!r}",
            f"a transfer of {cost} beyond the {UNITS[unit]} credit of its destination, of which {left} was left",
            (f"message.transfer of at most {left}",) if left else (),
            about=destination[:80],
        )

    def completed(self, ids: RangeSet) -> None:
        """The subscriber has completed these transfers: a window moves."""
        if not self._live:
            return
        moved: dict[str, list[int]] = {}
        for destination, octets in take(ids, self._live):
            sums = moved.setdefault(destination, [0, 0])
            sums[0] += 1
            sums[1] += octets
        for destination, (messages, octets) in moved.items():
            grant = self._grants.get(destination)
            if grant is not None:
                grant.book.complete(messages, octets, octets)
                grant.book.reported()
