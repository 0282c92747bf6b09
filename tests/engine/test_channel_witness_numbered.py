"""One channel: answers in their order, consumers and their limits, settling of what need not be settled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.families.channels import ONE, Said, broken, content, frame, notes, observe, opening
from tests.steps import assert_linear

from amqp_sansio.limits import Limits


def c(verb: str, **said: object) -> Said:
    return "C", frame(ONE, verb, 1, **said)


def s(verb: str, **said: object) -> Said:
    return "S", frame(ONE, verb, 1, **said)


def deliver(tag: int, consumer: str = "t") -> Said:
    return "S", frame(ONE, "basic.deliver", consumer_tag=consumer, delivery_tag=tag) + content(b"m")


def told(*words: Said, strict: bool = False, limits: Limits | None = None) -> list[str]:
    found = observe([*opening(ONE), *words], strict, limits=limits or Limits())
    return broken(found) + [note for note in notes(found) if note != "framing"]


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


@pytest.mark.parametrize("no_ack", [False, True])
def test_a_consumer_that_the_server_names(no_ack: bool) -> None:
    words = [c("basic.consume", no_ack=no_ack), s("basic.consume-ok", consumer_tag="named"), deliver(1, "named")]
    assert told(*words, c("basic.ack", delivery_tag=1)) == (["C delivery-tag.twice"] if no_ack else [])


@pytest.mark.parametrize("no_ack", [False, True])
def test_what_is_got(no_ack: bool) -> None:
    got: Said = "S", frame(ONE, "basic.get-ok", delivery_tag=1) + content(b"m")
    assert told(c("basic.get", no_ack=no_ack), got, c("basic.ack", delivery_tag=1)) == (
        ["C delivery-tag.twice"] if no_ack else []
    )


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


@pytest.mark.parametrize(("most", "known"), [(1, False), (2, True), (3, True)])
def test_answers_that_are_awaited(most: int, known: bool) -> None:
    words = [c("queue.declare"), c("queue.declare"), s("queue.purge-ok")]
    assert told(*words, limits=Limits(replay_commands=most)) == (["S reply.other"] if known else ["limits.replay_commands"])


@pytest.mark.parametrize(("most", "known"), [(1, False), (2, True), (3, True)])
def test_ranges_of_tags_that_are_followed(most: int, known: bool) -> None:
    words = [c("basic.consume", consumer_tag="t"), *[deliver(tag) for tag in (1, 2, 3)], c("basic.ack", delivery_tag=2)]
    found = told(*words, c("basic.ack", delivery_tag=9), limits=Limits(ranges=most))
    assert found == (["C delivery-tag.unknown"] if known else ["limits.ranges"])


def test_rolled_back_settling_is_settled_again() -> None:
    words = [c("tx.select"), c("basic.consume", consumer_tag="t"), deliver(1), c("basic.ack", delivery_tag=1), c("tx.rollback")]
    assert told(*words, c("basic.ack", delivery_tag=1)) == []
    assert told(*words[:-1], c("tx.commit"), c("basic.ack", delivery_tag=1)) == ["C delivery-tag.twice"]


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
