"""What objections are made of."""

from __future__ import annotations

from amqp_sansio.engine.objection import refused, some
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.tables.content_classes import QOS


def test_asking_moves_nothing() -> None:
    machine = Machine(QOS["stream"])
    assert refused(machine, "client", "stream.qos") is None
    assert machine.state == "idle"
    refusal = refused(machine, "server", "stream.qos-ok")
    assert refusal is not None
    assert refusal.legal == ("client:stream.qos",)


def test_people_are_shown_eight() -> None:
    assert some(range(20)) == [str(number) for number in range(8)]
    assert len(some(["x" * 1000])[0]) == 80
