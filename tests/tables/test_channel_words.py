"""Speakers and replies against the facts of the generator's tables, which hold the documents' chassis and responses."""

from __future__ import annotations

import pytest

from amqp_sansio.tables.channel_words import ANSWERS, BY_BOTH, BY_SERVER, CAPABILITIES, REPLIES
from tools.codegen.compare_older import facts, table_lines

SKIPPED = {"connection"}


def _facts(name: str) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """By verb who hears it, and what answers it."""
    hearers: dict[str, set[str]] = {}
    answers: dict[str, set[str]] = {}
    for fact in facts(table_lines(name)):
        path, _, rest = fact.partition(" ")
        of, *words = rest.split()
        if path.count(".") == 1 and path.split(".")[0] not in SKIPPED:
            if of == "chassis":
                hearers.setdefault(path, set()).add(words[0])
            elif of == "response":
                answers.setdefault(path, set()).add(f"{path.split('.')[0]}.{words[0]}")
    return hearers, answers


@pytest.mark.parametrize("name", ["0-8", "0-9", "0-9-1"])
def test_who_says_what_as_the_documents_have_it(name: str) -> None:
    """But for what RabbitMQ lets servers say besides: ack, nack and cancel, and clients answer with cancel-ok."""
    hearers, _ = _facts(name)
    assert len(hearers) > 30
    for verb, who in hearers.items():
        told = {"client", "server"} if verb in BY_BOTH else {"client"} if verb in BY_SERVER else {"server"}
        if verb not in ("basic.ack", "basic.cancel", "basic.cancel-ok"):
            assert told == who, verb


@pytest.mark.parametrize("name", ["0-8", "0-9", "0-9-1"])
def test_what_answers_what_as_the_documents_have_it(name: str) -> None:
    """But for file.open-ok, which is answered by a content, and channel.close, which is a part of the channel's life."""
    _, answers = _facts(name)
    assert len(answers) > 15
    for verb, told in answers.items():
        if verb not in ("channel.close", "file.open-ok", "basic.recover"):
            assert set(REPLIES[verb]) == told, verb


def test_answers_are_what_answers() -> None:
    assert {"queue.declare-ok", "basic.get-empty", "message.reject"} <= ANSWERS
    assert not {"queue.declare", "basic.deliver"} & ANSWERS
    assert ("server", "connection.blocked") in CAPABILITIES
