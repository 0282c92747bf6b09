"""The credit of a session's subscriptions as it runs out and comes back: rows of `credit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.kernel.picking import ById
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE, OCTET, WINDOW_MODE, CreditBook
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.message import Cancel, Flush, SetFlowMode, Stop, Subscribe
from amqp_sansio.spec.message import Flow as Grant

SUBSCRIPTIONS: Final = 4096
"""Subscriptions of a session that are followed; beyond it the oldest is not any more."""
WINDOW_MESSAGES: Final = 65536
"""Deliveries under windows that are not complete; beyond it the oldest counts as complete."""


class Subscription:
    """One subscription.  `stalled` is since when its credit has been at zero because a delivery used it up, or None."""

    __slots__ = ("flow", "queue", "stalled")

    def __init__(self, queue: str | None) -> None:
        self.queue: Final = queue
        self.flow = CreditBook()
        self.stalled: int | None = None


class CreditLine:
    """The credit that one side of a session has given the other.  `head` are direction, session and channel of its rows."""

    __slots__ = ("_flushes", "_head", "_live", "_rows", "subscriptions")

    def __init__(self, rows: Rows, head: tuple[str, str | None, int]) -> None:
        self._rows: Final = rows
        self._head: Final = head
        self.subscriptions: dict[str, Subscription] = {}
        self._live: ById[tuple[str, int]] = ById()
        self._flushes: ById[str] = ById()

    def hear(self, time: int, id: int | None, command: Command) -> None:
        """The subscriber says one of the commands about credit; others are passed over."""
        if isinstance(command, Subscribe):
            name = command.destination or ""
            if len(self.subscriptions) >= SUBSCRIPTIONS:
                del self.subscriptions[next(iter(self.subscriptions))]
            self.subscriptions.pop(name, None)
            made = self.subscriptions[name] = Subscription(command.queue)
            self._tell(time, name, made, "subscribe")
            return
        if not isinstance(command, Cancel | Flush | Grant | SetFlowMode | Stop):
            return
        name = command.destination or ""
        found = self.subscriptions.get(name)
        if found is None:
            return
        flow = found.flow
        event = command.VERB.rpartition(".")[2]
        if isinstance(command, Grant):
            value = INFINITE if command.value is None else command.value
            flow.grant(command.unit or 0, value)
            unit = "byte" if command.unit == OCTET else "message"
            self._tell(time, name, found, event, unit, value, self._ended(found, time))
            return
        if isinstance(command, SetFlowMode):
            flow.set_mode(command.flow_mode or 0)
            self._tell(time, name, found, event)
            return
        stalled = self._ended(found, time, whatever=True)
        if isinstance(command, Stop):
            flow.stop()
        elif isinstance(command, Cancel):
            flow.stop()
            del self.subscriptions[name]
        elif id is not None and not flow.flushing:
            if len(self._flushes) >= SUBSCRIPTIONS:  # of subscriptions that were cancelled
                self._flushes.remove(next(iter(self._flushes)))
            flow.begin_flush(id)
            self._flushes[id] = name
        self._tell(time, name, found, event, stalled=stalled)

    def delivered(self, time: int, id: int | None, name: str, octets: int) -> str | None:
        """A transfer to the subscription: the queue that it is on, None unknown."""
        found = self.subscriptions.get(name)
        if found is None:
            return None
        flow = found.flow
        messages, bytes_ = flow.messages, flow.octets
        window = flow.mode == WINDOW_MODE
        if messages.limit == INFINITE and bytes_.limit == INFINITE:
            return found.queue
        if window and id is not None:
            if len(self._live) >= WINDOW_MESSAGES:
                oldest = next(iter(self._live))
                other, cost = self._live.remove(oldest)
                self._back(other, 1, cost)
            self._live[id] = (name, octets)
        had = found.stalled is None and messages.limit > messages.used and bytes_.limit > bytes_.used
        if window:
            messages.used += 1
            bytes_.used += octets
        else:
            flow.transfer(octets)
        if had and not (messages.available and bytes_.available):
            found.stalled = time
            self._tell(time, name, found, "exhausted")
        return found.queue

    def queue_of(self, name: str) -> str | None:
        """The queue that a subscription is on, None unknown."""
        found = self.subscriptions.get(name)
        return None if found is None else found.queue

    def deliveries(self, id: int, name: str, octets: Sequence[int]) -> bool:
        """As many transfers at once, the first as command `id`, if credit is left behind them: whether they were taken so."""
        found = self.subscriptions.get(name)
        if found is None:
            return True
        flow = found.flow
        messages, bytes_ = flow.messages, flow.octets
        if messages.limit == INFINITE and bytes_.limit == INFINITE:
            return True
        count, total = len(octets), sum(octets)
        if found.stalled is not None or messages.limit - messages.used <= count or bytes_.limit - bytes_.used <= total:
            return False
        if flow.mode == WINDOW_MODE:
            if len(self._live) + count > WINDOW_MESSAGES:
                return False
            self._live.run(id, [(name, each) for each in octets])
            messages.used += count
            bytes_.used += total
        else:
            messages.spend(count)
            bytes_.spend(total)
        return True

    def _back(self, name: str, messages: int, octets: int) -> Subscription | None:
        found = self.subscriptions.get(name)
        if found is not None:
            found.flow.give_back(messages, octets)
        return found

    def completed(self, ids: RangeSet, time: int) -> None:
        """The subscriber has completed transfers: windows move."""
        if not self._live:
            return
        moved: dict[str, list[int]] = {}
        for name, octets in self._live.take(ids):
            sums = moved.setdefault(name, [0, 0])
            sums[0] += 1
            sums[1] += octets
        for name, (messages, octets) in moved.items():
            found = self._back(name, messages, octets)
            since = None if found is None else found.stalled
            if found is not None and since is not None:
                stalled = self._ended(found, time)
                if found.stalled is None:
                    self._tell(time, name, found, "refilled", stalled=stalled)

    def carried_out(self, ids: RangeSet) -> None:
        """The deliverer has completed commands of the subscriber: flushes among them have taken credit away."""
        for id in self._flushes.among(ids) if self._flushes else ():
            found = self.subscriptions.get(self._flushes.remove(id))
            if found is not None:
                found.flow.end_flush(id)

    def end(self, time: int) -> None:
        """Nothing more is heard of the session."""
        for name, found in self.subscriptions.items():
            if found.stalled is not None:
                self._tell(time, name, found, "end", stalled=_passed(found.stalled, time))
        self.forget()

    def forget(self) -> None:
        """Something was lost: what credit there is is unknown until the next subscribe."""
        self.subscriptions.clear()
        self._live.clear()
        self._flushes.clear()

    def _ended(self, found: Subscription, time: int, whatever: bool = False) -> int | None:
        """For how long it had been stalled, if that is over now and the clock tells."""
        since = found.stalled
        if since is None or not (whatever or (found.flow.messages.available and found.flow.octets.available)):
            return None
        found.stalled = None
        return _passed(since, time)

    def _tell(
        self,
        time: int,
        name: str,
        found: Subscription,
        event: str,
        unit: str | None = None,
        value: int | None = None,
        stalled: int | None = None,
    ) -> None:
        flow = found.flow
        mode = "window" if flow.mode == WINDOW_MODE else "credit"
        credit = flow.messages.available, flow.octets.available
        self._rows.credit.append((time, *self._head, name, found.queue, event, unit, value, mode, *credit, stalled))


def _passed(since: int, time: int) -> int | None:
    """None where the capture's clock went back meanwhile."""
    return time - since if time >= since else None
