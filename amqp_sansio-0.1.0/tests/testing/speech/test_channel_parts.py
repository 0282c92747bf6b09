"""The parts of the older grammars."""

from __future__ import annotations

from amqp_sansio.testing.speech.channel_parts import PARTS, ChannelPart


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
