"""The server's rows (model 3.1 to 3.6), heard from a peer that says whatever it is told."""

from __future__ import annotations

import pytest
from tests.engine.verdicts import dropped, server_of, violation_of
from tests.scripted import ScriptedPeer, Word

from amqp_sansio.config import STRICT_PROFILE, Accepted, Challenge, Rejected, SaslError, ServerConfig, ServerExchange
from amqp_sansio.engine.sasl import CramMd5, CramMd5Server, PlainServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import ConnectionClosedError, EncodeError, LocalProtocolError
from amqp_sansio.events import (
    Authenticated,
    ConnectionClosed,
    ConnectionOpened,
    Event,
    OpenRequested,
    Origin,
    SecurityLayerStarted,
)
from amqp_sansio.limits import Limits
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.connection import (
    Close,
    CloseOk,
    Heartbeat,
    Open,
    OpenOk,
    Redirect,
    Secure,
    SecureOk,
    Start,
    StartOk,
    Tune,
    TuneOk,
)
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.session import Attach
from amqp_sansio.spec.values import Map

HEADER = b"AMQP\x01\x01\x00\x0a"
START_OK = StartOk({}, "ANONYMOUS", b"", "en_US")
OPENING: tuple[Word, ...] = (HEADER, START_OK, TuneOk(0, 0, 0), Open(""))


def peer_of(config: ServerConfig | None = None) -> ScriptedPeer:
    return ScriptedPeer(ServerConnection(config))


def tuning(config: ServerConfig | None = None) -> ScriptedPeer:
    peer = peer_of(config)
    peer.say(HEADER, START_OK)
    assert isinstance(peer.hear()[-1], Tune)
    return peer


def opening(config: ServerConfig | None = None, *, insist: bool = False, host: str = "") -> ScriptedPeer:
    """A connection whose OpenRequested was handed out and waits for its answer."""
    peer = tuning(config)
    peer.connection.receive_data(peer.octets_of(TuneOk(0, 0, 0)) + peer.octets_of(Open(host, None, insist)))
    assert peer.connection.next_event() == OpenRequested(host, (), insist)
    return peer


def opened(config: ServerConfig | None = None) -> ScriptedPeer:
    peer = peer_of(config)
    assert isinstance(peer.say(*OPENING)[-1], ConnectionOpened)
    peer.hear()
    return peer


def test_the_opening_word_by_word() -> None:
    peer = peer_of()
    assert peer.say(HEADER) == []
    assert peer.hear() == [Start(ServerConfig().properties, ("ANONYMOUS",), ("en_US",))]
    assert peer.header == HEADER
    assert peer.say(START_OK) == [Authenticated("ANONYMOUS", "", START_OK.client_properties or Map())]
    assert peer.hear() == [Tune(65535, 65535, 0, 120)]
    assert peer.say(TuneOk(100, 4096, 5)) == []
    assert peer.say(Open("v")) == [OpenRequested("v", (), False), ConnectionOpened("v", 100, 4096, 5)]
    assert peer.hear() == [OpenOk(())]
    assert peer.connection.is_open


@pytest.mark.parametrize(
    ("octets", "name"),
    [
        (b"AMQP\x00\x00\x09\x01", "AMQP 0-9-1"),
        (b"AMQP\x01\x01\x08\x00", "AMQP 0-8"),
        (b"AMQP\x00\x01\x00\x00", "AMQP 1.0"),
        (b"GET / HT", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "TLS"),
        (b"garbage!", "nothing known"),
    ],
)
def test_another_version_is_answered_with_our_header_and_the_end(octets: bytes, name: str) -> None:
    peer = peer_of()
    violation = violation_of(peer.say(octets + b"and more"), "client")
    assert violation.rule == "connection.start.protocol-name"
    assert violation.said == name
    assert name in violation.text
    assert peer.hear() == []
    assert peer.octets == HEADER
    assert peer.connection.finished
    assert not peer.connection.wants_data


@pytest.mark.rule("connection.start-ok.mechanism.validity")
def test_rule_connection_start_ok_mechanism_validity() -> None:
    peer = peer_of()
    violation = violation_of(peer.say(HEADER, StartOk({}, "PLAIN", b"", "en_US")), "client")
    assert violation.rule == "connection.start-ok.mechanism.validity"
    assert violation.legal == ("ANONYMOUS",)
    assert dropped(peer)


def test_what_old_clients_leave_out_is_no_fault() -> None:
    peer = peer_of()
    assert isinstance(peer.say(HEADER, StartOk(None, "ANONYMOUS", None, None))[-1], Authenticated)
    events = peer.say(TuneOk(), Open())
    assert events == [OpenRequested("", (), False), ConnectionOpened("", 65535, 65535, 0)]


def test_a_failed_login_is_closed_with_320_and_no_reason() -> None:
    peer = peer_of(ServerConfig(mechanisms=[PlainServer(lambda user, password: False)]))
    assert peer.say(HEADER, StartOk({}, "PLAIN", b"\0ann\0hush", "en_US")) == []
    assert peer.hear()[-1] == Close(320, "authentication failed")
    assert peer.say(CloseOk()) == [ConnectionClosed(Origin.LOCAL, 320, "authentication failed: wrong name or password")]
    assert peer.connection.finished


def test_challenges_and_responses_until_the_verdict() -> None:
    mechanism = CramMd5Server({"ann": "hush"}.get, lambda: b"<1@here>")
    peer = peer_of(ServerConfig(mechanisms=[mechanism]))
    assert peer.say(HEADER, StartOk({}, "CRAM-MD5", None, "en_US")) == []
    assert peer.hear()[-1] == Secure(b"<1@here>")
    events = peer.say(SecureOk(CramMd5("ann", "hush").start().step(b"<1@here>")))
    assert [type(event) for event in events] == [Authenticated]
    assert "hush" not in repr(events)


class Endless(ServerExchange):
    """Never satisfied; or raises."""

    def __init__(self, error: Exception | None, challenge: bytes) -> None:
        self.error = error
        self.challenge = challenge
        self.security_layer = False

    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected:
        if self.error is not None:
            raise self.error
        return Challenge(self.challenge)


class EndlessMechanism:
    name = "ENDLESS"

    def __init__(self, error: Exception | None = None, challenge: bytes = b"more") -> None:
        self.error = error
        self.challenge = challenge

    def start(self) -> ServerExchange:
        return Endless(self.error, self.challenge)


@pytest.mark.parametrize("rounds", [2, 3, 4])
def test_limit_sasl_rounds(rounds: int) -> None:
    peer = peer_of(ServerConfig(mechanisms=[EndlessMechanism()], limits=Limits(sasl_rounds=3)))
    events = peer.say(HEADER, StartOk({}, "ENDLESS", b"", "en_US"), *[SecureOk(b"x")] * (rounds - 1))
    if rounds <= 3:
        assert events == []
        assert peer.hear()[-1] == Secure(b"more")
    else:
        assert violation_of(events, "client").rule == "limits.sasl_rounds"
        assert isinstance(peer.hear()[-1], Close)


@pytest.mark.parametrize("size", [9, 10, 11])
def test_limit_sasl_octets(size: int) -> None:
    peer = peer_of(ServerConfig(limits=Limits(sasl_octets=10)))
    events = peer.say(HEADER, StartOk({}, "ANONYMOUS", b"x" * size, "en_US"))
    if size <= 10:
        assert isinstance(events[-1], Authenticated)
    else:
        assert violation_of(events, "client").rule == "limits.sasl_octets"
        assert "xxx" not in repr(events)


def test_a_mechanism_that_raises_lets_nobody_in_and_tells_no_secret() -> None:
    peer = peer_of(ServerConfig(mechanisms=[EndlessMechanism(KeyError("hush"))]))
    assert peer.say(HEADER, StartOk({}, "ENDLESS", b"", "en_US")) == []
    events = peer.say(CloseOk())
    assert events == [ConnectionClosed(Origin.LOCAL, 320, "authentication failed: KeyError")]


# --- tune -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tune_ok", "rule"),
    [
        (TuneOk(11, 5000, 10), "channel-max.upper-limit"),
        (TuneOk(10, 5001, 10), "max-frame-size.upper-limit"),
        (TuneOk(10, 4095, 10), "max-frame-size.minimum"),
        (TuneOk(10, 5000, 9), "heartbeat.permitted-range"),
        (TuneOk(10, 5000, 21), "heartbeat.permitted-range"),
    ],
)
def test_a_bad_tune_ok_drops_the_socket(tune_ok: TuneOk, rule: str) -> None:
    peer = tuning(ServerConfig(channel_max=10, max_frame_size=5000, heartbeat_min=10, heartbeat_max=20))
    violation = violation_of(peer.say(tune_ok, Open("")), "client")
    assert violation.rule == f"connection.tune-ok.{rule}"
    assert violation.legal
    assert dropped(peer)


@pytest.mark.parametrize(
    ("tune_ok", "agreed"),
    [
        (TuneOk(10, 5000, 20), (10, 5000, 20)),
        (TuneOk(1, 4096, 10), (1, 4096, 10)),
        (TuneOk(0, 0, 0), (10, 5000, 0)),
        (TuneOk(), (10, 5000, 0)),
    ],
)
def test_a_good_tune_ok_is_agreed(tune_ok: TuneOk, agreed: tuple[int, int, int]) -> None:
    peer = tuning(ServerConfig(channel_max=10, max_frame_size=5000, heartbeat_min=10, heartbeat_max=20))
    assert peer.say(tune_ok, Open(""))[-1] == ConnectionOpened("", *agreed)


@pytest.mark.rule("connection.tune-ok.heartbeat.no-heartbeat-min")
def test_rule_connection_tune_ok_heartbeat_no_heartbeat_min() -> None:
    peer = tuning(ServerConfig(heartbeat_min=None, heartbeat_max=None))
    assert violation_of(peer.say(TuneOk(0, 0, 5)), "client").rule == "connection.tune-ok.heartbeat.no-heartbeat-min"
    assert dropped(peer)
    assert isinstance(
        tuning(ServerConfig(heartbeat_min=None, heartbeat_max=None)).say(TuneOk(), Open(""))[-1], ConnectionOpened
    )


# --- open -------------------------------------------------------------------------------------------------------------


def test_the_application_answers_open() -> None:
    peer = opening()
    server_of(peer).open_ok(["other:5672"])
    assert peer.hear() == [OpenOk(("other:5672",))]
    assert isinstance(peer.connection.next_event(), ConnectionOpened)
    with pytest.raises(LocalProtocolError, match="no OpenRequested"):
        server_of(peer).open_ok()


def test_an_unknown_virtual_host_is_closed_with_402() -> None:
    host = "é" * 127
    peer = opening(ServerConfig(virtual_hosts=["a"]), host=host)
    assert peer.connection.next_event() is None
    close = peer.hear()[-1]
    assert isinstance(close, Close)
    assert close.reply_code == 402
    assert [type(event) for event in peer.say(CloseOk())] == [ConnectionClosed]
    assert peer.connection.finished
    known = opening(ServerConfig(virtual_hosts=["a"]), host="a")
    assert isinstance(known.connection.next_event(), ConnectionOpened)


def test_the_application_may_close_instead() -> None:
    peer = opening()
    peer.connection.close(CloseCode.CONNECTION_FORCED, "not you")
    assert peer.hear() == [Close(320, "not you")]
    peer.connection.receive_data(peer.octets_of(CloseOk()))
    assert isinstance(peer.connection.next_event(), ConnectionClosed)
    with pytest.raises(ConnectionClosedError, match="320 not you"):
        server_of(peer).open_ok()


def test_redirect_ends_it() -> None:
    peer = opening()
    server_of(peer).redirect("b:5672", ["c:5672"])
    assert peer.connection.next_event() == ConnectionClosed(Origin.LOCAL, None, "redirected to b:5672")
    assert peer.hear() == [Redirect("b:5672", ("c:5672",))]
    assert peer.connection.finished


@pytest.mark.rule("connection.open.insist.behavior")
def test_rule_connection_open_insist_behavior() -> None:
    peer = opening(insist=True)
    with pytest.raises(LocalProtocolError, match=r"insist\.behavior.*open-ok"):
        server_of(peer).redirect("b:5672")
    assert peer.hear() == []
    server_of(peer).open_ok()
    assert peer.hear() == [OpenOk(())]


# --- what is not legal ------------------------------------------------------------------------------------------------

STATES = range(1, 4)


@pytest.mark.parametrize("length", STATES)
@pytest.mark.parametrize("word", [START_OK, SecureOk(b""), TuneOk(), Open("")])
def test_a_control_out_of_turn_is_closed_with_501(length: int, word: Word) -> None:
    if type(word) is type(OPENING[length]):
        return
    peer = peer_of()
    violation = violation_of(peer.say(*OPENING[:length], word, Heartbeat()), "client")
    assert violation.code == 501
    assert violation.legal
    close = peer.hear()[-1]
    assert isinstance(close, Close)
    assert close.reply_code == 501


@pytest.mark.parametrize("length", STATES)
@pytest.mark.parametrize("word", [Start(), Secure(b""), Tune(), OpenOk(()), Redirect("x")])
def test_what_only_servers_say_is_closed_with_501(length: int, word: Word) -> None:
    peer = peer_of()
    assert violation_of(peer.say(*OPENING[:length], word), "client").text.startswith("only the server says")
    assert isinstance(peer.hear()[-1], Close)


@pytest.mark.parametrize("length", STATES)
@pytest.mark.parametrize("word", [Attach(b"s"), Transfer("")])
def test_nothing_of_a_session_before_open(length: int, word: Word) -> None:
    peer = peer_of()
    violation = violation_of(peer.say(*OPENING[:length], word), "client")
    assert "not open yet" in violation.text
    assert violation.code == 501
    assert isinstance(peer.hear()[-1], Close)


@pytest.mark.parametrize("word", [START_OK, SecureOk(b""), TuneOk(), Open("")])
def test_negotiation_again_once_open_is_closed_with_501(word: Word) -> None:
    peer = opened()
    violation = violation_of(peer.say(word), "client")
    assert violation.said == word.VERB if not isinstance(word, bytes) else ""
    assert isinstance(peer.hear()[-1], Close)


def test_more_known_hosts_than_fit_are_left_out_by_the_policy_and_told_to_the_caller() -> None:
    config = ServerConfig(known_hosts=["x" * 5000], max_frame_size=4096)
    peer = opening(config)
    with pytest.raises(EncodeError):
        server_of(peer).open_ok()
    assert isinstance(peer.connection.next_event(), ConnectionOpened)
    assert peer.hear() == [OpenOk(())]


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        (EndlessMechanism(SaslError("no more")), "no more"),
        (EndlessMechanism(challenge=b"x" * 65536), "the mechanism's challenge fits into no frame"),
    ],
)
def test_a_mechanism_that_cannot_go_on_rejects(mechanism: EndlessMechanism, text: str) -> None:
    peer = peer_of(ServerConfig(mechanisms=[mechanism], limits=Limits(sasl_octets=100_000)))
    assert peer.say(HEADER, StartOk({}, "ENDLESS", b"", "en_US")) == []
    assert peer.say(CloseOk()) == [ConnectionClosed(Origin.LOCAL, 320, f"authentication failed: {text}")]


def test_settings_that_fit_into_no_frame_are_reported_to_the_caller() -> None:
    with pytest.raises(EncodeError, match=r"connection\.start"):
        ServerConnection(ServerConfig(properties={"x": "y" * 65000, "z": "y" * 2000}))
    with pytest.raises(EncodeError, match="4096"):
        ServerConnection(ServerConfig(properties={"x": "y" * 5000}, profile=STRICT_PROFILE))


class Wrapping(ServerExchange):
    security_layer = True

    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected:
        return Accepted("ann")


class WrappingMechanism:
    name = "WRAP"

    def start(self) -> ServerExchange:
        return Wrapping()


def test_the_security_layer_begins_behind_open_inbound_and_behind_open_ok_outbound() -> None:
    peer = peer_of(ServerConfig(mechanisms=[WrappingMechanism()]))
    clear = HEADER + b"".join([peer.octets_of(word) for word in (StartOk({}, "WRAP", b"", "en_US"), TuneOk(0, 0, 0), Open(""))])
    peer.connection.receive_data(clear + b"wrapped!")
    first = [peer.connection.next_event() for _ in range(3)]
    assert [type(event) for event in first] == [Authenticated, OpenRequested, SecurityLayerStarted]
    assert first[-1] == SecurityLayerStarted("inbound", len(clear))
    assert peer.connection.take_unread() == b"wrapped!"
    server_of(peer).open_ok()
    events = peer.say(Heartbeat())
    peer.hear()
    assert events[-1] == SecurityLayerStarted("outbound", len(peer.octets))
    with pytest.raises(LocalProtocolError, match="security layer"):
        peer.connection.take_unread()


def test_the_octets_behind_the_layer_are_given_only_where_it_begins() -> None:
    peer = peer_of(ServerConfig(mechanisms=[WrappingMechanism()]))
    peer.say(HEADER, StartOk({}, "WRAP", b"", "en_US"), TuneOk(0, 0, 0), Open(""))
    assert list(peer.connection.events()) == []
    with pytest.raises(LocalProtocolError, match="only where an inbound security layer begins"):
        peer.connection.take_unread()


def deferring(good: str) -> tuple[ScriptedPeer, list[Event]]:
    config = ServerConfig(mechanisms=(PlainServer(lambda user, password: password == good, slow=True),))
    peer = ScriptedPeer(ServerConnection(config))
    return peer, peer.say(HEADER, StartOk({}, "PLAIN", b"\0ann\0pw", "en_US"), TuneOk(0, 0, 0), Open(""))


def test_nothing_is_read_before_a_deferred_verdict_is_there() -> None:
    peer, events = deferring("pw")
    connection = peer.connection
    assert isinstance(connection, ServerConnection)
    assert (events, connection.is_open, connection.wants_data) == ([], False, False)
    decide = connection.take_deferred()
    assert decide is not None
    assert connection.take_deferred() is None
    assert list(connection.events()) == []
    with pytest.raises(EncodeError, match="decided"):
        connection.decided(True)  # type: ignore[arg-type]
    connection.decided(decide())
    assert [type(event) for event in connection.events()] == [Authenticated, OpenRequested, ConnectionOpened]
    assert connection.is_open
    assert connection.wants_data
    with pytest.raises(LocalProtocolError, match="only after take_deferred"):
        connection.decided(Accepted("ann"))


def test_a_verdict_that_did_not_wait_for_the_check_leaves_none_to_run() -> None:
    peer, _ = deferring("pw")
    connection = peer.connection
    assert isinstance(connection, ServerConnection)
    connection.decided(Accepted("ann"))
    assert ConnectionOpened in [type(event) for event in connection.events()]
    assert connection.take_deferred() is None


class Undecided(PlainServer):
    """A mechanism with a mistake in it."""

    def start(self) -> Undecided:  # type: ignore[override]
        return self

    security_layer = False

    def step(self, response: bytes | None) -> None:
        """No verdict at all."""


def test_what_is_no_verdict_lets_nobody_in() -> None:
    peer = ScriptedPeer(ServerConnection(ServerConfig(mechanisms=(Undecided(lambda *_: True),))))  # type: ignore[arg-type]
    peer.say(HEADER, StartOk({}, "PLAIN", b"", "en_US"))
    assert peer.connection.closed_cause == "authentication failed: no verdict: a NoneType"


def test_a_deferred_no_closes_the_connection() -> None:
    peer, _ = deferring("another")
    connection = peer.connection
    assert isinstance(connection, ServerConnection)
    decide = connection.take_deferred()
    assert decide is not None
    connection.decided(decide())
    assert connection.closed_cause == "authentication failed: wrong name or password"


def test_a_deferred_verdict_that_comes_too_late_changes_nothing() -> None:
    peer, _ = deferring("pw")
    connection = peer.connection
    assert isinstance(connection, ServerConnection)
    connection.data_to_send()
    connection.tick(0.0)
    connection.tick(connection.limits.handshake_seconds)
    (event,) = connection.events()
    assert isinstance(event, ConnectionClosed)
    assert event.origin is Origin.TIMEOUT
    connection.decided(Accepted("ann"))
    assert list(connection.events()) == []
    assert connection.finished
