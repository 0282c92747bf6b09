"""When to reconnect: growing delays with random jitter, and a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs

from amqp_sansio.errors import EncodeError


def _positive(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not (isinstance(value, int | float) and value >= 0):
        raise EncodeError(f"{type(instance).__name__}.{attribute.name}", f"0 or more, not {value!r}")


def _limit(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None:
        _positive(instance, attribute, value)


def _share(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not (isinstance(value, int | float) and 0 <= value <= 1):
        raise EncodeError(f"{type(instance).__name__}.{attribute.name}", f"0 to 1, not {value!r}")


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """How to reconnect after a loss, in seconds; nothing waits for ever unless a setting says so."""

    attempts: int | None = attrs.field(default=10, validator=_limit)
    """Consecutive attempts before giving up; None: no limit.  0: never reconnect."""
    first: float = attrs.field(default=0.1, validator=_positive)
    """The first delay."""
    factor: float = attrs.field(default=2.0, validator=_positive)
    """The growth of each delay over the one before."""
    longest: float = attrs.field(default=30.0, validator=_positive)
    """The longest delay."""
    jitter: float = attrs.field(default=0.5, validator=_share)
    """The random share of a delay, so that not all clients come at once: with 0.5, between half of the delay and all of it."""
    give_up: float | None = attrs.field(default=300.0, validator=_limit)
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
