"""What a server may offer in tune, and what a client may answer, in the older dialects: numbers of which 0 is no bound.

There is one heartbeat interval: the server says in tune what it wants, the client in tune-ok what counts.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.limits import MAX_CHANNELS
from amqp_sansio.spec.connection import Tune, TuneOk
from amqp_sansio.tables.tuning import Broken, Numbering, Tuning

MINIMUM: Final = "frame-max.minimum"
_NO_BOUND: Final = 1 << 32


def said_offer(offer: Tune) -> Tune:
    """What a server with these settings says: the longest interval of its range, else the shortest; 0 without a range."""
    low, high = offer.heartbeat_min, offer.heartbeat_max
    return Tune(offer.channel_max, offer.max_frame_size, None, 0 if low is None else low if high is None else high)


def heard_offer(tune: Tune) -> Tune:
    """An offer as roles take it: 0 says nothing."""
    return Tune(tune.channel_max or None, tune.max_frame_size or None, None, tune.heartbeat_max or None)


def heard_answer(tune_ok: TuneOk) -> TuneOk:
    """An answer as roles take it, behind `broken_by_answer`: 0 stands where nothing was bounded."""
    return TuneOk(tune_ok.channel_max or None, tune_ok.max_frame_size or None, tune_ok.heartbeat)


def broken_by_offer(tune: Tune, smallest: int) -> list[Broken]:
    """The rules that an offer breaks."""
    return _too_small(tune.max_frame_size, smallest)


def broken_by_answer(offer: Tune, answer: TuneOk, smallest: int) -> list[Broken]:
    """The rules that an answer to such an offer breaks: 0, no bound, is more than any number."""
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
    """The heartbeat interval, in seconds: the lower one of both, or the other one where one is 0; 0: none."""
    offered = offer.heartbeat_max or 0
    return min(wanted, offered) or max(wanted, offered)


INTERVAL: Final = Tuning(said_offer, heard_offer, heard_answer, broken_by_offer, broken_by_answer, interval_agreed)
"""Heartbeats come in one interval."""

_RULE: Final = "connection.tune-ok.channel-max"
_TOP: Final = MAX_CHANNELS - 1


def _highest(channel_max: int, strict: bool) -> int:
    """aiormq opens channel 65535 whatever was agreed on, and RabbitMQ counts those that are open."""
    return channel_max if strict else _TOP


HIGHEST: Final = Numbering(_highest, _RULE)
"""Channels have the numbers from 1 to channel-max."""
COUNT: Final = Numbering(lambda channel_max, strict: _TOP, _RULE, counted=True)
"""As many channels may be open at a time, whatever their numbers."""
