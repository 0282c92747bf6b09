"""SASL mechanisms, each half against the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.sasl import (
    Accepted,
    AmqPlain,
    Challenge,
    ClientMechanism,
    CramMd5,
    CramMd5Server,
    Deferred,
    External,
    ExternalServer,
    Plain,
    PlainServer,
    Rejected,
    SaslError,
    Scram,
    ScramServer,
    ServerMechanism,
    client_mechanisms,
    scram_secret,
    server_mechanisms,
)
from amqp_sansio.errors import EncodeError

PASSWORDS = {"ann": "hush-hush", "bob": "höchst geheim"}


def check(username: str, password: str) -> bool:
    return PASSWORDS.get(username) == password


def challenge() -> bytes:
    return b"<1896.697170952@postoffice.reston.mci.net>"


SECRETS = {
    name: {user: scram_secret(password, name, salt=b"0123456789ab" + user.encode()) for user, password in PASSWORDS.items()}
    for name in ("SCRAM-SHA-1", "SCRAM-SHA-256")
}


def pairs(username: str, password: str) -> list[tuple[ClientMechanism, ServerMechanism]]:
    return [
        (Plain(username, password), PlainServer(check)),
        (CramMd5(username, password), CramMd5Server(PASSWORDS.get, challenge)),
        (Scram(username, password, "SCRAM-SHA-1"), ScramServer(SECRETS["SCRAM-SHA-1"].get, "SCRAM-SHA-1")),
        (Scram(username, password), ScramServer(SECRETS["SCRAM-SHA-256"].get)),
    ]


def talk(client: ClientMechanism, server: ServerMechanism) -> tuple[Accepted | Rejected, bool]:
    """The server's verdict, and whether the client thinks that it is done."""
    assert client.name == server.name
    ours, theirs = client.start(), server.start()
    response = ours.initial()
    for _ in range(5):
        verdict = theirs.step(response)
        assert not isinstance(verdict, Deferred)
        if not isinstance(verdict, Challenge):
            return verdict, ours.done
        response = ours.step(verdict.octets)
    raise AssertionError("no verdict")


@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize("user", PASSWORDS)
def test_a_client_with_the_password_is_let_in_under_that_name(index: int, user: str) -> None:
    assert talk(*pairs(user, PASSWORDS[user])[index]) == (Accepted(user), True)


@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize(("user", "password"), [("ann", "hush"), ("ann", ""), ("eve", "hush-hush"), ("ann", PASSWORDS["bob"])])
def test_a_client_without_it_is_not(index: int, user: str, password: str) -> None:
    client, server = pairs(user, password or "x")[index]
    try:
        verdict, _ = talk(client, server)
    except SaslError:
        return
    assert isinstance(verdict, Rejected)


def test_no_initial_response_differs_from_an_empty_one() -> None:
    assert CramMd5("ann", "p").start().initial() is None
    assert External().start().initial() == b""
    assert isinstance(PlainServer(check).start().step(None), Challenge)
    assert isinstance(PlainServer(check).start().step(b""), Rejected)
    assert isinstance(ExternalServer("x").start().step(None), Challenge)


def test_no_secret_in_a_repr() -> None:
    for client, server in pairs("ann", "hush-hush"):
        shown = repr(client) + repr(server) + repr(client.start()) + repr(server.start())
        assert "hush" not in shown
    assert "hush" not in repr(Challenge(b"hush"))


def test_the_mechanisms_of_a_config() -> None:
    assert [each.name for each in client_mechanisms(ClientConfig())] == ["ANONYMOUS"]
    assert client_mechanisms(ClientConfig(username="u", password="p")) == (Plain("u", "p"),)
    assert [each.name for each in client_mechanisms(ClientConfig(mechanisms=[External()]))] == ["EXTERNAL"]
    assert [each.name for each in server_mechanisms(ServerConfig())] == ["ANONYMOUS"]


# Whatever octets a client sends, a server's mechanism gives a verdict and lets nobody in.
@given(st.integers(0, 3), st.lists(st.one_of(st.none(), st.binary(max_size=40)), min_size=1, max_size=4))
def test_octets_at_random_let_nobody_in(index: int, responses: list[bytes | None]) -> None:
    exchange = pairs("ann", "x")[index][1].start()
    for response in responses:
        verdict = exchange.step(response)
        assert not isinstance(verdict, Accepted)
        if isinstance(verdict, Rejected):
            return


# Whatever octets a server sends, a client's mechanism answers or says that it cannot.
@given(st.integers(0, 3), st.lists(st.binary(max_size=40), min_size=1, max_size=4))
def test_octets_at_random_are_answered_or_refused(index: int, challenges: list[bytes]) -> None:
    exchange = pairs("ann", "x")[index][0].start()
    exchange.initial()
    for octets in challenges:
        try:
            exchange.step(octets)
        except SaslError:
            return


@pytest.mark.parametrize("kind", [Plain, AmqPlain, CramMd5, Scram])
def test_a_password_that_is_no_text_is_refused_and_not_quoted(kind: Callable[[str, str], ClientMechanism]) -> None:
    with pytest.raises(EncodeError, match=r"\.password: text that UTF-8 can carry$") as raised:
        kind("ann", "hush-hush\ud800")
    assert "hush" not in repr(raised.value) + str(raised.value)
