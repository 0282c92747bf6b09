"""A connection for blocking code, over real sockets."""

from __future__ import annotations

import re
import ssl
import threading

import pytest
import trustme
from tests.adapters import strangers
from tests.adapters.scenarios import QUICK
from tests.adapters.served import Served

from amqp_sansio.adapters.sync import connect
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.errors import AddressError, ConnectFailed, ConnectionClosedError, ConnectionLost, SessionLost
from amqp_sansio.events import Origin
from amqp_sansio.spec import queue


def there_and_back(url: str, count: int = 50, tls: ssl.SSLContext | None = None) -> list[bytes]:
    found = []
    with connect(url, tls=tls) as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        tickets = [session.send("", "q", b"%d" % number) for number in range(count)]
        for ticket in tickets:
            ticket.result()
        with session.subscribe("q", prefetch=7) as subscription:
            for message in subscription:
                found.append(message.body)
                message.accept()
                if len(found) == count:
                    break
    return found


def test_there_and_back() -> None:
    with Served() as served:
        assert there_and_back(served.url) == [b"%d" % number for number in range(50)]
        assert (served.depth("q"), served.acquired("q"), served.sessions()) == (0, 0, 0)
        assert [each.origin for each in served.closed] == [Origin.PEER]


def test_by_tls() -> None:
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("localhost").configure_cert(there)
    with Served(tls=there) as served:
        assert len(there_and_back(served.url, tls=here)) == 50
        with pytest.raises(ConnectFailed, match="its certificate is not accepted: unable to get local issuer"):
            there_and_back(served.url)
    with Served() as served, pytest.raises(ConnectFailed, match="TLS failed"):
        there_and_back(served.url.replace("amqp", "amqps"), tls=here)


def refused(url: str) -> str:
    with pytest.raises(ConnectFailed) as caught, connect(url):
        raise AssertionError
    return str(caught.value)


@pytest.mark.parametrize(("answer", "hold", "text"), strangers.WRONG)
def test_one_sentence_reports_a_server_that_is_no_broker_of_ours(answer: bytes, hold: bool, text: str) -> None:
    with strangers.someone(answer, hold) as url:
        assert re.search(text, refused(url))


def test_nobody() -> None:
    assert refused("amqp://127.0.0.1:1/") == "127.0.0.1:1: connection refused: nobody listens there"
    with pytest.raises(AddressError):
        connect("http://x")


def test_the_next_host_is_tried_and_a_redirect_is_followed() -> None:
    with Served() as served:
        assert len(there_and_back(served.url.replace("localhost", "127.0.0.1:1,localhost"))) == 50
        with strangers.redirecting(f"amqp:tcp:localhost:{served.port}") as url:
            assert len(there_and_back(url)) == 50


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    with Served() as served:
        there_and_back(served.url)
        refused("amqp://127.0.0.1:1/")
        with pytest.raises(KeyError), connect(served.url), connect(served.url):
            raise KeyError("mine")
        assert threading.active_count() == before + 1  # the broker's


def test_closing_twice_does_no_harm() -> None:
    with Served() as served, connect(served.url) as connection:
        connection.close()
        connection.close()


def test_a_connection_and_a_session_without_a_block() -> None:
    with Served() as served:
        connection = connect(served.url)
        assert (connection.is_open, connection.closed.done, connection.remade) == (True, False, 0)
        session = connection.open_session(timeout=9)
        session.declare_queue("q")
        pending = session.send("", "q", b"x")
        assert (session.is_open, session.closed.done) == (True, False)
        session.close(timeout=9)
        assert (pending.done, session.is_open, session.closed.result(9)) == (True, False, None)
        session.close(timeout=9)
        connection.close()
        assert (connection.is_open, connection.closed.result(9), served.depth("q")) == (False, None, 1)
        with pytest.raises(ConnectionClosedError):
            connection.open_session()


def test_a_loss_is_waited_for() -> None:
    with Served() as served, connect(served.url) as connection:
        with pytest.raises(TimeoutError):
            connection.closed.result(0.01)
        served.cut()
        with pytest.raises(ConnectionLost):
            connection.closed.result(9)


def test_what_a_session_cannot_finish_in_time_it_leaves() -> None:
    with Served() as served, connect(served.url, close_timeout=0.1) as connection:
        session = connection.open_session()
        served.silence()
        with pytest.raises(TimeoutError):
            session.close(timeout=0.05)


def test_leaving_does_not_wait_for_a_broker_that_does_not_answer() -> None:
    with Served() as served, connect(served.url, close_timeout=0.1):
        served.silence()


def test_a_kept_session_goes_on_after_a_cut_and_every_message_is_there_once() -> None:
    with Served(ServerConfig(session_timeout=60)) as served:
        with connect(served.url, retry=QUICK) as connection, connection.session(keep_for=60) as session:
            session.execute(queue.Declare("q"))
            for number in range(300):
                if number % 60 == 30:
                    served.cut()
                session.send("", "q", b"%d" % number)
            session.sync()
            assert session.remade == 0
        assert served.depth("q") == 300


def test_nobody_waits_for_ever_when_the_broker_stays_away() -> None:
    policy = RetryPolicy(attempts=3, first=0.01, factor=1.0)
    with Served(ServerConfig(session_timeout=60)) as served, pytest.raises(SessionLost, match="nobody listens"):
        with connect(served.url, retry=policy) as connection, connection.session(keep_for=60) as session:
            session.execute(queue.Declare("q"))
            served.stop()
            session.publish("", "q", b"x")


def test_a_broker_that_falls_silent_and_takes_nothing_times_out() -> None:
    with Served() as served, pytest.raises(SessionLost, match=r"silent|heard|heartbeat"):
        with connect(f"{served.url}?heartbeat=1", close_timeout=0.2) as connection, connection.session() as session:
            served.silence()
            while True:
                session.send("", "q", b"x" * 1_000_000)
