"""When to try again: delays that grow, with chance in them, and an end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import attrs

from amqp_sansio.errors import EncodeError


def _positive(instance: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not value >= 0:
        raise EncodeError(f"{type(instance).__name__}.{attribute.name}", f"0 or more, not {value!r}")


def _share(instance: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value <= 1:
        raise EncodeError(f"{type(instance).__name__}.{attribute.name}", f"0 to 1, not {value!r}")


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """How to come back after a loss.  Seconds; nothing waits for ever unless a setting says so."""

    attempts: int | None = 10
    """Attempts in a row before giving up; None: no such bound.  0: never."""
    first: float = attrs.field(default=0.1, validator=_positive)
    """The first delay."""
    factor: float = attrs.field(default=2.0, validator=_positive)
    """By how much each delay is longer than the one before."""
    longest: float = attrs.field(default=30.0, validator=_positive)
    """No delay is longer."""
    jitter: float = attrs.field(default=0.5, validator=_share)
    """The share of a delay that is left to chance: 0.5 is between half of it and all of it, so that not all come at once."""
    give_up: float | None = 300.0
    """Seconds after the loss from which on nobody tries again; None: no such bound."""

    def delays(self, chance: Callable[[], float], behind: float = 0.0) -> Iterator[float]:
        """The delays to wait before each attempt, until there are no more; `chance` gives numbers from 0 up to 1.

        They begin where they would go on behind one of `behind` seconds.
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
"""A lost connection stays lost."""
