"""A session or a channel, as the rounds of the broker see it."""

from __future__ import annotations

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.fronts.holder import Holder


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
    site = broker._open("")
    assert site is not None
    site.slack[holder] = None
    broker._settling[holder] = None
    broker._bereaved.append((holder, "q"))
    broker._keep(holder)
    broker.tick(1.0)
    assert broker.due is None
