"""Consumers and their tags: who has which, until when, and how many are followed."""

from __future__ import annotations

import pytest
from tests.families.channels import NINE, ONE, Said, c, content, frame, s, told

from amqp_sansio.limits import Limits


def deliver(tag: int, consumer: str = "t") -> Said:
    return "S", frame(ONE, "basic.deliver", consumer_tag=consumer, delivery_tag=tag) + content(b"m")


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
