"""One task: a branch that is prepared, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.served import Served
from tests.spark.live.stage import COPY, InMemory, declare, drain, in_doubt, sink

from amqp_sansio.spark.live.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.identity import SINK, from_word, new_owner, owned
from amqp_sansio.spark.live.mapping import Outgoing
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, EXACTLY_ONCE
from amqp_sansio.spark.live.publisher import WITHOUT_WORD, Published, Publisher

OWNER = new_owner()


@pytest.fixture
def broker() -> Iterator[InMemory]:
    with Served() as served:
        declare(served.url, COPY)
        yield InMemory(served)


def test_nothing_is_published_before_it_is_decided(broker: InMemory, tmp_path: Path) -> None:
    many = [Outgoing("", COPY, b"%d" % number, {"mandatory": True}) for number in range(WITHOUT_WORD + 50)]
    made = Publisher(sink(broker.url, tmp_path).access, OWNER, EXACTLY_ONCE, 60).publish(many, 7)
    assert (made.rows, made.octets) == (len(many), sum(len(each.body) for each in many))
    assert owned([from_word(made.branch)], OWNER, SINK)
    assert (broker.served.depth(COPY), in_doubt(broker.url)) == (0, 1)


def test_without_rows_there_is_no_connection(tmp_path: Path) -> None:
    access = sink("amqp://127.0.0.1:1", tmp_path).access
    assert Publisher(access, OWNER, EXACTLY_ONCE).publish([]) == Published("", 0, 0)
    with pytest.raises(LiveError, match="nobody listens there"):
        Publisher(access, OWNER, EXACTLY_ONCE).publish([Outgoing("", COPY, b"", {})])


def test_at_least_once_is_on_the_queue_when_it_returns(broker: InMemory, tmp_path: Path) -> None:
    made = Publisher(sink(broker.url, tmp_path).access, OWNER, AT_LEAST_ONCE).publish([Outgoing("", COPY, b"x", {})])
    assert made == Published("", 1, 1)
    assert [each.body for each in drain(broker.url)] == [b"x"]


@pytest.mark.parametrize("mode", [EXACTLY_ONCE, AT_LEAST_ONCE])
@pytest.mark.parametrize(("exchange", "told"), [("", "no queue takes a message to exchange '' with"), ("nowhere", "404")])
def test_a_message_that_goes_nowhere_is_an_error(broker: InMemory, tmp_path: Path, mode: str, exchange: str, told: str) -> None:
    messages = [Outgoing("", COPY, b"good", {"mandatory": True}), Outgoing(exchange, "nowhere", b"bad", {"mandatory": True})]
    with pytest.raises(LiveSetupError, match=told):
        Publisher(sink(broker.url, tmp_path).access, OWNER, mode).publish(messages)
    assert in_doubt(broker.url) == 0
    if mode == EXACTLY_ONCE:
        assert drain(broker.url) == []


def test_what_no_queue_takes_is_dropped_when_that_is_wished_for(broker: InMemory, tmp_path: Path) -> None:
    """A branch in which nothing came to a queue has nothing to decide about."""
    made = Publisher(sink(broker.url, tmp_path).access, OWNER, EXACTLY_ONCE).publish([Outgoing("", "nowhere", b"x", {})])
    assert made == Published("", 1, 1)
    assert in_doubt(broker.url) == 0


def test_what_no_message_can_carry_is_reported_for_good(broker: InMemory, tmp_path: Path) -> None:
    many = Outgoing("", COPY, b"x", {"headers": {"h": "x" * 70_000}})
    with pytest.raises(LiveSetupError, match=r"routing key 'copy' is not valid: .*'h'.*65535 octets"):
        Publisher(sink(broker.url, tmp_path).access, OWNER, EXACTLY_ONCE).publish([many])
    assert in_doubt(broker.url) == 0


def test_a_branch_timeout_that_the_broker_does_not_take(broker: InMemory, tmp_path: Path) -> None:
    with pytest.raises(LiveSetupError, match="542"):
        Publisher(sink(broker.url, tmp_path).access, OWNER, EXACTLY_ONCE, 10**6).publish([Outgoing("", COPY, b"", {})])
