"""What a session needs of its connection is what both connections, and the carrier of the tests, have."""

from __future__ import annotations

import pytest

from amqp_sansio.engine import carrier
from amqp_sansio.engine.carrier import Carrier
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.limits import MIN_MAX_FRAME_SIZE
from amqp_sansio.testing.carriers import BareCarrier
from amqp_sansio.wire.segments import Assembly

# Without what Python itself puts into a protocol.
NAMES = [name for name in vars(Carrier) if not name.startswith(("__", "_abc_", "_is_"))]


@pytest.mark.parametrize("make", [ClientConnection, ServerConnection, lambda: BareCarrier("client")])
def test_who_carries_sessions_has_all_of_it(make: type[ClientConnection]) -> None:
    found: Carrier = make()  # the type checker holds the signatures against the protocol
    assert len(NAMES) >= 15
    assert [name for name in NAMES if not hasattr(found, name)] == []


@pytest.mark.parametrize(("make", "role"), [(ClientConnection, "client"), (ServerConnection, "server")])
def test_what_a_connection_says_before_anything_was_agreed(make: type[ClientConnection], role: str) -> None:
    found: Carrier = make()
    assert found.role == role
    assert found._max_frame_size == MIN_MAX_FRAME_SIZE
    assert (found._closed_cause, found.session_named(b"s")) == (None, None)
    assert found.eager_headers is (role == "server")


def test_an_assembly_is_read_by_these_names() -> None:
    made: carrier.Assembly = Assembly(1, 1, 1, b"p", b"h", None, 5, 9)
    assert (made.payload, made.header, made.body, made.start) == (b"p", b"h", None, 5)
