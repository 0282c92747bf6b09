"""What a channel is used for: consumers and their limits, flow, settling of what need not be settled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.families.channels import EIGHT, NINE, ONE, Said, broken, c, content, frame, notes, observe, opening, s, told
from tests.steps import assert_linear

from amqp_sansio.dialects import ChannelDialect
from amqp_sansio.engine.checker import Speaker
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import BodyContent


def deliver(tag: int, consumer: str = "t") -> Said:
    return "S", frame(ONE, "basic.deliver", consumer_tag=consumer, delivery_tag=tag) + content(b"m")


@pytest.mark.parametrize("no_ack", [False, True])
def test_what_is_got(no_ack: bool) -> None:
    got: Said = "S", frame(ONE, "basic.get-ok", delivery_tag=1) + content(b"m")
    assert told(c("basic.get", no_ack=no_ack), got, c("basic.ack", delivery_tag=1)) == (
        ["C delivery-tag.twice"] if no_ack else []
    )


@pytest.mark.parametrize(("most", "known"), [(1, False), (2, True), (3, True)])
def test_ranges_of_tags_that_are_followed(most: int, known: bool) -> None:
    words = [c("basic.consume", consumer_tag="t"), *[deliver(tag) for tag in (1, 2, 3)], c("basic.ack", delivery_tag=2)]
    found = told(*words, c("basic.ack", delivery_tag=9), limits=Limits(ranges=most))
    assert found == (["C delivery-tag.unknown"] if known else ["limits.ranges"])


# A side that has agreed to stop says no contents until it is asked to go on.
@pytest.mark.parametrize("strict", [False, True])
def test_flow(strict: bool) -> None:
    publish: Said = "C", frame(ONE, "basic.publish") + content(b"m")
    stop = [s("channel.flow", active=False), publish, c("channel.flow-ok", active=False)]
    late = ["C channel.flow-ok"] if strict else ["channel.flow-ok"]
    assert told(*stop, strict=strict) == []
    assert told(*stop, publish, publish, strict=strict) == late  # once
    assert told(*stop, s("channel.flow", active=True), publish, c("channel.flow-ok", active=True), publish, strict=strict) == []
    again = [s("channel.flow", active=True), s("channel.flow", active=False), c("channel.flow-ok", active=True), publish]
    assert told(*stop, *again, strict=strict) == []
    asked = [s("channel.flow", active=False), s("channel.flow", active=True), c("channel.flow-ok", active=False), publish]
    assert told(*asked, strict=strict) == []


def test_the_client_stops_deliveries_too() -> None:
    words = [
        c("basic.consume", consumer_tag="t"),
        s("basic.consume-ok", consumer_tag="t"),
        c("channel.flow", active=False),
        deliver(1),
        s("channel.flow-ok", active=False),
    ]
    got: Said = "S", frame(ONE, "basic.get-ok", delivery_tag=2) + content(b"m")
    assert told(*words, c("basic.get"), got) == []  # what is asked for by name comes
    assert told(*words, deliver(2)) == ["channel.flow-ok"]


def test_rolled_back_settling_is_settled_again() -> None:
    words = [c("tx.select"), c("basic.consume", consumer_tag="t"), deliver(1), c("basic.ack", delivery_tag=1), c("tx.rollback")]
    assert told(*words, c("basic.ack", delivery_tag=1)) == []
    assert told(*words[:-1], c("tx.commit"), c("basic.ack", delivery_tag=1)) == ["C delivery-tag.twice"]


def test_many_recoveries_cost_linear() -> None:
    def work(count: int) -> Callable[[], object]:
        said: list[Said] = [c("basic.consume", consumer_tag="t")]
        said += [deliver(tag) for tag in range(1, 2 * count + 1)]
        said.append(("C", b"".join([frame(ONE, "basic.ack", delivery_tag=tag) for tag in range(1, 2 * count, 2)])))
        said.append(("C", (frame(ONE, "basic.recover") + frame(ONE, "basic.ack", delivery_tag=2, multiple=True)) * count))
        return lambda: observe([*opening(ONE), *said])

    assert_linear(work, 100)


def test_several_are_confirmed_at_once() -> None:
    publish: Said = "C", frame(ONE, "basic.publish") + content(b"m")
    words: list[Said] = [c("confirm.select"), *[publish] * 3, s("basic.ack", delivery_tag=2, multiple=True)]
    assert told(*words, s("basic.nack", delivery_tag=3)) == []
    assert told(*words, s("basic.ack", delivery_tag=1)) == ["S confirm.twice"]


def test_what_a_channel_is_used_for_behind_its_close_is_not_known() -> None:
    used = [c("tx.select"), s("tx.select-ok"), c("channel.close", reply_code=200), s("channel.close-ok")]
    assert told(*used, c("queue.declare"), s("queue.purge-ok")) == ["C channel.closed"]


def test_answers_out_of_their_order_are_a_note() -> None:
    words = [c("tx.select"), c("queue.declare"), s("queue.declare-ok"), s("tx.select-ok")]
    assert told(*words) == ["reply.order"]
    assert told(*words, strict=True) == ["S reply.order"]
    assert told(c("tx.select"), c("queue.declare"), s("tx.select-ok"), s("queue.declare-ok")) == []


def test_what_some_versions_do_not_answer_holds_nothing_up() -> None:
    assert told(c("basic.recover"), c("basic.qos"), s("basic.qos-ok")) == []


def test_an_error_ends_all_that_was_asked() -> None:
    words = [c("queue.declare"), s("channel.close", reply_code=404), c("channel.close-ok"), c("channel.open")]
    assert told(*words, s("channel.open-ok"), s("queue.declare-ok")) == ["channel.close", "S reply.unasked"][::-1]


def test_the_server_asks_too() -> None:
    assert told(s("channel.flow", active=True), c("channel.flow-ok", active=True)) == []
    assert told(c("channel.flow-ok", active=True)) == ["C reply.unasked"]


def test_what_was_asked_before_a_close_may_still_be_answered() -> None:
    closing = [c("queue.declare"), s("channel.flow", active=True), c("channel.close", reply_code=200)]
    assert told(*closing, s("queue.declare-ok"), s("channel.close-ok")) == []
    assert told(*closing, s("queue.purge-ok")) == ["S reply.other"]
    assert told(*closing, c("channel.flow-ok", active=True)) == ["C channel.closed"]
    refusing = [s("channel.flow", active=True), s("channel.close", reply_code=404), c("channel.flow-ok", active=True)]
    assert told(*refusing, c("channel.close-ok")) == ["channel.close"]


def test_what_was_asked_before_the_connection_is_closed_may_still_be_answered() -> None:
    words: list[Said] = [("C", frame(ONE, "connection.close", 0, reply_code=200)), s("queue.declare-ok")]
    assert told(c("queue.declare"), *words, ("S", frame(ONE, "connection.close-ok", 0))) == []


@pytest.mark.parametrize("dialect", [NINE, EIGHT], ids=lambda dialect: dialect.name)
def test_what_the_version_does_not_answer_is_not_awaited(dialect: ChannelDialect) -> None:
    recover: Said = "C", frame(dialect, "basic.recover")
    answer: Said = "S", frame(dialect, "basic.qos-ok")
    assert told(recover, recover, answer, dialect=dialect, limits=Limits(replay_commands=1)) == ["S reply.unasked"]


@pytest.mark.parametrize(("most", "known"), [(1, False), (2, True), (3, True)])
def test_answers_that_are_awaited(most: int, known: bool) -> None:
    words = [c("queue.declare"), c("queue.declare"), s("queue.purge-ok")]
    assert told(*words, limits=Limits(replay_commands=most)) == (["S reply.other"] if known else ["limits.replay_commands"])


# Whoever asks and answers what was not asked makes linear cost, as does who settles what came again.
@pytest.mark.parametrize(
    ("asks", "answers"),
    [
        (["queue.declare"], ["basic.qos-ok"]),
        (["queue.declare", "basic.qos"], ["basic.qos-ok"]),
        (["basic.recover"], ["basic.recover-ok"]),
    ],
)
def test_many_words_cost_linear(asks: list[str], answers: list[str]) -> None:
    def work(count: int) -> Callable[[], object]:
        said: list[Said] = [
            ("C", b"".join([frame(ONE, verb) * count for verb in asks])),
            ("S", b"".join([frame(ONE, verb) * count for verb in answers])),
        ]
        return lambda: observe([*opening(ONE), *said])

    assert_linear(work, 200)


def said(*verbs: str, who: Speaker = "C", name: bytes = b"r") -> list[tuple[Speaker, bytes]]:
    """What a side says of one reference, each answered."""
    found: list[tuple[Speaker, bytes]] = []
    for verb in verbs:
        if verb == "transfer":
            found.append((who, frame(NINE, "message.transfer", body=BodyContent(name, True))))
        else:
            found.append((who, frame(NINE, f"message.{verb}", reference=name)))
        answer = "message.offset" if verb == "resume" else "message.ok"
        found.append(("S" if who == "C" else "C", frame(NINE, answer)))
    return found


@pytest.mark.parametrize("who", ["C", "S"])
@pytest.mark.parametrize(
    ("verbs", "rule"),
    [
        (("open", "append", "transfer", "checkpoint", "close", "resume", "append", "close"), ""),
        (("open", "open"), "message.open.reference.duplicate-reference"),
        (("open", "resume"), "message.resume.reference.non-existent-reference"),
        (("append",), "message.append.reference.non-existent-reference"),
        (("transfer",), "message.transfer.reference.non-existent-reference"),
        (("open", "close", "checkpoint"), "message.checkpoint.reference.non-existent-reference"),
        (("open", "close", "close"), "message.close.reference.non-existent-reference"),
    ],
)
def test_lives_of_a_reference(who: Speaker, verbs: tuple[str, ...], rule: str) -> None:
    found = observe([*opening(NINE), *said(*verbs, who=who)])
    assert broken(found) == ([f"{who} {rule}"] if rule else [])


def test_a_reference_belongs_to_the_side_and_channel_that_opened_it() -> None:
    other = said("append", who="S")
    assert broken(observe([*opening(NINE), *said("open"), *other])) == ["S message.append.reference.non-existent-reference"]
    again = ("C", frame(NINE, "message.open", 2, reference=b"r"))
    assert broken(observe([*opening(NINE, opens=2), *said("open"), ("C", again[1])])) == []


@pytest.mark.parametrize(("most", "told"), [(1, True), (2, False), (3, False)])
def test_references_that_are_followed(most: int, told: bool) -> None:
    """One more than are followed: nobody is accused of what nobody remembers."""
    both = [*said("open", name=b"a"), *said("open", name=b"b")]
    wrong = said("close", "close", name=b"b")
    found = observe([*opening(NINE), *both, *wrong], limits=Limits(subscriptions=most))
    assert ("limits.subscriptions" in notes(found)) is told
    assert broken(found) == ([] if told else ["C message.close.reference.non-existent-reference"])


# "A recipient MUST NOT acknowledge a message until its reference is closed": other answers pass it.
def test_the_answer_to_a_transfer_by_reference_may_come_last() -> None:
    words: list[tuple[Speaker, bytes]] = [
        ("C", frame(NINE, "message.open", reference=b"r")),
        ("C", frame(NINE, "message.transfer", body=BodyContent(b"r", True))),
        ("C", frame(NINE, "message.resume", reference=b"s")),
        ("C", frame(NINE, "message.get")),
        ("S", frame(NINE, "message.offset")),
        ("S", frame(NINE, "message.empty")),
        ("S", frame(NINE, "message.ok")),
        ("S", frame(NINE, "message.ok")),
    ]
    assert broken(observe([*opening(NINE), *words], strict=True)) == []


@pytest.mark.parametrize("no_ack", [False, True])
def test_a_consumer_that_the_server_names(no_ack: bool) -> None:
    words = [c("basic.consume", no_ack=no_ack), s("basic.consume-ok", consumer_tag="named"), deliver(1, "named")]
    assert told(*words, c("basic.ack", delivery_tag=1)) == (["C delivery-tag.twice"] if no_ack else [])


def test_what_was_on_its_way_to_a_consumer_may_come_until_it_is_cancelled() -> None:
    words = [c("basic.consume", consumer_tag="t"), s("basic.consume-ok", consumer_tag="t"), c("basic.cancel", consumer_tag="t")]
    assert told(*words, deliver(1), s("basic.cancel-ok", consumer_tag="t")) == []
    assert told(*words, s("basic.cancel-ok", consumer_tag="t"), deliver(1)) == ["S basic.deliver.consumer-tag"]
    assert told(*words, c("basic.consume", consumer_tag="t")) == []


@pytest.mark.parametrize(("most", "known"), [(1, False), (2, True), (3, True)])
def test_consumers_that_are_followed(most: int, known: bool) -> None:
    words = [c("basic.consume", consumer_tag=tag) for tag in "ab"]
    found = told(*words, deliver(1, "x"), limits=Limits(subscriptions=most))
    assert found == (["S basic.deliver.consumer-tag"] if known else ["limits.subscriptions"])


def test_an_answer_names_the_tag_that_was_asked_for() -> None:
    consume = c("basic.consume", consumer_tag="t")
    assert told(consume, s("basic.consume-ok", consumer_tag="u")) == ["S basic.consume-ok.consumer-tag"]
    words = [consume, s("basic.consume-ok", consumer_tag="t"), c("basic.cancel", consumer_tag="t")]
    assert told(*words, s("basic.cancel-ok", consumer_tag="u")) == ["S basic.cancel-ok.consumer-tag"]
    assert told(c("basic.consume"), s("basic.consume-ok", consumer_tag="u")) == []


def test_destinations_of_0_9_are_those_of_one_consumer_each() -> None:
    """Nobody answers them by name, so a cancel counts at once."""
    consume: Said = "C", frame(NINE, "message.consume", destination="d")
    cancel: Said = "C", frame(NINE, "message.cancel", destination="d")
    assert told(consume, consume, dialect=NINE) == ["C message.consume.destination"]
    assert told(consume, cancel, consume, dialect=NINE) == []
    assert told(*[consume, cancel] * 3, dialect=NINE, limits=Limits(subscriptions=1)) == []
