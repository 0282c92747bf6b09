"""A connection to somebody who is probed."""

from __future__ import annotations

import pytest
from tests.testing.probe.inmemory import InMemory

from amqp_sansio.broker import Broker
from amqp_sansio.spec.connection import Close, Start
from amqp_sansio.spec.session import Detached
from amqp_sansio.testing.probe.talk import ProbeError, Talk, objection
from amqp_sansio.testing.speech.step import Step
from amqp_sansio.testing.speech.voice import Setting


def test_it_opens_asks_and_leaves() -> None:
    talk = Talk(InMemory(Broker()), Setting())
    talk.open()
    assert talk.aside()
    talk.attach(b"s", 1)
    assert talk.sync(0)
    assert talk.leave()
    assert not talk.accused
    assert not talk.blamed
    assert bytes(talk.octets["server"]).startswith(b"AMQP")
    talk.listen()
    assert talk.ended
    assert not talk.leave()


def test_a_mechanism_is_chosen() -> None:
    talk = Talk(InMemory(Broker()), Setting())
    with pytest.raises(ProbeError, match="offers GSSAPI, and we have ANONYMOUS and PLAIN"):
        talk.choose(Start({}, ("GSSAPI",)))
    talk.choose(Start({}, ("PLAIN",)))
    assert (talk.setting.mechanism, talk.setting.user) == ("PLAIN", "guest")
    with pytest.raises(ProbeError, match="we have PLAIN"):
        talk.choose(Start({}, ("ANONYMOUS",)))


def test_objections() -> None:
    assert objection(Step("server", Close(501)), 1)
    assert objection(Step("server", Detached(b"s", 3), 1), 1)
    assert not objection(Step("server", Detached(b"s", 3), 2), 1)


class Garbage(InMemory):
    def exchange(self, octets: bytes) -> bytes | None:
        return octets[:8] + b"\xff" * 40


def test_octets_that_cannot_be_read() -> None:
    talk = Talk(Garbage(Broker()), Setting())
    with pytest.raises(ProbeError, match="no AMQP 0-10 is spoken there: it hung up"):
        talk.open()
    assert talk.accused
