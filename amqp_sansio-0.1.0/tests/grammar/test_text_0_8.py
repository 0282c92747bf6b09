"""The text of 0-8 against the facts of its document."""

from __future__ import annotations

from tests.grammar import text

from amqp_sansio.grammar import text_0_8


def test_the_text_has_what_the_document_says() -> None:
    text.hold("0-8", text_0_8.GRAMMAR, text_0_8.ANY_TIME)


def test_unbind_is_of_the_excerpt_alone() -> None:
    (found,) = [each for each in text_0_8.GRAMMAR.questions("queue") if "unbind" in each.word]
    assert found.mark == text_0_8.EXCERPT


def test_open_is_answered_or_redirected() -> None:
    opening = text_0_8.GRAMMAR.language("connection").prefixes()
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
