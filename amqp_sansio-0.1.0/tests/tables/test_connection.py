"""The rows of a connection's life."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.tables.connection import (
    CLOSE,
    CLOSE_OK,
    HANDSHAKE,
    OTHER_PROTOCOL_HEADER,
    SESSION,
    SPEAKERS,
    ConnectionDialogue,
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
