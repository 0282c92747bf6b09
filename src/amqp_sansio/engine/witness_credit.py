"""Credit as a third person can know it: an upper bound of what a deliverer may send.

What the subscriber grants counts from when it was heard, for the deliverer cannot have used it earlier.  What the
subscriber takes back (stop, flush, cancel) counts from when the deliverer has completed that command: until then a delivery
may have been in flight.  So an excess is an excess whatever the timing was.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final

from amqp_sansio.engine.findings import Findings
from amqp_sansio.kernel.picking import pick, take
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.message import Cancel, Flow, Flush, SetFlowMode, Stop, Subscribe

INFINITE: Final = 0xFFFFFFFF
"""The value of message.flow that means: without limit."""

_BARRIERS: Final = 1024
"""Commands that take credit back and are not completed yet, per session; beyond it the accounting stops."""


class Grant:
    """The credit of one subscription: in message and in octet unit, the limit and what of it is used.  None: infinite."""

    __slots__ = ("ended", "limits", "since", "told", "used", "window")

    def __init__(self) -> None:
        self.window = True  # until message.set-flow-mode says otherwise
        self.limits: list[int | None] = [0, 0]
        self.used: list[int] = [0, 0]
        self.since: list[int | None] = [0, 0]
        """What was granted after the last command that takes credit back."""
        self.told = False
        self.ended = False


class CreditWitness:
    """The subscriptions of one side of a session, and the deliveries to them by the other side."""

    __slots__ = ("_barriers", "_findings", "_grants", "_live", "accounting")

    def __init__(self, findings: Findings, accounting: bool) -> None:
        self._findings: Final = findings
        self._grants: dict[str, Grant] = {}
        self._barriers: dict[int, str] = {}
        self._live: dict[int, tuple[str, int, int]] = {}
        self.accounting = accounting
        """False when the subscriptions are not all known: nobody is held to anything."""

    def hear(self, id: int | None, command: Command) -> None:
        """The subscriber says something about its credit, as its command `id`."""
        if not self.accounting:
            return
        if isinstance(command, Subscribe):
            grant = Grant()
            known = command.destination in self._grants
            if len(self._grants) >= self._findings.limits.subscriptions:
                self.stop()
                return
            self._grants[command.destination or ""] = grant
            grant.told = known  # a name used anew while deliveries for the old one are in flight: hold nobody to it
            return
        if not isinstance(command, Cancel | Flow | Flush | SetFlowMode | Stop):
            return
        destination = command.destination or ""
        found = self._grants.get(destination)
        if found is None:
            return
        if isinstance(command, Flow):
            self._flow(found, 1 if command.unit else 0, INFINITE if command.value is None else command.value)
        elif isinstance(command, SetFlowMode):
            self._mode(found, destination)
            window = command.flow_mode == 1
            if window != found.window and (any(found.used) or found.limits != [0, 0]):
                found.told = True  # changed under way: when it takes effect is not to be known
            found.window = window
        else:
            found.since = [0, 0]
            found.ended = found.ended or isinstance(command, Cancel)
            if id is None or len(self._barriers) >= _BARRIERS:
                self.stop()
            else:
                self._barriers[id] = destination

    def _mode(self, grant: Grant, destination: str) -> None:
        """The mode changes while there is credit left of what was granted behind the last command that takes it back."""
        left = any(amount is None or amount > used for amount, used in zip(grant.since, grant.used, strict=True))
        if left and not grant.told:
            self._findings.letter(
                "message.set-flow-mode.mode-switching",
                f"message.set-flow-mode of destination {destination[:80]!r}",
                "the mode changes only while there is no credit",
                ("message.stop", "message.flush"),
                about=destination[:80],
            )

    def stop(self) -> None:
        """Gives up the accounting: something is not known any more."""
        self.accounting = False
        self._grants.clear()
        self._barriers.clear()
        self._live.clear()

    @staticmethod
    def _flow(grant: Grant, unit: int, value: int) -> None:
        for amounts in (grant.limits, grant.since):
            before = amounts[unit]
            amounts[unit] = None if value == INFINITE or before is None else min(before + value, INFINITE - 1)

    def carried_out(self, ids: RangeSet) -> None:
        """The deliverer has completed these commands of the subscriber: what they take back is gone."""
        if not self._barriers:
            return
        for id in pick(ids, self._barriers):
            destination = self._barriers.pop(id)
            grant = self._grants.get(destination)
            if grant is None or destination in self._barriers.values():
                continue
            if grant.ended:
                del self._grants[destination]
                continue
            for unit in (0, 1):
                limit, since = grant.limits[unit], grant.since[unit]
                grant.limits[unit] = since if limit is None or (since is not None and since < limit) else limit

    def delivered(self, id: int | None, destination: str, octets: int) -> None:
        """The deliverer sends a transfer with so many octets of header and body."""
        if not self.accounting:
            return
        grant = self._grants.get(destination)
        if grant is None:
            self._findings.divergence(
                "message.transfer.destination",
                f"message.transfer to destination {destination[:80]!r}",
                "a transfer to a destination that nobody subscribed with",
                tuple([repr(name[:80]) for name in list(self._grants)[:10]]),
                about=destination[:80],
            )
            return
        costs = (1, octets)
        counted = [0, 0]
        for unit in (0, 1):
            limit = grant.limits[unit]
            if limit is None:
                continue
            cost = costs[unit]
            used = grant.used[unit] if grant.window else 0
            if used + cost > limit:
                self._excess(grant, destination, unit, limit - used, cost)
            if grant.window:
                grant.used[unit] += cost
                counted[unit] = cost
            else:
                grant.limits[unit] = max(limit - cost, 0)
                since = grant.since[unit]
                if since is not None:
                    grant.since[unit] = min(since, limit)
        if grant.window and id is not None and any(counted):
            if len(self._live) >= self._findings.limits.replay_commands:
                self.stop()
            else:
                self._live[id] = (destination, counted[0], counted[1])

    def deliveries(self, id: int, destination: str, octets: Sequence[int]) -> bool:
        """As many transfers at once, the first as command `id`, if credit allows them all: whether they were taken so."""
        if not self.accounting:
            return True
        grant = self._grants.get(destination)
        if grant is None:
            return False
        count = len(octets)
        limits = grant.limits
        costs = (count, sum(octets))
        for unit in (0, 1):
            limit = limits[unit]
            if limit is not None and (grant.used[unit] if grant.window else 0) + costs[unit] > limit:
                return False
        messages = 0 if limits[0] is None else 1
        counted = [0] * count if limits[1] is None else octets
        if grant.window and (messages or any(counted)):
            if len(self._live) + count > self._findings.limits.replay_commands:
                return False
            if messages:
                costly = zip(repeat(destination), repeat(messages), counted)
                self._live.update(zip(range(id, id + count), costly, strict=False))
            else:  # what costs nothing gives nothing back
                self._live.update({number: (destination, 0, cost) for number, cost in enumerate(counted, id) if cost})
        for unit, final in ((0, 1), (1, octets[-1])):
            limit = limits[unit]
            if limit is None:
                continue
            if grant.window:
                grant.used[unit] += costs[unit]
                continue
            limits[unit] = limit - costs[unit]
            since = grant.since[unit]
            if since is not None:  # as after the last one alone
                grant.since[unit] = min(since, limit - costs[unit] + final)
        return True

    def _excess(self, grant: Grant, destination: str, unit: int, left: int, cost: int) -> None:
        if grant.told:
            return
        grant.told = True
        name = ("message", "byte")[unit]
        self._findings.divergence(
            "message.flow",
            f"message.transfer to destination {destination[:80]!r}",
            f"a transfer of {cost} beyond the {name} credit of its destination, of which {max(left, 0)} was left",
            (f"message.transfer of at most {max(left, 0)}",) if left > 0 else (),
            about=destination[:80],
        )

    def completed(self, ids: RangeSet) -> None:
        """The subscriber has completed these transfers: a window moves."""
        for destination, messages, octets in take(ids, self._live) if self._live else ():
            grant = self._grants.get(destination)
            if grant is not None:
                used = grant.used
                used[0] = max(used[0] - messages, 0)
                used[1] = max(used[1] - octets, 0)
