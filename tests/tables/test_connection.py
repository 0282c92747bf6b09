"""The rows of a connection's life."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.spec.connection import Tune, TuneOk
from amqp_sansio.tables import connection
from amqp_sansio.tables.connection import (
    BELOW,
    CLOSE,
    CLOSE_OK,
    HANDSHAKE,
    OTHER_PROTOCOL_HEADER,
    RANGES,
    SESSION,
    SESSIONS,
    SPEAKERS,
    CloseCodes,
    ConnectionDialogue,
    Handshake,
)

OPENING = [
    "client:protocol-header",
    "server:protocol-header",
    "server:connection.start",
    "client:connection.start-ok",
    "server:connection.secure",
    "client:connection.secure-ok",
    "server:connection.tune",
    "client:connection.tune-ok",
    "client:connection.open",
    "server:connection.open-ok",
]
WORDS = sorted(
    {f"{row.speaker}:{row.verb}" for row in HANDSHAKE.rows}
    | {f"{speaker}:{verb}" for verb in SPEAKERS for speaker in ("client", "server")}
)


def hear(dialogue: ConnectionDialogue, *words: str) -> None:
    for word in words:
        speaker, _, verb = word.partition(":")
        refusal = dialogue.said(speaker, verb)
        assert refusal is None, refusal


def refused(dialogue: ConnectionDialogue, word: str) -> bool:
    before = dialogue.states
    speaker, _, verb = word.partition(":")
    refusal = dialogue.said(speaker, verb)
    if refusal is None:
        return False
    assert dialogue.states == before
    assert word not in refusal.legal
    return True


def opened() -> ConnectionDialogue:
    dialogue = ConnectionDialogue()
    hear(dialogue, *OPENING)
    return dialogue


def test_the_opening_with_and_without_challenges() -> None:
    assert opened().state == "open"
    dialogue = ConnectionDialogue()
    hear(dialogue, *[word for word in OPENING if "secure" not in word])
    assert dialogue.state == "open"
    again = ConnectionDialogue()
    hear(again, *OPENING[:4], *OPENING[4:6] * 40, *OPENING[6:])


@pytest.mark.parametrize("length", range(len(OPENING)))
def test_in_every_state_of_the_opening_only_its_rows_are_legal(length: int) -> None:
    dialogue = ConnectionDialogue()
    hear(dialogue, *OPENING[:length])
    legal = dialogue.legal
    assert OPENING[length] in legal
    for word in WORDS:
        copy = ConnectionDialogue(dialogue.states)
        assert refused(copy, word) == (word not in legal)


def test_nothing_of_a_session_before_open_ok() -> None:
    for length in range(len(OPENING)):
        dialogue = ConnectionDialogue()
        hear(dialogue, *OPENING[:length])
        assert refused(dialogue, f"client:{SESSION}")
        assert refused(dialogue, f"server:{SESSION}")
    hear(opened(), f"client:{SESSION}", f"server:{SESSION}")


def test_a_close_is_legal_from_both_sides_once_the_headers_agree() -> None:
    for length in range(len(OPENING) + 1):
        for speaker in ("client", "server"):
            dialogue = ConnectionDialogue()
            hear(dialogue, *OPENING[:length])
            assert refused(dialogue, f"{speaker}:{CLOSE}") == (length < 2)


def test_the_answered_close_ends_the_connection() -> None:
    dialogue = opened()
    hear(dialogue, "client:connection.close")
    assert dialogue.state == "closing"
    hear(dialogue, "server:session-traffic", "server:connection.close-ok")
    assert dialogue.state == "closed"
    assert dialogue.finished
    for word in WORDS:
        assert refused(dialogue, word) or word == f"client:{CLOSE_OK}"


def test_after_close_its_speaker_says_nothing_but_the_answer_to_a_crossing_close() -> None:
    dialogue = opened()
    hear(dialogue, "server:connection.close")
    for word in WORDS:
        if word.startswith("server"):
            assert refused(dialogue, word)
    hear(dialogue, "client:session-traffic", "client:connection.close", "server:connection.close-ok")
    assert dialogue.state == "closing"
    hear(dialogue, "client:connection.close-ok")
    assert dialogue.finished


def test_an_answer_to_no_close_is_refused() -> None:
    assert refused(opened(), "client:connection.close-ok")
    assert refused(opened(), "server:connection.close-ok")


def test_redirect_and_a_refused_version_end_the_talk() -> None:
    dialogue = ConnectionDialogue()
    hear(dialogue, *OPENING[:-1], "server:connection.redirect")
    assert dialogue.finished
    assert refused(dialogue, "server:session-traffic")
    mismatch = ConnectionDialogue()
    hear(mismatch, OPENING[0], f"server:{OTHER_PROTOCOL_HEADER}")
    assert mismatch.finished
    assert mismatch.legal == ()


def test_a_late_observer_finds_the_state_from_the_words() -> None:
    dialogue = ConnectionDialogue.unknown()
    hear(dialogue, "client:session-traffic", "server:session-traffic")
    assert dialogue.handshake.state == "open"
    hear(dialogue, "client:connection.close", "server:connection.close-ok")
    assert dialogue.close_by_client.state == "closed"
    assert refused(dialogue, "server:session-traffic")


# Whatever is said in whatever order, what is refused is never listed as legal, and what is listed is never refused.
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.booleans())
def test_legal_means_not_refused(words: list[str], late: bool) -> None:
    dialogue = ConnectionDialogue.unknown() if late else ConnectionDialogue()
    for word in words:
        legal = word in dialogue.legal
        assert refused(dialogue, word) != legal


# The states are the whole of a dialogue: another one that is made of them stands where it stands, whatever was said.
@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_a_dialogue_made_of_its_states_stands_where_it_stood(words: list[str]) -> None:
    dialogue = opened()
    for word in words:
        refused(dialogue, word)
        assert ConnectionDialogue(dialogue.states).states == dialogue.states


words = st.none() | st.integers(0, 65535)
offers = st.builds(Tune, words, words, words, words)


@given(offers, st.integers(0, 65535), st.integers(0, 65535), st.integers(0, 65535))
def test_what_a_client_agrees_to_breaks_no_rule(tune: Tune, channels: int, size: int, heartbeat: int) -> None:
    """Whatever a server offers by the rules, and whatever a client wants: an answer within the offer breaks none of them."""
    offer = RANGES.heard_offer(tune)
    if RANGES.broken_by_offer(offer, 4096):
        return
    said = RANGES.interval_agreed(heartbeat, offer)
    answer = TuneOk(
        min(channels, offer.channel_max or 65535),
        min(max(size, 4096), offer.max_frame_size or 65535),
        said if said or offer.heartbeat_min == 0 else None,
    )
    assert RANGES.broken_by_answer(offer, answer, 4096) == []


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
    assert [broken.rule for broken in RANGES.broken_by_offer(offer, 4096)] == rules


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
    assert [broken.rule for broken in RANGES.broken_by_answer(Tune(10, 8000, 5, 7), answer, 4096)] == rules


def test_no_heartbeat_is_legal_where_none_was_offered() -> None:
    offer = Tune(10, 8000, None, None)
    assert [(broken.rule, broken.legal) for broken in RANGES.broken_by_answer(offer, TuneOk(1, 4096, 9), 4096)] == [
        ("heartbeat.no-heartbeat-min", "no heartbeat")
    ]
    assert RANGES.broken_by_answer(offer, TuneOk(1, 4096, 0), 4096) == []


@pytest.mark.parametrize(
    ("offer", "legal"),
    [(Tune(1, 1, 5, 7), "0 or 5 to 7"), (Tune(1, 1, 5, None), "0 or 5 to 65535"), (Tune(1, 1, 0, 7), "0 to 7")],
)
def test_the_error_of_a_heartbeat_names_the_range(offer: Tune, legal: str) -> None:
    beat = 65536 if offer.heartbeat_max is None else 8
    answer = TuneOk(1, None, 4 if offer.heartbeat_max is None else beat)
    assert [broken.legal for broken in RANGES.broken_by_answer(offer, answer, 4096)] == [legal]


def test_roles_take_nought_for_nothing_said() -> None:
    assert RANGES.heard_offer(Tune(0, 0, None, 0)) == Tune(None, None, None, None)
    assert RANGES.heard_offer(Tune(7, 4096, 5, 0)) == Tune(7, 4096, 5, 0)
    assert RANGES.heard_answer(TuneOk(0, 0, 0)) == TuneOk(None, None, None)


@pytest.mark.parametrize(
    ("wanted", "least", "most", "agreed"),
    [(0, 5, 9, 0), (5, None, None, 0), (5, 0, None, 5), (5, 7, 9, 7), (20, 7, 9, 9), (8, 7, 9, 8)],
)
def test_the_interval_wanted_is_moved_into_the_range(wanted: int, least: int | None, most: int | None, agreed: int) -> None:
    assert RANGES.interval_agreed(wanted, Tune(1, 1, least, most)) == agreed


def test_0_10_offers_as_it_is_set_and_numbers_channels_below_channel_max() -> None:
    offer = Tune(7, 4096, 1, 2)
    assert RANGES.said_offer(offer) is offer
    assert [BELOW.highest(10, strict) for strict in (True, False)] == [9, 9]


def test_0_10_begins_and_ends_by_its_own_rows_and_codes() -> None:
    assert SESSIONS.greets
    assert SESSIONS.codes.legal == {200, 320, 402, 501}
    assert SESSIONS.dialogue().states == connection.ConnectionDialogue().states


def test_a_dialogue_runs_the_rows_of_its_dialect() -> None:
    """Its closes are those of every dialect."""
    rows = Table("short", "begun", [Row("begun", connection.CLIENT, connection.OPEN, "open")], final=["open"])
    codes = CloseCodes(frozenset({1}))
    dialogue = Handshake(rows, codes, codes, greets=False).dialogue()
    assert dialogue.said(connection.SERVER, connection.START) is not None
    assert dialogue.said(connection.CLIENT, connection.OPEN) is None
    assert (dialogue.state, dialogue.finished) == ("open", True)
    assert dialogue.close_by_client.state == "talking"


def test_a_code_that_a_dialect_lacks_becomes_another_one() -> None:
    codes = CloseCodes(frozenset({200, 501, 503}), direction=503)
    assert [codes.said(code) for code in (200, 501, 503, 505, 506)] == [200, 501, 503, 503, 501]
