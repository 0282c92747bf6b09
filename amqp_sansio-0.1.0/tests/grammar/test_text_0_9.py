"""The text of 0-9 against the facts of its document."""

from __future__ import annotations

from tests.grammar import text

from amqp_sansio.grammar import text_0_9


def test_the_text_has_what_the_document_says() -> None:
    text.hold("0-9", text_0_9.GRAMMAR, text_0_9.ANY_TIME)


# In the document of class queue the methods have nowait, and its grammar has an answer behind each: the methods win.
def test_unbind_without_an_answer_is_of_the_page_of_class_queue_alone() -> None:
    found = {each.word: each for each in text_0_9.GRAMMAR.questions("queue") if "unbind" in each.word}
    assert found["client:queue.unbind nowait"].mark == text_0_9.CLASS_QUEUE
    assert found["client:queue.unbind"].mark == ""


def test_a_channel_is_opened_or_resumed() -> None:
    opened = text_0_9.GRAMMAR.language("open-channel")
    assert opened.accepts(["client:channel.open", "server:channel.open-ok"])
    assert opened.accepts(["client:channel.resume", "server:channel.ok"])
    assert not opened.accepts(["client:channel.resume", "server:channel.open-ok"])
