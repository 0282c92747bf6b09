"""The client's connection in 0-8, 0-9 and 0-9-1: opening, refusals, heartbeats, what the server says on channel 0, ends."""

from __future__ import annotations

import pytest
from tests.engine.older import DIALECTS, client_of, controls, frames, open_client, start
from tests.families.channels import frame

from amqp_sansio.config import ClientConfig, Profile
from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, AMQP_0_9_RABBITMQ, AMQP_0_10, ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.connection import Capabilities
from amqp_sansio.engine.sasl import AmqPlain, CramMd5
from amqp_sansio.errors import ConnectionClosedError, EncodeError, LocalProtocolError
from amqp_sansio.events import (
    ConnectionBlocked,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRedirected,
    ConnectionUnblocked,
    LoginRefused,
    Origin,
    SecretUpdated,
    StartReceived,
    VersionRefused,
)
from amqp_sansio.limits import Limits
from amqp_sansio.spec.connection import (
    Blocked,
    Close,
    CloseOk,
    Heartbeat,
    Open,
    OpenOk,
    Redirect,
    Secure,
    SecureOk,
    StartOk,
    Tune,
    TuneOk,
    Unblocked,
    UpdateSecret,
    UpdateSecretOk,
)
from amqp_sansio.spec.reply_codes import ReplyCode

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
BEAT = b"\x08\0\0\0\0\0\0\xce"
NAMES = {AMQP_0_9_1: "AMQP 0-9-1", AMQP_0_9_RABBITMQ: "AMQP 0-9", AMQP_0_8_UNBIND: "AMQP 0-8"}


# --- opening ------------------------------------------------------------------------------------------------------------------


@each_dialect
def test_an_opening(dialect: ChannelDialect) -> None:
    client, server = client_of(dialect)
    assert client.data_to_send() == dialect.header
    (started,) = server.say(start(dialect, "PLAIN", "ANONYMOUS", publisher_confirms=True, nothing=False))
    assert isinstance(started, StartReceived)
    (start_ok,) = server.hear()
    assert isinstance(start_ok, StartOk)
    assert (start_ok.mechanism, start_ok.locale) == ("ANONYMOUS", "en_US")
    assert client.capabilities == Capabilities(frozenset(dialect.handshake.capabilities), frozenset({"publisher_confirms"}))
    assert start_ok.client_properties is not None
    assert start_ok.client_properties["capabilities"] == dict.fromkeys(dialect.handshake.capabilities, True)
    assert (client.capable("publisher_confirms"), client.capable("basic.nack")) == (True, False)
    assert server.say(Tune(2047, 131072, None, 60)) == []
    answer, opening = server.hear()
    assert answer == TuneOk(2047, 131072, 60)
    assert isinstance(opening, Open)
    assert opening.virtual_host == "/"
    assert server.say(OpenOk()) == [ConnectionOpened("/", 2047, 131072, 60)]
    assert client.is_open


@each_dialect
def test_properties_of_ones_own_may_say_other_capabilities(dialect: ChannelDialect) -> None:
    client, server = client_of(dialect, ClientConfig(dialect=dialect, properties={"capabilities": {"x": True}}))  # type: ignore[dict-item]
    server.say(start(dialect))
    assert client.capabilities.client == frozenset("x")


@each_dialect
@pytest.mark.parametrize(
    ("wanted", "offered", "agreed"), [(0, 0, 0), (0, 60, 60), (30, 60, 30), (60, 30, 30), (30, 0, 30), (1, 1, 1)]
)
def test_the_lower_heartbeat_counts_or_the_other_one_where_one_is_0(
    dialect: ChannelDialect, wanted: int, offered: int, agreed: int
) -> None:
    _, server = client_of(dialect, ClientConfig(dialect=dialect, heartbeat=wanted))
    server.say(start(dialect), Tune(0, 0, None, offered))
    answer = server.hear()[1]
    assert isinstance(answer, TuneOk)
    assert answer.heartbeat == agreed


@each_dialect
@pytest.mark.parametrize(
    ("offer", "channels", "size"),
    [
        ((0, 0), 100, 8192),
        ((99, 8191), 99, 8191),
        ((100, 8192), 100, 8192),
        ((101, 8193), 100, 8192),
        ((65535, 1 << 31), 100, 8192),
    ],
)
def test_0_is_no_bound(dialect: ChannelDialect, offer: tuple[int, int], channels: int, size: int) -> None:
    client, _server = open_client(
        dialect, ClientConfig(dialect=dialect, channel_max=100, max_frame_size=8192), Tune(*offer, None, 0)
    )
    assert (client.channel_max, client.max_frame_size) == (channels, size)


@each_dialect
def test_a_frame_is_no_larger_than_what_is_stored(dialect: ChannelDialect) -> None:
    """Else it would never come whole."""
    limits = Limits(inbox_octets=70000)
    client, _ = open_client(dialect, ClientConfig(dialect=dialect, max_frame_size=1 << 20, limits=limits), Tune(0, 0, None, 0))
    assert client.max_frame_size == 70000


@each_dialect
@pytest.mark.parametrize(("size", "code"), [(4095, 501), (4096, None)])
def test_a_server_that_offers_too_small_frames(dialect: ChannelDialect, size: int, code: int | None) -> None:
    _client, server = client_of(dialect)
    events = server.say(start(dialect), Tune(10, size, None, 0))
    assert [event.code for event in events if isinstance(event, ConnectionClosed)] == ([] if code is None else [code])


@each_dialect
def test_the_virtual_host_that_is_named(dialect: ChannelDialect) -> None:
    _, server = client_of(dialect, ClientConfig(dialect=dialect, virtual_host="v"))
    server.say(start(dialect), Tune(0, 0, None, 0))
    opening = server.hear()[2]
    assert isinstance(opening, Open)
    assert opening.virtual_host == "v"
    assert server.say(OpenOk())[-1] == ConnectionOpened("v", 65535, 131072, 0)


@pytest.mark.parametrize("dialect", DIALECTS[1:], ids=lambda dialect: dialect.name)
def test_other_hosts(dialect: ChannelDialect) -> None:
    _client, server = client_of(dialect, ClientConfig(dialect=dialect, capabilities=("a", "b"), insist=False))
    server.say(start(dialect), Tune(0, 0, None, 0))
    assert server.hear()[2] == Open("/", ("a", "b"), False)
    redirected, closed = server.say(Redirect("h:1", ("h:1", "h:2")))
    assert redirected == ConnectionRedirected("h:1", ("h:1", "h:2"))
    assert isinstance(closed, ConnectionClosed)
    _, server = client_of(dialect)
    opened = server.say(start(dialect), Tune(0, 0, None, 0), OpenOk(("h:1", "h:2")))[-1]
    assert opened == ConnectionOpened("/", 65535, 131072, 0, ("h:1", "h:2"))


def test_a_dialect_with_sessions_is_for_another_door() -> None:
    with pytest.raises(EncodeError, match=r"ClientConfig\.dialect: a dialect with channels"):
        ChannelClientConnection(ClientConfig(dialect=AMQP_0_10))


# --- refusals -----------------------------------------------------------------------------------------------------------------


@each_dialect
@pytest.mark.parametrize("piece", [1, 3, 8])
def test_a_server_that_answers_with_a_protocol_header(dialect: ChannelDialect, piece: int) -> None:
    client, server = client_of(dialect)
    events = []
    for at in range(0, 8, piece):
        events += server.say(AMQP_0_10.header[at : at + piece])
    refused, closed = events
    assert refused == VersionRefused(NAMES[dialect], "AMQP 0-10")
    assert isinstance(closed, ConnectionClosed)
    assert closed.violation is not None
    assert closed.violation.rule == "connection.start.client-support"
    assert client.data_to_send() == dialect.header
    assert client.finished


@each_dialect
def test_a_server_that_begins_another_version(dialect: ChannelDialect) -> None:
    other = AMQP_0_8_UNBIND if dialect is not AMQP_0_8_UNBIND else AMQP_0_9_1
    client, server = client_of(dialect)
    refused, closed = server.say(start(other))
    assert refused == VersionRefused(NAMES[dialect], "AMQP 0-8" if other is AMQP_0_8_UNBIND else "AMQP 0-9")
    assert isinstance(closed, ConnectionClosed)
    assert client.data_to_send() == dialect.header


@each_dialect
@pytest.mark.parametrize(
    ("octets", "name"), [(b"HTTP/1.1 400", "HTTP"), (b"\x15\x03\x03\0\2\2\x28", "TLS"), (b"SSH-2.0-x", "SSH"), (b"AMX", "")]
)
def test_a_server_of_another_protocol(dialect: ChannelDialect, octets: bytes, name: str) -> None:
    """Nobody has said a version of AMQP."""
    client, server = client_of(dialect)
    (closed,) = server.say(octets) + server.end()
    assert isinstance(closed, ConnectionClosed)
    assert name in closed.text
    assert client.data_to_send() == dialect.header


@each_dialect
def test_a_refused_login_ends_by_close_or_by_the_end(dialect: ChannelDialect) -> None:
    client, server = client_of(dialect)
    server.say(start(dialect))
    refused, closed = server.say(Close(403, "no"))
    assert refused == LoginRefused("ANONYMOUS", 403, "no")
    assert closed == ConnectionClosed(Origin.PEER, 403, "no")
    assert server.hear()[1:] == [CloseOk()]
    client, server = client_of(dialect)
    server.say(start(dialect))
    refused, closed = server.end()
    assert isinstance(refused, LoginRefused)
    assert (refused.mechanism, refused.code) == ("ANONYMOUS", None)
    assert closed == ConnectionClosed(Origin.EOF, None, refused.text)
    with pytest.raises(ConnectionClosedError, match="refused the login"):
        client.close()


@each_dialect
@pytest.mark.parametrize("said", [0, 1, 2, 3])
def test_an_end_elsewhere_is_no_refused_login(dialect: ChannelDialect, said: int) -> None:
    _, server = client_of(dialect)
    server.say(*(start(dialect), Tune(0, 0, None, 0), OpenOk())[:said])
    refusals = [event for event in server.end() if isinstance(event, LoginRefused)]
    assert len(refusals) == (said == 1)


@each_dialect
def test_a_close_for_another_reason_is_no_refused_login(dialect: ChannelDialect) -> None:
    _, server = client_of(dialect)
    server.say(start(dialect))
    assert server.say(Close(320, "x")) == [ConnectionClosed(Origin.PEER, 320, "x")]


@each_dialect
def test_mechanisms(dialect: ChannelDialect) -> None:
    _, server = client_of(dialect, ClientConfig(dialect=dialect, username="ann", password="hush"))
    server.say(start(dialect, "AMQPLAIN", "PLAIN"))
    (said,) = server.hear()
    assert isinstance(said, StartOk)
    assert (said.mechanism, said.response) == ("PLAIN", b"\0ann\0hush")
    _, server = client_of(dialect, ClientConfig(dialect=dialect, mechanisms=(AmqPlain("ann", "hush"),)))
    server.say(start(dialect, "PLAIN", "AMQPLAIN"))
    (said,) = server.hear()
    assert isinstance(said, StartOk)
    assert (said.mechanism, said.response) == ("AMQPLAIN", b"\5LOGINS\0\0\0\3ann\x08PASSWORDS\0\0\0\4hush")
    _, server = client_of(dialect, ClientConfig(dialect=dialect, mechanisms=(CramMd5("ann", "hush"),)))
    server.say(start(dialect, "CRAM-MD5"), Secure(b"<1@h>"))
    _, answer = server.hear()
    assert isinstance(answer, SecureOk)
    assert (answer.response or b"").startswith(b"ann ")


@each_dialect
def test_amqplain_is_not_sent_where_others_can_read_it(dialect: ChannelDialect) -> None:
    config = ClientConfig(dialect=dialect, mechanisms=(AmqPlain("ann", "hush"),))
    client = ChannelClientConnection(config, confidential=False)
    client.receive_data(frames(dialect, start(dialect, "AMQPLAIN")))
    _, closed = client.events()
    assert isinstance(closed, ConnectionClosed)
    assert "amqps" in closed.text
    assert client.data_to_send() == dialect.header


# --- what a server says on an open connection ---------------------------------------------------------------------------------


def test_blocked_and_unblocked() -> None:
    client, server = open_client(AMQP_0_9_1)
    assert server.say(Blocked("low on memory")) == [ConnectionBlocked("low on memory")]
    assert client.blocked
    assert server.say(Unblocked()) == [ConnectionUnblocked()]
    assert (client.blocked, server.hear()) == (False, [])


def test_a_secret_is_updated_one_at_a_time() -> None:
    client, server = client_of(AMQP_0_9_1)
    with pytest.raises(LocalProtocolError, match="only after ConnectionOpened"):
        client.update_secret(b"hush")
    client, server = open_client(AMQP_0_9_1)
    client.update_secret(b"hush", "it expires")
    with pytest.raises(LocalProtocolError, match="one at a time"):
        client.update_secret(b"hush")
    assert server.hear() == [UpdateSecret(b"hush", "it expires")]
    (updated,) = server.say(UpdateSecretOk())
    assert updated == SecretUpdated("it expires")
    client.update_secret(b"more")
    assert server.say(UpdateSecretOk()) == [SecretUpdated("")]
    for shown in (repr(UpdateSecret(b"hush")), repr(updated), repr(client)):
        assert "hush" not in shown


def test_what_cannot_be_sent_changes_nothing() -> None:
    client, server = open_client(AMQP_0_9_1)
    with pytest.raises(EncodeError) as caught:
        client.update_secret(b"hush", "r" * 256)
    assert "hush" not in str(caught.value)
    assert server.hear() == []
    client.update_secret(b"hush")
    for dialect in DIALECTS[1:]:
        client, server = open_client(dialect)
        with pytest.raises(EncodeError):
            client.update_secret(b"hush")
        assert server.hear() == []


def test_an_answer_to_no_update() -> None:
    _, server = open_client(AMQP_0_9_1)
    (closed,) = server.say(UpdateSecretOk())
    assert isinstance(closed, ConnectionClosed)
    assert closed.violation is not None
    assert (closed.code, closed.violation.rule) == (503, "reply.unasked")
    assert server.hear() == [Close(503, closed.text, 10, 71)]


# --- violations ---------------------------------------------------------------------------------------------------------------


@each_dialect
def test_a_control_that_cannot_be_read(dialect: ChannelDialect) -> None:
    """Its class and method are in the close."""
    _, server = open_client(dialect)
    payload = dialect.codec.write_control(Close(200, "bye"))
    cut = b"\1\0\0" + (len(payload) - 1).to_bytes(4, "big") + payload[:-1] + b"\xce"
    (closed,) = server.say(cut)
    assert isinstance(closed, ConnectionClosed)
    assert (closed.code, closed.origin) == (502, Origin.VIOLATION)
    (close,) = server.hear()
    assert isinstance(close, Close)
    assert (close.reply_code, close.class_id, close.method_id) == (502, *dialect.codec.numbers_of("connection.close"))  # type: ignore[misc]


@each_dialect
@pytest.mark.parametrize(
    ("octets", "code", "numbers"),
    [
        (b"\1\0\0\0\0\0\4\0\x0a\0\x63\xce", 503, (10, 99)),  # class connection has no such method
        (b"\1\0\0\0\0\0\4\0\x32\0\x0a\xce", 504, (50, 10)),  # queue.declare on channel 0
        (b"\1\0\1\0\0\0\4\0\x0a\0\x1f\xce", 504, (10, 31)),  # class connection on channel 1
        (b"\1\0\0\0\0\0\4\0\x0a\0\x0b\xcd", 501, (0, 0)),
        (b"\7\0\0\0\2\0\0" + b"\0" * 7, 501, (0, 0)),
    ],
)
def test_what_nobody_may_say(dialect: ChannelDialect, octets: bytes, code: int, numbers: tuple[int, int]) -> None:
    _client, server = open_client(dialect)
    (closed,) = server.say(octets)
    assert isinstance(closed, ConnectionClosed)
    assert (closed.code, closed.origin) == (code, Origin.VIOLATION)
    (close,) = server.hear()
    assert isinstance(close, Close)
    assert (close.reply_code, close.class_id or 0, close.method_id or 0) == (code, *numbers)


@each_dialect
def test_words_at_the_wrong_time_and_of_the_wrong_side(dialect: ChannelDialect) -> None:
    for word, code in ((Tune(0, 0, None, 0), 504), (TuneOk(1, 4096, 0), 503), (Open("/"), 503), (OpenOk(), 504)):
        _, server = open_client(dialect)
        (closed,) = server.say(word)
        assert isinstance(closed, ConnectionClosed)
        assert closed.code == code
        (close,) = server.hear()
        assert isinstance(close, Close)
        assert (close.class_id, close.method_id) == dialect.codec.numbers_of(word.VERB)


@each_dialect
def test_a_channel_before_the_connection_is_open(dialect: ChannelDialect) -> None:
    """The code is that of an observer."""
    _, server = client_of(dialect)
    (_, closed) = server.say(start(dialect), frame(dialect, "channel.open-ok"))
    assert isinstance(closed, ConnectionClosed)
    assert closed.code == 504


@each_dialect
def test_a_close_ok_to_no_close_ends_it_without_a_word(dialect: ChannelDialect) -> None:
    _, server = open_client(dialect)
    (closed,) = server.say(CloseOk())
    assert isinstance(closed, ConnectionClosed)
    assert closed.violation is not None
    assert (closed.violation.code, server.hear()) == (503, [])


def test_words_of_the_wrong_side_that_only_one_dialect_has() -> None:
    _, server = open_client(AMQP_0_9_1)
    (closed,) = server.say(UpdateSecret(b"hush", ""))
    assert isinstance(closed, ConnectionClosed)
    assert closed.code == 503
    assert "hush" not in repr(closed)


@each_dialect
def test_a_tune_before_the_server_was_proved_is_refused(dialect: ChannelDialect) -> None:
    _, server = client_of(dialect, ClientConfig(dialect=dialect, mechanisms=(CramMd5("ann", "hush"),)))
    _, closed = server.say(start(dialect, "CRAM-MD5"), Tune(0, 0, None, 0))
    assert isinstance(closed, ConnectionClosed)
    assert closed.origin is Origin.VIOLATION


# --- channels -----------------------------------------------------------------------------------------------------------------


@each_dialect
def test_channels_open_behind_the_connection(dialect: ChannelDialect) -> None:
    client, server = client_of(dialect)
    with pytest.raises(LocalProtocolError, match="after ConnectionOpened"):
        client.channel()
    client, server = open_client(dialect)
    assert [client.channel().number, client.channel(7).number] == [1, 7]
    assert [channel.number for channel in client.channels] == [1, 7]
    assert len(client.data_to_send()) > 20
    server.say(Close(320, "bye", 0, 0))
    assert client.channels == ()
    with pytest.raises(ConnectionClosedError):
        client.channel()


# --- limits of the handshake --------------------------------------------------------------------------------------------------


@each_dialect
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_rounds_of_authentication(dialect: ChannelDialect, over: int) -> None:
    config = ClientConfig(dialect=dialect, limits=Limits(sasl_rounds=5))
    _, server = client_of(dialect, config)  # ANONYMOUS answers whatever it is asked
    events = server.say(start(dialect), *[Secure(b"?")] * (5 + over))
    assert [event.code for event in events[1:] if isinstance(event, ConnectionClosed)] == ([506] if over > 0 else [])


@each_dialect
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_octets_of_a_challenge(dialect: ChannelDialect, over: int) -> None:
    _, server = client_of(dialect, ClientConfig(dialect=dialect, limits=Limits(sasl_octets=100)))
    events = server.say(start(dialect), Secure(b"?" * (100 + over)))
    assert [event.code for event in events[1:] if isinstance(event, ConnectionClosed)] == ([506] if over > 0 else [])


@each_dialect
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_octets_of_a_control_before_the_connection_is_open(dialect: ChannelDialect, over: int) -> None:
    size = len(dialect.codec.write_control(Secure(b"")))
    _, server = client_of(dialect, ClientConfig(dialect=dialect, limits=Limits(handshake_octets=1000)))
    events = server.say(start(dialect), Secure(b"?" * (1000 - size + over)))
    rules = [event.violation.rule for event in events if isinstance(event, ConnectionClosed) and event.violation]
    assert rules == (["limits.handshake_octets"] if over > 0 else [])


@each_dialect
@pytest.mark.parametrize("over", [-0.001, 0, 0.001])
def test_seconds_of_the_handshake(dialect: ChannelDialect, over: float) -> None:
    client, server = client_of(dialect, ClientConfig(dialect=dialect, limits=Limits(handshake_seconds=7)))
    server.say(start(dialect))
    client.tick(100.0)
    assert client.due == 107.0
    client.tick(107.0 + over)
    assert [type(event) for event in client.events()] == ([] if over < 0 else [ConnectionClosed])


# --- heartbeats ---------------------------------------------------------------------------------------------------------------


@each_dialect
def test_heartbeats(dialect: ChannelDialect) -> None:
    """One is said when nothing was written for an interval; the server is gone when no octet came for two."""
    client, _server = open_client(dialect, tune=Tune(0, 0, None, 5))
    assert client.tick(100.0) == 105.0
    assert client.tick(104.9) == 105.0
    assert client.data_to_send() == b""
    client.tick(105.0)
    assert client.data_to_send() == BEAT
    client.receive_data(BEAT)
    assert client.tick(109.0) == 110.0
    assert list(client.events()) == []
    for now in (110.0, 115.0):
        client.tick(now)
        assert client.data_to_send() == BEAT
    client.tick(118.9)
    assert client.is_open
    client.tick(119.0)
    (closed,) = client.events()
    assert isinstance(closed, ConnectionClosed)
    assert closed.origin is Origin.TIMEOUT


@each_dialect
def test_without_an_interval_no_time_is_kept(dialect: ChannelDialect) -> None:
    client, server = open_client(dialect)
    assert client.tick(1.0) is None
    assert client.tick(1e9) is None
    assert (client.is_open, client.data_to_send()) == (True, b"")
    assert server.say(Heartbeat()) == []


@each_dialect
@pytest.mark.parametrize("beat", [b"\x08\0\0\0\0\0\1x\xce", b"\x08\0\1\0\0\0\0\xce"])
def test_a_heartbeat_with_octets_or_on_a_channel(dialect: ChannelDialect, beat: bytes) -> None:
    _, server = open_client(dialect)
    (closed,) = server.say(beat)
    assert isinstance(closed, ConnectionClosed)
    assert closed.code == 501


# --- ends ---------------------------------------------------------------------------------------------------------------------


@each_dialect
def test_closes_that_cross(dialect: ChannelDialect) -> None:
    """Each is answered; RabbitMQ answers the client's no more and ends the connection."""
    for answered in (True, False):
        client, server = open_client(dialect)
        client.close(ReplyCode.REPLY_SUCCESS, "bye")
        assert server.say(Close(504, "first", 20, 10)) == []
        assert server.hear() == [Close(200, "bye", 0, 0), CloseOk()]
        (closed,) = server.say(CloseOk()) if answered else server.end()
        assert closed == ConnectionClosed(Origin.LOCAL if answered else Origin.EOF, 200, "bye")
        assert client.finished


@each_dialect
def test_a_close_that_is_not_answered(dialect: ChannelDialect) -> None:
    client, _server = open_client(dialect, ClientConfig(dialect=dialect, limits=Limits(close_seconds=3)))
    client.close()
    client.tick(10.0)
    client.tick(12.9)
    assert list(client.events()) == []
    client.tick(13.0)
    (closed,) = client.events()
    assert isinstance(closed, ConnectionClosed)
    assert closed.origin is Origin.TIMEOUT


@each_dialect
def test_what_comes_behind_the_end(dialect: ChannelDialect) -> None:
    """A reset behind close-ok is the octets' end; words behind close are passed over; close itself names what was wrong."""
    client, server = open_client(dialect)
    (closed,) = server.say(Close(404, "no queue", 50, 10), Heartbeat(), Tune(1, 1, None, 1), b"rubbish")
    assert closed == ConnectionClosed(Origin.PEER, 404, "no queue", None, "queue.declare")
    assert server.hear() == [CloseOk()]
    assert (server.say(CloseOk()), server.end(), client.finished) == ([], [], True)
    client, server = open_client(dialect)
    client.close()
    assert server.say(Heartbeat(), Tune(1, 1, None, 1), b"\1\0\5\0\0\0\4\0\x32\0\x0b\xce") == []
    assert server.say(CloseOk(), b"rubbish") == [ConnectionClosed(Origin.LOCAL, 200, "")]
    assert server.end() == []
    with pytest.raises(ConnectionClosedError):
        client.close()


@each_dialect
def test_a_close_names_only_codes_of_the_dialect(dialect: ChannelDialect) -> None:
    client, server = open_client(dialect)
    with pytest.raises(LocalProtocolError):
        client.close(299)  # type: ignore[arg-type]
    client.close(ReplyCode.UNEXPECTED_FRAME)
    assert server.hear() == [Close(505, "", 0, 0)]
    letter = ClientConfig(dialect=dialect, profile=Profile(error_codes="spec"))
    client, server = open_client(dialect, letter)
    if dialect is AMQP_0_9_1:
        client.close(ReplyCode.UNEXPECTED_FRAME)
    else:
        with pytest.raises(LocalProtocolError):
            client.close(ReplyCode.UNEXPECTED_FRAME)
    client, server = open_client(dialect, letter)
    (closed,) = server.say(b"\3\0\1\0\0\0\1x\xce")  # a body without a header
    assert isinstance(closed, ConnectionClosed)
    assert closed.code == (505 if dialect is AMQP_0_9_1 else 503)


def test_the_words_are_those_of_the_dialect() -> None:
    """10.60 is close in 0-8 and blocked in 0-9-1."""
    assert frames(AMQP_0_8_UNBIND, Close(200, "x", 0, 0))[7:11] == frames(AMQP_0_9_1, Blocked("x"))[7:11]
    assert controls(AMQP_0_9_1, frames(AMQP_0_9_1, Blocked("x"))) == [Blocked("x")]
