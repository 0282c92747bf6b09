"""What a session needs of its connection is what both connections, and the carrier of the tests, have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.carriers import BareCarrier
from tests.families.made_up import BAD, ECHO, HEAD, LINES, MADE_UP, TEXTS, LineClient, LineServer

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Carrier, Connection, legal_of, violation_of
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import DecodeError, EncodeError, LocalProtocolError
from amqp_sansio.events import (
    ConnectionClosed,
    Event,
    OpenRequested,
    Origin,
    TimeoutGranted,
    VersionRefused,
    Violation,
)
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.limits import MIN_MAX_FRAME_SIZE
from amqp_sansio.protocol import ProtocolHeader
from amqp_sansio.spec.connection import Close, Tune
from amqp_sansio.wire.framing import Malformed

ASKED = ("_has_room", "_emit", "_ask", "_fail")


@pytest.mark.parametrize("made", [ClientConnection, ServerConnection, BareCarrier])
def test_a_carrier_does_all_that_its_endpoints_ask_for(made: type[Carrier]) -> None:
    assert [name for name in ASKED if getattr(made, name) is getattr(Carrier, name)] == []


@pytest.mark.skipif(COMPILED, reason="a compiled class lists its attributes beside its methods")
def test_endpoints_ask_for_nothing_else() -> None:
    assert sorted(name for name in vars(Carrier) if name[:1] == "_" != name[1:2]) == sorted(
        ("_at_fault", "_blame", "_close_for", "_code", "_decode", "_write", *ASKED)
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


def test_what_is_malformed_is_its_speakers_violation() -> None:
    found = violation_of("S", Malformed("frame.size", "too small", 501, 2, 99, False, "size 3", ("at least 12",)))
    assert (found.speaker, found.rule, found.said, found.code) == ("S", "frame.size", "size 3", 501)
    assert (found.legal, found.channel, found.offset, found.text) == (("at least 12",), 2, 99, "too small")


class Pair:
    """A client and a server of the family, joined; `piece`: so many octets arrive at once."""

    def __init__(self, piece: int = 4096) -> None:
        self.piece = piece
        self.client = LineClient(ClientConfig(dialect=MADE_UP, max_frame_size=65535))
        self.server = LineServer(ServerConfig(dialects=(MADE_UP,)))
        self.at_client, self.at_server = self.client.lines, self.server.lines
        self.events: dict[Connection, list[Event]] = {self.client: [], self.server: []}
        self.run()

    def run(self) -> None:
        while self.carry(self.client, self.server) | self.carry(self.server, self.client):
            pass

    def carry(self, here: Connection, there: Connection) -> bool:
        octets = here.data_to_send()
        for at in range(0, len(octets), self.piece):
            there.receive_data(octets[at : at + self.piece])
            self.events[there] += there.events()
        return bool(octets)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 9), st.binary(max_size=90)), max_size=9),
    st.sampled_from([1, 7, 30, 4096]),
)
def test_what_either_side_asks_on_any_line_is_echoed_there(asked: list[tuple[bool, int, bytes]], piece: int) -> None:
    """Whatever is asked, on whatever lines and in whatever pieces it arrives: it comes back in order, to whoever asked."""
    pair = Pair(piece)
    assert pair.client.is_open
    assert pair.server.is_open
    for by_client, line, octets in asked:
        (pair.at_client if by_client else pair.at_server).ask(line, octets)
    pair.run()
    for connection, mine in ((pair.client, True), (pair.server, False)):
        echoed = [(event.seconds, event.session) for event in pair.events[connection] if isinstance(event, TimeoutGranted)]
        assert echoed == [(line, octets) for by_client, line, octets in asked if by_client is mine]


def test_what_endpoints_gathered_is_written_before_the_octets_are_taken() -> None:
    """All of it, one endpoint after another; until then it counts as waiting."""
    pair = Pair()
    pair.server.receive_data(LINES.frame(3, 1, b"aone", 4096) + LINES.frame(4, 1, b"atwo", 4096))
    assert list(pair.server.events()) == []
    assert pair.server.bytes_to_send >= 2
    assert pair.server.data_to_send() == LINES.frame(3, 1, ECHO + b"one", 4096) + LINES.frame(4, 1, ECHO + b"two", 4096)
    assert pair.at_server.pending == pair.server.bytes_to_send == 0


def test_endpoints_hear_of_the_end_before_the_program_does() -> None:
    """Once, with the reason; what they gathered is not written behind the other side's close."""
    pair = Pair()
    close = LINES.own(TEXTS.write_control(Close(320, "go")), 4096)
    pair.server.receive_data(LINES.frame(3, 1, b"aone", 4096) + close)
    assert [type(event) for event in pair.server.events()] == [ConnectionClosed]
    assert [origin for origin, _ in pair.at_server.lost] == [Origin.PEER]
    assert "go" in pair.at_server.lost[0][1]
    assert b"one" not in pair.server.data_to_send()


def test_an_endpoint_names_the_side_that_broke_its_rules_and_the_connection_is_closed() -> None:
    pair = Pair()
    pair.client.receive_data(LINES.frame(3, 1, BAD, 4096))
    (closed,) = pair.client.events()
    assert isinstance(closed, ConnectionClosed)
    assert closed.violation is not None
    assert (closed.violation.rule, closed.violation.channel) == ("line.verb", 3)
    assert TEXTS.write_control(Close(501, "b: no such verb")) in pair.client.data_to_send()


@pytest.mark.parametrize(("code", "said"), [(7, 7), (503, 501)])
def test_a_code_that_no_close_carries_is_a_framing_error(code: int, said: int) -> None:
    pair = Pair()
    pair.server._fail(Violation("client", "line.verb", "b", (), code, 1, 0, "no such verb"))
    assert TEXTS.write_control(Close(said, "b: no such verb")) in pair.server.data_to_send()


@pytest.mark.parametrize("channel", [9, 10])
def test_a_channel_beyond_what_was_agreed_reaches_no_endpoint(channel: int) -> None:
    pair = Pair()
    pair.client._channel_max = 10
    pair.client._highest = pair.client._highest_number()
    pair.client.receive_data(LINES.frame(channel, 1, b"a", 4096))
    events = list(pair.client.events())
    assert [unit[0] for unit in pair.at_client.heard] == ([9] if channel == 9 else [])
    assert [type(event) for event in events] == ([] if channel == 9 else [ConnectionClosed])


def test_channels_below_the_first_are_the_connections_own() -> None:
    pair = Pair()
    pair.server.receive_data(LINES.frame(0, 1, b"a", 4096))
    (closed,) = pair.server.events()
    assert isinstance(closed, ConnectionClosed)
    assert closed.violation is not None
    assert (closed.violation.rule, closed.violation.legal) == ("connection.channel", ("channel 1 or above",))


@pytest.mark.parametrize("header", MADE_UP.spellings)
def test_a_server_that_does_not_greet_begins_with_start(header: bytes) -> None:
    """However the client spells the header."""
    server = LineServer(ServerConfig(dialects=(MADE_UP,)))
    server.receive_data(header)
    assert list(server.events()) == []
    assert server.data_to_send()[HEAD:-1] == TEXTS.write_control(server._start_control())


def test_a_server_that_does_not_greet_names_its_version_where_the_client_speaks_another() -> None:
    server = LineServer(ServerConfig(dialects=(MADE_UP,)))
    server.receive_data(AMQP_0_10.header)
    (closed,) = server.events()
    assert isinstance(closed, ConnectionClosed)
    assert server.data_to_send() == MADE_UP.header


def test_a_server_that_does_not_greet_reads_a_header_all_the_same() -> None:
    server = LineServer(ServerConfig(dialects=(MADE_UP,)))
    server.receive_data(b"GET / HTTP/1.1")
    (closed,) = server.events()
    assert isinstance(closed, ConnectionClosed)
    assert closed.violation is not None
    assert (closed.violation.rule, closed.violation.said) == ("connection.start.protocol-name", "HTTP")


def test_a_server_that_begins_with_anything_but_start_is_left_without_a_close() -> None:
    client = LineClient(ClientConfig(dialect=MADE_UP))
    client.receive_data(LINES.own(TEXTS.write_control(Tune()), 4096))
    (closed,) = client.events()
    assert isinstance(closed, ConnectionClosed)
    assert client.data_to_send() == MADE_UP.header
    assert client.finished


def test_a_client_takes_a_header_for_another_version_where_servers_do_not_greet() -> None:
    """Its own one, too: a server that speaks it would have begun with start."""
    client = LineClient(ClientConfig(dialect=MADE_UP))
    client.receive_data(MADE_UP.header[:5])
    assert list(client.events()) == []
    client.receive_data(MADE_UP.header[5:])
    refused, closed = client.events()
    assert refused == VersionRefused(ProtocolHeader(MADE_UP.header).name, ProtocolHeader(MADE_UP.header).name)
    assert isinstance(closed, ConnectionClosed)
    assert closed.violation is not None
    assert closed.violation.rule == "connection.start.client-support"


def test_a_client_reads_frames_from_the_first_octet_where_servers_do_not_greet() -> None:
    """And offsets begin there."""
    client = LineClient(ClientConfig(dialect=MADE_UP))
    client.receive_data(LINES.frame(1, 1, b"a", 4096))
    (closed,) = client.events()
    assert isinstance(closed, ConnectionClosed)
    assert closed.violation is not None
    assert (closed.violation.rule, closed.violation.offset) == ("connection.handshake", 0)


def test_what_a_dialect_opens_where_no_virtual_host_is_named() -> None:
    pair = Pair()
    (asked,) = [event for event in pair.events[pair.server] if isinstance(event, OpenRequested)]
    assert asked.virtual_host == "/"


@pytest.mark.parametrize("code", [7, 8])
def test_a_close_carries_the_codes_of_its_dialect(code: int) -> None:
    pair = Pair()
    if code == 8:
        with pytest.raises(LocalProtocolError, match=r"connection\.close with code 8"):
            pair.client.close(code)  # type: ignore[arg-type]
        return
    pair.client.close(code)  # type: ignore[arg-type]
    pair.run()
    (closed,) = [event for event in pair.events[pair.server] if isinstance(event, ConnectionClosed)]
    assert closed.code == 7


def test_sessions_are_spoken_in_segments_only() -> None:
    with pytest.raises(EncodeError, match=r"ClientConfig\.dialect: a dialect with sessions, not made-up"):
        ClientConnection(ClientConfig(dialect=MADE_UP))
    with pytest.raises(EncodeError, match=r"ServerConfig\.dialects: a dialect with sessions, not made-up"):
        ServerConnection(ServerConfig(dialects=(MADE_UP,)))
