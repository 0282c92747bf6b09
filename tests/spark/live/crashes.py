"""Crash after crash of us and of a broker on disk, at every step of the protocol: what must hold, whoever the broker is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol
from uuid import NAMESPACE_OID, UUID, uuid5

from tests.spark.live.stage import (
    COPY,
    ORDERS,
    SinkQuery,
    SourceQuery,
    declare,
    depth,
    die,
    drain,
    in_doubt,
    send,
    sink,
    source,
)

from amqp_sansio.adapters.sync import connect
from amqp_sansio.spark.live import coordinator, spooler
from amqp_sansio.spark.live.sink import STEPS as TASK_STEPS

WITH_CHECKPOINT = ("offset logged", "rows stored", "batch committed")
SOURCE = (*spooler.STEPS, *spooler.RECOVERY, *WITH_CHECKPOINT)
SINK = (*TASK_STEPS, *coordinator.STEPS, *coordinator.RECOVERY, "planned", "commit logged")
BEFORE = dict.fromkeys(("asked", "finished", "undone"), ("prepared", "recorded"))
"""Steps of the source that come only when something is in doubt, and where we die to make it so."""
AT_LEAST_ONCE = (*spooler.STEPS_AT_LEAST_ONCE, *WITH_CHECKPOINT)
SINK_AT_LEAST_ONCE = ("published", "planned", "checked", "decided", "finished", "commit logged")


class Falling(Protocol):
    """A broker that can be killed with signal 9, and is there again with what it was given."""

    @property
    def url(self) -> str: ...

    def fall(self) -> None: ...


class Many(NamedTuple):
    """How many crashes, at least."""

    ours: int
    """Of the process that has the source, or the driver and its tasks."""
    falls: int
    """Of the broker."""
    seed: int = 1


Before = Mapping[str, Sequence[str]]


def planned(kinds: Mapping[str, int], steps: Sequence[str], seed: int, before: Before, first: str) -> list[tuple[str, str]]:
    """Crashes (step, kind) one after the other: so many of each kind, at steps in turn, that a seed shuffles.

    Where `before` a step there has to be another crash, that is of the kind `first`.
    """
    random = Random(seed)
    turned = [*steps[seed % len(steps) :], *steps[: seed % len(steps)]]
    wanted = [(step, kind) for kind, times in kinds.items() for step in islice(cycle(turned), times)]
    random.shuffle(wanted)
    found = []
    for step, kind in wanted:
        if step in before:
            found.append((random.choice(before[step]), first))
        found.append((step, kind))
    return found


class Crashes:
    """Kills us and the broker by a plan: `done` counts them."""

    def __init__(self, broker: Falling, steps: Sequence[str], many: Many, before: Before | None = None) -> None:
        self._kinds: dict[str, Callable[[], None]] = {"we": die, "broker": broker.fall}
        self._wanted = {"we": many.ours, "broker": many.falls}
        self._steps = steps
        self._left = planned(self._wanted, steps, many.seed, before or {}, "we")[::-1]
        self.done: Counter[tuple[str, str]] = Counter()

    def __call__(self, step: str) -> None:
        if self._left and self._left[-1][0] == step:
            self.done[self._left[-1]] += 1
            self._kinds[self._left.pop()[1]]()

    def check(self) -> None:
        """All of them happened, and enough of them at every step."""
        assert not self._left, self._left
        for kind, times in self._wanted.items():
            counts = [self.done[step, kind] for step in self._steps]
            assert sum(counts) >= times
            assert min(counts) >= times // len(self._steps), self.done


def crash_the_source(broker: Falling, place: Path, many: Many) -> None:
    """Each message is in the output once; nothing is left on the queue or in doubt."""
    declare(broker.url, ORDERS)
    bodies = _orders(many)
    send(broker.url, bodies)
    crashes = Crashes(broker, SOURCE, many, BEFORE)
    query = SourceQuery(source(broker.url, place), crashes)
    query.run()
    assert Counter(query.bodies) == Counter(bodies)
    assert (depth(broker.url), in_doubt(broker.url)) == (0, 0)
    crashes.check()


def crash_the_sink(broker: Falling, place: Path, many: Many) -> None:
    """Each row is published once; nothing is left in doubt."""
    declare(broker.url, COPY)
    epochs = _epochs(many)
    crashes = Crashes(broker, SINK, many)
    query = SinkQuery(sink(broker.url, place), epochs, crashes)
    query.run()
    assert Counter(each.body for each in drain(broker.url)) == Counter([row for epoch in epochs for row in epoch])
    assert in_doubt(broker.url) == 0
    crashes.check()


def crash_the_source_at_least_once(broker: Falling, place: Path, many: Many, *, remembers: bool = True) -> None:
    """No message is lost; what comes a second time has the same message-id, and says that it is redelivered.

    The latter where the broker `remembers` through its own death what it delivered.
    """
    declare(broker.url, ORDERS)
    ids = {uuid5(NAMESPACE_OID, body.decode()): body for body in _orders(many)}
    with connect(broker.url) as connection, connection.session() as session:
        for name, body in ids.items():
            session.send("", ORDERS, body, persistent=True, message_id=name)
    crashes = Crashes(broker, AT_LEAST_ONCE, many)
    query = SourceQuery(source(broker.url, place, mode="at-least-once"), crashes)
    query.run()
    seen: set[str] = set()
    for row in query.rows:
        assert row["redelivered"] or row["message_id"] not in seen or not remembers
        assert row["body"] == ids[UUID(row["message_id"])]
        seen.add(row["message_id"])
    assert seen == {str(name) for name in ids}
    crashes.check()


def crash_the_sink_at_least_once(broker: Falling, place: Path, many: Many) -> None:
    """No row is lost, and what comes a second time has the message-id of the first."""
    declare(broker.url, COPY)
    epochs = _epochs(many)
    crashes = Crashes(broker, SINK_AT_LEAST_ONCE, many)
    query = SinkQuery(sink(broker.url, place, mode="at-least-once"), epochs, crashes)
    query.run()
    ids = {each.message_id: each.body for each in drain(broker.url)}
    assert None not in ids
    assert Counter(ids.values()) == Counter([row for epoch in epochs for row in epoch])
    crashes.check()


def _orders(many: Many) -> list[bytes]:
    """Enough for two segments, and for a little more than two for each crash."""
    return [b"order %d" % number for number in range(40 + 18 * (many.ours + many.falls))]


def _epochs(many: Many) -> list[list[bytes]]:
    return [[b"row %d.%d" % (epoch, number) for number in range(6)] for epoch in range(2 + many.ours + many.falls)]
