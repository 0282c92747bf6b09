"""Octets that fly."""

from __future__ import annotations

from amqp_sansio import ClientConnection
from amqp_sansio.broker.broker import Broker
from amqp_sansio.testing.simulation.pipes import Wire


def wire() -> Wire:
    return Wire(ClientConnection(), Broker().connect())


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
