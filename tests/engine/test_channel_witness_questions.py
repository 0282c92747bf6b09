"""What waits for an answer on a channel, and in which order it comes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.families.channels import ONE, Said, c, frame, observe, opening, s, told
from tests.steps import assert_linear

from amqp_sansio.limits import Limits


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
