"""The named rules of class connection: kept by our client and our server, and held against both by an observer."""

from __future__ import annotations

import pytest
from tests.conformance.rules.peers import (
    HEADER,
    OPENING,
    START,
    START_OK,
    TUNE,
    Said,
    frame,
    of_open_client,
    of_open_server,
    overheard,
    peer_of_client,
    peer_of_server,
)
from tests.engine.verdicts import dropped, server_of, violation_of

from amqp_sansio.config import ClientConfig, ClientMechanism, ServerConfig
from amqp_sansio.engine.sasl import Anonymous, CramMd5, Plain, PlainServer, Scram
from amqp_sansio.errors import EncodeError, LocalProtocolError
from amqp_sansio.events import (
    Authenticated,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRedirected,
    OpenRequested,
    Origin,
    SessionAttached,
    StartReceived,
)
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.connection import Close, Heartbeat, Open, OpenOk, Redirect, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.session import Attach, Attached, CommandPoint

OTHER_HEADER = b"AMQP\x00\x00\x09\x01"
BEFORE_START: tuple[Said, ...] = OPENING[:2]
BEFORE_TUNE: tuple[Said, ...] = OPENING[:4]
BEFORE_TUNE_OK: tuple[Said, ...] = OPENING[:5]
BEFORE_OPEN: tuple[Said, ...] = OPENING[:6]


# --- headers, start ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("connection.start.protocol-name")
def test_a_server_sends_no_control_to_a_client_of_another_protocol() -> None:
    peer = peer_of_server()
    violation = violation_of(peer.say(OTHER_HEADER, START_OK))
    assert violation.rule == "connection.start.protocol-name"
    assert (peer.hear(), peer.octets, peer.connection.finished) == ([], HEADER, True)


@pytest.mark.rule("connection.start.client-support")
def test_a_client_leaves_a_server_of_another_version() -> None:
    peer = peer_of_client()
    violation = violation_of(peer.say(OTHER_HEADER, START))
    assert violation.rule == "connection.start.client-support"
    assert dropped(peer)
    assert peer.octets == HEADER


@pytest.mark.rule("connection.start.server-properties.required-fields")
def test_a_server_says_what_it_is() -> None:
    peer = peer_of_server()
    peer.say(HEADER)
    (start,) = peer.hear()
    assert isinstance(start, Start)
    assert start.server_properties is not None
    # The host is not known below the sockets: who embeds a server adds it to the properties.
    assert {"product", "version", "platform", "copyright", "information"} <= set(start.server_properties)
    assert all(isinstance(text, str) and text for text in start.server_properties.values())
    told = peer_of_server(ServerConfig(properties={**start.server_properties, "host": "h.example"}))
    told.say(HEADER)
    (start,) = told.hear()
    assert isinstance(start, Start)
    assert start.server_properties is not None
    assert start.server_properties["host"] == "h.example"


@pytest.mark.rule("connection.start-ok.client-properties.required-fields")
def test_a_client_says_what_it_is() -> None:
    peer = peer_of_client()
    peer.say(HEADER, START)
    (start_ok,) = peer.hear()
    assert isinstance(start_ok, StartOk)
    assert start_ok.client_properties is not None
    assert {"product", "version", "platform", "copyright", "information"} <= set(start_ok.client_properties)
    assert all(isinstance(text, str) and text for text in start_ok.client_properties.values())


@pytest.mark.rule("connection.start.locales.required-support")
def test_a_server_offers_en_us() -> None:
    with pytest.raises(EncodeError, match="required-support"):
        ServerConfig(locales=("de_DE",))
    peer = peer_of_server(ServerConfig(locales=("de_DE", "en_US")))
    peer.say(HEADER)
    (start,) = peer.hear()
    assert isinstance(start, Start)
    assert start.locales == ("de_DE", "en_US")
    without = Start({}, ("ANONYMOUS",), ("de_DE",))
    rule = "S connection.start.locales.required-support"
    assert overheard(*BEFORE_START, ("S", without), strict=True, opened=False) == [rule]
    assert overheard(*BEFORE_START, ("S", START), strict=True, opened=False) == []


@pytest.mark.rule("connection.start-ok.mechanism.security")
@pytest.mark.parametrize("offered", [("PLAIN", "ANONYMOUS", "CRAM-MD5", "SCRAM-SHA-256"), ("SCRAM-SHA-256", "PLAIN")])
def test_a_client_takes_the_most_secure_mechanism_whatever_stands_first(offered: tuple[str, ...]) -> None:
    known: list[ClientMechanism] = [
        Scram("ann", "hush", "SCRAM-SHA-256"),
        CramMd5("ann", "hush"),
        Plain("ann", "hush"),
        Anonymous(),
    ]
    peer = peer_of_client(ClientConfig(mechanisms=known))
    assert isinstance(peer.say(HEADER, Start({}, offered, ("en_US",)))[-1], StartReceived)
    (start_ok,) = peer.hear()
    assert isinstance(start_ok, StartOk)
    assert start_ok.mechanism == "SCRAM-SHA-256"


@pytest.mark.rule("connection.start-ok.mechanism.security")
@pytest.mark.parametrize("offered", [("ANONYMOUS", "PLAIN"), ("PLAIN", "ANONYMOUS")])
def test_a_client_with_a_name_is_never_anonymous(offered: tuple[str, ...]) -> None:
    peer = peer_of_client(ClientConfig(username="ann", password="hush"))
    peer.say(HEADER, Start({}, offered, ("en_US",)))
    (start_ok,) = peer.hear()
    assert isinstance(start_ok, StartOk)
    assert start_ok.mechanism == "PLAIN"


@pytest.mark.rule("connection.start-ok.mechanism.validity")
def test_a_mechanism_that_was_not_offered_drops_the_socket() -> None:
    peer = peer_of_server()
    violation = violation_of(peer.say(HEADER, StartOk({}, "PLAIN", b"", "en_US")))
    assert (violation.rule, violation.legal) == ("connection.start-ok.mechanism.validity", ("ANONYMOUS",))
    assert dropped(peer)
    assert overheard(*BEFORE_START, ("S", START), ("C", StartOk({}, "PLAIN", b"", "en_US")), opened=False) == [
        "C connection.start-ok.mechanism.validity"
    ]


# --- tune -------------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("connection.tune.max-frame-size.minimum", "connection.tune-ok.max-frame-size.minimum")
def test_before_tune_both_accept_4096_octets() -> None:
    """The largest control that fits into 4096 octets is heard by either side before anything is agreed."""
    start_ok = StartOk({"filler": "x" * 4000}, "ANONYMOUS", b"", "en_US")
    server = peer_of_server(ServerConfig(max_frame_size=4096))
    size = len(server.octets_of(start_ok))
    assert 4000 < size <= 4096
    start_ok = StartOk({"filler": "x" * (4000 + 4096 - size)}, "ANONYMOUS", b"", "en_US")
    assert len(server.octets_of(start_ok)) == 4096
    assert isinstance(server.say(HEADER, start_ok)[-1], Authenticated)

    client = peer_of_client(ClientConfig(max_frame_size=4096))
    start = Start({"filler": "x" * 4000}, ("ANONYMOUS",), ("en_US",))
    start = Start({"filler": "x" * (4000 + 4096 - len(client.octets_of(start)))}, ("ANONYMOUS",), ("en_US",))
    assert len(client.octets_of(start)) == 4096
    assert isinstance(client.say(HEADER, start)[-1], StartReceived)


@pytest.mark.rule("connection.tune.max-frame-size.minimum")
@pytest.mark.parametrize(("size", "good"), [(1, False), (4095, False), (4096, True), (4097, True)])
def test_a_server_may_not_offer_frames_below_4096(size: int, good: bool) -> None:
    peer = peer_of_client()
    events = peer.say(HEADER, START, Tune(65535, size, 0, 120))
    told = overheard(*BEFORE_TUNE, ("S", Tune(65535, size, 0, 120)), opened=False)
    if good:
        assert peer.hear()[-2:] == [TuneOk(65535, size, 0), Open("")]
        assert told == []
    else:
        assert violation_of(events).rule == "connection.tune.max-frame-size.minimum"
        assert told == ["S connection.tune.max-frame-size.minimum"]
        with pytest.raises(EncodeError, match="max_frame_size"):
            ServerConfig(max_frame_size=size)


TUNE_RULES = pytest.mark.parametrize(
    ("tune", "rule"),
    [
        (Tune(1, 4096, 5, 4), "connection.tune.heartbeat-max.permitted-range"),
        (Tune(1, 4096, 5, 5), None),
        (Tune(1, 4096, 5, 6), None),
        (Tune(1, 4096, 5, None), None),
        (Tune(1, 4096, None, 120), "connection.tune.heartbeat-max.no-heartbeat-min"),
        (Tune(1, 4096, None, None), None),
    ],
)


@pytest.mark.rule("connection.tune.heartbeat-max.permitted-range", "connection.tune.heartbeat-max.no-heartbeat-min")
@TUNE_RULES
def test_the_heartbeats_that_a_server_offers(tune: Tune, rule: str | None) -> None:
    peer = peer_of_client()
    events = peer.say(HEADER, START, tune)
    told = overheard(*BEFORE_TUNE, ("S", tune), strict=True, opened=False)
    if rule is None:
        assert isinstance(peer.hear()[-1], Open)
        ServerConfig(heartbeat_min=tune.heartbeat_min, heartbeat_max=tune.heartbeat_max)
        assert told == []
    else:
        assert violation_of(events).rule == rule
        assert told == [f"S {rule}"]
        with pytest.raises(EncodeError, match=rule):
            ServerConfig(heartbeat_min=tune.heartbeat_min, heartbeat_max=tune.heartbeat_max)


@pytest.mark.rule(
    "connection.tune-ok.channel-max.upper-limit",
    "connection.tune-ok.max-frame-size.upper-limit",
    "connection.tune-ok.max-frame-size.minimum",
    "connection.tune-ok.heartbeat.permitted-range",
)
@pytest.mark.parametrize(
    ("tune_ok", "rule"),
    [
        (TuneOk(101, 8192, 20), "channel-max.upper-limit"),
        (TuneOk(100, 8192, 20), None),
        (TuneOk(99, 8192, 20), None),
        (TuneOk(100, 8193, 20), "max-frame-size.upper-limit"),
        (TuneOk(100, 8191, 20), None),
        (TuneOk(100, 4095, 20), "max-frame-size.minimum"),
        (TuneOk(100, 4096, 20), None),
        (TuneOk(100, 4097, 20), None),
        (TuneOk(100, 8192, 9), "heartbeat.permitted-range"),
        (TuneOk(100, 8192, 10), None),
        (TuneOk(100, 8192, 11), None),
        (TuneOk(100, 8192, 29), None),
        (TuneOk(100, 8192, 30), None),
        (TuneOk(100, 8192, 31), "heartbeat.permitted-range"),
    ],
)
def test_a_tune_ok_beyond_the_offer_drops_the_socket(tune_ok: TuneOk, rule: str | None) -> None:
    peer = peer_of_server(ServerConfig(channel_max=100, max_frame_size=8192, heartbeat_min=10, heartbeat_max=30))
    events = peer.say(HEADER, START_OK, tune_ok, Open(""))
    said: tuple[Said, ...] = (*BEFORE_TUNE, ("S", Tune(100, 8192, 10, 30)), ("C", tune_ok))
    if rule is None:
        assert isinstance(events[-1], ConnectionOpened)
        assert overheard(*said, opened=False) == []
    else:
        assert violation_of(events).rule == f"connection.tune-ok.{rule}"
        assert dropped(peer)
        assert overheard(*said, opened=False) == [f"C connection.tune-ok.{rule}"]


@pytest.mark.rule("connection.tune-ok.heartbeat.no-heartbeat-min")
def test_without_a_shortest_delay_a_client_sets_none() -> None:
    peer = peer_of_server(ServerConfig(heartbeat_min=None, heartbeat_max=None))
    violation = violation_of(peer.say(HEADER, START_OK, TuneOk(0, 0, 5)))
    assert violation.rule == "connection.tune-ok.heartbeat.no-heartbeat-min"
    assert dropped(peer)
    client = peer_of_client(ClientConfig(heartbeat=30))
    client.say(HEADER, START, Tune(10, 4096, None, None))
    assert TuneOk(10, 4096, None) in client.hear()
    silent: tuple[Said, ...] = (*BEFORE_TUNE, ("S", Tune(10, 4096, None, None)), ("C", TuneOk(10, 4096, 5)))
    rule = "connection.tune-ok.heartbeat.no-heartbeat-min"
    assert overheard(*silent, strict=True, opened=False) == [f"C {rule}"]


@pytest.mark.rule("connection.tune-ok.heartbeat.permitted-range")
@pytest.mark.parametrize(("wanted", "said"), [(1, 10), (10, 10), (20, 20), (30, 30), (99, 30)])
def test_a_client_moves_its_delay_into_the_range(wanted: int, said: int) -> None:
    peer = peer_of_client(ClientConfig(heartbeat=wanted))
    peer.say(HEADER, START, Tune(10, 4096, 10, 30))
    assert TuneOk(10, 4096, said) in peer.hear()


@pytest.mark.rule("connection.tune-ok.channel-max.available-channels")
@pytest.mark.parametrize(("channel", "good"), [(0, True), (9, True), (10, False), (11, False), (65535, False)])
def test_of_n_channels_0_to_n_1_may_be_used(channel: int, good: bool) -> None:
    peer = of_open_server(tune_ok=TuneOk(10, 0, 0))
    events = peer.say(Attach(b"s"), channel=channel)
    agreed: tuple[Said, ...] = (*OPENING[:5], ("C", TuneOk(10, 65535, 0)), *OPENING[6:])
    told = overheard(*agreed, ("C", Attach(b"s")), opened=False, channel=channel, strict=True)
    if good:
        assert isinstance(events[-1], SessionAttached)
        assert told == []
    else:
        assert violation_of(events).rule == "connection.tune-ok.channel-max.available-channels"
        assert isinstance(peer.hear()[-1], Close)
        assert told == ["C connection.tune-ok.channel-max.available-channels"]


@pytest.mark.rule("connection.tune-ok.channel-max.available-channels")
def test_a_client_uses_no_more_channels_than_agreed() -> None:
    peer = of_open_client(tune=Tune(3, 65535, 0, 120))
    connection = peer.client
    for number in range(3):
        connection.session(b"%d" % number)
    with pytest.raises(Exception, match="channel"):
        connection.session(b"one too many")


@pytest.mark.rule("connection.tune-ok.max-frame-size.max-frame-size")
@pytest.mark.parametrize(("size", "good"), [(4999, True), (5000, True), (5001, False)])
def test_a_frame_beyond_what_was_agreed_closes_with_framing_error(size: int, good: bool) -> None:
    peer = of_open_server(tune_ok=TuneOk(10, 5000, 0))
    peer.say(Attach(b"s"), CommandPoint(0, 0))
    command = peer.octets_of(Transfer(""))
    whole = b"\x0b" + command[1:] + frame(0x07, 3, b"x" * (size - 12))
    events = peer.say(whole)
    if good:
        assert events[-1].body == b"x" * (size - 12)  # type: ignore[union-attr]
    else:
        violation = violation_of(events)
        assert (violation.rule, violation.code) == ("connection.tune-ok.max-frame-size.max-frame-size", 501)
        close = peer.hear()[-1]
        assert isinstance(close, Close)
        assert close.reply_code == 501


@pytest.mark.rule("connection.tune-ok.max-frame-size.max-frame-size")
def test_nobody_sends_larger_frames_than_agreed() -> None:
    """A body of any size is cut so that no frame is larger than what was agreed."""
    peer = of_open_client(tune=Tune(10, 4096, 0, 120))
    session = peer.client.session(b"s")
    assert session._channel is not None
    peer.say(Attached(b"s"), channel=session._channel.number)
    peer.connection.data_to_send()
    session.publish("", body=b"x" * 100_000)
    octets, sizes = peer.connection.data_to_send(), []
    while octets:
        sizes.append(int.from_bytes(octets[2:4], "big"))
        octets = octets[sizes[-1] :]
    assert max(sizes) == 4096
    assert len(sizes) > 100_000 // 4096


# --- open, redirect, close --------------------------------------------------------------------------------------------------


def test_a_server_may_look_at_the_user_before_it_opens_a_virtual_host() -> None:
    """Who it is and where it wants to go are told before anything is answered; a refusal is a close."""
    peer = peer_of_server(ServerConfig(mechanisms=[PlainServer(lambda user, password: True)]))
    server = server_of(peer)
    peer.say(HEADER)
    server.receive_data(peer.octets_of(StartOk({}, "PLAIN", b"\0ann\0hush", "en_US")))
    who = server.next_event()
    assert isinstance(who, Authenticated)
    assert who.identity == "ann"
    server.receive_data(peer.octets_of(TuneOk(0, 0, 0)) + peer.octets_of(Open("secret")))
    assert server.next_event() == OpenRequested("secret", (), False)
    assert not server.is_open
    server.close(CloseCode.CONNECTION_FORCED, "ann may not")
    assert peer.hear()[-1] == Close(320, "ann may not")
    assert list(server.events()) == []


@pytest.mark.parametrize(("host", "good"), [("a", True), ("b", True), ("c", False), ("", False)])
def test_a_virtual_host_that_is_not_served_is_refused(host: str, good: bool) -> None:
    peer = peer_of_server(ServerConfig(virtual_hosts=("a", "b")))
    peer.say(HEADER, START_OK, TuneOk(0, 0, 0), Open(host))
    last = peer.hear()[-1]
    assert isinstance(last, OpenOk) if good else isinstance(last, Close) and last.reply_code == 402


@pytest.mark.rule("connection.open.insist.behavior")
def test_a_client_that_insists_is_not_redirected() -> None:
    peer = peer_of_server()
    server = server_of(peer)
    peer.say(HEADER, START_OK)
    server.receive_data(peer.octets_of(TuneOk(0, 0, 0)) + peer.octets_of(Open("", None, True)))
    assert server.next_event() == OpenRequested("", (), True)
    with pytest.raises(LocalProtocolError, match=r"connection\.open\.insist\.behavior"):
        server.redirect("elsewhere")
    server.close(CloseCode.CONNECTION_FORCED, "cannot serve you here")
    assert isinstance(peer.hear()[-1], Close)

    client = peer_of_client(ClientConfig(insist=True))
    violation = violation_of(client.say(HEADER, START, TUNE, Redirect("elsewhere")))
    assert violation.rule == "connection.open.insist.behavior"
    assert dropped(client)
    free = peer_of_client()
    assert ConnectionRedirected("elsewhere", ()) in free.say(HEADER, START, TUNE, Redirect("elsewhere"))

    insisted: tuple[Said, ...] = (*BEFORE_OPEN, ("C", Open("", None, True)), ("S", Redirect("elsewhere")))
    assert "S connection.open.insist.behavior" in overheard(*insisted, opened=False)


@pytest.mark.rule("connection.close-ok.reporting")
@pytest.mark.parametrize(("closing", "rest"), [(False, b""), (True, b""), (True, b"neither a frame nor close-ok")])
def test_an_end_without_close_ok_is_reported(closing: bool, rest: bytes) -> None:
    """There is no log below the adapters: what should be logged is an event of its own kind."""
    for peer in (of_open_client(), of_open_server()):
        peer.say(Heartbeat())
        if closing:
            peer.connection.close(CloseCode.NORMAL, "bye")
            assert peer.hear()[-1] == Close(200, "bye")
        last = [*peer.say(rest), *peer.end()][-1]
        assert isinstance(last, ConnectionClosed)
        assert last.origin is Origin.EOF
