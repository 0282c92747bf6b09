"""EXTERNAL."""

from __future__ import annotations

import pytest

from amqp_sansio.config import Accepted, Challenge, Rejected, SaslError
from amqp_sansio.engine.sasl import External, ExternalServer


def test_a_client_that_was_proved_outside_is_let_in() -> None:
    server = ExternalServer("cn=ann")
    assert server.start().step(External().start().initial()) == Accepted("cn=ann")
    assert server.start().step(External("cn=ann").start().initial()) == Accepted("cn=ann")
    assert server.start().step(None) == Challenge(b"")


def test_nobody_may_act_for_somebody_else() -> None:
    assert isinstance(ExternalServer("cn=ann").start().step(b"cn=bob"), Rejected)
    assert isinstance(ExternalServer(None).start().step(b""), Rejected)


def test_there_is_one_answer() -> None:
    client = External().start()
    assert client.step(b"") == b""
    with pytest.raises(SaslError):
        client.step(b"")
