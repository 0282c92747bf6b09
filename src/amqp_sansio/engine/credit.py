"""Credit as arithmetic: what one side may transfer to one destination of the other, in messages and in octets.

In window mode credit is a limit and a used count, not a balance: a transfer uses, its completion gives back what it used,
and stop takes the limit away without forgetting what is used.  In credit mode a transfer lowers the limit for good.
"""

from __future__ import annotations

from typing import Final, TypeAlias

INFINITE: Final = 0xFFFFFFFF
"""Credit without end, as message.flow says it (an absent value says the same)."""
MOST: Final = INFINITE - 1
"""The most finite credit; more saturates here and never wraps."""

CREDIT_MODE: Final = 0
WINDOW_MODE: Final = 1
MESSAGE: Final = 0
OCTET: Final = 1


Mark: TypeAlias = tuple[int, int]
"""What was granted up to a moment, and the number of that moment."""

FlowState: TypeAlias = tuple[int, tuple[int, int], tuple[int, int], tuple[tuple[int, int, int], ...]]
"""A Flow as a plain value: mode, (limit, used) of messages and of octets, flushes under way."""


class Credit:
    """Credit in one unit.  `limit` and `used` are at least 0; `limit` is INFINITE or at most MOST."""

    __slots__ = ("limit", "used")

    def __init__(self, limit: int = 0, used: int = 0) -> None:
        self.limit = limit
        self.used = used

    @property
    def available(self) -> int:
        """What may still be sent: INFINITE, or 0 to MOST."""
        if self.limit == INFINITE:
            return INFINITE
        return max(0, self.limit - self.used)

    def allows(self, cost: int) -> bool:
        """Whether `cost` may be sent now."""
        return self.limit == INFINITE or self.used + cost <= self.limit

    def grant(self, value: int) -> None:
        """Adds `value`; INFINITE stays and is reached by adding INFINITE, all else saturates at MOST."""
        if self.limit == INFINITE or value == INFINITE:
            self.limit = INFINITE
        else:
            self.limit = min(MOST, self.limit + value)

    def stop(self) -> None:
        """Takes all credit away, infinite credit too; what is used stays used."""
        self.limit = 0

    def spend(self, cost: int) -> None:
        """A transfer in credit mode: what it costs is gone for good."""
        if self.limit != INFINITE:
            self.limit = max(0, self.limit - cost)

    def use(self, cost: int) -> None:
        """A transfer in window mode: its cost is used until its completion."""
        self.used += cost

    def give_back(self, cost: int) -> None:
        """A completion in window mode."""
        self.used = max(0, self.used - cost)


class Grants:
    """What was granted in one unit since each of several moments, at the cost of one number for each grant."""

    __slots__ = ("_floor", "_infinite", "_moment", "_total")

    def __init__(self) -> None:
        self._total = 0
        self._moment = 0
        self._infinite = -1  # the moment of the last infinite grant
        self._floor: Mark = 0, -1  # the total and the moment of the last stop

    def grant(self, value: int) -> None:
        """As `Credit.grant`, for all of them."""
        if value == INFINITE:
            self._moment += 1
            self._infinite = self._moment
        else:
            self._total += value

    def stop(self) -> None:
        """As `Credit.stop`, for all of them."""
        self._moment += 1
        self._floor = self._total, self._moment

    def mark(self, granted: int = 0) -> Mark:
        """Now; or a moment since which so much was granted."""
        if granted == INFINITE:
            mark = self._total, self._moment
            self.grant(INFINITE)
            return mark
        self._moment += 1
        return self._total - granted, self._moment

    def since(self, mark: Mark) -> int:
        """What was granted since then: INFINITE, or at most MOST."""
        total, moment = mark
        floor, stopped = self._floor
        if self._infinite > max(moment, stopped):
            return INFINITE
        return min(MOST, self._total - (floor if stopped > moment else total))


class Flow:
    """The credit of one destination in both units, and its mode.

    message.flush zeroes the credit that was there when it was said, once it is executed; credit granted in between stays.
    Grants after a flush are therefore remembered until `end_flush`.
    """

    __slots__ = ("_flushes", "_message_grants", "_octet_grants", "messages", "mode", "octets", "switches")

    def __init__(self, mode: int = WINDOW_MODE) -> None:
        self.mode = mode
        self.messages: Final = Credit()
        self.octets: Final = Credit()
        self.switches = 0
        """How often the mode changed: what was used before is forgotten."""
        # For each flush under way, by the id of its command: since when credit counts that was granted in messages and octets.
        self._flushes: dict[int, tuple[Mark, Mark]] = {}
        self._message_grants: Final = Grants()
        self._octet_grants: Final = Grants()

    def allows(self, octets: int) -> bool:
        """Whether one message that costs so many octets may be sent now."""
        return self.messages.allows(1) and self.octets.allows(octets)

    def transfer(self, octets: int) -> None:
        """One message that costs so many octets was sent."""
        if self.mode == WINDOW_MODE:
            self.messages.used += 1
            self.octets.used += octets
        else:
            self.messages.spend(1)
            self.octets.spend(octets)

    def complete(self, messages: int, octets: int) -> None:
        """So many messages of so many octets together were completed (only in window mode does that matter)."""
        if self.mode == WINDOW_MODE:
            self.messages.give_back(messages)
            self.octets.give_back(octets)

    def grant(self, unit: int, value: int) -> None:
        """message.flow."""
        (self.octets if unit == OCTET else self.messages).grant(value)
        if self._flushes:
            (self._octet_grants if unit == OCTET else self._message_grants).grant(value)

    def stop(self) -> None:
        """message.stop: no credit, in flight flushes included."""
        self.messages.stop()
        self.octets.stop()
        if self._flushes:
            self._message_grants.stop()
            self._octet_grants.stop()

    def begin_flush(self, id: int) -> None:
        """message.flush with this command id was said."""
        self._flushes[id] = self._message_grants.mark(), self._octet_grants.mark()

    def end_flush(self, id: int) -> None:
        """The flush was executed: what credit was there before it is gone."""
        marks = self._flushes.pop(id, None)
        if marks is not None:
            self.messages.limit = min(self.messages.limit, self._message_grants.since(marks[0]))
            self.octets.limit = min(self.octets.limit, self._octet_grants.since(marks[1]))

    def set_mode(self, mode: int) -> None:
        """message.set-flow-mode: what is available stays, what is used is forgotten."""
        if mode != self.mode:
            for credit in (self.messages, self.octets):
                credit.limit = credit.available
                credit.used = 0
            self.mode = mode
            self.switches += 1

    @property
    def flushing(self) -> bool:
        """Whether a flush is under way."""
        return bool(self._flushes)

    @property
    def ends_empty(self) -> bool:
        """Whether there is no credit in either unit but what the flushes under way take away."""
        if not self._flushes:
            return self.empty
        messages, octets = next(reversed(self._flushes.values()))  # since the last one the least was granted
        return (
            min(self.messages.limit, self._message_grants.since(messages)) <= self.messages.used
            and min(self.octets.limit, self._octet_grants.since(octets)) <= self.octets.used
        )

    @property
    def empty(self) -> bool:
        """Whether there is no credit in either unit, which set-flow-mode requires."""
        return not self.messages.available and not self.octets.available

    def snapshot(self) -> FlowState:
        """A plain value; see `restore`."""
        return (
            self.mode,
            (self.messages.limit, self.messages.used),
            (self.octets.limit, self.octets.used),
            tuple(
                [
                    (id, self._message_grants.since(messages), self._octet_grants.since(octets))
                    for id, (messages, octets) in self._flushes.items()
                ]
            ),
        )

    @classmethod
    def restore(
        cls, mode: int, messages: tuple[int, int], octets: tuple[int, int], flushes: tuple[tuple[int, int, int], ...]
    ) -> Flow:
        """The flow that `snapshot` described."""
        flow = cls(mode)
        flow.messages.limit, flow.messages.used = messages
        flow.octets.limit, flow.octets.used = octets
        marks: list[dict[int, Mark]] = []
        for grants, unit in ((flow._message_grants, 1), (flow._octet_grants, 2)):
            marked = {flush[0]: grants.mark(flush[unit]) for flush in flushes if flush[unit] == INFINITE}
            marked |= {flush[0]: grants.mark(flush[unit]) for flush in flushes if flush[unit] != INFINITE}
            marks.append(marked)
        flow._flushes = {id: (marks[0][id], marks[1][id]) for id, _, _ in flushes}
        return flow
