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


class Flow:
    """The credit of one destination in both units, and its mode.

    message.flush zeroes the credit that was there when it was said, once it is executed; credit granted in between stays.
    Grants after a flush are therefore remembered until `end_flush`.
    """

    __slots__ = ("_flushes", "messages", "mode", "octets")

    def __init__(self, mode: int = WINDOW_MODE) -> None:
        self.mode = mode
        self.messages: Final = Credit()
        self.octets: Final = Credit()
        # For each flush under way, in order: the id of its command, and the credit granted since in messages and octets.
        self._flushes: list[tuple[int, Credit, Credit]] = []

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
        for _, messages, octets in self._flushes:
            (octets if unit == OCTET else messages).grant(value)

    def stop(self) -> None:
        """message.stop: no credit, in flight flushes included."""
        self.messages.stop()
        self.octets.stop()
        for _, messages, octets in self._flushes:
            messages.stop()
            octets.stop()

    def begin_flush(self, id: int) -> None:
        """message.flush with this command id was said."""
        self._flushes.append((id, Credit(), Credit()))

    def end_flush(self, id: int) -> None:
        """The flush was executed: what credit was there before it is gone."""
        for at, (flush, messages, octets) in enumerate(self._flushes):
            if flush == id:
                self.messages.limit = min(self.messages.limit, messages.limit)
                self.octets.limit = min(self.octets.limit, octets.limit)
                del self._flushes[at]
                return

    def set_mode(self, mode: int) -> None:
        """message.set-flow-mode: what is available stays, what is used is forgotten."""
        if mode != self.mode:
            for credit in (self.messages, self.octets):
                credit.limit = credit.available
                credit.used = 0
            self.mode = mode

    @property
    def flushing(self) -> bool:
        """Whether a flush is under way."""
        return bool(self._flushes)

    @property
    def ends_empty(self) -> bool:
        """Whether there is no credit in either unit but what the flushes under way take away."""
        if not self._flushes:
            return self.empty
        limits = [(messages.limit, octets.limit) for _, messages, octets in self._flushes]
        limits.append((self.messages.limit, self.octets.limit))
        return all(
            min([limit[unit] for limit in limits]) <= credit.used for unit, credit in enumerate((self.messages, self.octets))
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
            tuple([(id, messages.limit, octets.limit) for id, messages, octets in self._flushes]),
        )

    @classmethod
    def restore(
        cls, mode: int, messages: tuple[int, int], octets: tuple[int, int], flushes: tuple[tuple[int, int, int], ...]
    ) -> Flow:
        """The flow that `snapshot` described."""
        flow = cls(mode)
        flow.messages.limit, flow.messages.used = messages
        flow.octets.limit, flow.octets.used = octets
        flow._flushes = [(id, Credit(m), Credit(o)) for id, m, o in flushes]
        return flow
