"""A whole probe, of our broker and of brokers that are broken on purpose."""

from __future__ import annotations

import pytest
from tests.testing.probe.inmemory import InMemory

from amqp_sansio.broker import Broker
from amqp_sansio.testing.probe import ProbeError, Prober, Report
from amqp_sansio.testing.speech.parts import SECTIONS


def probed(section: str | None, count: int, seed: int = 0, only: int | None = None, broker: Broker | None = None) -> Report:
    known = broker or Broker()
    return Prober(lambda: InMemory(known), section=section, conversations=count, seed=seed, only=only).run()


@pytest.mark.parametrize("section", SECTIONS)
def test_our_broker_keeps_all_rules(section: str) -> None:
    report = probed(section, 60)
    assert [(tally.rule, list(tally.ways)) for tally in report.broken] == []
    assert report.unexplained == []
    assert report.conversations == 60
    assert (section in report.not_offered) == (section in ("file", "stream"))


def test_what_was_declared_is_taken_away() -> None:
    broker = Broker()
    probed("exchange", 40, broker=broker)
    probed("dtx", 40, broker=broker)
    assert not [name for name in (*broker.host().queues, *broker.host().exchanges) if name.startswith("probe-")]
    client = probed("dtx", 1, broker=broker)
    assert client.broken == []


def test_a_seed_says_the_same_again() -> None:
    first, again = probed("tx", 25, seed=7), probed("tx", 25, seed=7)
    assert first.row() == again.row()
    one = probed("tx", 25, seed=7, only=3)
    assert one.conversations == 1


class Deaf(InMemory):
    """Never says anything but the header."""

    def exchange(self, octets: bytes) -> bytes | None:
        return octets[:8] if octets.startswith(b"AMQP") else b""


class Closed(InMemory):
    def exchange(self, octets: bytes) -> bytes | None:
        return None


def test_a_silent_server_is_reported() -> None:
    for kind, text in ((Deaf, "it does not answer"), (Closed, "it hung up")):
        with pytest.raises(ProbeError, match=text):
            Prober(lambda kind=kind: kind(Broker()), section="tx", conversations=1).run()  # type: ignore[misc]


def test_a_server_that_dies_is_reported_with_the_conversation_that_killed_it() -> None:
    broker = Broker()
    connections = 0

    def connect() -> InMemory:
        nonlocal connections
        connections += 1
        if connections == 4:
            raise ProbeError("gone")
        return InMemory(broker)

    report = Prober(connect, section="tx", conversations=6).run()
    assert [tally.rule for tally in report.broken] == ["server: it goes on"]
    assert report.conversations == 6
    with pytest.raises(ProbeError, match="gone"):
        Prober(gone, section="tx", conversations=6).run()


class Mortal(InMemory):
    """Ends with the first tx.rollback, and hangs up on everybody then until somebody starts it again."""

    alive = True

    def __init__(self, broker: Broker) -> None:
        if not Mortal.alive:
            Mortal.alive = True
            raise ProbeError("nobody listens")
        super().__init__(broker)

    def exchange(self, octets: bytes) -> bytes | None:
        if b"\x05\x03\x01\x00" in octets:
            Mortal.alive = False
        return super().exchange(octets) if Mortal.alive else None


def test_the_conversation_that_ends_a_server_is_named_and_the_probe_goes_on() -> None:
    """Of all conversations those are blamed, and those only, that say what the server cannot survive."""
    report = Prober(lambda: Mortal(Broker()), section="tx", conversations=60).run()
    assert report.conversations == 60
    tally = report.rules["server: it goes on"]
    assert tally.broken > 1
    (way,) = tally.ways.values()
    assert any("tx.rollback" in line for line in way.lines)
    broken = {rule for rule, found in report.rules.items() if found.broken}
    assert broken == {tally.rule, "legal: tx.rollback is taken", "tx.rollback.select-required"}


def gone() -> InMemory:
    raise ProbeError("gone")


def test_a_section_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="no section 'nonsense'"):
        probed("nonsense", 1)


class Forgetful(InMemory):
    """Takes tx.commit without select: what is said of class tx becomes execution.sync."""

    def exchange(self, octets: bytes) -> bytes | None:
        return super().exchange(octets.replace(b"\x05\x02\x01\x00\x00\x00", b"\x03\x01\x01\x00\x00\x00"))


class Refusing(InMemory):
    """Has no tx.rollback: it becomes a command that is not there."""

    def exchange(self, octets: bytes) -> bytes | None:
        return super().exchange(octets.replace(b"\x05\x03\x01\x00\x00\x00", b"\x05\x63\x01\x00\x00\x00"))


class Twice(InMemory):
    """Says open-ok twice."""

    def exchange(self, octets: bytes) -> bytes | None:
        answer = super().exchange(octets) or b""
        at = answer.find(b"\0\0\0\0\x01\x08") + 4
        if at < 12:
            return answer
        end = at - 12 + int.from_bytes(answer[at - 10 : at - 8], "big")
        return answer[:end] + answer[at - 12 : end] + answer[end:]


@pytest.mark.parametrize(
    ("kind", "section", "rule"),
    [
        (Forgetful, "tx", "tx.commit.select-required"),
        (Refusing, "tx", "legal: tx.rollback is taken"),
        (Twice, "session", "connection.sequence"),
    ],
)
def test_a_broken_broker_is_found_quickly_and_told_readably(kind: type[InMemory], section: str, rule: str) -> None:
    report = Prober(lambda: kind(Broker()), section=section, conversations=40).run()
    broken = {tally.rule: tally for tally in report.broken}
    assert rule in broken
    example = broken[rule].example
    assert example is not None
    assert len(example.lines) <= 14
    assert example.client.startswith(b"AMQP")
    assert any(line.startswith(f"  {rule}: broken ") for line in report.lines())
