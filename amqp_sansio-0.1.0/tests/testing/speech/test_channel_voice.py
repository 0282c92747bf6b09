"""Words as frames."""

from __future__ import annotations

import pytest

from amqp_sansio.dialects import AMQP_0_9, AMQP_0_9_1
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import MethodSeen, Violation
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.testing.speech.channel_voice import FREE, TAG, ChannelVoice, Spoken

OPEN = ("client:channel.open", "server:channel.open-ok")


def methods(said: list[Spoken], voice: ChannelVoice, dialect: object = AMQP_0_9_1) -> list[MethodSeen]:
    """What an observer reads of it, all legal."""
    watch = Observer(strict=True, dialects=(AMQP_0_9_1 if dialect is AMQP_0_9_1 else AMQP_0_9,))
    for each in [*voice.opening(*OPEN), *said]:
        watch.receive_data(each.side, each.octets)
    events = [each.event for each in watch.events()]
    assert not [each for each in events if isinstance(each, Violation)]
    return [each for each in events if isinstance(each, MethodSeen)][2:]


def test_arguments_fit_together() -> None:
    voice = ChannelVoice(AMQP_0_9_1)
    words: tuple[Word, ...] = (
        *("client:basic.consume", "server:basic.consume-ok", "client:basic.consume free", "server:basic.consume-ok free"),
        *("server:basic.deliver", "server:basic.deliver no-ack", "client:basic.ack multiple", "client:queue.declare nowait"),
    )
    said = [each.method for each in methods([step for word in words for step in voice.say(word)], voice)]
    tags = [getattr(each, "consumer_tag", None) for each in said]
    assert tags == [TAG, TAG, FREE, FREE, TAG, FREE, None, None]
    assert [getattr(each, "delivery_tag", None) for each in said[4:7]] == [1, 2, 1]
    assert getattr(said[6], "multiple", None) is True


def test_a_content_is_as_long_as_what_follows_of_its_speaker() -> None:
    voice = ChannelVoice(AMQP_0_9_1)
    words = [
        "client:method with content",
        "client:header",
        "client:body",
        "server:last body",
        "client:body",
        "client:last body",
    ]
    said = [step for at, word in enumerate(words) if not word.startswith("server") for step in voice.say(word, words[at + 1 :])]
    (seen,) = methods(said, voice)
    assert seen.body == b"mmm"


def test_what_is_confirmed_was_published() -> None:
    voice = ChannelVoice(AMQP_0_9_1, publishes=True)
    said = [
        step for word in ("client:confirm.select nowait", "server:basic.ack", "server:basic.nack") for step in voice.say(word)
    ]
    assert [each.word for each in said] == [
        *(
            "client:confirm.select nowait",
            "client:basic.publish",
            "server:basic.ack",
            "client:basic.publish",
            "server:basic.nack",
        )
    ]
    assert len(methods(said, voice)) == 5


@pytest.mark.parametrize("word", ["client:session-traffic", "client:connection.heartbeat", "server:other-protocol-header"])
def test_words_that_are_no_methods(word: Word) -> None:
    voice = ChannelVoice(AMQP_0_9)
    (first,) = voice.say(word)
    assert first.side == ("C" if word.startswith("client") else "S")
    assert first.octets[:4] in (b"AMQP", b"\x01\0\x01\0", b"\x08\0\0\0")
