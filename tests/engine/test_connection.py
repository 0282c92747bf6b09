"""Routing, sessions on a connection, limits, and what octets at random do (model 1.4, 1.5, 9.2, 12.5)."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builds import attributes
from tests.engine.opened import asked, served, serving
from tests.engine.verdicts import server_of, violation_of
from tests.scripted import ScriptedPeer

from amqp_sansio.config import STRICT_PROFILE, ClientConfig, ClientMechanism, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.sasl import CramMd5, CramMd5Server, Plain, PlainServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import AmqpError, ConnectionClosedError
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
from amqp_sansio.spec.connection import Close, CloseOk, Heartbeat, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.queue import Declare
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Completed, Detached
from amqp_sansio.testing.link import Link
from amqp_sansio.wire.frames import frame_command, frame_control
from amqp_sansio.wire.layouts.v0_10 import LAYOUT

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
