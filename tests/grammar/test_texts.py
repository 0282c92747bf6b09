"""The texts of the older dialects against the facts of their documents."""

from __future__ import annotations

import pytest
from tests.grammar import text

from amqp_sansio.grammar import texts
from amqp_sansio.grammar.notation import Grammar
from amqp_sansio.grammar.texts import GRAMMAR_0_8, GRAMMAR_0_9, GRAMMAR_0_9_1


@pytest.mark.parametrize(("name", "grammar"), [("0-8", GRAMMAR_0_8), ("0-9", GRAMMAR_0_9), ("0-9-1", GRAMMAR_0_9_1)])
def test_the_text_has_what_the_document_says(name: str, grammar: Grammar) -> None:
    text.hold(name, grammar)


def test_unbind_is_of_the_excerpt_alone() -> None:
    (found,) = [each for each in GRAMMAR_0_8.questions("queue") if "unbind" in each.word]
    assert found.mark == texts.EXCERPT


def test_open_is_answered_or_redirected() -> None:
    opening = GRAMMAR_0_8.language("connection").prefixes()
    for answer in ("open-ok", "redirect"):
        said = [
            "C:protocol-header",
            "S:start",
            "C:start-ok",
            "S:secure",
            "C:secure-ok",
            "S:tune",
            "C:tune-ok",
            "C:open",
            f"S:{answer}",
        ]
        words = [word.replace("C:", "client:connection.").replace("S:", "server:connection.") for word in said]
        assert opening.accepts(["client:protocol-header", *words[1:]])
        assert not opening.accepts(["client:protocol-header", *words[2:]])


# In the document of class queue the methods have nowait, and its grammar has an answer behind each: the methods win.
def test_unbind_without_an_answer_is_of_the_page_of_class_queue_alone() -> None:
    found = {each.word: each for each in GRAMMAR_0_9.questions("queue") if "unbind" in each.word}
    assert found["client:queue.unbind nowait"].mark == texts.CLASS_QUEUE
    assert found["client:queue.unbind"].mark == ""


def test_a_channel_is_opened_or_resumed() -> None:
    opened = GRAMMAR_0_9.language("open-channel")
    assert opened.accepts(["client:channel.open", "server:channel.open-ok"])
    assert opened.accepts(["client:channel.resume", "server:channel.ok"])
    assert not opened.accepts(["client:channel.resume", "server:channel.open-ok"])


def test_what_rabbitmq_added_is_marked() -> None:
    grammar = GRAMMAR_0_9_1
    added = {each.word for each in grammar.questions("use-channel") if each.mark == texts.RABBITMQ}
    assert added == {
        *(f"client:exchange.{verb}{nowait}" for verb in ("bind", "unbind") for nowait in ("", " nowait")),
        *("server:basic.cancel", "server:basic.cancel nowait", "client:basic.nack", "server:basic.ack", "server:basic.nack"),
        *("client:confirm.select", "client:confirm.select nowait", "client:access.request"),
    }
    plain, whole = (grammar.language("use-connection", *marks) for marks in ((), (texts.RABBITMQ,)))
    assert set(whole.alphabet) - set(plain.alphabet) == {
        *("server:connection.blocked", "server:connection.unblocked"),
        *("client:connection.update-secret", "server:connection.update-secret-ok"),
    }
