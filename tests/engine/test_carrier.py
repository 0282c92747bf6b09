"""What a session needs of its connection is what both connections, and the carrier of the tests, have."""

from __future__ import annotations

import pytest
from tests.carriers import BareCarrier

from amqp_sansio.engine.carrier import Carrier, legal_of, octets_of
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.limits import MIN_MAX_FRAME_SIZE

ASKED = ("_write", "_has_room", "_emit", "_ask", "_fail")


@pytest.mark.parametrize("made", [ClientConnection, ServerConnection, BareCarrier])
def test_a_carrier_does_all_that_its_endpoints_ask_for(made: type[Carrier]) -> None:
    assert [name for name in ASKED if getattr(made, name) is getattr(Carrier, name)] == []


@pytest.mark.skipif(COMPILED, reason="a compiled class lists its attributes beside its methods")
def test_endpoints_ask_for_nothing_else() -> None:
    assert sorted(name for name in vars(Carrier) if name[:1] == "_" != name[1:2]) == sorted(
        ("_at_fault", "_blame", "_close_for", "_code", "_decode", *ASKED)
    )


@pytest.mark.parametrize(("make", "role"), [(ClientConnection, "client"), (ServerConnection, "server")])
def test_what_a_connection_says_before_anything_was_agreed(make: type[ClientConnection], role: str) -> None:
    found: Carrier = make()
    assert found.role == role
    assert found._max_frame_size == MIN_MAX_FRAME_SIZE
    assert found._closed_cause is None
    assert found.eager_headers is (role == "server")


def test_what_would_have_been_let_pass_is_the_limit_and_nothing_where_octets_are_wrong() -> None:
    assert legal_of(DecodeError("x", 0, "limit header_structs: at most 3; it has 4")) == ("limit header_structs: at most 3",)
    assert legal_of(DecodeError("x", 0, "no such field; there are others")) == ()


def test_octets_of() -> None:
    for octets in (b"x", bytearray(b"x"), memoryview(b"x.")[::2]):
        assert octets_of(octets) == b"x"
    with pytest.raises(EncodeError, match="body: takes octets, not int"):
        octets_of(5)
