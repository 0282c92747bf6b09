"""The opening of the older dialects: a client that waits, one that says all at once, and words out of turn."""

from __future__ import annotations

import pytest

from amqp_sansio.tables import connection as words
from amqp_sansio.tables.channel_handshake import PIPELINED
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
