"""The client's rows (model 3.1 to 3.6), heard from a peer that says whatever it is told."""

from __future__ import annotations

import pytest
from tests.builds import attributes
from tests.engine.verdicts import dropped, violation_of
from tests.scripted import ScriptedPeer, Word

from amqp_sansio.config import ClientConfig, ClientExchange
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.sasl import Anonymous, CramMd5, Plain
from amqp_sansio.errors import ConnectionClosedError, EncodeError
from amqp_sansio.events import (
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRedirected,
    Origin,
    SecurityLayerStarted,
    StartReceived,
)
from amqp_sansio.limits import Limits
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
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.session import Attached
from amqp_sansio.spec.values import Map

HEADER = b"AMQP\x01\x01\x00\x0a"
START = Start({}, ("PLAIN", "ANONYMOUS"), ("en_US",))
OPENING: tuple[Word, ...] = (HEADER, START, Tune(65535, 65535, 0, 120), OpenOk(()))


def peer_of(config: ClientConfig | None = None) -> ScriptedPeer:
    peer = ScriptedPeer(ClientConnection(config))
    peer.hear()
    assert peer.header == HEADER
    return peer


def test_the_opening_word_by_word() -> None:
    peer = peer_of(ClientConfig(virtual_host="v", insist=True, capabilities=["x"], heartbeat=7, properties={"a": 1}))
    assert peer.say(HEADER) == []
    assert peer.say(START) == [StartReceived(Map(), ("PLAIN", "ANONYMOUS"), ("en_US",))]
    assert peer.hear() == [StartOk({"a": 1}, "ANONYMOUS", b"", "en_US")]
    assert peer.say(Tune(100, 5000, 0, 120)) == []
    assert peer.hear() == [TuneOk(100, 5000, 7), Open("v", ["x"], True)]
    assert peer.say(OpenOk(["h:1"])) == [ConnectionOpened("v", 100, 5000, 7, ("h:1",))]
    assert peer.connection.is_open


@pytest.mark.parametrize(
    ("octets", "name"),
    [
        (b"AMQP\x00\x00\x09\x01", "AMQP 0-9-1"),
        (b"AMQP\x00\x01\x00\x00", "AMQP 1.0"),
        (b"HTTP/1.1", "HTTP"),
        (b"\x15\x03\x01\x00\x02\x02\x46\x00", "TLS"),
    ],
)
@pytest.mark.rule("connection.start.client-support")
def test_rule_connection_start_client_support(octets: bytes, name: str) -> None:
    peer = peer_of()
    violation = violation_of(peer.say(octets + b" and more"), "server")
    assert violation.rule == "connection.start.client-support"
    assert violation.said == name
    assert "version mismatch" in violation.text
    assert dropped(peer)
    with pytest.raises(ConnectionClosedError, match=name):
        peer.connection.close()


def test_a_tls_alert_is_too_short_for_a_header_and_named_all_the_same() -> None:
    peer = peer_of()
    peer.say(b"\x15\x03\x01\x00\x02\x02\x46")
    last = peer.end()[-1]
    assert isinstance(last, ConnectionClosed)
    assert last.origin is Origin.EOF
    assert "TLS" in last.text


def test_the_first_mechanism_of_ours_that_is_offered_is_used() -> None:
    peer = peer_of(ClientConfig(mechanisms=[CramMd5("a", "b"), Plain("ann", "hush"), Anonymous()]))
    events = peer.say(HEADER, START)
    assert peer.hear() == [StartOk(ClientConfig().properties, "PLAIN", b"\0ann\0hush", "en_US")]
    assert "hush" not in repr(events) + repr(peer.connection) + repr(attributes(peer.connection)["_settings"])


@pytest.mark.parametrize(
    ("ours", "offered", "said"),
    [
        ("de_DE", ("en_US", "de_DE"), "de_DE"),
        ("de_DE", ("fr_FR", "en_US"), "en_US"),
        ("x", ("fr_FR",), "fr_FR"),
        ("x", (), "x"),
    ],
)
def test_the_locale_is_one_that_is_offered(ours: str, offered: tuple[str, ...], said: str) -> None:
    peer = peer_of(ClientConfig(locale=ours))
    peer.say(HEADER, Start({}, ("ANONYMOUS",), offered))
    start_ok = peer.hear()[-1]
    assert isinstance(start_ok, StartOk)
    assert start_ok.locale == said


def test_without_a_mechanism_in_common_the_client_closes_the_socket() -> None:
    peer = peer_of(ClientConfig(mechanisms=[CramMd5("a", "b")]))
    events = peer.say(HEADER, START)
    assert events[-1] == ConnectionClosed(Origin.LOCAL, None, "no mechanism in common: the server offers PLAIN, ANONYMOUS")
    assert dropped(peer)


def test_a_server_without_a_mechanism_in_common_fills_no_log_with_its_own() -> None:
    peer = peer_of(ClientConfig(mechanisms=[CramMd5("a", "b")]))
    *_, last = peer.say(HEADER, Start({}, tuple(f"X-{number}" for number in range(1000)), ("en_US",)))
    assert isinstance(last, ConnectionClosed)
    assert len(last.text) < 600


def test_no_initial_response_is_sent_as_none() -> None:
    peer = peer_of(ClientConfig(mechanisms=[CramMd5("tim", "tanstaaftanstaaf")]))
    peer.say(HEADER, Start({}, ("CRAM-MD5",), ("en_US",)))
    start_ok = peer.hear()[-1]
    assert isinstance(start_ok, StartOk)
    assert start_ok.response is None
    peer.say(Secure(b"<1896.697170952@postoffice.reston.mci.net>"))
    assert peer.hear() == [SecureOk(b"tim b913a602c7eda7a495b4e6e7334d3890")]


def test_tune_before_the_exchange_is_complete_is_a_failure() -> None:
    peer = peer_of(ClientConfig(mechanisms=[CramMd5("a", "b")]))
    violation = violation_of(peer.say(HEADER, Start({}, ("CRAM-MD5",), ("en_US",)), Tune(1, 4096, 0, 0)))
    assert "SASL" in violation.text
    assert dropped(peer)


def test_a_mechanism_that_cannot_go_on_closes_the_socket() -> None:
    peer = peer_of()
    plain = peer_of(ClientConfig(username="ann", password="hush"))
    events = plain.say(HEADER, START, Secure(b"what?"))
    assert events[-1] == ConnectionClosed(Origin.LOCAL, None, "authentication failed: PLAIN has no challenges")
    assert dropped(plain)
    assert peer.say(HEADER, START, Secure(b"trace?"))[-1] == StartReceived(Map(), ("PLAIN", "ANONYMOUS"), ("en_US",))


@pytest.mark.parametrize("rounds", [2, 3, 4])
def test_limit_sasl_rounds(rounds: int) -> None:
    peer = peer_of(ClientConfig(limits=Limits(sasl_rounds=3)))
    events = peer.say(HEADER, START, *[Secure(b"")] * rounds)
    if rounds <= 3:
        assert len(events) == 1
    else:
        assert violation_of(events, "server").rule == "limits.sasl_rounds"
        close = peer.hear()[-1]
        assert isinstance(close, Close)
        assert close.reply_code == 320


@pytest.mark.parametrize("size", [9, 10, 11])
def test_limit_sasl_octets(size: int) -> None:
    peer = peer_of(ClientConfig(limits=Limits(sasl_octets=10)))
    events = peer.say(HEADER, START, Secure(b"x" * size))
    if size <= 10:
        assert len(events) == 1
    else:
        assert violation_of(events, "server").rule == "limits.sasl_octets"
        assert "xxx" not in repr(events)


# --- tune -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tune", "rule"),
    [
        (Tune(10, 4095, 0, 0), "max-frame-size.minimum"),
        (Tune(10, 4096, None, 5), "heartbeat-max.no-heartbeat-min"),
        (Tune(10, 4096, 6, 5), "heartbeat-max.permitted-range"),
    ],
)
def test_a_bad_tune_is_closed_with_501(tune: Tune, rule: str) -> None:
    peer = peer_of()
    assert violation_of(peer.say(HEADER, START, tune), "server").rule == f"connection.tune.{rule}"
    assert isinstance(peer.hear()[-1], Close)


@pytest.mark.rule("connection.tune-ok.channel-max.upper-limit", "connection.tune-ok.max-frame-size.upper-limit")
@pytest.mark.parametrize(
    ("tune", "wish", "said"),
    [
        (Tune(), 7, TuneOk(65535, 65535, None)),
        (Tune(0, 0, 0, 0), 7, TuneOk(65535, 65535, 0)),
        (Tune(10, 4096, 0, 120), 0, TuneOk(10, 4096, 0)),
        (Tune(10, 4096, 5, 120), 0, TuneOk(10, 4096, None)),
        (Tune(10, 4096, 5, 120), 3, TuneOk(10, 4096, 5)),
        (Tune(10, 4096, 5, 120), 500, TuneOk(10, 4096, 120)),
        (Tune(10, 4096, 5, None), 500, TuneOk(10, 4096, 500)),
        (Tune(65535, 65535, 0, 65535), 60, TuneOk(65535, 65535, 60)),
    ],
)
def test_tune_ok_stays_within_the_offer(tune: Tune, wish: int, said: TuneOk) -> None:
    peer = peer_of(ClientConfig(heartbeat=wish))
    peer.say(HEADER, START, tune)
    heard = peer.hear()
    assert heard[-2:] == [said, Open("", None, False)]


def test_our_own_limits_are_within_the_offer_too() -> None:
    peer = peer_of(ClientConfig(channel_max=9, max_frame_size=5000))
    peer.say(HEADER, START, Tune(65535, 65535, 0, 0))
    assert peer.hear()[-2] == TuneOk(9, 5000, 0)
    small = peer_of(ClientConfig(limits=Limits(channels=3)))
    small.say(HEADER, START, Tune(65535, 65535, 0, 0))
    assert small.hear()[-2] == TuneOk(3, 65535, 0)


# --- open -------------------------------------------------------------------------------------------------------------


def test_a_redirect_is_reported_and_ends_it() -> None:
    peer = peer_of()
    events = peer.say(*OPENING[:3], Redirect("b:5672", ["c:5672"]))
    assert events[-2:] == [
        ConnectionRedirected("b:5672", ("c:5672",)),
        ConnectionClosed(Origin.PEER, None, "redirected to b:5672"),
    ]
    assert dropped(peer)


@pytest.mark.rule("connection.open.insist.behavior")
def test_rule_connection_open_insist_behavior() -> None:
    peer = peer_of(ClientConfig(insist=True))
    violation = violation_of(peer.say(*OPENING[:3], Redirect("b:5672")), "server")
    assert violation.rule == "connection.open.insist.behavior"
    assert dropped(peer)


def test_the_servers_close_402_is_reported_as_it_came() -> None:
    peer = peer_of()
    assert peer.say(*OPENING[:3], Close(402, "no such host"))[-1] == ConnectionClosed(Origin.PEER, 402, "no such host")
    assert peer.hear()[-1] == CloseOk()
    assert peer.connection.finished


def test_a_close_code_that_nobody_knows_is_kept() -> None:
    assert peer_of().say(*OPENING, Close(999, "?"))[-1] == ConnectionClosed(Origin.PEER, 999, "?")


# --- what is not legal ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [Tune(), OpenOk(()), Secure(b""), Heartbeat(), StartOk(), CloseOk()])
def test_a_server_that_does_not_begin_with_start_is_dropped(word: Word) -> None:
    peer = peer_of()
    violation_of(peer.say(HEADER, word), "server")
    assert dropped(peer)


def test_a_server_may_begin_with_close() -> None:
    assert peer_of().say(HEADER, Close(320, "full"))[-1] == ConnectionClosed(Origin.PEER, 320, "full")


@pytest.mark.parametrize("length", [2, 3, 4])
@pytest.mark.parametrize("word", [START, Secure(b""), Tune(), OpenOk(()), Redirect("x")])
def test_a_control_out_of_turn_is_closed_with_501(length: int, word: Word) -> None:
    legal = {2: (Secure, Tune), 3: (OpenOk, Redirect), 4: ()}[length]
    if isinstance(word, legal):
        return
    peer = peer_of()
    violation = violation_of(peer.say(*OPENING[:length], word), "server")
    assert violation.code == 501
    close = peer.hear()[-1]
    assert isinstance(close, Close)
    assert close.reply_code == 501


@pytest.mark.parametrize("word", [StartOk(), SecureOk(b""), TuneOk(), Open("")])
def test_what_only_clients_say_is_closed_with_501(word: Word) -> None:
    peer = peer_of()
    assert violation_of(peer.say(*OPENING, word), "server").text == f"only the client says {getattr(word, 'VERB', '')}"
    assert isinstance(peer.hear()[-1], Close)


@pytest.mark.parametrize("word", [Attached(b"s"), Sync()])
def test_nothing_of_a_session_before_open_ok(word: Word) -> None:
    peer = peer_of()
    assert "not open yet" in violation_of(peer.say(*OPENING[:3], word), "server").text
    assert isinstance(peer.hear()[-1], Close)


def test_settings_that_fit_into_no_frame_are_reported_to_the_caller() -> None:
    with pytest.raises(EncodeError, match=r"connection\.start-ok"):
        ClientConnection(ClientConfig(properties={"x": "y" * 65000, "z": "y" * 2000}))


def test_an_open_that_does_not_fit_into_what_was_agreed_ends_it_without_a_word() -> None:
    peer = peer_of(ClientConfig(capabilities=["x" * 5000]))
    last = peer.say(*OPENING[:2], Tune(10, 4096, 0, 0))[-1]
    assert isinstance(last, ConnectionClosed)
    assert last.origin is Origin.LOCAL
    assert "4096" in last.text
    assert not any(isinstance(each, Open) for each in peer.hear())
    fits = peer_of(ClientConfig(capabilities=["x" * 5000]))
    assert isinstance(fits.say(*OPENING)[-1], ConnectionOpened)


class Raising(ClientExchange):
    done = True
    security_layer = False

    def initial(self) -> bytes | None:
        raise KeyError("hush")

    def step(self, challenge: bytes) -> bytes:
        return b""


class RaisingMechanism:
    name = "PLAIN"

    def start(self) -> ClientExchange:
        return Raising()


def test_a_mechanism_that_raises_tells_no_secret() -> None:
    peer = peer_of(ClientConfig(mechanisms=[RaisingMechanism()]))
    last = peer.say(*OPENING[:2])[-1]
    assert last == ConnectionClosed(Origin.LOCAL, None, "authentication by PLAIN failed: KeyError")


class Wrapping(ClientExchange):
    security_layer = True

    @property
    def done(self) -> bool:
        return True

    def initial(self) -> bytes | None:
        return b""

    def step(self, challenge: bytes) -> bytes:
        return b""


class WrappingMechanism:
    name = "PLAIN"

    def start(self) -> ClientExchange:
        return Wrapping()


def test_the_security_layer_begins_behind_open_outbound_and_behind_open_ok_inbound() -> None:
    peer = peer_of(ClientConfig(mechanisms=[WrappingMechanism()]))
    events = peer.say(*OPENING[:3])
    peer.hear()
    assert events[-1] == SecurityLayerStarted("outbound", len(peer.octets))
    clear = b"".join([peer.octets_of(word) for word in OPENING])
    peer.connection.receive_data(peer.octets_of(OPENING[3]) + b"wrapped")
    assert isinstance(peer.connection.next_event(), ConnectionOpened)
    assert peer.connection.next_event() == SecurityLayerStarted("inbound", len(clear))
    assert peer.connection.take_unread() == b"wrapped"
    peer.connection.receive_data(peer.octets_of(Close(200, "")))
    assert isinstance(peer.connection.next_event(), ConnectionClosed)
