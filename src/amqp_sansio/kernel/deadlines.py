"""Moments on the caller's clock, in seconds; None is a moment that never comes."""

from __future__ import annotations

import math
from typing import Final

from amqp_sansio.errors import EncodeError

AT_ONCE: Final = -math.inf
"""The moment of what should be done now, where nobody has said yet what time it is: no clock shows less."""


def moment_of(now: object) -> float:
    """The argument of `tick` as a float.  EncodeError for what is no moment."""
    if type(now) is float and AT_ONCE < now < math.inf:  # nearly always
        return now
    if isinstance(now, (int, float)):
        try:
            moment = float(now)
        except OverflowError:
            pass
        else:
            if math.isfinite(moment):  # neither does any clock show an infinite one, nor could a time begin at it
                return moment
    raise EncodeError("tick", f"takes seconds of a monotonic clock, not {now!r:.80}")


def earliest(*moments: float | None) -> float | None:
    """The first of `moments`; None when none of them ever comes."""
    first: float | None = None
    for moment in moments:
        if moment is not None and (first is None or moment < first):
            first = moment
    return first
