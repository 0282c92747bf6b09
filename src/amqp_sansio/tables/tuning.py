"""The rules of tune and tune-ok in 0-10, and the interface of other families' rules.

Both roles, their settings and the observer use them.  The rules are those of class connection; `smallest` is the frame size, in
octets, that every peer must accept (the framing's).
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
    """Returns an offer as the roles interpret it: 0 as a size, and as a lone heartbeat-max, counts as absent."""
    most = tune.heartbeat_max if tune.heartbeat_min is not None else tune.heartbeat_max or None
    return Tune(tune.channel_max or None, tune.max_frame_size or None, tune.heartbeat_min, most)


def heard_answer(tune_ok: TuneOk) -> TuneOk:
    """Returns an answer as the roles interpret it: 0 and an absent field both mean what was offered, and no heartbeats."""
    return TuneOk(tune_ok.channel_max or None, tune_ok.max_frame_size or None, tune_ok.heartbeat or None)


def broken_by_offer(tune: Tune, smallest: int) -> list[Broken]:
    """Returns the rules that an offer breaks."""
    broken = _too_small(tune.max_frame_size, smallest)
    low, high = tune.heartbeat_min, tune.heartbeat_max
    if high is not None:
        if low is None:
            broken.append(Broken("heartbeat-max.no-heartbeat-min", "heartbeat-max", high, "heartbeat-min with it"))
        elif high < low:
            broken.append(Broken("heartbeat-max.permitted-range", "heartbeat-max", high, f"at least {low}"))
    return broken


def broken_by_answer(offer: Tune, answer: TuneOk, smallest: int) -> list[Broken]:
    """Returns the rules that an answer to this offer breaks."""
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
    """Returns the heartbeat interval, in seconds, of a client that wants this one; 0: none, as where the server offers none."""
    low, high = offer.heartbeat_min, offer.heartbeat_max
    if not wanted or low is None:
        return 0
    interval = max(wanted, low)
    return interval if high is None else min(interval, high)


def said_offer(offer: Tune) -> Tune:
    """Returns the tune of a server with these settings; all fields are set, because C++ clients read an absent one as 0 and
    answer 0."""
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
"""Heartbeats within a range that the server offers."""


class Numbering(NamedTuple):
    """What channel-max counts.

    `highest(channel_max, strict)` is the highest channel number, and `rule` the one that a higher number breaks; `counted`:
    channel-max is how many channels may be open at a time, with any numbers.
    """

    highest: Callable[[int, bool], int]
    rule: str
    counted: bool = False


BELOW: Final = Numbering(lambda most, strict: most - 1, "connection.tune-ok.channel-max.available-channels")
"""Channels are numbered from 0 to channel-max - 1."""
