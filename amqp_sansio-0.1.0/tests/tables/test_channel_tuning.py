"""Tests of amqp_sansio.tables.channel_tuning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.spec.connection import Tune, TuneOk
from amqp_sansio.tables.channel_tuning import COUNT, HIGHEST, INTERVAL

shorts = st.integers(0, 65535)


@given(shorts, st.integers(0, 1 << 32), shorts, st.integers(1, 65535), st.integers(4096, 1 << 32), shorts)
def test_what_a_client_agrees_to_breaks_no_rule(
    channels: int, size: int, beat: int, wanted_channels: int, wanted_size: int, wanted_beat: int
) -> None:
    """Whatever a server offers by the rules, and whatever a client wants: the lower of both breaks none of them."""
    said = Tune(channels, size, None, beat)
    if INTERVAL.broken_by_offer(said, 4096):
        return
    offer = INTERVAL.heard_offer(said)
    answer = TuneOk(
        min(wanted_channels, offer.channel_max or wanted_channels), min(wanted_size, offer.max_frame_size or wanted_size),
        INTERVAL.interval_agreed(wanted_beat, offer),
    )  # fmt: skip
    assert INTERVAL.broken_by_answer(said, answer, 4096) == []


@pytest.mark.parametrize(
    ("wanted", "offered", "agreed"),
    [(0, 0, 0), (0, 60, 60), (60, 0, 60), (10, 60, 10), (60, 10, 10), (7, 7, 7), (5, None, 5)],
)
def test_the_lower_interval_counts_or_the_other_one_where_one_is_0(wanted: int, offered: int | None, agreed: int) -> None:
    assert INTERVAL.interval_agreed(wanted, Tune(1, 1, None, offered)) == agreed


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0, 120, 120), (5, 120, 120), (5, None, 5), (0, None, 0), (None, None, 0), (None, 7, 0)]
)
def test_a_server_says_the_longest_interval_of_its_range(low: int | None, high: int | None, said: int) -> None:
    assert INTERVAL.said_offer(Tune(10, 4096, low, high)) == Tune(10, 4096, None, said)


@pytest.mark.parametrize(("size", "broken"), [(0, False), (1, True), (4095, True), (4096, False), (None, False)])
def test_sizes_below_what_everybody_must_accept(size: int | None, broken: bool) -> None:
    said = [each.rule for each in INTERVAL.broken_by_offer(Tune(1, size), 4096)]
    assert said == (["frame-max.minimum"] if broken else [])
    said = [each.rule for each in INTERVAL.broken_by_answer(Tune(0, 0), TuneOk(0, size, 9), 4096)]
    assert said == (["frame-max.minimum"] if broken else [])


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        (TuneOk(2047, 8000, 0), []),
        (TuneOk(2048, 8000, 0), ["channel-max"]),
        (TuneOk(2047, 8001, 65535), ["frame-max"]),
        (TuneOk(0, 0, 0), ["channel-max", "frame-max"]),
        (TuneOk(None, None, None), ["channel-max", "frame-max"]),
    ],
)
def test_no_bound_is_more_than_any_number(answer: TuneOk, fields: list[str]) -> None:
    for heard in (answer, INTERVAL.heard_answer(answer)):
        assert [each.field for each in INTERVAL.broken_by_answer(Tune(2047, 8000), heard, 4096)] == fields
        assert INTERVAL.broken_by_answer(Tune(0, 0), heard, 4096) == []


def test_roles_take_nought_for_nothing_said() -> None:
    assert INTERVAL.heard_offer(Tune(0, 0, None, 0)) == Tune(None, None, None, None)
    assert INTERVAL.heard_offer(Tune(7, 4096, None, 5)) == Tune(7, 4096, None, 5)
    assert INTERVAL.heard_answer(TuneOk(0, 0, 0)) == TuneOk(None, None, 0)


def test_what_channel_max_counts() -> None:
    assert [HIGHEST.highest(2047, strict) for strict in (True, False)] == [2047, 65535]
    assert [COUNT.highest(2047, strict) for strict in (True, False)] == [65535, 65535]
    assert (HIGHEST.counted, COUNT.counted) == (False, True)
