"""What every text of an older dialect must have, held against its document."""

from __future__ import annotations

from tests.families.documents import Document

from amqp_sansio.grammar.notation import Grammar

OTHERS = {"client": "server", "server": "client"}
CHANNEL = ("open-channel", "use-channel", "close-channel")


def verb_of(word: str) -> str:
    """The method of a word."""
    return word.partition(":")[2].partition(" ")[0]


def hold(name: str, grammar: Grammar) -> None:
    """Every method of the document is in the text: who says it, what answers it, whether it may
    be said without an answer, whether a content comes with it, whether the answer may come at any time."""
    document = Document(name)
    words = [word.partition(":") for word in grammar.language("connection").alphabet if ":connection." in word]
    spoken = {(who, verb) for who, _, verb in words if verb != "connection.heartbeat"}
    heard = Document(name, connection=True).hearers.items()
    assert spoken == {(OTHERS[who], verb) for verb, hearers in heard if verb.startswith("connection.") for who in hearers}
    questions = [each for each in grammar.questions(*CHANNEL) if not each.mark]
    said = {
        (who, verb_of(word)) for each in questions for word in (each.word, *each.answers) for who in [word.partition(":")[0]]
    }
    # Either side must take message.empty; but only clients ask what it answers.
    document.hearers.get("message.empty", set()).discard("server")
    assert said == {(OTHERS[hearer], verb) for verb, hearers in document.hearers.items() for hearer in hearers}
    answers: dict[str, set[str]] = {}
    for each in questions:
        if each.answers:
            answers.setdefault(verb_of(each.word), set()).update(map(verb_of, each.answers))
            assert {word.partition(":")[0] for word in each.answers} == {OTHERS[each.word.partition(":")[0]]}
    # A file is staged behind file.open-ok, which names `stage` as its answer: a question of its own here.
    document.answers.pop("file.open-ok", None)
    assert {verb: told for verb, told in answers.items() if verb != "basic.recover"} == document.answers
    assert {verb_of(each.word) for each in questions if each.word.endswith(" nowait")} == document.nowait
    assert set(map(verb_of, grammar.contents(*grammar.rules))) == document.contents
    assert grammar.any_time == answers.keys() - document.synchronous
