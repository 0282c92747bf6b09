"""Credit as clients see it, through octets (5.4 of the model)."""

from __future__ import annotations

from typing import Final

import pytest
from tests.broker.harness import World, bodies, put, scene

from amqp_sansio.events import TransferReceived
from amqp_sansio.spec import message
from amqp_sansio.spec.codes import AcceptMode, FlowMode

INFINITE: Final = 0xFFFFFFFF


def test_credit_in_window_mode_after_stop() -> None:
    """As qpid's test_credit_window_after_messagestop: five are out, stop, flow(5): nothing before completions, then five."""
    world = World()
    client, session = scene(world)
    put(client, session, *[b"%d" % n for n in range(20)])
    d = session.subscribe("q", "d")
    d.grant(5)
    world.run()
    got = client.take(TransferReceived)
    assert len(got) == 5
    d.stop()
    d.grant(5)
    world.run()
    assert bodies(client) == []
    session.accept([event.id for event in got])
    world.run()
    assert len(bodies(client)) == 5


def test_after_flush_and_completion_unlimited_credit_delivers_all() -> None:
    """As qpid's test_window_flush_ack_flow."""
    world = World()
    client, session = scene(world)
    put(client, session, b"1", b"2", b"3")
    d = session.subscribe("q", "d", accept_mode=AcceptMode.NONE)
    d.grant(1)
    d.flush()
    world.run()
    assert bodies(client) == [b"1"]
    d.grant(INFINITE)
    world.run()
    assert bodies(client) == [b"2", b"3"]


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("unit", [0, 1])
def test_credit_saturates_and_does_not_wrap(mode: int, unit: int) -> None:
    world = World()
    client, session = scene(world)
    put(client, session, *[b"x"] * 50)
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE)
    session.send(message.SetFlowMode("d", mode))
    for value in (0xFFFFFFFA, 10, 10):
        session.send(message.Flow("d", unit, value))
    session.send(message.Flow("d", 1 - unit, INFINITE))
    world.run()
    assert len(bodies(client)) == 50


@pytest.mark.parametrize("absent", [INFINITE, None])
def test_an_absent_value_is_credit_without_end(absent: int | None) -> None:
    world = World()
    client, session = scene(world)
    put(client, session, b"1", b"2")
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE)
    session.send(message.Flow("d", 0, absent))
    session.send(message.Flow("d", 1, absent))
    world.run()
    assert bodies(client) == [b"1", b"2"]


@pytest.mark.parametrize(("octets", "comes"), [(18, 0), (19, 1), (37, 1), (38, 2), (56, 2), (57, 3)])
@pytest.mark.parametrize("mode", [0, 1])
def test_octets_of_credit_pay_for_header_and_body(octets: int, comes: int, mode: int) -> None:
    """Eight octets of body, and eleven of the header with the exchange "" and the key "q"."""
    world = World()
    client, session = scene(world)
    put(client, session, *[b"12345678"] * 5)
    d = session.subscribe("q", "d")
    d.set_mode(FlowMode(mode))
    d.grant(100, octets)
    world.run()
    got = bodies(client)
    assert len(got) == comes


def test_a_large_message_waits_for_octets_and_holds_up_what_is_behind_it() -> None:
    world = World()
    client, session = scene(world)
    put(client, session, bytes(100), b"1")
    d = session.subscribe("q", "d")
    d.grant(10, 100)
    world.run()
    assert bodies(client) == []
    d.grant(0, 11)
    world.run()
    assert bodies(client) == [bytes(100)]
    other, yours = world.session(b"other")
    yours.subscribe("q", "d").grant(10)
    world.run()
    assert bodies(other) == [b"1"]
