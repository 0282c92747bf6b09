"""Every part of the protocol is spoken, and what its voice says is what its grammar means."""

from __future__ import annotations

from random import Random

import pytest

from amqp_sansio.grammar.algebra import without
from amqp_sansio.grammar.walks import Sampler, transition_words
from amqp_sansio.testing.speech.blame import blamed, spoken
from amqp_sansio.testing.speech.parts import PARTS, Part, opening, parts_of
from amqp_sansio.testing.speech.word_encoder import Setting, speaker_of

EVERY = pytest.mark.parametrize("part", PARTS.values(), ids=lambda part: part.name)


@EVERY
def test_every_move_is_spoken_legally(part: Part) -> None:
    moves = list(transition_words(part.language).values())
    for said in Random(1).sample(moves, min(len(moves), 40)):
        assert blamed(spoken(part, said)) is None, said


@EVERY
def test_random_conversations_are_legal(part: Part) -> None:
    said = Sampler(part.language).word(15, Random(2).randrange)
    assert said is None or blamed(spoken(part, said)) is None
    led = Sampler(part.client_led).word(15, Random(2).randrange)
    assert led is None or blamed(spoken(part, led)) is None


@EVERY
def test_the_server_is_followed_as_it_speaks(part: Part) -> None:
    """What a voice says of the server is heard by another voice as the same words."""
    said = Sampler(part.client_led).word(10, Random(3).randrange)
    if said is None:
        return
    voice = part.voice(Setting())
    heard = []
    conversation = spoken(part, said)
    for number, step in enumerate(conversation):
        if number >= conversation.opened and step.speaker == "server":
            heard.append(voice.hear(step))
        voice.told(step)
    wanted = [word for word in said if speaker_of(word) == "server"]
    if part.name not in ("message: none, not-acquired", "message: explicit, not-acquired") and part.section not in ("file",):
        assert [word for word in heard if word] == wanted


def test_the_opening() -> None:
    part = PARTS["tx"]
    assert opening("nothing", part.voice(Setting())) == []
    assert len(opening("connection", part.voice(Setting()))) == 8
    assert len(opening("session", part.voice(Setting()))) == 10
    assert [step.verb for step in opening("work", part.voice(Setting()))[10:]] == [
        "session.command-point", "session.command-point", "queue.declare",
    ]  # fmt: skip


def test_words_are_left_out() -> None:
    assert without(PARTS["tx"].language, "client:tx.commit").alphabet == tuple(
        [word for word in PARTS["tx"].language.alphabet if word != "client:tx.commit"]
    )
    assert {speaker_of(word) for word in PARTS["tx"].language.alphabet} == {"client"}
    assert repr(PARTS["tx"]) == "<Part tx>"


def test_a_section_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="no section"):
        parts_of("nonsense")
    assert [part.name for part in parts_of("dtx")] == ["dtx: demarcation", "dtx: branch"]
