"""A broker, its disk and its wires: what was synced is there after a crash, and nothing else is."""

from __future__ import annotations

import pytest

from amqp_sansio import ClientConnection
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.testing.simulation import simulate
from amqp_sansio.testing.simulation.site import PipePair, Served, SimulatedBroker, model_broker


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


def wire() -> PipePair:
    return PipePair(ClientConnection(), Broker().connect())


def test_octets_arrive_in_order_and_in_pieces() -> None:
    pipe = wire().up
    pipe.put(b"abc")
    pipe.put(b"def")
    assert [pipe.take(2), pipe.take(3), pipe.take(9), pipe.take(1)] == [b"ab", b"cde", b"f", b""]


def test_the_end_arrives_after_what_flies_and_later_output_is_lost() -> None:
    made = wire()
    made.say()
    made.half_close()
    made.up.put(b"too late")
    assert made.harmed
    assert [made.up.arrive(4, 1), made.up.arrive(99, 1), made.up.arrive(99, 1), made.up.arrive(99, 1)] == [
        True,
        True,
        True,
        False,
    ]
    assert made.up.heard


def test_nothing_arrives_while_it_stalls() -> None:
    made = wire()
    made.say()
    made.up.until = 5
    assert (made.up.arrive(99, 4), made.up.arrive(99, 5)) == (False, True)


def test_a_cut_loses_what_flies_and_both_hear_the_end() -> None:
    made = wire()
    made.say()
    made.cut()
    assert not made.up.flying
    assert made.up.arrive(99, 1)
    assert made.down.arrive(99, 1)
    assert [type(event).__name__ for event in made.client.events()] == ["ConnectionClosed"]


def test_a_client_that_closes_its_socket_reads_no_more() -> None:
    made = wire()
    made.down.put(b"unread")
    made.close_from_client()
    assert (made.down.due, made.up.due, made.down.arrive(99, 1)) == (False, True, False)
    made = wire()
    made.up.put(b"unread")
    made.close_from_broker()
    assert (made.up.due, made.down.due) == (False, True)


def declare(site: SimulatedBroker, *names: str) -> None:
    assert isinstance(site.broker, Broker)
    for name in names:
        site.broker.host().declare_queue(name, durable=True)


def queues(site: SimulatedBroker) -> list[str]:
    assert isinstance(site.broker, Broker)
    return sorted(site.broker.host().queues)


@pytest.mark.parametrize("torn", [False, True])
def test_what_was_not_synced_is_lost(torn: bool) -> None:
    site = SimulatedBroker("east", 0, 1.0, model_broker)
    declare(site, "a", "b", "c")
    assert site.sync(2)
    site.crash(torn)
    assert queues(site) == ["a", "b"]
    declare(site, "d")
    site.sync()
    site.crash(torn)
    assert queues(site) == ["a", "b", "d"]


def test_the_broker_learns_once_what_is_on_the_disk() -> None:
    site = SimulatedBroker("east", 0, 1.0, model_broker)
    declare(site, "a", "b")
    assert not site.tell()
    site.sync(1)
    assert site.tell()
    assert isinstance(site.broker, Broker)
    assert site.broker._journals.done == 1
    assert not site.tell()


def test_a_snapshot_counts_when_it_is_on_the_disk() -> None:
    site = SimulatedBroker("east", 0, 1.0, model_broker)
    declare(site, "a")
    site.snap()
    site.crash(False)
    assert queues(site) == []
    declare(site, "b")
    site.snap()
    site.sync()
    assert (site.stored, site.kept is not None) == ([], True)
    declare(site, "c")
    site.sync()
    site.crash(False)
    assert queues(site) == ["b", "c"]


def test_its_clock_goes_as_it_goes() -> None:
    site = SimulatedBroker("east", 0, 1.05, model_broker)
    site.tick(100.0)
    assert isinstance(site.broker, Broker)
    assert site.broker.now == pytest.approx(105.0)
