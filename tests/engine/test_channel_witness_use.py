"""What a channel is used for: consumers and their limits, flow, settling of what need not be settled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.families.channels import ONE, Said, c, content, frame, observe, opening, s, told
from tests.steps import assert_linear

from amqp_sansio.limits import Limits


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
