"""Which endpoint is tried next, and when."""

from __future__ import annotations

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import REDIRECTS, Attempt, Attempts
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.errors import ConnectFailed, ConnectionLost
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import OpenRequested

REFUSED = ConnectionRefusedError("no")
POLICY = RetryPolicy(attempts=3, first=1.0, factor=2.0, jitter=0.0)


def attempts(url: str, retry: RetryPolicy = NEVER) -> Attempts:
    return Attempts(Client(ClientConfig(), prefix="p", retry=retry), Address.parse(url), lambda: 0.0)


def converse(client: Client, server: ServerConnection, redirect: str | None = None) -> None:
    """A connection that is opened, or redirected."""
    machine = client.begin()
    for _ in range(10):
        server.receive_data(machine.data_to_send())
        for event in server.events():
            if isinstance(event, OpenRequested) and redirect is not None:
                server.redirect(redirect, ("amqp:tcp:fourth:9", "nonsense:tcp:x"))
        octets = server.data_to_send()
        if octets:
            client.receive_data(octets)


def test_each_endpoint_is_tried_once_for_the_first_connection() -> None:
    trying = attempts("amqp://a,b:1,c", POLICY)
    assert trying.first() == Attempt(Endpoint("a"), 0.0)
    assert trying.after(REFUSED) == Attempt(Endpoint("b", 1), 0.0)
    assert trying.after(TimeoutError("too late")) == Attempt(Endpoint("c"), 0.0)
    assert trying.after(REFUSED) is None
    assert isinstance(trying.error, ConnectFailed)
    assert trying.error.endpoint == "a:5672, b:1, c:5672"
    assert "b:1: too late" in trying.error.cause


def test_one_endpoint_is_told_plainly() -> None:
    trying = attempts("amqp://a")
    trying.first()
    assert trying.after(REFUSED) is None
    assert str(trying.error) == "a:5672: connection refused: nobody listens there"


def test_who_was_connected_comes_back_as_the_policy_says_to_all_that_are_known() -> None:
    trying = attempts("amqp://a,b", POLICY)
    trying.first()
    converse(trying.client, ServerConnection(ServerConfig(known_hosts=("amqp:tcp:b:5672,tcp:c:9", "nonsense:tcp:x:y"))))
    trying.client.receive_eof()
    tried = [trying.after()]
    while tried[-1] is not None:
        tried.append(trying.after(REFUSED))
    once = [Endpoint("a"), Endpoint("b"), Endpoint("c", 9)]
    expected = [Attempt(each, delay if each == once[0] else 0.0) for delay in (1.0, 2.0, 4.0) for each in once]
    assert tried == [*expected, None]
    assert isinstance(trying.error, ConnectFailed)


def test_without_a_policy_a_loss_is_the_end() -> None:
    trying = attempts("amqp://a")
    trying.first()
    converse(trying.client, ServerConnection(ServerConfig()))
    trying.client.receive_eof()
    assert trying.after() is None
    assert isinstance(trying.error, ConnectionLost)
    assert "without a close" in str(trying.error)


def test_a_redirect_is_followed_and_tls_is_kept() -> None:
    trying = attempts("amqps://a")
    trying.first()
    converse(trying.client, ServerConnection(ServerConfig()), "amqp:tcp:other:7,tcp:third:8")
    assert trying.after() == Attempt(Endpoint("other", 7, True), 0.0)
    assert trying.after(REFUSED) == Attempt(Endpoint("third", 8, True), 0.0)
    assert trying.after(REFUSED) == Attempt(Endpoint("fourth", 9, True), 0.0)


def test_redirects_have_an_end() -> None:
    trying = attempts("amqp://a")
    trying.first()
    for _ in range(REDIRECTS):
        converse(trying.client, ServerConnection(ServerConfig()), "other:7")
        assert trying.after() == Attempt(Endpoint("other", 7), 0.0)
    converse(trying.client, ServerConnection(ServerConfig()), "other:7")
    assert trying.after() is None
    assert "redirected more than" in str(trying.error)


def test_a_redirect_to_nowhere_is_told() -> None:
    trying = attempts("amqp://a")
    trying.first()
    converse(trying.client, ServerConnection(ServerConfig()), "amqp:carrier-pigeon:x")
    assert trying.after() is None
    assert "cannot be understood" in str(trying.error)


def test_who_closes_is_not_brought_back() -> None:
    trying = attempts("amqp://a", POLICY)
    trying.first()
    trying.client.close()
    assert trying.after() is None
    assert isinstance(trying.error, ConnectionLost)


def test_a_broker_that_lets_us_in_and_is_gone_again_is_not_tried_for_ever() -> None:
    trying = attempts("amqp://a", POLICY)
    trying.first()
    tried = 0
    while tried < 10:
        converse(trying.client, ServerConnection(ServerConfig()))
        trying.client.tick(0.0)
        trying.client.receive_eof()
        if trying.after() is None:
            break
        tried += 1
    assert tried == 3
    assert isinstance(trying.error, ConnectionLost)


def test_a_connection_that_holds_or_is_of_use_begins_the_policy_anew() -> None:
    trying = attempts("amqp://a", POLICY)
    trying.first()
    for number in range(10):
        converse(trying.client, ServerConnection(ServerConfig()))
        trying.client.tick(0.0)
        if number % 2:
            trying.client.tick(POLICY.longest)
        else:
            trying.client.useful = True
        trying.client.receive_eof()
        assert trying.after() == Attempt(Endpoint("a"), 1.0)
