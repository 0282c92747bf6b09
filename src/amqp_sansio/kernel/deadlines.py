"""Moments on the caller's clock, in seconds; None is a moment that never comes."""

from __future__ import annotations


def earliest(*moments: float | None) -> float | None:
    """The first of `moments`; None when none of them ever comes."""
    first: float | None = None
    for moment in moments:
        if moment is not None and (first is None or moment < first):
            first = moment
    return first
