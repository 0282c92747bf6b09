"""The text of 0-9-1 against the facts of its document."""

from __future__ import annotations

from tests.grammar import text

from amqp_sansio.grammar import text_0_9_1


def test_the_text_has_what_the_document_says() -> None:
    text.hold("0-9-1", text_0_9_1.GRAMMAR, text_0_9_1.ANY_TIME)


def test_what_rabbitmq_added_is_marked() -> None:
    grammar = text_0_9_1.GRAMMAR
    added = {each.word for each in grammar.questions("use-channel") if each.mark == text_0_9_1.RABBITMQ}
    assert added == {
        *(f"client:exchange.{verb}{nowait}" for verb in ("bind", "unbind") for nowait in ("", " nowait")),
        *("server:basic.cancel", "server:basic.cancel nowait", "client:basic.nack", "server:basic.ack", "server:basic.nack"),
        *("client:confirm.select", "client:confirm.select nowait", "client:access.request"),
    }
    plain, whole = (grammar.language("use-connection", *marks) for marks in ((), (text_0_9_1.RABBITMQ,)))
    assert set(whole.alphabet) - set(plain.alphabet) == {
        *("server:connection.blocked", "server:connection.unblocked"),
        *("client:connection.update-secret", "server:connection.update-secret-ok"),
    }
