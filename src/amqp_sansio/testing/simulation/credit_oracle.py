"""An upper bound of the credit that a client has granted a subscription, computed independently of the engine."""

from __future__ import annotations

from typing import Final

from amqp_sansio.testing.simulation.fault import CREDIT, demand

ENDLESS: Final = 0xFFFFFFFF
_MESSAGES: Final = 0
_OCTETS: Final = 1
_NAMES: Final = ("messages", "octets")


class Allowance:
    """Credit of one destination in both units.  `window`: completions give back what they cost."""

    def __init__(self, destination: str, window: bool) -> None:
        self.destination: Final = destination
        self.window: Final = window
        self.limits = [0, 0]
        self.used = [0, 0]
        self.ending: Final[dict[int, list[int]]] = {}
        """By command id of a stop or flush under way: what was granted since."""
        self.replayed: Final[set[int]] = set()
        """Those of them that were under way when the session was resumed: what was sent before them may come behind."""
        self.grace = [0, 0]
        """Credit of before such a stop or flush, which those late messages may still use."""
        self.came: Final[dict[int, int]] = {}
        """By command id of a stop or flush under way: how many messages came since."""
        self.doubtful = 0
        """How many of those the other side may have sent of the credit that was granted behind the stop or flush."""

    def grant(self, messages: int, octets: int = ENDLESS) -> None:
        """The client grants more."""
        for limits in (self.limits, *self.ending.values()):
            limits[_MESSAGES] += messages
            limits[_OCTETS] = ENDLESS if ENDLESS in (octets, limits[_OCTETS]) else limits[_OCTETS] + octets

    def transfer(self, octets: int) -> None:
        """A message came.  Fault when nothing allowed it."""
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
        """A message is complete."""
        if self.window:
            self.used[_MESSAGES] = max(0, self.used[_MESSAGES] - 1)
            self.used[_OCTETS] = max(0, self.used[_OCTETS] - octets)

    def end(self, id: int) -> None:
        """The client sends a stop or flush, with that command id."""
        self.ending[id] = [0, 0]
        self.came[id] = 0

    def ended(self, id: int) -> None:
        """That command is complete: what credit there was before it is gone."""
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
        """The session was resumed: the other side sends again what got lost."""
        self.replayed.update(self.ending)

    @property
    def left(self) -> int:
        """How many messages may come for certain, whatever their size; 0 while a stop or flush is under way."""
        if self.ending or self.limits[_OCTETS] != ENDLESS:
            return 0
        return max(0, self.limits[_MESSAGES] - self.used[_MESSAGES] - self.doubtful)
