"""From when on a subscription wants messages."""

from __future__ import annotations

import pytest
from tests.broker.model.things import message

from amqp_sansio.broker.model.message import Message
from amqp_sansio.broker.model.since import Since


def arrived(moment: float, number: int = 1) -> Message:
    return Message(number, message().envelope, b"", arrived=moment)


@pytest.mark.parametrize(
    ("moment", "began", "wanted"),
    [(9.5, 0.0, False), (10.0, 0.0, True), (11.0, 0.0, True), (0.0, 9.5, False), (0.0, 10.0, True)],
)
def test_what_arrived_then_or_later(moment: float, began: float, wanted: bool) -> None:
    assert Since(10.0).wants(arrived(moment), began) is wanted


@pytest.mark.parametrize(("number", "wanted"), [(6, False), (7, False), (8, True)])
def test_nothing_up_to_the_number(number: int, wanted: bool) -> None:
    assert Since(10.0, 7).wants(arrived(10.0, number), 0.0) is wanted
