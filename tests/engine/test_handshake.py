"""How a header tells a server the dialect.  See also test_client_handshake.py and test_server_handshake.py."""

from __future__ import annotations

import pytest
from tests.families.made_up import MADE_UP, LineServer

from amqp_sansio.config import ServerConfig
from amqp_sansio.dialects import AMQP_0_10, AMQP_0_10_FINAL
from amqp_sansio.engine.handshake import Doorstep
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import EncodeError, LocalProtocolError
from amqp_sansio.events import ConnectionClosed, Origin

BOTH = ServerConfig(dialects=(AMQP_0_10, MADE_UP))
STRANGE = b"AMQP\x01\x01\x09\x09"


@pytest.mark.parametrize("piece", [1, 3, 7, 8, 9, 4096])
@pytest.mark.parametrize(
    ("header", "kind"),
    [(AMQP_0_10.header, ServerConnection), (MADE_UP.header, LineServer), (MADE_UP.spellings[1], LineServer)],
)
def test_the_header_chooses_the_dialect_however_it_is_cut(header: bytes, kind: type, piece: int) -> None:
    """And the connection answers as one that never knew of another."""
    door, alone = Doorstep(BOTH), Doorstep(ServerConfig(dialects=(AMQP_0_10 if kind is ServerConnection else MADE_UP,)))
    for at in range(0, len(header), piece):
        assert not door.passed
        assert list(door.connection.events()) == []
        door.receive_data(header[at : at + piece])
    alone.receive_data(header)
    assert type(door.connection) is kind
    assert list(door.connection.events()) == list(alone.connection.events()) == []
    assert door.connection.data_to_send() == alone.connection.data_to_send() != b""


@pytest.mark.parametrize("dialects", [(AMQP_0_10, MADE_UP), (MADE_UP, AMQP_0_10)])
def test_an_unknown_header_is_answered_with_the_preferred_one(dialects: tuple[object, ...]) -> None:
    door = Doorstep(ServerConfig(dialects=dialects))  # type: ignore[arg-type]  # both kinds, in either order
    door.receive_data(STRANGE)
    (closed,) = door.connection.events()
    assert isinstance(closed, ConnectionClosed)
    assert door.connection.data_to_send() == dialects[0].header  # type: ignore[attr-defined]


def test_of_two_with_the_same_header_the_first_is_spoken() -> None:
    door = Doorstep(ServerConfig(dialects=(AMQP_0_10_FINAL, AMQP_0_10)))
    door.receive_data(AMQP_0_10.header)
    assert door.connection.codec is AMQP_0_10_FINAL.codec


def test_the_time_of_the_handshake_begins_before_the_header_is_there() -> None:
    """A client that says little by little what it speaks gets no more time than another."""
    door, seconds = Doorstep(BOTH), BOTH.limits.handshake_seconds
    door.connection.tick(100.0)
    door.receive_data(MADE_UP.header[:5])
    door.connection.tick(100.0 + seconds - 1)
    door.receive_data(MADE_UP.header[5:])
    assert list(door.connection.events()) == []
    assert door.connection.due == 100.0 + seconds
    door.connection.tick(100.0 + seconds)
    (closed,) = door.connection.events()
    assert isinstance(closed, ConnectionClosed)
    assert closed.origin is Origin.TIMEOUT


def test_a_client_that_never_says_what_it_speaks_runs_out_of_time() -> None:
    door, seconds = Doorstep(BOTH), BOTH.limits.handshake_seconds
    door.receive_data(b"AMQP")
    door.connection.tick(5.0)
    door.connection.tick(5.0 + seconds)
    (closed,) = door.connection.events()
    assert isinstance(closed, ConnectionClosed)
    assert closed.origin is Origin.TIMEOUT


@pytest.mark.parametrize("by", ["close", "time"])
def test_nothing_begins_behind_a_connection_that_is_over(by: str) -> None:
    """Closed here, or given up in time: a header that comes late chooses nothing."""
    door = Doorstep(BOTH)
    door.receive_data(MADE_UP.header[:5])
    if by == "close":
        door.connection.close()
    else:
        door.connection.tick(5.0)
        door.connection.tick(5.0 + BOTH.limits.handshake_seconds)
    (closed,) = door.connection.events()
    assert isinstance(closed, ConnectionClosed)
    over = door.connection
    door.receive_data(MADE_UP.header[5:])
    assert door.connection is over
    assert over.finished


def test_octets_that_end_within_the_header_are_reported() -> None:
    door = Doorstep(BOTH)
    door.receive_data(b"AMQP\x01")
    door.receive_eof()
    door.receive_eof()
    (closed,) = door.connection.events()
    assert isinstance(closed, ConnectionClosed)
    assert "after 41 4d 51 50 01 for a protocol header" in closed.text
    with pytest.raises(LocalProtocolError):
        door.receive_data(b"x")


def test_a_connection_speaks_one_dialect() -> None:
    with pytest.raises(EncodeError, match=r"ServerConfig\.dialects: takes one for a connection"):
        ServerConnection(BOTH)
    with pytest.raises(EncodeError, match=r"ServerConfig\.dialects: takes one Dialect or more"):
        ServerConfig(dialects=())
