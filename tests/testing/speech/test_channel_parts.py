"""The editions of the older dialects, their parts, and words as frames."""

from __future__ import annotations

import pytest

from amqp_sansio.dialects import AMQP_0_9, AMQP_0_9_1, NAMED
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import MethodSeen, Violation
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.testing.speech.channel_parts import EDITIONS, FREE, PARTS, TAG, ChannelPart, ChannelVoice, Edition, Utterance


@pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)
def test_an_edition_asks_what_its_dialect_has(edition: Edition) -> None:
    assert NAMED[edition.name] is edition.dialect
    asked = {each.word.partition(":")[2].partition(" ")[0] for each in edition.asked("use-channel", "open-channel")}
    assert asked <= edition.verbs
    assert edition.opens["client:channel.open"] == "server:channel.open-ok"


def test_what_was_added_belongs_to_some() -> None:
    asked = {edition.name: {each.word for each in edition.asked("queue")} for edition in EDITIONS}
    assert "client:queue.unbind" not in asked["0-8"]
    assert "client:queue.unbind" in asked["0-8 unbind"]
    assert "client:queue.unbind nowait" not in asked["0-9"]
    assert "client:queue.unbind nowait" in asked["0-9 unbind"]
    added = [each.word for edition in EDITIONS if edition.name == "0-9 RabbitMQ" for each in edition.asked("confirm")]
    assert added == ["client:confirm.select", "client:confirm.select nowait"]


def test_the_words_on_an_open_connection() -> None:
    first, second, *_ = [edition.traffic for edition in EDITIONS]
    assert "server:connection.blocked" in first.server
    assert not first.redirects
    assert second.redirects
    assert second.client == ("client:session-traffic",)


OPEN = ("client:channel.open", "server:channel.open-ok")


def methods(said: list[Utterance], voice: ChannelVoice, dialect: object = AMQP_0_9_1) -> list[MethodSeen]:
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


def part(dialect: str, name: str) -> ChannelPart:
    (found,) = [each for each in PARTS if repr(each) == f"{dialect}: {name}"]
    return found


def test_every_edition_has_its_parts() -> None:
    names = {name: [each.name for each in PARTS if each.edition.name == name] for name in ("0-8", "0-9", "0-9-1")}
    for every in ("connection", "channel", "content", "mode", "delivery", "basic consumer", "answers to the client"):
        assert all(every in each for each in names.values())
    assert "confirms" in names["0-9-1"]
    assert {"file consumer", "reference of the server"} <= set(names["0-9"])
    assert len(set(map(repr, PARTS))) == len(PARTS)


def test_words_that_are_wrong() -> None:
    mode = part("0-9-1", "mode")
    assert "client:tx.commit" in mode.wrong(())
    assert mode.wrong(("client:tx.select",)) == ("client:confirm.select", "server:basic.ack", "server:basic.nack")
    assert mode.wrong(("client:tx.commit",)) == ()
    connection = part("0-9-1", "connection")
    assert connection.wrong(()) == ()  # nobody knows yet which dialect is spoken
    assert "server:connection.tune" in connection.wrong(("client:protocol-header",))


def test_what_only_the_bound_forbids_is_not_wrong() -> None:
    confirms = part("0-9-1", "confirms")
    said = ("client:confirm.select", "client:basic.publish", "client:basic.publish")
    assert "client:basic.publish" not in confirms.wrong(said)
    consumer = part("0-8", "basic consumer")
    pending = ("client:basic.consume", "client:basic.cancel")
    assert consumer.language().run((*pending, "client:basic.consume")) is None
    assert "client:basic.consume" not in consumer.wrong(pending)
    assert "client:basic.consume" in consumer.wrong(pending[:1])


def test_rules_that_a_part_is_about() -> None:
    answers = part("0-8", "answers to the client")
    assert answers.judges("reply.unasked")
    assert not answers.judges("delivery-tag.unknown")
    assert part("0-8", "delivery").judges("delivery-tag.unknown")
