"""Whose queues and subscriptions are."""

from __future__ import annotations

import pytest
from tests.broker.model.things import INTAKE, message

from amqp_sansio.broker.model.message import Message
from amqp_sansio.broker.model.owner import connection_of, published_by


class Connection:
    def __init__(self, number: int) -> None:
        self.number = number


class Session:
    def __init__(self, peer: Connection | None) -> None:
        self.peer = peer


ONE, TWO = Connection(1), Connection(2)


def sent(publisher: int) -> Message:
    return Message(1, message().envelope, b"", publisher=publisher)


def test_the_connection_of_an_owner() -> None:
    assert [connection_of(owner) for owner in (Session(ONE), Session(None), ONE, None)] == [ONE, None, None, None]


@pytest.mark.parametrize(
    ("publisher", "owner", "expected"),
    [
        (1, ONE, True),
        (1, Session(ONE), True),
        (1, TWO, False),
        (2, Session(ONE), False),
        (1, Session(None), False),
        (1, None, False),
        (1, object(), False),
        (0, Connection(0), False),
        (0, Session(None), False),
        (0, None, False),
    ],
)
def test_who_published_a_message(publisher: int, owner: object, expected: bool) -> None:
    """Nobody's message is nobody's own."""
    assert published_by(sent(publisher), owner) is expected


def test_a_copy_knows_its_publisher_and_one_that_was_restored_does_not() -> None:
    assert INTAKE.copy(sent(7)).publisher == 7
    assert INTAKE.restored(9, message().header, b"").publisher == 0
