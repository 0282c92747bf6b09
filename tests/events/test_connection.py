"""Events of a connection are plain values."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from amqp_sansio.events import (
    Authenticated,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRedirected,
    OpenRequested,
    Origin,
    SecurityLayerStarted,
    StartReceived,
    Violation,
)
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.values import Map

NONE = Map({})
SOME = Map({"product": "x"})

PAIRS: list[tuple[ValueObject, ValueObject]] = [
    (StartReceived(NONE, ("PLAIN",), ("en_US",)), StartReceived(SOME, ("PLAIN",), ("en_US",))),
    (Authenticated("PLAIN", "guest", NONE), Authenticated("PLAIN", "other", NONE)),
    (OpenRequested("/", (), False), OpenRequested("/", (), True)),
    (ConnectionOpened("/", 10, 4096, 0), ConnectionOpened("/", 10, 4096, 0, ("host",))),
    (ConnectionRedirected("a", ()), ConnectionRedirected("a", ("b",))),
    (SecurityLayerStarted("inbound", 8), SecurityLayerStarted("outbound", 8)),
    (ConnectionClosed(Origin.PEER, 200), ConnectionClosed(Origin.VIOLATION, 501, "", Violation("client", "r", "s"))),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_an_event_of_a_connection_is_a_plain_value(
    plain: Callable[[ValueObject, ValueObject], None], one: ValueObject, other: ValueObject
) -> None:
    plain(one, other)
