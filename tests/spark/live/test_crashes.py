"""Crash after crash, of us and of a broker on disk, at steps by chance: nothing is lost, nothing comes twice.

Small in `make test`; `make soak` crashes a hundred times (tools/chores/soak.py).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.cli.serving import SOAK
from tests.spark.live.stage import (
    COPY,
    ORDERS,
    Injector,
    OnDisk,
    SinkQuery,
    SourceQuery,
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

from amqp_sansio.spark.live.spooler import STEPS

CRASHES = 100 if SOAK else 6
SEED = int(os.environ.get("AMQP_SEED", "1"))


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OnDisk]:
    made = OnDisk(tmp_path / "data")
    declare(made.url, ORDERS, COPY)
    yield made
    made.end()


def harm(broker: OnDisk, random: Random) -> Injector:
    def chosen(step: str) -> None:
        if random.random() < 0.4:
            broker.fall()
        else:
            die()

    return Injector(chosen, numbers(random, 9, CRASHES))


def test_the_source_crash_after_crash(broker: OnDisk, tmp_path: Path) -> None:
    bodies = [b"order %d" % number for number in range(40 + 20 * CRASHES)]
    send(broker.url, bodies)
    injector = harm(broker, Random(SEED))
    query = SourceQuery(source(broker.url, tmp_path), injector)
    query.run()
    assert Counter(query.bodies) == Counter(bodies)
    assert (depth(broker.url), in_doubt(broker.url)) == (0, 0)
    assert injector.done.total() >= CRASHES * 0.7, injector.done
    assert not SOAK or set(STEPS) <= set(injector.done)


def test_the_sink_crash_after_crash(broker: OnDisk, tmp_path: Path) -> None:
    epochs = [[b"row %d.%d" % (epoch, number) for number in range(6)] for epoch in range(2 + CRASHES)]
    injector = harm(broker, Random(SEED + 1))
    query = SinkQuery(sink(broker.url, tmp_path), epochs, injector)
    query.run()
    assert Counter(each.body for each in drain(broker.url)) == Counter([row for epoch in epochs for row in epoch])
    assert in_doubt(broker.url) == 0
    assert injector.done.total() == CRASHES, injector.done


def test_at_least_once_crash_after_crash(broker: OnDisk, tmp_path: Path) -> None:
    bodies = [b"order %d" % number for number in range(40 + 20 * CRASHES)]
    send(broker.url, bodies)
    query = SourceQuery(source(broker.url, tmp_path, mode="at-least-once"), harm(broker, Random(SEED + 2)))
    query.run()
    seen: set[bytes] = set()
    for row in query.rows:
        assert row["redelivered"] or row["body"] not in seen
        seen.add(row["body"])
    assert seen == set(bodies)
