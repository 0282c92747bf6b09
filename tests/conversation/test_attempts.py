"""Which endpoint is tried next, and when."""

from __future__ import annotations

import attrs
import pytest

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import REDIRECTS, Attempt, Attempts
from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.engine.sasl import AnonymousServer, PlainServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import ConnectFailed, ConnectionLost
from amqp_sansio.events import OpenRequested
from amqp_sansio.limits import Limits

REFUSED = ConnectionRefusedError("no")
POLICY = RetryPolicy(attempts=3, first=1.0, factor=2.0, jitter=0.0)


def attempts(url: str, retry: RetryPolicy = NEVER) -> Attempts:
    return Attempts(Client(ClientConfig(), prefix="p", retry=retry), Address.parse(url), lambda: 0.0)


def converse(client: BaseClient, server: ServerConnection, redirect: str | None = None) -> None:
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
            client.tick(0.0)


def test_each_endpoint_is_tried_once_for_the_first_connection() -> None:
    trying = attempts("amqp://a,b:1,c", POLICY)
    assert trying.first() == Attempt(Endpoint("a"), 0.0)
    assert trying.after(REFUSED) == Attempt(Endpoint("b", 1), 0.0)
    assert trying.after(TimeoutError("too late")) == Attempt(Endpoint("c"), 0.0)
    assert trying.after(REFUSED) is None
    assert isinstance(trying.error, ConnectFailed)
    assert trying.error.endpoint == "a:5672, b:1, c:5672"
    assert "b:1: too late" in trying.error.cause


def test_one_endpoint_has_a_plain_error() -> None:
    trying = attempts("amqp://a")
    trying.first()
    assert trying.after(REFUSED) is None
    assert str(trying.error) == "a:5672: connection refused: nobody listens there"


def test_trying_for_ever_remembers_the_last_word_of_each_endpoint_alone() -> None:
    trying = attempts("amqp://a,b", RetryPolicy(attempts=None, first=1.0, longest=1.0, jitter=0.0, give_up=None))
    trying.first()
    converse(trying.client, ServerConnection())
    trying.client.receive_eof()
    trying.client.tick(0.0)
    assert trying.after() is not None
    for number in range(1000):
        assert trying.after(OSError(f"word {number}")) is not None
    assert len(trying._failures) == 2
    assert "word 998" in str(trying.error)
    assert "word 999" in str(trying.error)


def test_a_client_that_was_connected_comes_back_as_the_policy_says_to_all_that_are_known() -> None:
    trying = attempts("amqp://a,b", POLICY)
    trying.first()
    converse(
        trying.client,
        ServerConnection(ServerConfig(known_hosts=("amqp:tcp:b:5672,tcp:c:9", "nonsense:tcp:x:y", f"x:{'9' * 5000}"))),
    )
    trying.client.receive_eof()
    trying.client.tick(0.0)
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
    trying.client.tick(0.0)
    assert trying.after() is None
    assert isinstance(trying.error, ConnectionLost)
    assert "without a close" in str(trying.error)


@pytest.mark.rule("connection.redirect.usage")
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


def test_a_redirect_to_nowhere_is_reported() -> None:
    trying = attempts("amqp://a")
    trying.first()
    converse(trying.client, ServerConnection(ServerConfig()), "amqp:carrier-pigeon:x")
    assert trying.after() is None
    assert "cannot be understood" in str(trying.error)


@pytest.mark.parametrize("where", ["amqp:tcp:" + "x" * 5000, "amqp:carrier-pigeon:" + "x" * 5000])
def test_where_a_redirect_leads_fills_no_log(where: str) -> None:
    trying = having(ANN)
    trying.first()
    converse(trying.client, ServerConnection(LETS_IN), where)
    assert trying.after() is None
    assert 500 < len(str(trying.error)) < 900


def test_a_client_that_closes_is_not_brought_back() -> None:
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
        trying.client.tick(0.0)
        if trying.after() is None:
            break
        tried += 1
    assert tried == 3
    assert isinstance(trying.error, ConnectionLost)


def short_lived(trying: Attempts, useful: bool, seconds: float = 0.0) -> Attempt | None:
    """What follows a connection of so many seconds, of which something came or nothing."""
    converse(trying.client, ServerConnection(ServerConfig()))
    trying.client.tick(0.0)
    trying.client.useful = useful
    trying.client.receive_eof()
    trying.client.tick(seconds)
    return trying.after()


def test_a_connection_that_holds_begins_the_policy_anew() -> None:
    trying = attempts("amqp://a", POLICY)
    trying.first()
    for _ in range(10):
        assert short_lived(trying, useful=False, seconds=POLICY.longest) == Attempt(Endpoint("a"), 1.0)


def test_a_broker_that_answers_something_and_dies_each_time_is_tried_for_ever_at_the_longest_delay() -> None:
    trying = attempts("amqp://a", POLICY)
    trying.first()
    delays = [attempt.delay for _ in range(10) if (attempt := short_lived(trying, useful=True)) is not None]
    assert delays[:2] == [1.0, 2.0]
    assert delays[-1] == POLICY.longest
    assert len(delays) == 10
    held = short_lived(trying, useful=True, seconds=POLICY.longest)
    assert held == Attempt(Endpoint("a"), 1.0)


def having(config: ClientConfig, url: str = "amqp://127.0.0.1", retry: RetryPolicy = NEVER) -> Attempts:
    return Attempts(Client(config, prefix="p", retry=retry), Address.parse(url), lambda: 0.0)


ANN = ClientConfig(username="ann", password="hush")
LETS_IN = ServerConfig(mechanisms=(PlainServer(lambda user, password: True),))


def test_a_redirect_carries_no_password_to_a_host_that_the_address_does_not_name() -> None:
    trying = having(ANN)
    trying.first()
    converse(trying.client, ServerConnection(LETS_IN), "amqp:tcp:evil:7")
    assert trying.after() is None
    assert "'amqp:tcp:evil:7'" in str(trying.error)
    assert "trust_redirects=1" in str(trying.error)


@pytest.mark.parametrize(("config", "url", "redirect"), [
    (ANN, "amqp://127.0.0.1,127.0.0.2", "amqp:tcp:127.0.0.2:7"),
    (attrs.evolve(ANN, trust_redirects=True), "amqp://127.0.0.1", "amqp:tcp:127.0.0.2:7"),
    (ClientConfig(), "amqp://127.0.0.1", "amqp:tcp:127.0.0.2:7"),
])  # fmt: skip
def test_a_redirect_is_followed_to_a_host_of_the_address_or_when_asked_for_or_without_a_password(
    config: ClientConfig, url: str, redirect: str
) -> None:
    trying = having(config, url)
    trying.first()
    server = ServerConfig(mechanisms=(AnonymousServer(), PlainServer(lambda user, password: True)))
    converse(trying.client, ServerConnection(server), redirect)
    assert trying.after() == Attempt(Endpoint("127.0.0.2", 7), 0.0)


def test_known_hosts_get_no_password_either() -> None:
    for trusts in (False, True):
        trying = having(attrs.evolve(ANN, trust_redirects=trusts), retry=POLICY)
        trying.first()
        converse(trying.client, ServerConnection(attrs.evolve(LETS_IN, known_hosts=("amqp:tcp:evil:7",))))
        trying.client.receive_eof()
        trying.client.tick(0.0)
        assert trying.after() == Attempt(Endpoint("127.0.0.1"), 1.0)
        assert trying.after(REFUSED) == Attempt(
            Endpoint("evil", 7) if trusts else Endpoint("127.0.0.1"), 0.0 if trusts else 2.0
        )


@pytest.mark.parametrize("asked", [3, 4, 5])
def test_no_more_named_hosts_are_tried_than_the_limit(asked: int) -> None:
    limits = Limits(named_hosts=4)
    names = [f"h{number}" for number in range(asked)]
    for redirected in (True, False):
        trying = having(ClientConfig(limits=limits), retry=POLICY)
        trying.first()
        hosts = "amqp:" + ",".join([f"tcp:{name}:1" for name in names])
        if redirected:
            machine = trying.client.begin()
            server = ServerConnection(ServerConfig())
            for _ in range(10):
                server.receive_data(machine.data_to_send())
                for event in server.events():
                    if isinstance(event, OpenRequested):
                        server.redirect(hosts)
                trying.client.receive_data(server.data_to_send())
                trying.client.tick(0.0)
        else:
            converse(trying.client, ServerConnection(ServerConfig(known_hosts=(hosts,))))
            trying.client.receive_eof()
            trying.client.tick(0.0)
        tried: list[str] = []
        attempt = trying.after()
        while attempt is not None and len(tried) < 9:
            if attempt.endpoint.host != "127.0.0.1":
                tried.append(attempt.endpoint.host)
            elif tried:
                break
            attempt = trying.after(REFUSED)
        assert tried == names[:4]


def test_a_chain_of_redirects_names_no_more_hosts_than_the_limit() -> None:
    trying = having(ClientConfig(limits=Limits(named_hosts=2)))
    trying.first()
    attempt: Attempt | None = None
    for _ in range(3):
        converse(trying.client, ServerConnection(ServerConfig()), "amqp:tcp:next:1")
        attempt = trying.after()
    assert attempt is None
    assert "limit named_hosts" in str(trying.error)


@pytest.mark.parametrize(("url", "secret"), [
    ("amqp://127.0.0.1", True), ("amqp://[::1]", True), ("amqps://far", True),
    ("amqp://localhost", False), ("amqp://far", False), ("amqp://10.0.0.1", False), ("amqp://[fe80::1%25lo]", False),
])  # fmt: skip
def test_plain_is_sent_over_tls_and_at_loopback_addresses_alone_unless_asked_for(url: str, secret: bool) -> None:
    for asked in ("", "?insecure_plain=1", "?insecure_plain=0"):
        address = Address.parse(url + asked)
        trying = Attempts(Client(address.config(ANN), prefix="p"), address, lambda: 0.0)
        trying.first()
        server = ServerConnection(LETS_IN)
        converse(trying.client, server)
        may = secret or asked.endswith("1")
        assert (trying.client.connections == 1) is may
        if not may:
            assert server.state == "starting" or not server.is_open
            assert trying.after() is None
            assert "insecure_plain=1" in str(trying.error)
            assert "insecure_plain=True" in str(trying.error)


def test_redirects_are_counted_from_the_last_open_connection_on() -> None:
    """Those of a broker that sends us elsewhere now and then never add up to too many."""
    trying = attempts("amqp://a", RetryPolicy(first=1.0, jitter=0.0))
    trying.first()
    for number in range(2 * REDIRECTS):
        converse(trying.client, ServerConnection(ServerConfig()), f"other{number}:7")
        assert trying.after() == Attempt(Endpoint(f"other{number}", 7), 0.0)
        if number % 2:
            converse(trying.client, ServerConnection())
            trying.client.receive_eof()
            trying.client.tick(0.0)
            again = trying.after()
            assert again is not None
            assert again.endpoint == Endpoint("a")
