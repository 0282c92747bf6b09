"""ANONYMOUS."""

from __future__ import annotations

from amqp_sansio.config import Accepted
from amqp_sansio.engine.sasl import Anonymous, AnonymousServer


def test_everybody_is_let_in() -> None:
    client = Anonymous("trace").start()
    assert client.done
    assert client.initial() == b"trace"
    assert client.step(b"who?") == b""
    assert AnonymousServer().start().step(b"trace") == Accepted("")
    assert AnonymousServer().start().step(None) == Accepted("")
