"""The live source and sink of Spark against Apache Qpid Broker-J: crash after crash of our side, at every step.

Its store is in memory, so it is not killed itself; that is done to our own broker (tests/spark/live/test_crashes.py).
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from tests.spark.live.stage import (
    COPY,
    ORDERS,
    Injector,
    SinkQuery,
    SourceQuery,
    at_step,
    declare,
    depth,
    die,
    drain,
    in_doubt,
    numbers,
    send,
    sink,
    source,
)

from amqp_sansio.spark.live import coordinator, publisher
from amqp_sansio.spark.live.errors import LiveSetupError
from amqp_sansio.spark.live.identity import new_owner
from amqp_sansio.spark.live.mapping import Outgoing
from amqp_sansio.spark.live.options import EXACTLY_ONCE
from amqp_sansio.spark.live.publisher import Publisher
from amqp_sansio.spark.live.reader import Reader
from amqp_sansio.spark.live.spooler import STEPS, STEPS_AT_LEAST_ONCE
from tools.interop.broker_j import BrokerJ

CRASHES = 100
SEED = int(os.environ.get("AMQP_SEED", "1"))


@pytest.fixture
def url(broker_j: BrokerJ) -> str:
    """With two empty queues."""
    declare(broker_j.url, ORDERS, COPY)
    drain(broker_j.url, ORDERS)
    drain(broker_j.url, COPY)
    return broker_j.url


def test_the_source_a_hundred_crashes(url: str, tmp_path: Path) -> None:
    bodies = [b"order %d" % number for number in range(1600)]
    send(url, bodies)
    injector = Injector(lambda step: die(), numbers(Random(SEED), 9, CRASHES))
    query = SourceQuery(source(url, tmp_path), injector)
    query.run()
    assert Counter(query.bodies) == Counter(bodies)
    assert (depth(url), in_doubt(url)) == (0, 0)
    assert injector.done.total() == CRASHES
    assert set(STEPS) <= set(injector.done)


def test_the_sink_a_hundred_crashes(url: str, tmp_path: Path) -> None:
    epochs = [[b"row %d.%d" % (epoch, number) for number in range(6)] for epoch in range(70)]
    injector = Injector(lambda step: die(), numbers(Random(SEED + 1), 9, CRASHES))
    query = SinkQuery(sink(url, tmp_path), epochs, injector)
    query.run()
    assert Counter(each.body for each in drain(url)) == Counter([row for epoch in epochs for row in epoch])
    assert in_doubt(url) == 0
    assert {*publisher.STEPS, *coordinator.STEPS} <= set(injector.done)


@pytest.mark.parametrize("step", STEPS_AT_LEAST_ONCE)
def test_at_least_once(url: str, tmp_path: Path, step: str) -> None:
    bodies = [b"order %d" % number for number in range(30)]
    send(url, bodies)
    query = SourceQuery(source(url, tmp_path, mode="at-least-once"), at_step(step, 2, die))
    query.run()
    seen: set[bytes] = set()
    for row in query.rows:
        assert row["redelivered"] or row["body"] not in seen
        seen.add(row["body"])
    assert seen == set(bodies)


def test_credit_and_lag(url: str, tmp_path: Path) -> None:
    """This broker counts what is in flight among what is on the queue, ours does not: the lag is the same."""
    send(url, [b"x"] * 30)
    reader = Reader(source(url, tmp_path, maxRows="5", prefetch="8"))
    start = reader.latest(reader.initial())
    assert reader.report() == {**start, "lag": 25, "in_doubt": 0, "mode": "exactly-once"}
    reader.close()


def test_a_branch_has_no_time_out(url: str, tmp_path: Path) -> None:
    """This broker would roll back a prepared branch after its time-out; it sets none by itself, and so do we."""
    from amqp_sansio.adapters.sync import connect
    from amqp_sansio.spark.live.identity import SOURCE, branch
    from amqp_sansio.spark.live.link import give_time

    name = branch(new_owner(), SOURCE, 1)
    with connect(url) as connection, connection.session() as session:
        with session.branch(name):
            assert give_time(session, name, None) is False
            asked = session.talk.transactions
            assert session.wait(lambda: asked.get_timeout(name)) == 0
        session.rollback(name)


def test_what_is_wrong_is_one_error(broker_j: BrokerJ, url: str, tmp_path: Path) -> None:
    reader = Reader(source(url, tmp_path, queue="nowhere"))
    with pytest.raises(LiveSetupError, match="there is no queue 'nowhere'"):
        reader.latest(reader.initial())
    reader.close()
    for wrong in (url.replace("guest:guest", "guest:falsch"), url.replace("/default", "/nowhere")):
        reader = Reader(source(wrong, tmp_path))
        with pytest.raises(LiveSetupError) as told:
            reader.latest(reader.initial())
        reader.close()
        assert "falsch" not in str(told.value)
    tasks = Publisher(sink(url, tmp_path).access, new_owner(), EXACTLY_ONCE)
    with pytest.raises(LiveSetupError, match="unroutable"):
        tasks.publish([Outgoing("", "nowhere", b"x", {"mandatory": True})])
    assert in_doubt(url) == 0
