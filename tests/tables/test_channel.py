"""The life of a channel and its modes, walked by hand."""

from __future__ import annotations

import pytest
from tests.families.documents import DOCUMENTS, Document

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.tables.channel import (
    ANSWERS,
    ANY_TIME,
    CAPABILITIES,
    CLOSE,
    CLOSE_OK,
    EXTENDED,
    LIFE,
    MODE,
    OPEN,
    OPEN_OK,
    REFERENCE,
    REPLIES,
    RESUME,
    RESUMED,
    WORK,
    may_say,
)
from amqp_sansio.tables.connection import CLIENT, SERVER

C, S = CLIENT, SERVER


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ([(C, OPEN), (C, WORK), (S, OPEN_OK), (S, WORK)], "open"),
        ([(C, OPEN), (S, OPEN_OK), (C, CLOSE), (S, WORK), (S, CLOSE_OK)], "closed"),
        ([(C, OPEN), (S, OPEN_OK), (S, CLOSE), (C, WORK), (C, CLOSE_OK), (C, OPEN)], "opening"),
        ([(C, OPEN), (S, OPEN_OK), (C, CLOSE), (S, CLOSE), (S, CLOSE_OK), (C, CLOSE_OK)], "closed"),
        ([(C, OPEN), (S, OPEN_OK), (S, CLOSE), (C, CLOSE), (C, CLOSE_OK), (S, CLOSE_OK)], "closed"),
        ([(C, OPEN), (C, CLOSE), (S, OPEN_OK), (S, CLOSE_OK)], "closed"),
        ([(C, RESUME), (C, WORK), (S, RESUMED), (S, WORK)], "open"),
        ([(C, RESUME), (C, CLOSE), (S, RESUMED), (S, CLOSE_OK), (C, RESUME)], "resuming"),
        ([(C, RESUME), (S, CLOSE), (C, CLOSE_OK)], "closed"),
    ],
)
def test_legal_lives(said: list[tuple[str, str]], state: str) -> None:
    walk = Machine(LIFE)
    assert [walk.step(*each) for each in said] == [None] * len(said)
    assert walk.state == state


@pytest.mark.parametrize(
    "said",
    [
        [(C, WORK)],
        [(C, OPEN), (C, OPEN)],
        [(C, OPEN), (S, WORK)],
        [(C, OPEN), (S, OPEN_OK), (C, CLOSE), (C, WORK)],
        [(C, OPEN), (S, OPEN_OK), (S, CLOSE), (S, WORK)],
        [(C, OPEN), (S, OPEN_OK), (S, CLOSE), (C, OPEN)],
        [(C, OPEN), (S, OPEN_OK), (S, CLOSE_OK)],
    ],
)
def test_what_is_illegal(said: list[tuple[str, str]]) -> None:
    walk = Machine(LIFE)
    refusals = [walk.step(*each) for each in said]
    assert refusals[:-1] == [None] * (len(said) - 1)
    assert refusals[-1] is not None


@pytest.mark.parametrize(
    ("first", "second", "legal"),
    [
        ("tx.select", "tx.commit", True),
        ("tx.select", "confirm.select", False),
        ("confirm.select", "tx.select", False),
        ("confirm.select", "confirm.select", True),
    ],
)
def test_modes(first: str, second: str, legal: bool) -> None:
    walk = Machine(MODE)
    assert walk.step(C, first) is None
    assert (walk.step(C, second) is None) is legal


@pytest.mark.parametrize("who", REFERENCE)
def test_a_reference_is_in_scope_from_open_or_resume_to_close(who: str) -> None:
    for first in ("message.open", "message.resume"):
        walk = Machine(REFERENCE[who])
        said = (first, "message.append", "message.transfer by reference", "message.checkpoint", "message.close")
        assert [walk.step(who, verb) for verb in said] == [None] * 5
        assert walk.finished
        assert walk.step(who, "message.append") is not None


OTHERS = {"client": "server", "server": "client"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_speakers_and_verbs_as_the_documents_have_them(name: str) -> None:
    """What a side hears the other one says."""
    hearers = Document(name).hearers
    assert len(hearers) > 30
    for verb, who in hearers.items():
        assert {other for other, each in OTHERS.items() if may_say(each, verb, extended=False)} == who, verb


@pytest.mark.parametrize(("speaker", "verb"), sorted(EXTENDED))
def test_what_rabbitmq_lets_the_other_side_say_too(speaker: str, verb: str) -> None:
    assert [may_say(speaker, verb, extended) for extended in (False, True)] == [False, True]
    assert all(may_say(OTHERS[speaker], verb, extended) for extended in (False, True))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_answers_what_as_the_documents_have_it(name: str) -> None:
    """But for file.open-ok, which is answered by a content, and channel.close, which is a part of the channel's life."""
    answers = Document(name).answers
    assert len(answers) > 15
    for verb, told in answers.items():
        if verb not in ("channel.close", "file.open-ok", "basic.recover"):
            assert set(REPLIES[verb]) == told, verb


def test_answers_are_what_answers() -> None:
    assert {"queue.declare-ok", "basic.get-empty", "message.reject"} <= ANSWERS
    assert not {"queue.declare", "basic.deliver"} & ANSWERS
    assert ("server", "connection.blocked") in CAPABILITIES


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_not_synchronous_is_answered_at_any_time(name: str) -> None:
    document = Document(name)
    assert document.answers.keys() - document.synchronous == ANY_TIME & document.answers.keys()
