"""Speakers and replies against the facts of the generator's tables, which hold the documents' chassis and responses."""

from __future__ import annotations

import pytest
from tests.families.documents import DOCUMENTS, Document

from amqp_sansio.tables.channel_words import ANSWERS, ANY_TIME, CAPABILITIES, EXTENDED, REPLIES, may_say

OTHERS = {"client": "server", "server": "client"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_who_says_what_as_the_documents_have_it(name: str) -> None:
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
