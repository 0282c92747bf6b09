"""The server's connection in 0-8, 0-9 and 0-9-1: opening, refusals, blocking, new secrets, ends."""

from __future__ import annotations

import pytest
from tests.engine.older import CAPABLE, DIALECTS, frames, login, open_server, server_of

from amqp_sansio.config import Challenge, Profile, ServerConfig
from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, AMQP_0_10, ChannelDialect
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.handshake import Doorstep
from amqp_sansio.engine.sasl import AmqPlain, AmqPlainServer, CramMd5, CramMd5Server, Plain, PlainServer
from amqp_sansio.errors import CapabilityMissing, ConnectionClosedError, EncodeError, LocalProtocolError
from amqp_sansio.events import (
    Authenticated,
    ChannelRequested,
    ConnectionClosed,
    ConnectionOpened,
    OpenRequested,
    Origin,
    SecretUpdated,
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
    Start,
    StartOk,
    Tune,
    TuneOk,
    Unblocked,
    UpdateSecret,
    UpdateSecretOk,
)
from amqp_sansio.spec.reply_codes import ReplyCode

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


def config(dialect: ChannelDialect, **settings: object) -> ServerConfig:
    return ServerConfig(dialects=(dialect,), **settings)  # type: ignore[arg-type]


def right(username: str, password: str) -> bool:
    return (username, password) == ("ann", "hush")


# --- opening ------------------------------------------------------------------------------------------------------------------


@each_dialect
def test_an_opening(dialect: ChannelDialect) -> None:
    server, client = server_of(dialect, config(dialect, channel_max=100, known_hosts=("h:1", "h:2")))
    assert client.say(dialect.header) == []
    (start,) = client.hear()
    assert isinstance(start, Start)
    assert (start.version_major, start.version_minor) == dialect.handshake.version
    assert (start.mechanisms, start.locales) == (("ANONYMOUS",), ("en_US",))
    assert start.server_properties is not None
    assert start.server_properties["capabilities"] == dict.fromkeys(dialect.handshake.capabilities, True)
    (authenticated,) = client.say(login(dialect)[8:])
    assert isinstance(authenticated, Authenticated)
    assert client.hear() == [Tune(100, 131072, None, 120)]
    assert server.capabilities.client == {"authentication_failure_close", "connection.blocked"}
    assert server.capabilities.server == frozenset(dialect.handshake.capabilities)
    asked, opened = client.say(TuneOk(50, 4096, 7), Open("v", ("a", "b"), True))
    later = dialect is not AMQP_0_9_1
    assert asked == OpenRequested("v", ("a", "b") if later else (), later)
    assert opened == ConnectionOpened("v", 50, 4096, 7)
    assert client.hear() == [OpenOk(("h:1", "h:2") if later else None)]


@each_dialect
def test_a_client_need_not_wait_for_answers(dialect: ChannelDialect) -> None:
    server, client = server_of(dialect)
    events = client.say(login(dialect), TuneOk(2047, 131072, 0), Open("/"), Heartbeat())
    assert [type(event) for event in events] == [Authenticated, OpenRequested, ConnectionOpened]
    assert [type(word) for word in client.hear()] == [Start, Tune, OpenOk]
    assert server.is_open


@each_dialect
@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (TuneOk(100, 8192, 65535), None),
        (TuneOk(1, 4096, 0), None),
        (TuneOk(101, 8192, 0), "connection.tune-ok.channel-max.upper-limit"),
        (TuneOk(0, 8192, 0), "connection.tune-ok.channel-max.upper-limit"),
        (TuneOk(100, 8193, 0), "connection.tune-ok.frame-max.upper-limit"),
        (TuneOk(100, 0, 0), "connection.tune-ok.frame-max.upper-limit"),
        (TuneOk(100, 4095, 0), "connection.tune-ok.frame-max.minimum"),
    ],
)
def test_answers_to_tune(dialect: ChannelDialect, answer: TuneOk, rule: str | None) -> None:
    """One that asks for more than was offered ends the connection without a close, as at RabbitMQ."""
    server, client = server_of(dialect, config(dialect, channel_max=100, max_frame_size=8192))
    events = client.say(login(dialect), answer, Open("/"))
    found = [event.violation.rule for event in events if isinstance(event, ConnectionClosed) and event.violation]
    assert found == ([] if rule is None else [rule])
    if rule is not None:
        assert [type(word) for word in client.hear()] == [Start, Tune]
    else:
        assert (server.channel_max, server.max_frame_size) == (answer.channel_max, answer.max_frame_size)


@each_dialect
def test_a_header_of_another_version_is_answered_with_the_own_one(dialect: ChannelDialect) -> None:
    server, client = server_of(dialect)
    (closed,) = client.say(AMQP_0_10.header)
    assert isinstance(closed, ConnectionClosed)
    assert server.data_to_send() == dialect.header
    assert server.finished


@each_dialect
def test_other_spellings_of_the_header(dialect: ChannelDialect) -> None:
    for spelling in dialect.spellings:
        _server, client = server_of(dialect)
        assert client.say(spelling) == []
        assert isinstance(client.hear()[0], Start)


def test_several_dialects_behind_one_door() -> None:
    """The usual frame of one of them is no larger than what all can say; a larger one is for those that can."""
    usual = ServerConfig(dialects=(AMQP_0_10, *DIALECTS))
    assert usual.max_frame_size == 65535
    for several in (usual, ServerConfig(dialects=usual.dialects, max_frame_size=200000)):
        for dialect in (AMQP_0_10, *DIALECTS):
            door = Doorstep(several)
            door.receive_data(dialect.header)
            assert list(door.connection.events()) == []
            assert door.connection._settings.dialect is dialect
            assert door.connection._largest_frame == (65535 if dialect is AMQP_0_10 else several.max_frame_size)


def test_a_dialect_with_sessions_is_for_another_door() -> None:
    with pytest.raises(EncodeError, match=r"ServerConfig\.dialects: a dialect with channels"):
        ChannelServerConnection(ServerConfig(dialects=(AMQP_0_10,)))


@pytest.mark.parametrize("dialect", DIALECTS[1:], ids=lambda dialect: dialect.name)
def test_a_redirect(dialect: ChannelDialect) -> None:
    server, client = server_of(dialect)
    for insist in (False, True):
        server, client = server_of(dialect)
        server.receive_data(login(dialect) + frames(dialect, TuneOk(2047, 4096, 0), Open("/", (), insist)))
        while not isinstance(server.next_event(), OpenRequested):
            pass
        client.hear()
        if insist:
            with pytest.raises(LocalProtocolError):
                server.redirect("h:1", ("h:1", "h:2"))
            continue
        server.redirect("h:1", ("h:1", "h:2"))
        assert client.hear() == [Redirect("h:1", ("h:1", "h:2"))]
        (closed,) = server.events()
        assert isinstance(closed, ConnectionClosed)


def test_0_9_1_has_no_redirect() -> None:
    """Nothing was said, and the client still waits for its answer."""
    server, client = server_of(AMQP_0_9_1)
    server.receive_data(login(AMQP_0_9_1) + frames(AMQP_0_9_1, TuneOk(2047, 4096, 0), Open("/")))
    while not isinstance(server.next_event(), OpenRequested):
        pass
    client.hear()
    with pytest.raises(EncodeError):
        server.redirect("h:1")
    server.open_ok()
    assert client.hear() == [OpenOk()]


@each_dialect
@pytest.mark.parametrize(("codes", "code"), [("qpid", 530), ("spec", 402)])
def test_a_virtual_host_that_is_not_there(dialect: ChannelDialect, codes: str, code: int) -> None:
    profile = Profile(error_codes=codes)  # type: ignore[arg-type]
    _server, client = server_of(dialect, config(dialect, virtual_hosts=("/",), profile=profile))
    client.say(login(dialect), TuneOk(2047, 4096, 0), Open("v"))
    close = client.hear()[-1]
    assert isinstance(close, Close)
    assert close.reply_code == code
    assert client.say(CloseOk()) == [ConnectionClosed(Origin.LOCAL, code, close.reply_text or "")]


# --- authentication -----------------------------------------------------------------------------------------------------------


@each_dialect
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("mechanism", ["PLAIN", "AMQPLAIN"])
def test_a_wrong_password(dialect: ChannelDialect, told: bool, mechanism: str) -> None:
    """Told by close 403 to a client that asked for that; else the connection ends without a word."""
    mechanisms = (PlainServer(right), AmqPlainServer(right))
    for password in ("hush", "wrong"):
        server, client = server_of(dialect, config(dialect, mechanisms=mechanisms))
        made = (Plain if mechanism == "PLAIN" else AmqPlain)("ann", password).start().initial()
        events = client.say(login(dialect, mechanism, made or b"", CAPABLE if told else {}))
        if password == "hush":
            (authenticated,) = events
            assert isinstance(authenticated, Authenticated)
            assert (authenticated.mechanism, authenticated.identity) == (mechanism, "ann")
            assert "hush" not in repr(authenticated)
            continue
        assert [type(word) for word in client.hear()] == ([Start, Close] if told else [Start])
        events += client.say(CloseOk())
        reason = "authentication failed: wrong name or password"
        assert events == [ConnectionClosed(Origin.LOCAL, 403 if told else None, reason)]
        assert server.finished


@each_dialect
def test_a_mechanism_that_asks(dialect: ChannelDialect) -> None:
    """There is no telling an absent response from an empty one."""
    passwords = {"ann": "hush"}
    mechanism = CramMd5Server(passwords.get, lambda: b"<1@h>")
    _, client = server_of(dialect, config(dialect, mechanisms=(mechanism,)))
    exchange = CramMd5("ann", "hush").start()
    assert client.say(login(dialect, "CRAM-MD5")) == []
    assert client.hear()[1:] == [Secure(b"<1@h>")]
    (authenticated,) = client.say(SecureOk(exchange.step(b"<1@h>")))
    assert isinstance(authenticated, Authenticated)


@each_dialect
def test_a_mechanism_that_was_not_offered(dialect: ChannelDialect) -> None:
    _, client = server_of(dialect)
    (closed,) = client.say(login(dialect, "PLAIN", b"\0ann\0hush"))
    assert isinstance(closed, ConnectionClosed)
    assert closed.violation is not None
    assert closed.violation.rule == "connection.start-ok.mechanism.validity"
    assert "hush" not in repr(closed)
    assert [type(word) for word in client.hear()] == [Start]


class Asks:
    """A mechanism that asks for more and more."""

    name = "ASKS"

    def start(self) -> Asks:
        return self

    security_layer = False

    def step(self, response: bytes | None) -> Challenge:
        return Challenge(b"?")


@each_dialect
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_rounds_of_authentication(dialect: ChannelDialect, over: int) -> None:
    _, client = server_of(dialect, config(dialect, mechanisms=(Asks(),), limits=Limits(sasl_rounds=5)))
    events = client.say(login(dialect, "ASKS"), *[SecureOk(b"!")] * (4 + over))
    assert [event.code for event in events if isinstance(event, ConnectionClosed)] == ([506] if over > 0 else [])


@each_dialect
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_octets_of_a_response(dialect: ChannelDialect, over: int) -> None:
    _, client = server_of(dialect, config(dialect, limits=Limits(sasl_octets=100)))
    events = client.say(login(dialect, "ANONYMOUS", b"x" * (100 + over)))
    assert [event.code for event in events if isinstance(event, ConnectionClosed)] == ([506] if over > 0 else [])


@each_dialect
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_octets_of_a_control_before_the_connection_is_open(dialect: ChannelDialect, over: int) -> None:
    size = len(dialect.codec.write_control(StartOk({}, "ANONYMOUS", b"", "en_US")))
    _, client = server_of(dialect, config(dialect, limits=Limits(handshake_octets=1000)))
    events = client.say(login(dialect, "ANONYMOUS", b"x" * (1000 - size + over), {}))
    rules = [event.violation.rule for event in events if isinstance(event, ConnectionClosed) and event.violation]
    assert rules == (["limits.handshake_octets"] if over > 0 else [])


@each_dialect
@pytest.mark.parametrize("over", [-0.001, 0, 0.001])
def test_seconds_of_the_handshake(dialect: ChannelDialect, over: float) -> None:
    server, client = server_of(dialect, config(dialect, limits=Limits(handshake_seconds=7)))
    client.say(login(dialect))
    server.tick(100.0)
    server.tick(107.0 + over)
    assert [type(event) for event in server.events()] == ([] if over < 0 else [ConnectionClosed])


# --- an open connection -------------------------------------------------------------------------------------------------------


def test_blocking() -> None:
    server, client = open_server(AMQP_0_9_1)
    with pytest.raises(LocalProtocolError, match="it is not blocked"):
        server.unblock()
    server.block("low on memory")
    with pytest.raises(LocalProtocolError, match="it is blocked"):
        server.block()
    assert (server.blocked, client.hear()) == (True, [Blocked("low on memory")])
    server.unblock()
    assert (server.blocked, client.hear()) == (False, [Unblocked()])


def test_blocking_wants_a_client_that_understands_it() -> None:
    server, client = open_server(AMQP_0_9_1, told={"capabilities": {"connection.blocked": False}})
    with pytest.raises(CapabilityMissing, match=r"connection\.blocked"):
        server.block()
    assert client.hear() == []
    server, _ = server_of(AMQP_0_9_1)
    with pytest.raises(LocalProtocolError):
        server.block()
    for dialect in DIALECTS[1:]:
        server, client = open_server(dialect)
        with pytest.raises(EncodeError):
            server.block()
        assert (server.blocked, client.hear()) == (False, [])


def test_a_secret_is_updated() -> None:
    server, client = open_server(AMQP_0_9_1)
    server.receive_data(frames(AMQP_0_9_1, UpdateSecret(b"hush", "it expires")))
    updated = server.next_event()
    assert updated == SecretUpdated("it expires")
    assert client.hear() == []
    assert (server.take_secret(), server.take_secret()) == (b"hush", None)
    assert server.next_event() is None
    assert client.hear() == [UpdateSecretOk()]
    assert "hush" not in repr(updated) + repr(server)
    client.say(b"\1\0\1\0\0\0\5\0\x14\0\x0a\0\xce")  # channel.open: another question
    assert b"\0\x0a\0\x47" not in server.data_to_send()


def test_a_secret_may_be_refused() -> None:
    server, client = open_server(AMQP_0_9_1)
    server.receive_data(frames(AMQP_0_9_1, UpdateSecret(b"hush", "")))
    assert server.next_event() == SecretUpdated("")
    server.fail(ReplyCode.ACCESS_REFUSED, "no", "connection.update-secret")
    assert server.next_event() is None
    assert client.hear() == [Close(403, "no", 10, 70)]


def test_a_secret_behind_open_waits_for_its_answer() -> None:
    """Nothing of it is said before open-ok."""
    server, client = server_of(AMQP_0_9_1)
    events = client.say(login(AMQP_0_9_1), TuneOk(2047, 4096, 0), Open("/"), UpdateSecret(b"a", "1"), UpdateSecret(b"b", "2"))
    assert events[-2:] == [SecretUpdated("1"), SecretUpdated("2")]
    assert client.hear()[2:] == [OpenOk(), UpdateSecretOk(), UpdateSecretOk()]
    assert server.take_secret() == b"b"


@each_dialect
def test_a_method_may_be_blamed(dialect: ChannelDialect) -> None:
    for method, numbers in (("queue.declare", (50, 10)), ("", (0, 0))):
        server, client = open_server(dialect)
        with pytest.raises(EncodeError, match="method: "):  # and it changes nothing
            server.fail(ReplyCode.NOT_IMPLEMENTED, "not here", "queue.nothing")
        server.fail(ReplyCode.NOT_IMPLEMENTED, "not here", method)
        (close,) = client.hear()
        assert close == Close(540, "not here", *numbers)
        assert client.say(CloseOk()) == [ConnectionClosed(Origin.LOCAL, 540, "not here")]
        with pytest.raises(ConnectionClosedError):
            server.fail(ReplyCode.NOT_IMPLEMENTED)
        with pytest.raises(ConnectionClosedError):
            server.block()


@each_dialect
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("channel", [2047, 2048, 65535])
def test_numbers_of_channels(dialect: ChannelDialect, strict: bool, channel: int) -> None:
    """aiormq opens 65535 whatever was agreed on; to the letter the number is bounded in 0-9-1, and how many in 0-8 and 0-9."""
    _, client = open_server(dialect, config(dialect, profile=Profile(strict=strict)))
    events = client.say(b"\1" + channel.to_bytes(2, "big") + b"\0\0\0\5\0\x14\0\x0a\0\xce")  # channel.open
    refused = [event for event in events if isinstance(event, ConnectionClosed)]
    assert bool(refused) is (strict and dialect is AMQP_0_9_1 and channel > 2047)
    if refused:
        assert refused[0].violation is not None
        assert refused[0].violation.rule == "connection.tune-ok.channel-max"
        assert refused[0].code == 504


@each_dialect
def test_channels_are_accepted_or_refused(dialect: ChannelDialect) -> None:
    """By the application, else by the config's policy."""
    server, client = open_server(dialect)
    with pytest.raises(LocalProtocolError):
        server.accept(1)
    opens = b"".join([b"\1\0" + bytes((number,)) + b"\0\0\0\5\0\x14\0\x0a\0\xce" for number in (1, 2, 3)])
    server.receive_data(opens)
    assert server.next_event() == ChannelRequested(1)
    assert server.accept(1).number == 1
    assert server.next_event() == ChannelRequested(2)
    server.refuse(2, ReplyCode.RESOURCE_ERROR, "enough")
    assert server.next_event() == ChannelRequested(3)
    assert server.next_event() is None
    assert [channel.number for channel in server.channels] == [1, 3]
    client.say(Close(200, "bye", 0, 0))
    for call in (server.accept, server.refuse):
        with pytest.raises(ConnectionClosedError):
            call(1)
    server, client = open_server(dialect, config(dialect, attach="refuse"))
    client.say(opens)
    assert server.channels == ()


@each_dialect
def test_ends(dialect: ChannelDialect) -> None:
    server, client = open_server(dialect)
    assert client.say(Close(200, "bye", 0, 0), Heartbeat()) == [ConnectionClosed(Origin.PEER, 200, "bye")]
    assert (client.hear(), server.finished) == ([CloseOk()], True)
    server, client = open_server(dialect)
    server.close(ReplyCode.CONNECTION_FORCED, "restart")
    assert client.say(Heartbeat(), Close(200, "", 0, 0)) == []
    assert client.hear() == [Close(320, "restart", 0, 0), CloseOk()]
    assert client.end() == [ConnectionClosed(Origin.EOF, 320, "restart")]
    server, client = open_server(dialect)
    (closed,) = client.end()
    assert isinstance(closed, ConnectionClosed)
    assert closed.origin is Origin.EOF


def test_the_oldest_one_never_gets_what_it_cannot_read() -> None:
    """10.60 would be close there."""
    assert "connection.blocked" not in AMQP_0_8_UNBIND.handshake.capabilities
    assert "basic.nack" not in AMQP_0_8_UNBIND.handshake.capabilities
