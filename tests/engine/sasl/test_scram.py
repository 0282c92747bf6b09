"""SCRAM."""

from __future__ import annotations

import sys

import pytest

from amqp_sansio.config import Challenge, Rejected, SaslError
from amqp_sansio.engine.sasl.scram import Scram, ScramServer, scram_secret


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
