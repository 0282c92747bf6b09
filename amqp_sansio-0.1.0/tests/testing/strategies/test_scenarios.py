"""Whole scenarios with payloads."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, find, given, settings

from amqp_sansio.broker import Broker
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import CommandSeen
from amqp_sansio.spec import message
from amqp_sansio.testing.speech.step import Conversation
from amqp_sansio.testing.strategies import breaking, delivered, payloads, scenarios
from amqp_sansio.testing.strategies.scenarios import Payload

QUICK = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large])


# A scenario is legal from the first octet to the last.
@QUICK
@given(scenarios())
def test_a_scenario_is_legal(said: Conversation) -> None:
    assert breaking(said) is None
    assert said[-1].verb == "connection.close-ok"


def from_broker(said: Conversation) -> list[bytes]:
    """What our broker delivers to the client of a scenario, which says each of its steps when the one before was answered."""
    broker = Broker()
    peer = broker.connect()
    watch = Observer()
    for step in said.by("client"):
        if peer.finished:
            break
        watch.receive_data("C", step.octets)
        peer.receive_data(step.octets)
        for _ in broker.events():
            pass
        watch.receive_data("S", peer.data_to_send())
    bodies = []
    for seen in watch.events():
        if seen.speaker == "S" and isinstance(seen.event, CommandSeen) and isinstance(seen.event.command, message.Transfer):
            bodies.append(seen.event.body or b"")
    return bodies


# A broker delivers what the scenario says that it does, whatever the order.
@QUICK
@given(scenarios())
def test_a_broker_delivers_what_the_scenario_says(said: Conversation) -> None:
    assert sorted(from_broker(said)) == sorted(delivered(said))


@given(payloads("key"))
def test_payloads_go_to_the_key(payload: Payload) -> None:
    assert payload.delivery.routing_key == "key"


def test_a_failing_scenario_shrinks_to_a_few_lines() -> None:
    """A broker that delivers nothing."""
    least = find(
        scenarios(),
        lambda said: len(delivered(said)) > 0,
        settings=settings(max_examples=500, database=None, phases=(Phase.generate, Phase.shrink)),
    )
    assert len(least.lines) <= 17, least
    assert all(len(line) < 250 for line in least.lines)
