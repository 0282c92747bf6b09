"""Moments on the caller's clock, in seconds; None is a moment that never comes."""

from __future__ import annotations

import math
from typing import Final

from amqp_sansio.errors import EncodeError

AT_ONCE: Final = -math.inf
"""The moment of what is due now, before the time is known: no clock shows less."""


def moment_of(now: object) -> float:
    """Returns the argument of `tick` as a float.  Raises EncodeError for anything but a finite number."""
    if type(now) is float and AT_ONCE < now < math.inf:  # nearly always
        return now
    if isinstance(now, (int, float)):
        try:
            moment = float(now)
        except OverflowError:
            pass
        else:
            if math.isfinite(moment):  # no clock shows an infinite moment, nor could a countdown start at one
                return moment
    raise EncodeError("tick", f"takes seconds of a monotonic clock, not {now!r:.80}")


def earliest(*moments: float | None) -> float | None:
    """Returns the earliest of `moments`; None when none of them ever comes."""
    first: float | None = None
    for moment in moments:
        if moment is not None and (first is None or moment < first):
            first = moment
    return first
