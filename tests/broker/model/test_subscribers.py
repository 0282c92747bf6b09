"""Owners of queues and subscriptions, and what subscribers wait for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import INTAKE, Sink, message

from amqp_sansio.broker.model.message import Message
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.subscribers import (
    CONNECTION,
    SESSION,
    Owner,
    Passed,
    Rank,
    SmallCredit,
    connection_of,
    published_by,
)

ONE, TWO = Owner(CONNECTION, 1), Owner(CONNECTION, 2)


def session(connection: Owner | None) -> Owner:
    return Owner(SESSION, connection=connection)


def sent(publisher: int) -> Message:
    return Message(1, message().envelope, b"", publisher=publisher)


def test_the_connection_of_an_owner() -> None:
    assert [connection_of(owner) for owner in (session(ONE), session(None), ONE, None)] == [ONE, None, ONE, None]


def test_a_session_moves_and_a_connection_does_not() -> None:
    mine = session(ONE)
    mine.moved(TWO)
    assert mine.connection is TWO
    mine.moved(None)
    assert connection_of(mine) is None
    assert (mine.lifetime, ONE.lifetime) == ("session", "connection")
    assert [repr(each) for each in (mine, ONE)] == ["<Owner: a session>", "<Owner: a connection, number 1>"]


@pytest.mark.parametrize(
    ("publisher", "owner", "expected"),
    [
        (1, ONE, True),
        (1, session(ONE), True),
        (1, TWO, False),
        (2, session(ONE), False),
        (1, session(None), False),
        (1, None, False),
        (0, Owner(CONNECTION, 0), False),
        (0, session(None), False),
        (0, None, False),
    ],
)
def test_an_owner_names_the_publisher_of_a_message(publisher: int, owner: Owner | None, expected: bool) -> None:
    """Nobody's message is nobody's own."""
    assert published_by(sent(publisher), owner) is expected


def test_a_copy_knows_its_publisher_and_one_that_was_restored_does_not() -> None:
    assert INTAKE.copy(sent(7)).publisher == 7
    assert INTAKE.restored(9, message().envelope, b"").publisher == 0


def test_browsers_that_look_again_are_notified_once() -> None:
    passed, sink = Passed(), Sink()
    passed.add(sink, [(0, 5)])
    assert passed.all() == [sink]
    assert passed.all() == []
    assert passed.before(0, 9) == []


def test_nobody_is_in_a_new_rank() -> None:
    rank = Rank(-3)
    assert (rank.priority, rank.consumers) == (-3, 0)
    assert [len(each) for each in (rank.taking, rank.selecting, rank.resting, rank.small)] == [0] * 4


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 50)), max_size=60), st.lists(st.integers(0, 50), max_size=8))
def test_the_largest_credit_is_found_if_it_is_enough(said: list[tuple[int, int]], sizes: list[int]) -> None:
    """The index names the subscriber with the most octets, if they are enough, and forgets its earlier figures."""
    sinks = [Sink() for _ in range(5)]
    small, credit = SmallCredit(), dict[Sink, int]()
    for number, octets in said:
        small.forget(sinks[number])
        credit.pop(sinks[number], None)
        if octets:
            small.note(sinks[number], -octets)
            credit[sinks[number]] = octets
    queue = Queue("q")
    for size in sizes:
        found = small.largest(queue.put(message(body=bytes(size))))
        assert (found is not None) is any(octets >= size for octets in credit.values())
        if found is not None:
            assert isinstance(found, Sink)
            assert credit.pop(found) >= max([size, *credit.values()])
    assert small._noted.keys() == credit.keys()
