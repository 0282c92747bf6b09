"""What a server may offer in tune, and what a client may answer: 0-10's rules, and the form that those of others have.

Both roles, their settings and the observer ask here.  The rules are those of class connection; `smallest` is the size of a
frame, in octets, that everybody must accept (the framing's).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from amqp_sansio.spec.connection import Tune, TuneOk

_TOP = 65535


class Broken(NamedTuple):
    """A rule that a tune or tune-ok breaks: "heartbeat-max.permitted-range"; `field` is the word that breaks it."""

    rule: str
    field: str
    said: int
    legal: str


def heard_offer(tune: Tune) -> Tune:
    """An offer as roles take it: 0 for a size, and for a heartbeat-max alone, says nothing."""
    most = tune.heartbeat_max if tune.heartbeat_min is not None else tune.heartbeat_max or None
    return Tune(tune.channel_max or None, tune.max_frame_size or None, tune.heartbeat_min, most)


def heard_answer(tune_ok: TuneOk) -> TuneOk:
    """An answer as roles take it: 0 and nothing mean the same, what was offered and no heartbeats."""
    return TuneOk(tune_ok.channel_max or None, tune_ok.max_frame_size or None, tune_ok.heartbeat or None)


def broken_by_offer(tune: Tune, smallest: int) -> list[Broken]:
    """The rules that an offer breaks."""
    broken = _too_small(tune.max_frame_size, smallest)
    low, high = tune.heartbeat_min, tune.heartbeat_max
    if high is not None:
        if low is None:
            broken.append(Broken("heartbeat-max.no-heartbeat-min", "heartbeat-max", high, "heartbeat-min with it"))
        elif high < low:
            broken.append(Broken("heartbeat-max.permitted-range", "heartbeat-max", high, f"at least {low}"))
    return broken


def broken_by_answer(offer: Tune, answer: TuneOk, smallest: int) -> list[Broken]:
    """The rules that an answer to such an offer breaks."""
    broken: list[Broken] = []
    for field, said, offered in (
        ("channel-max", answer.channel_max, offer.channel_max),
        ("max-frame-size", answer.max_frame_size, offer.max_frame_size),
    ):
        if said is not None and offered is not None and said > offered:
            broken.append(Broken(f"{field}.upper-limit", field, said, f"at most {offered}"))
    broken += _too_small(answer.max_frame_size, smallest)
    beat, low, high = answer.heartbeat, offer.heartbeat_min, offer.heartbeat_max
    if beat:
        if (low is not None and beat < low) or (high is not None and beat > high):
            legal = f"{f'0 or {low}' if low else 0} to {_TOP if high is None else high}"
            broken.append(Broken("heartbeat.permitted-range", "heartbeat", beat, legal))
        elif low is None:
            broken.append(Broken("heartbeat.no-heartbeat-min", "heartbeat", beat, "no heartbeat"))
    return broken


def _too_small(size: int | None, smallest: int) -> list[Broken]:
    if size is None or size >= smallest:
        return []
    return [Broken("max-frame-size.minimum", "max-frame-size", size, f"at least {smallest}")]


def interval_agreed(wanted: int, offer: Tune) -> int:
    """The heartbeat interval, in seconds, of a client that wants this one; 0: none, as where the server offers none."""
    low, high = offer.heartbeat_min, offer.heartbeat_max
    if not wanted or low is None:
        return 0
    interval = max(wanted, low)
    return interval if high is None else min(interval, high)


def said_offer(offer: Tune) -> Tune:
    """What a server with these settings says: C++ clients take an absent field for 0 and answer with 0."""
    return offer


class Tuning(NamedTuple):
    """The rules of tune in one family of dialects; see the functions of this module, which are 0-10's."""

    said_offer: Callable[[Tune], Tune]
    heard_offer: Callable[[Tune], Tune]
    heard_answer: Callable[[TuneOk], TuneOk]
    broken_by_offer: Callable[[Tune, int], list[Broken]]
    broken_by_answer: Callable[[Tune, TuneOk, int], list[Broken]]
    interval_agreed: Callable[[int, Tune], int]


RANGES: Final = Tuning(said_offer, heard_offer, heard_answer, broken_by_offer, broken_by_answer, interval_agreed)
"""Heartbeats lie in a range that the server offers."""


class Numbering(NamedTuple):
    """What channel-max counts.

    `highest(channel_max, strict)` is the highest number of a channel, and `rule` the one that a higher one breaks; `counted`
    tells that channel-max is how many may be open at a time, whatever their numbers.
    """

    highest: Callable[[int, bool], int]
    rule: str
    counted: bool = False


BELOW: Final = Numbering(lambda most, strict: most - 1, "connection.tune-ok.channel-max.available-channels")
"""Channels have the numbers from 0 to channel-max - 1."""
