"""Tests of amqp_sansio.tables.tuning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.spec.connection import Tune, TuneOk
from amqp_sansio.tables.tuning import (
    BELOW,
    RANGES,
    broken_by_answer,
    broken_by_offer,
    heard_answer,
    heard_offer,
    interval_agreed,
)

words = st.none() | st.integers(0, 65535)
offers = st.builds(Tune, words, words, words, words)


@given(offers, st.integers(0, 65535), st.integers(0, 65535), st.integers(0, 65535))
def test_what_a_client_agrees_to_breaks_no_rule(tune: Tune, channels: int, size: int, heartbeat: int) -> None:
    """Whatever a server offers by the rules, and whatever a client wants: an answer within the offer breaks none of them."""
    offer = heard_offer(tune)
    if broken_by_offer(offer, 4096):
        return
    said = interval_agreed(heartbeat, offer)
    answer = TuneOk(
        min(channels, offer.channel_max or 65535),
        min(max(size, 4096), offer.max_frame_size or 65535),
        said if said or offer.heartbeat_min == 0 else None,
    )
    assert broken_by_answer(offer, answer, 4096) == []


@pytest.mark.parametrize(
    ("offer", "rules"),
    [
        (Tune(0, 4096, 0, 0), []),
        (Tune(None, None, None, None), []),
        (Tune(1, 4095, 1, 2), ["max-frame-size.minimum"]),
        (Tune(1, 0, 1, 2), ["max-frame-size.minimum"]),
        (Tune(1, 4096, None, 0), ["heartbeat-max.no-heartbeat-min"]),
        (Tune(1, 4096, 3, 2), ["heartbeat-max.permitted-range"]),
        (Tune(1, 1, 3, 2), ["max-frame-size.minimum", "heartbeat-max.permitted-range"]),
    ],
)
def test_an_offer_breaks_these_rules(offer: Tune, rules: list[str]) -> None:
    assert [broken.rule for broken in broken_by_offer(offer, 4096)] == rules


@pytest.mark.parametrize(
    ("answer", "rules"),
    [
        (TuneOk(10, 8000, 5), []),
        (TuneOk(None, None, None), []),
        (TuneOk(10, 8000, 0), []),
        (TuneOk(11, 8001, 4), ["channel-max.upper-limit", "max-frame-size.upper-limit", "heartbeat.permitted-range"]),
        (TuneOk(1, 4095, 8), ["max-frame-size.minimum", "heartbeat.permitted-range"]),
    ],
)
def test_an_answer_breaks_these_rules(answer: TuneOk, rules: list[str]) -> None:
    assert [broken.rule for broken in broken_by_answer(Tune(10, 8000, 5, 7), answer, 4096)] == rules


def test_no_heartbeat_is_legal_where_none_was_offered() -> None:
    offer = Tune(10, 8000, None, None)
    assert [(broken.rule, broken.legal) for broken in broken_by_answer(offer, TuneOk(1, 4096, 9), 4096)] == [
        ("heartbeat.no-heartbeat-min", "no heartbeat")
    ]
    assert broken_by_answer(offer, TuneOk(1, 4096, 0), 4096) == []


@pytest.mark.parametrize(
    ("offer", "legal"),
    [(Tune(1, 1, 5, 7), "0 or 5 to 7"), (Tune(1, 1, 5, None), "0 or 5 to 65535"), (Tune(1, 1, 0, 7), "0 to 7")],
)
def test_the_error_of_a_heartbeat_names_the_range(offer: Tune, legal: str) -> None:
    beat = 65536 if offer.heartbeat_max is None else 8
    answer = TuneOk(1, None, 4 if offer.heartbeat_max is None else beat)
    assert [broken.legal for broken in broken_by_answer(offer, answer, 4096)] == [legal]


def test_roles_take_nought_for_nothing_said() -> None:
    assert heard_offer(Tune(0, 0, None, 0)) == Tune(None, None, None, None)
    assert heard_offer(Tune(7, 4096, 5, 0)) == Tune(7, 4096, 5, 0)
    assert heard_answer(TuneOk(0, 0, 0)) == TuneOk(None, None, None)


@pytest.mark.parametrize(
    ("wanted", "least", "most", "agreed"),
    [(0, 5, 9, 0), (5, None, None, 0), (5, 0, None, 5), (5, 7, 9, 7), (20, 7, 9, 9), (8, 7, 9, 8)],
)
def test_the_interval_wanted_is_moved_into_the_range(wanted: int, least: int | None, most: int | None, agreed: int) -> None:
    assert interval_agreed(wanted, Tune(1, 1, least, most)) == agreed


def test_0_10_offers_as_it_is_set_and_numbers_channels_below_channel_max() -> None:
    offer = Tune(7, 4096, 1, 2)
    assert RANGES.said_offer(offer) is offer
    assert [BELOW.highest(10, strict) for strict in (True, False)] == [9, 9]
