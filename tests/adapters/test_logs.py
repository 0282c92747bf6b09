"""What happens to a client is logged, without secrets, and handed to a hook."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest
from tests.adapters.served import Served
from tests.adapters.served_channels import ServedChannels

from amqp_sansio.adapters.logs import SHOWN, log, log_octets, teller
from amqp_sansio.adapters.sync import ConnectFailed, RetryPolicy, SessionLost, channels, connect
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.channels.client import ChannelClientEvent
from amqp_sansio.conversation.happenings import (
    AttemptFailed,
    ClientEvent,
    Connected,
    ConnectionEnded,
    GaveUp,
    LoginRefused,
    Reconnecting,
    SessionEnded,
    SessionOpened,
    SessionResumed,
)
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.events import ConnectionBlocked, ConnectionUnblocked, Origin
from amqp_sansio.events.channel import ChannelClosed, ConsumerCancelled, MessageReturned
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.methods.basic import Return

LINES: list[tuple[ChannelClientEvent, str]] = [
    (Connected("h:1", 1), "INFO amqp_sansio.connection connected to h:1"),
    (Connected("h:1", 2), "INFO amqp_sansio.connection connected to h:1 (connection 2)"),
    (AttemptFailed("h:1", "why"), "WARNING amqp_sansio.connection no connection to h:1: why"),
    (LoginRefused("h:1", "why"), "ERROR amqp_sansio.connection login refused by h:1: why"),
    (ConnectionEnded("h:1", "why", True), "WARNING amqp_sansio.connection connection to h:1 ended: why"),
    (ConnectionEnded("h:1", "why", False), "INFO amqp_sansio.connection connection to h:1 ended: why"),
    (Reconnecting("h:1", 0.25), "INFO amqp_sansio.connection reconnecting to h:1 in 0.2 seconds"),
    (AttemptFailed("h:1", "a\nb\x1b"), "WARNING amqp_sansio.connection no connection to h:1: a\\nb\\x1b"),
    (GaveUp("why"), "ERROR amqp_sansio.connection no further connection: why"),
    (SessionOpened(b"s", False), "INFO amqp_sansio.session session 's' opened"),
    (SessionOpened(b"s", True), "WARNING amqp_sansio.session session 's' opened again"),
    (SessionResumed(b"s"), "INFO amqp_sansio.session session 's' resumed"),
    (SessionEnded(b"s", "why", RangeSet.of(1, 2)), "WARNING amqp_sansio.session session 's' ended: why; in doubt: {1-2}"),
    (SessionEnded(b"s", "why", RangeSet()), "WARNING amqp_sansio.session session 's' ended: why; in doubt: nothing"),
    (ConnectionBlocked("memory\n"), "WARNING amqp_sansio.connection the broker takes no messages: memory\\n"),
    (ConnectionUnblocked(), "INFO amqp_sansio.connection the broker takes messages again"),
    (ConsumerCancelled(3, "t", Origin.PEER), "WARNING amqp_sansio.channel consumer 't' of channel 3 cancelled"),
    (
        MessageReturned(3, 1, Return(312, "NO_ROUTE", "e", "k")),
        "INFO amqp_sansio.channel channel 3: a message to exchange 'e' with 'k' came back: NO_ROUTE",
    ),
    (
        ChannelClosed(3, Origin.PEER, 404, "no queue", "queue.declare", in_doubt=RangeSet.of(1, 2)),
        "WARNING amqp_sansio.channel channel 3 ended: no queue; in doubt: {1-2}",
    ),
]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [f"{each.levelname} {each.name} {each.getMessage()}" for each in caplog.records]


@pytest.mark.parametrize(("event", "line"), LINES)
def test_the_line(event: ChannelClientEvent, line: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "amqp_sansio"):
        log(event)
    assert lines(caplog) == [line]


def test_a_loss_step_by_step(caplog: pytest.LogCaptureFixture) -> None:
    told: list[ClientEvent] = []
    policy = RetryPolicy(attempts=40, first=0.02, factor=1.0, jitter=0.0)
    with Served() as served, caplog.at_level(logging.INFO, "amqp_sansio"):
        with connect(served.url, retry=policy, on_event=told.append) as connection, connection.session() as session:
            session.sync()
            served.cut()
            with suppress(SessionLost):  # unless the loss was noticed before
                session.sync()
            session.sync()
            assert connection.remade == 1
        kinds = [type(each).__name__ for each in told]
        assert kinds == [
            "Connected", "SessionOpened", "SessionEnded", "ConnectionEnded", "Reconnecting", "Connected", "SessionOpened",
            "ConnectionEnded",
        ]  # fmt: skip
        assert told[-1] == ConnectionEnded(f"localhost:{served.port}", "it was closed here", False)
    assert len(caplog.records) == len(told)


def test_the_log_of_a_refused_login_has_no_password(caplog: pytest.LogCaptureFixture) -> None:
    told: list[ClientEvent] = []
    server = ServerConfig(mechanisms=(PlainServer(lambda user, password: False),))
    with Served(server) as served, caplog.at_level(logging.DEBUG, "amqp_sansio"):
        url = served.url.replace("amqp://", "amqp://alice:s3cret@") + "?insecure_plain=1"
        with pytest.raises(ConnectFailed):
            connect(url, on_event=told.append, log_octets=True)
    assert [type(each).__name__ for each in told] == ["LoginRefused", "GaveUp"]
    assert caplog.records
    assert "s3cret" not in caplog.text
    assert b"s3cret".hex(" ") not in caplog.text


def test_octets_are_logged_only_when_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with Served() as served, caplog.at_level(logging.DEBUG, "amqp_sansio"):
        with connect(served.url):
            pass
        assert "amqp_sansio.octets" not in "".join(lines(caplog))
        with connect(served.url, log_octets=True):
            pass
    found = [each for each in lines(caplog) if each.startswith("DEBUG amqp_sansio.octets")]
    assert "not shown, for the login is in them" in found[0]
    assert any("octets: 0f 00 00" in each for each in found)


def test_a_program_that_sets_no_logging_up_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    log(AttemptFailed("h:1", "why"))
    assert logging.getLogger("amqp_sansio").handlers
    assert capsys.readouterr() == ("", "")


def test_long_reads_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "amqp_sansio"):
        log_octets(True, b"x" * (SHOWN + 1), True)
    with caplog.at_level(logging.INFO, "amqp_sansio"):
        log_octets(True, b"x", True)
    (line,) = lines(caplog)
    assert line.startswith(f"DEBUG amqp_sansio.octets sent {SHOWN + 1} octets: 78 78")
    assert line.endswith(" and 1 more")


def test_a_hook_that_raises_ends_no_connection(caplog: pytest.LogCaptureFixture) -> None:
    def wrong(event: ClientEvent) -> None:
        raise ValueError("mine")

    teller(wrong)(GaveUp("why"))
    assert "on_event raised for GaveUp(cause='why')" in caplog.text
    with Served() as served, connect(served.url, on_event=wrong) as connection, connection.session() as session:
        session.sync()


def test_what_ends_as_the_client_wanted_it_is_worth_a_line_at_debug_alone(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "amqp_sansio"):
        log(ConsumerCancelled(3, "t", Origin.LOCAL))
        log(ChannelClosed(3, Origin.LOCAL))
    assert [each.levelname for each in caplog.records] == ["DEBUG", "DEBUG"]


def test_octets_of_a_channel_are_logged_and_no_secret_with_them(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "amqp_sansio"), ServedChannels() as served:
        with channels.connect(served.url, log_octets=True) as connection, connection.channel() as channel:
            channel.declare_queue("plain-to-see")
            connection.update_secret("guest", "hush")
            channel.declare_queue("seen-again")
    shown = " ".join([each.getMessage() for each in caplog.records])
    assert b"plain-to-see".hex(" ") in shown
    assert b"seen-again".hex(" ") in shown
    assert b"guest".hex(" ") not in shown
