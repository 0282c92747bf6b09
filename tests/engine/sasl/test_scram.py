"""SCRAM."""

from __future__ import annotations

import sys
from typing import Literal

import pytest

from amqp_sansio.config import Accepted, Challenge, Rejected, SaslError
from amqp_sansio.engine.sasl import CramMd5, CramMd5Server, Plain, PlainServer, Scram, ScramServer, made_up_secret, scram_secret
from amqp_sansio.limits import USERNAME_OCTETS


def test_the_example_of_rfc_7677() -> None:
    client = Scram("user", "pencil", nonce=lambda: "rOprNGfwEbeRWgbNEkqO").start()
    assert client.initial() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    first = f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert client.step(first.encode()) == (f"c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").encode()
    assert not client.done
    assert client.step(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") == b""
    assert client.done


def test_a_server_that_does_not_know_the_password_is_not_believed() -> None:
    client = Scram("ann", "hush-hush").start()
    server = ScramServer(lambda name: scram_secret("other", salt=b"0123456789ab")).start()
    first = server.step(client.initial())
    assert isinstance(first, Challenge)
    assert isinstance(server.step(client.step(first.octets)), Rejected)
    with pytest.raises(SaslError):
        client.step(b"v=" + b"A" * 43 + b"=")
    assert not client.done


@pytest.mark.parametrize(("count", "good"), [("9999", True), ("10000", True), ("10001", False), ("9" * 5000, False)])
def test_a_server_may_not_ask_for_as_many_iterations_as_it_likes(count: str, good: bool) -> None:
    client = Scram("user", "pencil", nonce=lambda: "abc", max_iterations=10_000).start()
    client.initial()
    first = f"r=abcdef,s=W22ZaJ0SNY7soEsUEjb6gQ==,i={count}".encode()
    if good:
        assert client.step(first).startswith(b"c=biws,r=abcdef,p=")
    else:
        with pytest.raises(SaslError, match="10000 iterations"):
            client.step(first)


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scramp", None)
    with pytest.raises(ImportError, match=r"amqp-sansio\[scram\]"):
        Scram("a", "b").start()
    with pytest.raises(ImportError, match=r"amqp-sansio\[scram\]"):
        ScramServer(lambda name: None).start()


def test_a_name_that_nobody_has_is_answered_with_a_salt_that_is_always_the_same() -> None:
    def salt(server: ScramServer, name: str) -> bytes:
        first = server.start().step(f"n,,n={name},r=abc".encode())
        assert isinstance(first, Challenge)
        return first.octets.partition(b",s=")[2]

    keyed, again = (ScramServer(lambda name: None, key=b"k" * 32, iterations=5000) for _ in range(2))
    assert salt(keyed, "ann") == salt(keyed, "ann") == salt(again, "ann")
    assert salt(keyed, "ann") != salt(keyed, "bob")
    assert salt(keyed, "ann").endswith(b",i=5000")
    drawn, other = ScramServer(lambda name: None), ScramServer(lambda name: None)
    assert salt(drawn, "ann") == salt(drawn, "ann") != salt(other, "ann")


@pytest.mark.parametrize("name", ["SCRAM-SHA-1", "SCRAM-SHA-256"])
def test_no_password_is_right_for_a_name_that_nobody_has(name: Literal["SCRAM-SHA-1", "SCRAM-SHA-256"]) -> None:
    exchange = ScramServer(lambda user: None, name).start()
    client = Scram("ann", "hush", name).start()
    first = exchange.step(client.initial())
    assert isinstance(first, Challenge)
    assert exchange.step(client.step(first.octets)) == Rejected("wrong name or password, or a SCRAM message that is not valid")
    real = scram_secret("hush", name, salt=b"s" * 16)
    assert [len(each) for each in made_up_secret(b"k", "ann", name, 4096)[:3]] == [len(each) for each in real[:3]]


@pytest.mark.parametrize("octets", [USERNAME_OCTETS - 1, USERNAME_OCTETS, USERNAME_OCTETS + 1])
def test_names_are_bounded(octets: int) -> None:
    name, password = "n" * octets, "hush"
    asked: list[str] = []

    def knows(user: str, said: str = "") -> bool:
        asked.append(user)
        return True

    secret = scram_secret(password, salt=b"s" * 16)
    pairs = (
        (Plain(name, password), PlainServer(knows)),
        (CramMd5(name, password), CramMd5Server(lambda user: password if knows(user) else None, lambda: b"<x@y>")),
        (Scram(name, password), ScramServer(lambda user: secret if knows(user) else None)),
    )
    for client, server in pairs:
        ours, theirs = client.start(), server.start()
        response = ours.initial()
        try:
            while isinstance(verdict := theirs.step(response), Challenge):
                response = ours.step(verdict.octets)
        except SaslError:
            verdict = Rejected("")
        assert isinstance(verdict, Accepted if octets <= USERNAME_OCTETS else Rejected)
    assert len(asked) == (3 if octets <= USERNAME_OCTETS else 0)
