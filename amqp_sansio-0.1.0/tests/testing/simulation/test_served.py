"""The face that a simulation needs of a broker."""

from __future__ import annotations

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.testing.simulation import Served, model_broker, simulate


def test_the_broker_of_this_library_has_it() -> None:
    made: Served = model_broker(BrokerConfig(journal=True), None, ())
    assert isinstance(made, Broker)


def test_a_broker_of_ones_own_is_taken_instead() -> None:
    made: list[Broker] = []

    class Mine(Broker):
        pass

    def make(config: BrokerConfig, snapshot: object, entries: object) -> Broker:
        made.append(Mine.restore(snapshot, entries, config=config))  # type: ignore[arg-type]
        return made[-1]

    assert simulate(1, 20, brokers=2, broker=make).ok
    assert len(made) >= 4  # both, and both again after the restart in the end
    assert {type(each) for each in made} == {Mine}
