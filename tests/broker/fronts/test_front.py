"""One family at a broker: what a front that keeps nothing says of itself."""

from __future__ import annotations

import pytest

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.fronts.front import Front, Holder
from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.snapshot import Needed
from amqp_sansio.engine.server import ServerConnection


class Plain(Front):
    """It serves, and nothing of what it does outlives a connection."""

    CONNECTION = ServerConnection
    FORM = FORM


def test_a_front_that_keeps_nothing_is_in_no_snapshot() -> None:
    broker = Broker(fronts=(Plain,))
    (front,) = broker._fronts
    front.work()
    needed = Needed()
    front.need("", needed)
    assert (front.pending, front.alive, front.take()) == ((), False, ())
    assert (needed.queues, needed.entries, needed.messages) == ({}, {}, {})
    snapshot = broker.snapshot()
    assert "sessions" not in snapshot
    Broker.restore(snapshot, fronts=(Plain,))


def test_what_a_front_must_say_itself() -> None:
    broker = Broker()
    front = Plain(broker)
    for asked in (
        lambda: front.serve(broker.connect()),
        lambda: front.claims({}),
        lambda: front.outlived({}, ()),
        lambda: front.restore({}, None),  # type: ignore[arg-type]  # nobody looks at it
    ):
        with pytest.raises(NotImplementedError):
            asked()


def test_a_broker_comes_back_to_a_holder_when_its_time_has_come() -> None:
    heard: list[float] = []

    class Timed(Holder):
        def tick(self, now: float) -> None:
            heard.append(now)

    broker, holder = Broker(), Timed()
    broker._keep(holder)
    broker.tick(1.0)
    broker._agenda.note(holder, 3.0)
    broker.tick(2.0)
    assert broker.due == 3.0
    broker.tick(3.0)
    assert heard == [1.0, 3.0]


def test_a_holder_that_does_nothing_holds_nobody_up() -> None:
    broker, holder = Broker(), Holder()
    broker._settling[holder] = None
    broker._deletions.append((holder, "q"))
    broker._keep(holder)
    broker.tick(1.0)
    assert broker.due is None
