"""CRAM-MD5."""

from __future__ import annotations

from amqp_sansio.engine.sasl import CramMd5, CramMd5Server


def test_the_example_of_rfc_2195() -> None:
    client = CramMd5("tim", "tanstaaftanstaaf").start()
    assert client.step(b"<1896.697170952@postoffice.reston.mci.net>") == b"tim b913a602c7eda7a495b4e6e7334d3890"


def test_each_exchange_has_a_challenge_of_its_own() -> None:
    numbers = iter(range(9))
    server = CramMd5Server({"a": "b"}.get, lambda: b"<%d@here>" % next(numbers))
    assert server.start().step(None) != server.start().step(None)
