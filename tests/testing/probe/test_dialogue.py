"""A connection to somebody who is probed."""

from __future__ import annotations

import pytest
from tests.testing.probe.inmemory import InMemory

from amqp_sansio.broker import Broker
from amqp_sansio.spec.connection import Close, CloseOk, Start
from amqp_sansio.spec.session import Detached
from amqp_sansio.testing.probe.dialogue import Dialogue, ProbeError, objection
from amqp_sansio.testing.speech.step import Step
from amqp_sansio.testing.speech.word_encoder import ConnectionVoice, Setting


def test_it_opens_asks_and_leaves() -> None:
    talk = Dialogue(InMemory(Broker()).exchange, Setting())
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
    talk = Dialogue(InMemory(Broker()).exchange, Setting())
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
    talk = Dialogue(Garbage(Broker()).exchange, Setting())
    with pytest.raises(ProbeError, match="no AMQP 0-10 is spoken there: it hung up"):
        talk.open()
    assert talk.accused


def test_output_crosses_what_has_come_and_was_not_taken() -> None:
    """Of several frames that came at once those behind the awaited one are heard later; what is said then crosses them."""
    talk = Dialogue(InMemory(Broker()).exchange, Setting())
    voice = ConnectionVoice(talk.setting)
    talk.say(*voice.say("client:protocol-header"))
    assert talk.until(lambda step: isinstance(step.said, bytes)) is not None
    talk.say(*voice.say("client:connection.close"))
    assert talk.until(lambda step: isinstance(step.said, CloseOk)) is not None
    assert [step.line.partition("(")[0] for step in talk.steps[2:]] == [
        "client [0] connection.close", "server [0] connection.start", "server [0] connection.close-ok",
    ]  # fmt: skip
    assert not talk.accused
    assert not talk.blamed


class Drop(InMemory):
    """Its answers come an octet at a time."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.left = b""

    def exchange(self, octets: bytes) -> bytes | None:
        self.left += super().exchange(octets) or b""
        one, self.left = self.left[:1], self.left[1:]
        return one


def test_frames_may_come_in_any_pieces() -> None:
    """However the octets come, the same is heard."""
    whole, drop = Dialogue(InMemory(Broker()).exchange, Setting()), Dialogue(Drop(Broker()).exchange, Setting())
    for talk in (whole, drop):
        talk.open()
        assert talk.leave()
    assert [step.line for step in whole.steps] == [step.line for step in drop.steps]
