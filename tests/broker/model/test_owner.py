"""Whose queues and subscriptions are."""

from __future__ import annotations

import pytest
from tests.broker.model.things import INTAKE, message

from amqp_sansio.broker.model.message import Message
from amqp_sansio.broker.model.owner import CONNECTION, SESSION, Owner, connection_of, published_by

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
