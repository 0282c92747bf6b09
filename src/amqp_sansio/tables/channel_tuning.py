"""The rules of tune and tune-ok in the older dialects, where the number 0 means no limit.

There is a single heartbeat interval: tune has the one that the server wants, tune-ok the one that applies.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.limits import MAX_CHANNELS
from amqp_sansio.spec.connection import Tune, TuneOk
from amqp_sansio.tables.tuning import Broken, Numbering, Tuning

MINIMUM: Final = "frame-max.minimum"
_NO_BOUND: Final = 1 << 32


def said_offer(offer: Tune) -> Tune:
    """Returns the tune of a server with these settings: the longest interval of its range, else the shortest; 0 without a
    range."""
    low, high = offer.heartbeat_min, offer.heartbeat_max
    return Tune(offer.channel_max, offer.max_frame_size, None, 0 if low is None else low if high is None else high)


def heard_offer(tune: Tune) -> Tune:
    """Returns an offer as the roles interpret it: 0 counts as absent."""
    return Tune(tune.channel_max or None, tune.max_frame_size or None, None, tune.heartbeat_max or None)


def heard_answer(tune_ok: TuneOk) -> TuneOk:
    """Returns an answer as the roles interpret it, after `broken_by_answer`: 0 appears where there was no limit."""
    return TuneOk(tune_ok.channel_max or None, tune_ok.max_frame_size or None, tune_ok.heartbeat)


def broken_by_offer(tune: Tune, smallest: int) -> list[Broken]:
    """Returns the rules that an offer breaks."""
    return _too_small(tune.max_frame_size, smallest)


def broken_by_answer(offer: Tune, answer: TuneOk, smallest: int) -> list[Broken]:
    """Returns the rules that an answer to this offer breaks; 0, no limit, exceeds any number."""
    broken = _too_small(answer.max_frame_size, smallest)
    for field, said, offered in (
        ("channel-max", answer.channel_max, offer.channel_max),
        ("frame-max", answer.max_frame_size, offer.max_frame_size),
    ):
        if offered and (said or _NO_BOUND) > offered:
            broken.append(Broken(f"{field}.upper-limit", field, said or 0, f"1 to {offered}"))
    return broken


def _too_small(size: int | None, smallest: int) -> list[Broken]:
    if not size or size >= smallest:
        return []
    return [Broken(MINIMUM, "frame-max", size, f"0 or at least {smallest}")]


def interval_agreed(wanted: int, offer: Tune) -> int:
    """Returns the heartbeat interval in seconds: the lower one of both, or the other one where one is 0; 0: none."""
    offered = offer.heartbeat_max or 0
    return min(wanted, offered) or max(wanted, offered)


INTERVAL: Final = Tuning(said_offer, heard_offer, heard_answer, broken_by_offer, broken_by_answer, interval_agreed)
"""Heartbeats with a single interval."""

_RULE: Final = "connection.tune-ok.channel-max"
_TOP: Final = MAX_CHANNELS - 1


def _highest(channel_max: int, strict: bool) -> int:
    """Returns the highest channel number: aiormq opens channel 65535 whatever was agreed, and RabbitMQ counts open channels."""
    return channel_max if strict else _TOP


HIGHEST: Final = Numbering(_highest, _RULE)
"""Channels are numbered from 1 to channel-max."""
COUNT: Final = Numbering(lambda channel_max, strict: _TOP, _RULE, counted=True)
"""At most channel-max channels may be open at a time, with any numbers."""
