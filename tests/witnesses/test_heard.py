"""The grammars of the older dialects against the observer."""

from __future__ import annotations

from random import Random

import pytest
from tests.grammar.text import CHANNEL, verb_of

from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.grammar.algebra import repeated
from amqp_sansio.testing.speech.channel_parts import EDITIONS, PARTS, SIDES, ChannelPart, ChannelVoice, Edition
from tools.witnesses.heard import Heard, accused, differences, differs, heard


# Every word in every state of every grammar is what `make soak` tries; here some of each.
@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_grammar_and_observer_judge_alike(part: ChannelPart) -> None:
    found = heard([part], seed=1, count=120, lengths=(12, 40))
    assert found.cases >= min(120, 5)
    assert found.conversations > 0
    assert [str(each) for each in found.differences[:1]] == []


@pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)
def test_what_a_side_never_says_is_reported(edition: Edition) -> None:
    """A method that the text has for the other side alone."""
    questions = edition.asked(*CHANNEL)
    said = {(word.partition(":")[0], verb_of(word)) for each in questions for word in (each.word, *each.answers)}
    never = {(who, verb) for who in SIDES for verb in edition.verbs if not verb.startswith("connection.")} - said
    assert len(never) > 30
    for who, verb in sorted(never):
        voice = ChannelVoice(edition.dialect)
        watch = Observer(dialects=(edition.dialect,))
        for each in voice.opening("client:channel.open", "server:channel.open-ok"):
            watch.receive_data(each.side, each.octets)
        octets = voice.method(verb)
        contents = edition.dialect.codec.carrying
        watch.receive_data(SIDES[who], octets + (voice.header(verb, 0) if verb in contents else b""))
        rules = [each.event.rule for each in watch.events() if isinstance(each.event, Violation)]
        # Either side must take message.empty; but the client is never asked.
        assert rules == ["reply.unasked" if verb == "message.empty" else "method.direction"], (who, verb)


def part(name: str) -> ChannelPart:
    return next(each for each in PARTS if each.name == name)


def test_the_shortest_conversation_shows_a_word_that_only_one_of_them_takes() -> None:
    mode = part("mode")
    anything = mode._replace(grammar=lambda _: repeated(mode.language()))
    first, *_ = heard([anything], 1, 0, ()).differences
    assert first == Heard(anything, ("client:confirm.select", "client:tx.select"), ("confirm.with-tx",))
    assert str(first) == (
        "0-9-1: mode: the grammar takes, and the observer says confirm.with-tx:\n"
        "      client:confirm.select\n      client:tx.select"
    )
    assert list(differences(mode, Random(1))) == []
    wrong = differs(mode, ("client:tx.select",), False)
    assert wrong == Heard(mode, ("client:tx.select",), ())
    assert "the observer takes alone" in str(wrong)


def test_a_conversation_is_wrong_where_it_goes_wrong() -> None:
    assert accused(part("mode"), ("client:tx.select", "client:confirm.select", "client:tx.commit")) == ((1, "confirm.with-tx"),)
    early = differs(part("mode"), ("client:tx.commit", "client:tx.select", "client:confirm.select"), False)
    assert early is not None
    assert early.rules == ("tx.select-required",)
