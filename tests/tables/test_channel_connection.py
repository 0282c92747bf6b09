"""The opening of the older dialects: a client that waits, one that says all at once, and words out of turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.spec.connection import Tune, TuneOk
from amqp_sansio.tables import connection as words
from amqp_sansio.tables.channel_connection import COUNT, HIGHEST, INTERVAL, PIPELINED
from amqp_sansio.tables.connection import CLIENT, SERVER, ConnectionDialogue

HEADER = (CLIENT, words.PROTOCOL_HEADER)
ASKED = [(CLIENT, words.START_OK), (CLIENT, words.TUNE_OK), (CLIENT, words.OPEN), (CLIENT, words.SESSION)]
ANSWERED = [(SERVER, words.START), (SERVER, words.TUNE), (SERVER, words.OPEN_OK)]


@pytest.mark.parametrize(
    "said",
    [
        [HEADER, ANSWERED[0], ASKED[0], ANSWERED[1], *ASKED[1:3], ANSWERED[2], (SERVER, words.SESSION), ASKED[3]],
        [HEADER, *ASKED, *ANSWERED],
        [HEADER, (SERVER, words.START), (CLIENT, words.START_OK), (SERVER, words.SECURE), (CLIENT, words.SECURE_OK),
         (SERVER, words.TUNE), *ASKED[1:], (SERVER, words.OPEN_OK)],
    ],
)  # fmt: skip
def test_openings(said: list[tuple[str, str]]) -> None:
    dialogue = ConnectionDialogue(rows=PIPELINED)
    assert [dialogue.said(*each) for each in said] == [None] * len(said)
    assert dialogue.state == "opening, open"


@pytest.mark.parametrize(
    "said",
    [
        [HEADER, (SERVER, words.PROTOCOL_HEADER)],
        [HEADER, (CLIENT, words.TUNE_OK)],
        [HEADER, (SERVER, words.TUNE)],
        [HEADER, (SERVER, words.START), (SERVER, words.START)],
        [HEADER, (SERVER, words.START), (CLIENT, words.START_OK), (CLIENT, words.SECURE_OK)],
        [HEADER, *ASKED, *ANSWERED, (CLIENT, words.OPEN)],
        [HEADER, *ASKED[:1], (CLIENT, words.SESSION)],
        [HEADER, *ASKED, (SERVER, words.SESSION)],
        [HEADER, *ASKED, ANSWERED[0], (SERVER, words.SECURE), (CLIENT, words.SECURE_OK)],
        [HEADER, ASKED[0], ANSWERED[0], (SERVER, words.SECURE), ASKED[1]],
    ],
)
def test_words_out_of_turn(said: list[tuple[str, str]]) -> None:
    dialogue = ConnectionDialogue(rows=PIPELINED)
    refusals = [dialogue.said(*each) for each in said]
    assert refusals[:-1] == [None] * (len(said) - 1)
    assert refusals[-1] is not None


def test_another_version_is_all_that_a_server_says() -> None:
    dialogue = ConnectionDialogue(rows=PIPELINED)
    assert dialogue.said(*HEADER) is None
    assert dialogue.said(SERVER, words.OTHER_PROTOCOL_HEADER) is None
    assert dialogue.finished


def test_words_after_a_refusal_are_on_their_way() -> None:
    dialogue = ConnectionDialogue(rows=PIPELINED)
    said = [HEADER, ASKED[0], (SERVER, words.OTHER_PROTOCOL_HEADER), *ASKED[1:], (CLIENT, words.HEARTBEAT)]
    assert [dialogue.said(*each) for each in said] == [None] * len(said)
    assert dialogue.finished
    assert dialogue.said(*ASKED[0]) is not None
    assert dialogue.said(*ANSWERED[0]) is not None


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
