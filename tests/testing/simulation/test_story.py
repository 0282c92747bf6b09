"""What happened, in words."""

from __future__ import annotations

from amqp_sansio import ClientConnection
from amqp_sansio.broker.broker import Broker
from amqp_sansio.testing.simulation import make, replay
from amqp_sansio.testing.simulation.pipes import Wire
from amqp_sansio.testing.simulation.story import Story


def test_it_tells_nothing_unless_it_is_wanted() -> None:
    story = Story(False)
    story.tell(1, "something")
    assert story.lines == []


def test_handshakes_are_left_out() -> None:
    story = Story(True)
    wire = Wire(ClientConnection(), Broker().connect())
    story.tell(3, "client 1 connects")
    story.said(wire, "client 1", "east", "up", wire.client.data_to_send())
    assert story.lines == ["   3 client 1 connects"]


def test_a_simulation_tells_what_was_done_and_said() -> None:
    outcome = next(found for seed in range(20) if (found := replay(make(seed, 100), tell=True)).counts["published"])
    story = outcome.story
    assert [line for line in story if "publishes #1" in line]
    assert [line for line in story if "message.transfer(" in line and " to east:" in line]
