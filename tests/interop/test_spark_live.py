"""The live source and sink of Spark against Apache Qpid Broker-J: crash after crash of us and of the broker, at every step.

It keeps what it is given in a store of Apache Derby, and is killed with signal 9.  Small in `make interop`; `make soak` kills
us a hundred times and the broker a hundred times, in each test that is exactly once (tools/chores/soak.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.serving import SOAK
from tests.interop.conftest import have
from tests.spark.live import crashes
from tests.spark.live.stage import COPY, NEXT, ORDERS, declare, drain, in_doubt, send, sink, source, stream_at

from amqp_sansio.spark.errors import LiveSetupError
from amqp_sansio.spark.live.identity import new_owner
from amqp_sansio.spark.live.mapping import Outgoing
from amqp_sansio.spark.live.options import EXACTLY_ONCE
from amqp_sansio.spark.live.sink import Publisher
from tools.interop.broker_j import BrokerJ
from tools.interop.peers import CACHE

SEED = int(os.environ.get("AMQP_SEED", "1"))
MANY = crashes.Many(100, 100, SEED) if SOAK else crashes.Many(30, 5, SEED)
FEW = crashes.Many(100, 25, SEED) if SOAK else crashes.Many(15, 2, SEED)


@pytest.fixture(scope="module")
def durable() -> Iterator[BrokerJ]:
    """A Broker-J with a store."""
    have("broker_j")
    with BrokerJ(CACHE / "broker_j", durable=True) as broker:
        yield broker


@pytest.fixture
def falling(durable: BrokerJ) -> BrokerJ:
    """With two empty queues."""
    declare(durable.url, ORDERS, COPY)
    drain(durable.url, ORDERS)
    drain(durable.url, COPY)
    return durable


@pytest.fixture
def url(broker_j: BrokerJ) -> str:
    """Of one that nobody harms, with two empty queues."""
    declare(broker_j.url, ORDERS, COPY)
    drain(broker_j.url, ORDERS)
    drain(broker_j.url, COPY)
    return broker_j.url


def test_the_source_crash_after_crash(falling: BrokerJ, tmp_path: Path) -> None:
    crashes.crash_the_source(falling, tmp_path, MANY)


def test_the_sink_crash_after_crash(falling: BrokerJ, tmp_path: Path) -> None:
    crashes.crash_the_sink(falling, tmp_path, MANY)


def test_the_source_at_least_once_crash_after_crash(falling: BrokerJ, tmp_path: Path) -> None:
    crashes.crash_the_source_at_least_once(falling, tmp_path, FEW, remembers=False)


def test_the_sink_at_least_once_crash_after_crash(falling: BrokerJ, tmp_path: Path) -> None:
    crashes.crash_the_sink_at_least_once(falling, tmp_path, FEW)


def test_credit_and_lag(url: str, tmp_path: Path) -> None:
    """This broker counts what is in flight among what is on the queue, ours does not: the lag is the same."""
    send(url, [b"x"] * 30)
    reader = stream_at(source(url, tmp_path, maxRows="5", prefetch="8"))
    start = reader.latestOffset(reader.initialOffset(), NEXT)
    assert reader.reportLatestOffset() == {**start, "lag": 25, "in_doubt": 0, "mode": "exactly-once"}
    reader.stop()


def test_a_branch_has_no_time_out(url: str, tmp_path: Path) -> None:
    """This broker would roll back a prepared branch after its time-out; it sets none by itself, and so do we."""
    from amqp_sansio.adapters.sync import connect
    from amqp_sansio.spark.live.broker_link import give_time
    from amqp_sansio.spark.live.identity import SOURCE, branch

    name = branch(new_owner(), SOURCE, 1)
    with connect(url) as connection, connection.session() as session:
        with session.branch(name):
            assert give_time(session, name, None) is False
            asked = session._core.transactions
            assert session._asked(lambda: asked.get_timeout(name)) == 0
        session.rollback(name)


def test_what_is_wrong_is_one_error(broker_j: BrokerJ, url: str, tmp_path: Path) -> None:
    reader = stream_at(source(url, tmp_path, queue="nowhere"))
    with pytest.raises(LiveSetupError, match="there is no queue 'nowhere'"):
        reader.latestOffset(reader.initialOffset(), NEXT)
    reader.stop()
    for wrong in (url.replace("guest:guest", "guest:falsch"), url.replace("/default", "/nowhere")):
        reader = stream_at(source(wrong, tmp_path))
        with pytest.raises(LiveSetupError) as told:
            reader.latestOffset(reader.initialOffset(), NEXT)
        reader.stop()
        assert "falsch" not in str(told.value)
    tasks = Publisher(sink(url, tmp_path), new_owner(), EXACTLY_ONCE)
    with pytest.raises(LiveSetupError, match="unroutable"):
        tasks.publish([Outgoing("", "nowhere", b"x", {"mandatory": True})])
    assert in_doubt(url) == 0
