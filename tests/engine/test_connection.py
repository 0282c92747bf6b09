"""Routing, sessions on a connection, limits, octets at random, ends, and time (model 1.4, 1.5, 3.1, 3.7, 9.2, 12.5)."""

from __future__ import annotations

import math
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builds import attributes
from tests.engine.opened import asked, served, serving
from tests.engine.verdicts import server_of, violation_of
from tests.scripted import ScriptedPeer, Word

from amqp_sansio.config import STRICT_PROFILE, ClientConfig, ClientMechanism, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Capabilities, Connection, capabilities_of, clip
from amqp_sansio.engine.sasl import CramMd5, CramMd5Server, Plain, PlainServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import AmqpError, ConnectionClosedError, EncodeError, LocalProtocolError
from amqp_sansio.events import (
    Authenticated,
    ConnectionClosed,
    ConnectionOpened,
    Event,
    Origin,
    SessionAttached,
    SessionDetached,
    StartReceived,
    TransferReceived,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.connection import Close, CloseOk, Heartbeat, Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.fields import as_fields
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.queue import Declare
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Completed, Detached
from amqp_sansio.testing.link import Link
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_command, frame_control

HEADER = b"AMQP\x01\x01\x00\x0a"


# --- channels ---------------------------------------------------------------------------------------------------------


def test_controls_of_the_connection_are_taken_on_any_channel() -> None:
    peer = served()
    assert peer.say(Heartbeat(), channel=77) == []
    assert peer.say(Close(200, ""), channel=77) == [ConnectionClosed(Origin.PEER, 200, "")]


@pytest.mark.rule("connection.tune-ok.channel-max.available-channels")
@pytest.mark.parametrize(("channel", "good"), [(0, True), (8, True), (9, True), (10, False), (65535, False)])
def test_rule_connection_tune_ok_channel_max_available_channels(channel: int, good: bool) -> None:
    peer = served(tune_ok=TuneOk(10, 0, 0))
    events = peer.say(Attach(b"s"), channel=channel)
    if good:
        assert isinstance(events[-1], SessionAttached)
    else:
        violation = violation_of(events)
        assert violation.rule == "connection.tune-ok.channel-max.available-channels"
        assert violation.channel == channel
        assert isinstance(peer.hear()[-1], Close)


def test_a_session_may_live_on_channel_0() -> None:
    peer = served()
    assert isinstance(peer.say(Attach(b"s"), CommandPoint(0, 0), Declare("q"))[-1].session, bytes)  # type: ignore[union-attr]


def test_words_on_a_channel_without_a_session_cost_the_connection_nothing() -> None:
    peer = served()
    assert peer.say(CommandPoint(0, 0), Sync(), channel=3) == []
    assert Detached(b"", 3) in peer.hear()
    assert peer.connection.is_open


@pytest.mark.parametrize(("limit", "good"), [(1, False), (2, True), (3, True)])
def test_limit_sessions_for_the_peer(limit: int, good: bool) -> None:
    peer = served(ServerConfig(limits=Limits(sessions=limit)))
    peer.say(Attach(b"a"), channel=1)
    events = peer.say(Attach(b"b"), channel=2)
    if good:
        assert isinstance(events[-1], SessionAttached)
    else:
        assert violation_of(events).rule == "limits.sessions"
        assert violation_of(events).code == 320


@pytest.mark.parametrize("limits", [Limits(header_octets=100), Limits(header_structs=1)])
def test_the_limits_of_headers_hold_also_behind_a_command_that_is_known(limits: Limits) -> None:
    """A transfer like one before it is read quickly, but not past a limit that the quick way does not look at."""
    peer = served(ServerConfig(limits=limits))
    peer.say(Attach(b"s"), CommandPoint(0, 0), channel=1)
    payload = LAYOUT.encode_command(Transfer("q", 1, 0), False)
    small, large = b"\0\0\0\x04\0\x63\0\0", (b"\0\0\0\x3c\0\x63" + bytes(58)) * 2
    told = [peer.say(b"".join(frame_command(1, payload, header, b"x"))) for header in (small, large)]
    assert isinstance(told[0][-1], TransferReceived)
    assert violation_of(told[1]).rule in ("limits.header_octets", "limits.header_structs")


# --- sessions ---------------------------------------------------------------------------------------------------------


def test_sessions_are_detached_before_the_connection_is_closed() -> None:
    peer = asked(ServerConfig(session_timeout=None))
    session = server_of(peer).accept(b"s")
    events = peer.say(Close(320, "go"))
    assert [type(event) for event in events] == [SessionAttached, SessionDetached, ConnectionClosed]
    assert session._channel is None
    with pytest.raises(ConnectionClosedError):
        peer.server.accept(b"t")
    with pytest.raises(AmqpError, match=r"\(320\): go"):
        session.sync()


def test_what_was_gathered_is_written_before_close() -> None:
    peer = asked()
    session = server_of(peer).accept(b"s")
    peer.say(CommandPoint(0, 0), Declare("q"), channel=1)
    session.complete(RangeSet.of(0))
    peer.connection.close()
    heard = peer.hear()
    assert [type(each) for each in heard[-2:]] == [Completed, Close]


# --- frames -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "strict", "good"), [(4096, True, True), (4097, True, False), (4097, False, True)])
def test_frames_of_4096_octets_are_taken_before_anything_is_agreed(size: int, strict: bool, good: bool) -> None:
    peer = ScriptedPeer(ServerConnection(ServerConfig(profile=STRICT_PROFILE) if strict else None))
    # The map's own size and count, two names, their types and sizes: what is left is text.
    padding = size - len(peer.octets_of(StartOk({"x": ""}, "ANONYMOUS", b"", "en_US")))
    events = peer.say(HEADER, StartOk({"x": "y" * padding}, "ANONYMOUS", b"", "en_US"))
    assert isinstance(events[-1], Authenticated if good else ConnectionClosed)


def test_a_command_that_cannot_be_put_together_ends_its_session_alone() -> None:
    peer = served()
    peer.say(Attach(b"s"), CommandPoint(0, 0), channel=1)
    peer.say(Attach(b"t"), CommandPoint(0, 0), channel=2)
    peer.hear()
    # A sync (which carries nothing) that says a header follows.
    events = peer.say(b"\x0b\x01\x00\x12\x00\x01\x00\x01" + bytes(4) + b"\x03\x01\x01\x00\x00\x00")
    assert peer.connection.is_open
    assert not any(isinstance(event, ConnectionClosed) for event in events)
    assert isinstance(peer.say(Declare("q"), channel=2)[-1].session, bytes)  # type: ignore[union-attr]


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("password", ["hush-hush", "wrong-one"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "CRAM-MD5"])
def test_no_secret_in_events_errors_reprs_or_the_record(password: str, mechanism: str) -> None:
    ours: ClientMechanism = Plain("ann", password) if mechanism == "PLAIN" else CramMd5("ann", password)
    link = Link(
        ClientConnection(ClientConfig(mechanisms=[ours])),
        ServerConnection(
            ServerConfig(
                mechanisms=[
                    PlainServer(lambda user, given: given == "hush-hush"),
                    CramMd5Server({"ann": "hush-hush"}.get, lambda: b"<nonce-nonce@here>"),
                ]
            )
        ),
    )
    heard = link.run()
    shown = repr(heard) + str(link.transcript) + repr(link.client) + repr(link.server) + str(link.client.closed_cause)
    shown += repr(attributes(link.client)) + repr(attributes(link.server)["_exchanges"])
    for secret in (password, "hush-hush", "nonce-nonce"):
        assert secret not in shown.replace("'_outbox'", "")
    assert link.server.is_open is (password == "hush-hush")


# --- whatever comes ---------------------------------------------------------------------------------------------------

FRAMES = st.builds(
    lambda flags, kind, size, track, channel, payload: (
        bytes([flags, kind]) + (12 + len(payload) + size).to_bytes(2, "big") + bytes([0, track])
        + channel.to_bytes(2, "big") + bytes(4) + payload
    ),
    st.sampled_from([15, 15, 15, 11, 3, 7, 0, 63, 255]),
    st.sampled_from([0, 0, 1, 1, 2, 3, 9]),
    st.sampled_from([0, 0, 0, 0, 0, -12, 1]),
    st.sampled_from([0, 1, 1, 2]),
    st.sampled_from([0, 1, 1, 2, 65535]),
    st.one_of(
        st.binary(max_size=30),
        st.builds(lambda *parts: b"".join(parts), st.sampled_from([b"\x01", b"\x02", b"\x03", b"\x04", b"\x08"]),
                  st.integers(0, 14).map(lambda code: bytes([code])), st.sampled_from([b"", b"\x01\x00", b"\x01\x01"]),
                  st.binary(max_size=20)),
    ),
)  # fmt: skip


# Whatever frames come behind a legal opening, nothing but events comes out, the good ones first, and it always ends.
@given(
    frames=st.lists(FRAMES, max_size=12),
    role=st.sampled_from(["client", "server"]),
    attached=st.booleans(),
    size=st.sampled_from([1, 7, 4096]),
)
def test_frames_at_random_make_events_only(frames: list[bytes], role: str, attached: bool, size: int) -> None:
    def run(chunk: int | None) -> tuple[list[Event], bytes]:
        peer = served() if role == "server" else serving()
        conn: Connection = peer.connection
        if attached and role == "server":
            peer.say(Attach(b"s"), CommandPoint(0, 0), channel=1)
        elif attached:
            peer.client.session(b"s")
            peer.say(Attached(b"s"), CommandPoint(0, 0), channel=1)
        octets = b"".join(frames)
        step = chunk or len(octets) or 1
        events: list[Event] = []
        for at in range(0, len(octets), step):
            conn.receive_data(octets[at : at + step])
            events.extend(conn.events())
        events += peer.end()
        said = conn.data_to_send()
        assert isinstance(events[-1], ConnectionClosed)
        assert sum(isinstance(event, ConnectionClosed) for event in events) == 1
        assert conn.finished
        assert conn.next_event() is None
        assert conn.tick(0.0) is None
        assert conn.data_to_send() == b""
        with pytest.raises(ConnectionClosedError):
            conn.close()
        repr(events)
        assert pickle.loads(pickle.dumps(events)) == events
        return events, said

    assert run(size) == run(None)


# Whatever octets come instead of an opening, nothing but events comes out.
@given(st.binary(max_size=200), st.booleans(), st.sampled_from([1, 7, 4096]))
def test_octets_at_random_make_events_only(octets: bytes, header: bool, size: int) -> None:
    for connection in (ClientConnection(), ServerConnection()):
        peer = ScriptedPeer(connection, chunk=size)
        events = peer.say((HEADER if header else b"") + octets) + peer.end()
        assert isinstance(events[-1], ConnectionClosed)
        connection.data_to_send()
        assert connection.finished


def test_an_open_connection_tells_what_it_agreed() -> None:
    peer = ScriptedPeer(ClientConnection(), chunk=1)
    events = peer.say(HEADER, Start({}, ("ANONYMOUS",), ("en_US",)), Tune(5, 4096, 0, 0), OpenOk(("h",)), CloseOk())
    assert [type(event) for event in events] == [StartReceived, ConnectionOpened, ConnectionClosed]
    assert peer.connection.channel_max == 5
    assert peer.connection.max_frame_size == 4096


def test_a_caller_that_stops_after_steps_without_an_event_gets_the_rest_when_it_asks_again() -> None:
    connection = served().connection
    connection._patience = 3
    connection.receive_data(frame_control(0, LAYOUT.encode_control(Heartbeat())) * 7)
    assert [(connection.next_event(), connection._undecoded) for _ in range(3)] == [(None, True), (None, True), (None, False)]


LIMITS = Limits(handshake_seconds=30, close_seconds=10)
ROLES = ("client", "server")


def opening(role: str, heartbeat: int = 0) -> tuple[Word, ...]:
    """What the peer of a connection of that role says until it is open."""
    if role == "server":
        return HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, heartbeat), Open("")
    return HEADER, Start({}, ("ANONYMOUS",), ("en_US",)), Tune(65535, 65535, 0, 120), OpenOk(())


def peer_of(role: str, heartbeat: int = 0, limits: Limits = LIMITS) -> ScriptedPeer:
    connection: Connection
    if role == "client":
        connection = ClientConnection(ClientConfig(heartbeat=heartbeat, limits=limits))
    else:
        connection = ServerConnection(ServerConfig(limits=limits))
    return ScriptedPeer(connection)


def opened(role: str, heartbeat: int = 0, limits: Limits = LIMITS) -> ScriptedPeer:
    peer = peer_of(role, heartbeat, limits)
    peer.say(*opening(role, heartbeat))
    peer.hear()
    assert peer.connection.is_open
    return peer


def due(connection: Connection) -> float | None:
    """When the connection is to be ticked: asked anew each time, which the type checker does not know."""
    return connection.due


def finished(connection: Connection) -> bool:
    """A call, so that the type checker does not take the answer for a constant."""
    return connection.finished


@pytest.fixture(params=ROLES)
def peer(request: pytest.FixtureRequest) -> ScriptedPeer:
    """The peer of an open connection, of either role."""
    return opened(request.param)


# --- our close --------------------------------------------------------------------------------------------------------


def test_a_close_ends_with_its_answer(peer: ScriptedPeer) -> None:
    conn = peer.connection
    conn.close(CloseCode.NORMAL, "bye")
    assert conn.state == "closing"
    assert not conn.is_open
    assert peer.hear() == [Close(200, "bye")]
    assert conn.next_event() is None
    assert not finished(conn)
    assert peer.say(CloseOk()) == [ConnectionClosed(Origin.LOCAL, 200, "bye")]
    assert finished(conn)
    assert not conn.wants_data


def test_after_our_close_everything_but_its_answer_and_a_crossing_close_is_discarded(peer: ScriptedPeer) -> None:
    conn = peer.connection
    conn.close()
    peer.hear()
    assert peer.say(Heartbeat(), Attach(b"s"), Open(""), b"\x0f\x00\x00\x0e" + bytes(8) + b"\x09\x09") == []
    assert peer.say(Close(320, "me too")) == []
    assert peer.hear() == [CloseOk()]
    assert not finished(conn)
    assert peer.say(CloseOk()) == [ConnectionClosed(Origin.LOCAL, 200, "")]


def test_a_crossing_close_and_then_silence_ends_at_eof(peer: ScriptedPeer) -> None:
    peer.connection.close(CloseCode.CONNECTION_FORCED, "go")
    assert peer.say(Close(200, "")) == []
    assert peer.end() == [ConnectionClosed(Origin.EOF, 320, "go")]


def test_a_close_without_answer_times_out(peer: ScriptedPeer) -> None:
    conn = peer.connection
    conn.tick(100.0)
    conn.close(CloseCode.NORMAL, "")
    peer.hear()
    assert due(conn) == 100.0  # at once: its time begins at the next tick
    assert conn.tick(101.0) == due(conn) == 111.0
    assert conn.tick(110.9) == 111.0
    assert conn.next_event() is None
    assert conn.tick(111.0) is due(conn) is None
    assert conn.next_event() == ConnectionClosed(Origin.TIMEOUT, 200, "")
    assert finished(conn)


def test_a_close_before_the_first_tick_times_out_as_well(peer: ScriptedPeer) -> None:
    peer.connection.close()
    assert peer.connection.tick(5.0) == 15.0
    assert peer.connection.tick(15.0) is None
    assert isinstance(peer.connection.next_event(), ConnectionClosed)


def test_closing_twice_is_reported(peer: ScriptedPeer) -> None:
    peer.connection.close(CloseCode.NORMAL, "bye")
    with pytest.raises(ConnectionClosedError, match="closed by us: 200 bye"):
        peer.connection.close()
    assert peer.hear() == [Close(200, "bye")]


@pytest.mark.parametrize(
    ("code", "text", "said"),
    [
        (320, "the broker is stopped", "the other side closed the connection (320): the broker is stopped"),
        (200, "", "the other side closed the connection (200)"),
    ],
)
def test_calls_after_the_peers_close_raise_its_words(peer: ScriptedPeer, code: int, text: str, said: str) -> None:
    conn = peer.connection
    peer.say(Close(code, text))
    assert conn.closed_cause == said
    with pytest.raises(ConnectionClosedError, match=re.escape(said)):
        conn.close()


def test_an_end_of_the_octets_is_reported(peer: ScriptedPeer) -> None:
    peer.connection.receive_eof()
    assert [*peer.connection.events()] == [ConnectionClosed(Origin.EOF, None, "the octets ended without a close")]
    assert peer.connection.closed_cause == "the connection ended: the octets ended without a close"


def test_a_close_that_cannot_be_encoded_changes_nothing(peer: ScriptedPeer) -> None:
    conn = peer.connection
    with pytest.raises(LocalProtocolError, match="200, 320, 402, 501"):
        conn.close(ReplyCode.NOT_FOUND, "x")
    with pytest.raises(EncodeError):
        conn.close(CloseCode.NORMAL, "x" * 256)
    assert conn.data_to_send() == b""
    assert conn.is_open
    assert conn.closed_cause is None


@pytest.mark.parametrize("role", ROLES)
def test_a_close_before_the_headers_agree_says_nothing(role: str) -> None:
    peer = peer_of(role)
    peer.hear()
    peer.connection.close(CloseCode.NORMAL, "changed my mind")
    assert peer.hear() == []
    assert peer.connection.next_event() == ConnectionClosed(Origin.LOCAL, 200, "changed my mind")
    assert finished(peer.connection)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_close_in_the_middle_of_the_opening(role: str, length: int) -> None:
    peer = peer_of(role)
    peer.say(*opening(role)[:length])
    peer.hear()
    peer.connection.close()
    assert peer.hear() == [Close(200, "")]
    assert peer.say(*opening(role)[length:]) == []
    assert isinstance(peer.say(CloseOk())[-1], ConnectionClosed)


# --- their close ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [0, 1, 65535])
def test_their_close_is_answered_on_channel_0_whatever_channel_it_came_on(peer: ScriptedPeer, channel: int) -> None:
    assert peer.say(Close(320, "go"), channel=channel) == [ConnectionClosed(Origin.PEER, 320, "go")]
    assert not finished(peer.connection)
    assert peer.connection.data_to_send()[6:8] == b"\0\0"
    assert finished(peer.connection)
    with pytest.raises(ConnectionClosedError, match=r"\(320\): go"):
        peer.connection.close()


def test_nothing_counts_after_their_close(peer: ScriptedPeer) -> None:
    assert len(peer.say(Close(200, ""), Heartbeat(), b"garbage" * 10)) == 1
    assert peer.say(b"more") == []
    assert peer.end() == []


def test_a_close_ok_that_answers_nothing_drops_the_socket(peer: ScriptedPeer) -> None:
    last = peer.say(CloseOk())[-1]
    assert isinstance(last, ConnectionClosed)
    assert last.violation is not None
    assert last.violation.said == "connection.close-ok"
    assert peer.hear() == []
    assert finished(peer.connection)


# --- violations -------------------------------------------------------------------------------------------------------


def test_a_violation_sends_close_and_waits_for_its_answer(peer: ScriptedPeer) -> None:
    conn = peer.connection
    bad = b"\x0f\x00\x00\x10" + bytes(8) + b"\x01\x63\x00\x00"
    last = peer.say(Heartbeat(), bad, Heartbeat())[-1]
    assert isinstance(last, ConnectionClosed)
    assert last.origin is Origin.VIOLATION
    violation = last.violation
    assert violation is not None
    assert (violation.said, violation.code, violation.channel) == ("connection.99", 501, 0)
    assert violation.speaker == conn.peer
    close = peer.hear()[-1]
    assert isinstance(close, Close)
    assert close.reply_code == 501
    assert not finished(conn)
    assert conn.wants_data
    with pytest.raises(ConnectionClosedError, match=r"connection\.99"):
        conn.close()
    assert peer.say(CloseOk()) == []
    assert finished(conn)


def test_a_violation_without_answer_lingers_no_longer_than_a_close(peer: ScriptedPeer) -> None:
    conn = peer.connection
    conn.tick(0.0)
    peer.say(b"\x0f\x00\x00\x10" + bytes(8) + b"\x01\x63\x00\x00")
    peer.hear()
    assert conn.tick(1.0) == 11.0
    assert conn.tick(11.0) is None
    assert finished(conn)
    assert conn.next_event() is None


def test_the_answer_to_our_close_is_found_among_whatever_else_comes(peer: ScriptedPeer) -> None:
    """Whole and octet by octet: unfinished controls, stray bodies, oversized frames, controls that cannot be read."""
    conn = peer.connection
    stray = b"\x02\x00\x00\x0d" + bytes(8) + b"z"
    early: list[Word] = [stray * 3, b"\x00\x03\x00\x0d\x01" + bytes(7) + b"z", b"\x0f\x00\x20\x00" + bytes(8188), Heartbeat()]
    unread = b"\x0f\x00\x00\x10" + bytes(8) + b"\x01\x0b\xff\xff"  # a close that says to have fields, and has none
    conn.close()
    peer.hear()
    for octet in b"".join([peer.octets_of(word) for word in (*early, unread)]):
        assert peer.say(bytes([octet])) == []
    assert [type(event) for event in peer.say(*early, CloseOk())] == [ConnectionClosed]
    assert finished(conn)


def test_a_violation_and_then_eof(peer: ScriptedPeer) -> None:
    peer.say(b"\x0f\x00\x00\x10" + bytes(8) + b"\x01\x63\x00\x00")
    peer.hear()
    assert peer.end() == []
    assert finished(peer.connection)


def test_the_offset_of_a_violation_counts_from_the_protocol_header(peer: ScriptedPeer) -> None:
    before = sum(len(peer.octets_of(word)) for word in opening(peer.connection.role))
    last = peer.say(Heartbeat(), b"\x0f\x00\x00\x10" + bytes(8) + b"\x01\x63\x00\x00")[-1]
    assert isinstance(last, ConnectionClosed)
    assert last.violation is not None
    assert last.violation.offset == before + 16


def test_a_frame_that_cannot_be_cut_ends_it_with_501_at_once(peer: ScriptedPeer) -> None:
    last = peer.say(Heartbeat(), b"\x0f\x00\x00\x0b" + bytes(8))[-1]
    assert isinstance(last, ConnectionClosed)
    assert last.violation is not None
    assert last.violation.rule == "frame.size"
    assert isinstance(peer.hear()[-1], Close)
    assert finished(peer.connection)


@pytest.mark.parametrize(
    "payload", [b"", b"\x01", b"\x01\x0b\x03", b"\x01\x0b\x02\x00\xff", b"\x00\x00\x00\x00", b"\x77\x01\x00\x00"]
)
def test_a_control_that_cannot_be_read_is_closed_with_501(peer: ScriptedPeer, payload: bytes) -> None:
    last = peer.say(b"\x0f\x00" + (12 + len(payload)).to_bytes(2, "big") + bytes(8) + payload)[-1]
    assert isinstance(last, ConnectionClosed)
    assert last.violation is not None
    assert last.violation.code == 501
    assert isinstance(peer.hear()[-1], Close)


@pytest.mark.parametrize(("size", "good"), [(4999, True), (5000, True), (5001, False)])
@pytest.mark.parametrize("role", ROLES)
def test_frames_are_held_to_the_size_agreed_on(role: str, size: int, good: bool) -> None:
    connection: Connection = ServerConnection(ServerConfig(max_frame_size=5000))
    if role == "client":
        connection = ClientConnection(ClientConfig(max_frame_size=5000))
    peer = ScriptedPeer(connection)
    peer.say(*opening(role))
    peer.hear()
    # A heartbeat with octets behind its flags is not decodable, but only a frame too large is a breach of the size.
    last = peer.say(b"\x0f\x00" + size.to_bytes(2, "big") + bytes(8) + b"\x01\x0a\x00\x00" + bytes(size - 16))
    rules = [each.violation.rule for each in last if isinstance(each, ConnectionClosed) and each.violation is not None]
    assert ("connection.tune-ok.max-frame-size.max-frame-size" in rules) is not good


# --- eof --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("length", range(5))
def test_eof_comes_behind_all_good_events(role: str, length: int) -> None:
    whole = peer_of(role)
    good = whole.say(*opening(role)[:length])
    peer = peer_of(role)
    for word in opening(role)[:length]:
        peer.connection.receive_data(peer.octets_of(word))
    peer.connection.receive_eof()
    events = list(peer.connection.events())
    assert events[:-1] == good
    assert isinstance(events[-1], ConnectionClosed)
    assert events[-1].origin is Origin.EOF
    peer.hear()
    assert finished(peer.connection)


def test_octets_after_the_end_are_the_callers_mistake(peer: ScriptedPeer) -> None:
    peer.connection.receive_eof()
    peer.connection.receive_eof()
    with pytest.raises(LocalProtocolError, match="receive_eof"):
        peer.connection.receive_data(b"x")


def test_the_end_in_the_middle_of_a_frame_is_reported(peer: ScriptedPeer) -> None:
    peer.say(b"\x0f\x00\x00\x10")
    last = peer.end()[-1]
    assert isinstance(last, ConnectionClosed)
    assert "4 octets into a frame" in last.text


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("length", range(4))
def test_limit_handshake_seconds(role: str, length: int) -> None:
    peer = peer_of(role)
    conn = peer.connection
    assert conn.tick(100.0) == 130.0
    peer.say(*opening(role)[:length])
    assert conn.tick(129.0) == 130.0
    assert conn.next_event() is None
    assert conn.tick(130.0) is None
    last = conn.next_event()
    assert isinstance(last, ConnectionClosed)
    assert last.origin is Origin.TIMEOUT
    conn.data_to_send()
    assert finished(conn)


def test_an_open_connection_without_heartbeats_keeps_no_time(peer: ScriptedPeer) -> None:
    assert peer.connection.tick(0.0) is None
    assert peer.connection.tick(1e9) is None
    assert peer.connection.next_event() is None


@pytest.mark.parametrize("role", ROLES)
def test_nobody_times_out_while_octets_wait_undecoded(role: str) -> None:
    peer = peer_of(role)
    conn = peer.connection
    conn.tick(0.0)
    for word in opening(role):
        conn.receive_data(peer.octets_of(word))
    conn.tick(1000.0)
    list(conn.events())
    assert conn.is_open


def test_a_connection_that_never_ticked_wants_to(peer: ScriptedPeer) -> None:
    assert peer_of(peer.connection.role).connection.due == -math.inf


def test_the_time_of_the_handshake_is_due_once_nothing_waits_undecoded() -> None:
    peer = peer_of("server")
    conn = peer.connection
    assert conn.tick(100.0) == due(conn) == 130.0
    conn.receive_data(peer.octets_of(HEADER))
    assert conn.tick(200.0) is due(conn) is None  # it came in time for all we know
    assert list(conn.events()) == []
    conn.data_to_send()
    assert due(conn) == 130.0  # and nothing more did
    conn.tick(200.0)
    assert isinstance(conn.next_event(), ConnectionClosed)


def test_a_close_does_not_time_out_before_what_came_in_time_is_decoded(peer: ScriptedPeer) -> None:
    conn = peer.connection
    conn.tick(0.0)
    conn.close()
    conn.tick(0.0)
    conn.receive_data(peer.octets_of(CloseOk()))
    assert conn.tick(1000.0) is conn.due is None
    assert conn.next_event() == ConnectionClosed(Origin.LOCAL, 200, "")
    assert conn.due is None


# Nothing is ever judged by a clock older than its arrival: whoever speaks within two intervals is not given up, however long
# nobody ticked before, and a close has its whole time from the first tick after it was said.
@given(silence=st.floats(0.0, 1e6), late=st.floats(0.0, 9.9))
def test_silence_before_is_not_counted(silence: float, late: float) -> None:
    peer = opened("server", heartbeat=5)
    conn = peer.connection
    conn.tick(0.0)
    peer.hear()
    conn.receive_data(peer.octets_of(Heartbeat()))
    conn.tick(silence)
    assert list(conn.events()) == []
    conn.data_to_send()
    conn.close()
    conn.data_to_send()
    assert conn.due is not None
    assert conn.due <= silence
    conn.tick(silence + 1.0)
    conn.tick(silence + 1.0 + late)
    assert list(conn.events()) == []


# In the order of a loop, `due` is later than now but for the one round more that begins a time; before that moment a tick does
# nothing, at it a tick does something.
@given(
    role=st.sampled_from(ROLES),
    rounds=st.lists(
        st.tuples(st.floats(0.01, 40.0), st.sampled_from(["word", "half a word", "nothing", "close"])), max_size=20
    ),
)
def test_due_is_worth_waiting_for(role: str, rounds: list[tuple[float, str]]) -> None:
    peer = peer_of(role, heartbeat=5)
    conn = peer.connection
    words = iter([*opening(role, 5), *[Heartbeat()] * 20])
    now = 0.0
    for seconds, does in rounds:
        now += seconds
        if conn.closed_cause is None:
            if does == "close":
                conn.close()
            elif does != "nothing":
                octets = peer.octets_of(next(words))
                half = len(octets) // 2
                conn.receive_data(octets[:half])
                if does == "half a word":
                    conn.tick(now)
                    list(conn.events())
                conn.receive_data(octets[half:])
        turns = 0
        while turns == 0 or (conn.due is not None and conn.due <= now):
            turns += 1
            conn.tick(now)
            list(conn.events())
            conn.data_to_send()
        assert turns <= 2
        due = conn.due
        if due is None:
            continue
        assert conn.tick((now + due) / 2) == due
        assert not conn.bytes_to_send
        assert conn.next_event() is None
        conn.tick(due)
        assert conn.data_to_send() or conn.eventful or conn.finished
        list(conn.events())
        conn.data_to_send()
        now = due


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_limit_inbox_octets(extra: int) -> None:
    peer = opened("server", limits=Limits(inbox_octets=1000))
    peer.connection.receive_data(bytes([15, 0, 255, 255]) + bytes(996 + extra))
    assert peer.connection.wants_data is (extra < 0)


@pytest.mark.parametrize("extra", [-1, 0])
@pytest.mark.parametrize("limits", [Limits(handshake_inbox_octets=1000), Limits(inbox_octets=1000)])
def test_a_stranger_may_send_the_lesser_of_both(limits: Limits, extra: int) -> None:
    conn = ServerConnection(ServerConfig(limits=limits))
    conn.receive_data(ServerConfig().dialect.header)
    list(conn.events())
    conn.receive_data(bytes([15, 0, 255, 255]) + bytes(996 + extra))
    assert conn.wants_data is (extra < 0)


def test_an_open_connection_is_no_stranger() -> None:
    conn = opened("server", limits=Limits(handshake_inbox_octets=1000)).connection
    conn.receive_data(bytes([15, 0, 255, 255]) + bytes(1996))
    assert conn.wants_data


def test_nothing_is_wanted_behind_the_end_of_the_octets() -> None:
    conn = opened("server").connection
    assert conn.wants_data
    conn.receive_eof()
    assert not conn.wants_data


def test_a_text_is_cut_at_255_octets_and_between_characters() -> None:
    assert [clip(text) for text in ("x" * 255, "x" * 256)] == ["x" * 255] * 2
    assert clip("x" * 254 + "ü") == "x" * 254


def test_what_is_true_in_the_table_of_capabilities() -> None:
    said = {"capabilities": {"basic.nack": True, "connection.blocked": False}, "product": "x"}
    for properties in (said, as_fields(said)):
        assert capabilities_of(properties) == {"basic.nack"}


def test_a_peer_that_announces_nothing_has_none() -> None:
    for properties in (None, {}, {"capabilities": 7}, {"capabilities": None}):
        assert capabilities_of(properties) == frozenset()


def test_by_side() -> None:
    both = Capabilities(frozenset({"a", "b"}), frozenset({"c"}))
    assert (both.of("client"), both.of("server")) == (frozenset("ab"), frozenset("c"))
    assert both == Capabilities(frozenset("ba"), frozenset("c"))
    assert repr(both) == "Capabilities(client=['a', 'b'], server=['c'])"
