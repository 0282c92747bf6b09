"""An upper bound of the credit that a client has granted a subscription, computed independently of the engine."""

from __future__ import annotations

from typing import Final

from amqp_sansio.testing.simulation.outcome import CREDIT, demand

ENDLESS: Final = 0xFFFFFFFF
_MESSAGES: Final = 0
_OCTETS: Final = 1
_NAMES: Final = ("messages", "octets")


class Allowance:
    """The credit of one destination in both units.  With `window`, a completion returns the credit that its message used."""

    def __init__(self, destination: str, window: bool) -> None:
        self.destination: Final = destination
        self.window: Final = window
        self.limits = [0, 0]
        self.used = [0, 0]
        self.ending: Final[dict[int, list[int]]] = {}
        """The credit granted since each pending stop or flush, by its command id."""
        self.replayed: Final[set[int]] = set()
        """Those pending at a resumption: messages sent before them may still arrive."""
        self.grace = [0, 0]
        """Credit from before a stop or flush in `replayed`, which messages sent before it may still use."""
        self.came: Final[dict[int, int]] = {}
        """The number of messages that arrived since each pending stop or flush, by its command id."""
        self.doubtful = 0
        """How many of those may have used credit granted after the stop or flush."""

    def grant(self, messages: int, octets: int = ENDLESS) -> None:
        """Adds credit that the client grants."""
        for limits in (self.limits, *self.ending.values()):
            limits[_MESSAGES] += messages
            limits[_OCTETS] = ENDLESS if ENDLESS in (octets, limits[_OCTETS]) else limits[_OCTETS] + octets

    def transfer(self, octets: int) -> None:
        """Counts a message that arrived.  Raises Fault when no credit allowed it."""
        for id in self.came:
            self.came[id] += 1
        for unit, cost in ((_MESSAGES, 1), (_OCTETS, octets)):
            limit = self.limits[unit]
            if limit == ENDLESS:
                continue
            if self.used[unit] + cost > limit and cost <= self.grace[unit]:
                self.grace[unit] -= cost
                if self.window and unit == _MESSAGES:
                    self.doubtful += 1  # the other side counts it in the window
                continue
            demand(
                self.used[unit] + cost <= limit,
                CREDIT,
                f"{self.destination!r} was sent {cost} of {_NAMES[unit]}; {max(0, limit - self.used[unit])} of {limit} left",
            )
            if self.window:
                self.used[unit] += cost
            else:
                self.limits[unit] -= cost

    def complete(self, octets: int) -> None:
        """Records that a message is complete."""
        if self.window:
            self.used[_MESSAGES] = max(0, self.used[_MESSAGES] - 1)
            self.used[_OCTETS] = max(0, self.used[_OCTETS] - octets)

    def end(self, id: int) -> None:
        """Records a stop or flush that the client sends with this command id."""
        self.ending[id] = [0, 0]
        self.came[id] = 0

    def ended(self, id: int) -> None:
        """Records the completion of that command, which voids the credit from before it."""
        limits = self.ending.pop(id, None)
        if limits is not None:
            came = self.came.pop(id)
            self.doubtful = 0 if self.window else came
            if id in self.replayed:
                self.replayed.discard(id)
                self.grace = [
                    had + max(0, now - used) for had, now, used in zip(self.grace, self.limits, self.used, strict=True)
                ]
            self.limits = [min(now, since) for now, since in zip(self.limits, limits, strict=True)]

    def resumed(self) -> None:
        """Records that the session was resumed: the other side replays what was lost."""
        self.replayed.update(self.ending)

    @property
    def left(self) -> int:
        """How many messages of any size the credit certainly allows; 0 while a stop or flush is pending."""
        if self.ending or self.limits[_OCTETS] != ENDLESS:
            return 0
        return max(0, self.limits[_MESSAGES] - self.used[_MESSAGES] - self.doubtful)
