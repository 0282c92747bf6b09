"""When to reconnect: growing delays with random jitter, and a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import attrs

from amqp_sansio.errors.checks import checked, numbers


@attrs.frozen(kw_only=True, field_transformer=checked())
class RetryPolicy:
    """How to reconnect after a loss, in seconds; nothing waits for ever unless a setting says so."""

    attempts: int | None = 10
    """Consecutive attempts before giving up; None: no limit.  0: never reconnect."""
    first: float = 0.1
    """The first delay."""
    factor: float = 2.0
    """The growth of each delay over the one before."""
    longest: float = 30.0
    """The longest delay."""
    jitter: float = attrs.field(default=0.5, validator=numbers(0, 1))
    """The random share of a delay, so that not all clients come at once: with 0.5, between half of the delay and all of it."""
    give_up: float | None = 300.0
    """Seconds after the loss from which on no attempt is made; None: no limit."""

    def delays(self, chance: Callable[[], float], behind: float = 0.0) -> Iterator[float]:
        """Yields the delays before each attempt, until there are no more; `chance` returns random numbers in [0, 1).

        They continue after a previous delay of `behind` seconds.
        """
        delay, waited, attempt = min(max(self.first, behind * self.factor), self.longest), 0.0, 0
        while self.attempts is None or attempt < self.attempts:
            now = delay * (1 - self.jitter * chance())
            waited += now
            if self.give_up is not None and waited > self.give_up:
                return
            yield now
            attempt += 1
            delay = min(delay * self.factor, self.longest)


NEVER: Final = RetryPolicy(attempts=0)
"""No reconnecting: a lost connection stays lost."""
