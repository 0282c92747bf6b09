"""A broker and its disk: what was synced is there after a crash, and nothing else is."""

from __future__ import annotations

import pytest

from amqp_sansio.broker.broker import Broker
from amqp_sansio.testing.simulation.served import model_broker
from amqp_sansio.testing.simulation.site import Site


def declare(site: Site, *names: str) -> None:
    assert isinstance(site.broker, Broker)
    for name in names:
        site.broker.host().declare_queue(name, durable=True)


def queues(site: Site) -> list[str]:
    assert isinstance(site.broker, Broker)
    return sorted(site.broker.host().queues)


@pytest.mark.parametrize("torn", [False, True])
def test_what_was_not_synced_is_lost(torn: bool) -> None:
    site = Site("east", 0, 1.0, model_broker)
    declare(site, "a", "b", "c")
    assert site.sync(2)
    site.crash(torn)
    assert queues(site) == ["a", "b"]
    declare(site, "d")
    site.sync()
    site.crash(torn)
    assert queues(site) == ["a", "b", "d"]


def test_the_broker_learns_once_what_is_on_the_disk() -> None:
    site = Site("east", 0, 1.0, model_broker)
    declare(site, "a", "b")
    assert not site.tell()
    site.sync(1)
    assert site.tell()
    assert isinstance(site.broker, Broker)
    assert site.broker._journals.done == 1
    assert not site.tell()


def test_a_snapshot_counts_when_it_is_on_the_disk() -> None:
    site = Site("east", 0, 1.0, model_broker)
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
    site = Site("east", 0, 1.05, model_broker)
    site.tick(100.0)
    assert isinstance(site.broker, Broker)
    assert site.broker.now == pytest.approx(105.0)
