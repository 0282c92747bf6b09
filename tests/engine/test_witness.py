"""The whole conversation as a witness hears it, word by word."""

from __future__ import annotations

import attrs
import pytest

from amqp_sansio.engine.witness import Witness
from amqp_sansio.events import Violation
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Close, CloseOk, Heartbeat, Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.session import Attach, Attached, Detached

OPENING: tuple[tuple[str, Control], ...] = (
    ("S", Start({}, ("PLAIN",), ("en_US",))),
    ("C", StartOk({}, "PLAIN", b"", "en_US")),
    ("S", Tune(10, 65535, 0, 120)),
    ("C", TuneOk(10, 65535, 0)),
    ("C", Open("/")),
    ("S", OpenOk()),
)


def say(witness: Witness, speaker: str, control: Control, channel: int = 0) -> list[str]:
    """The rules told, with ! where somebody is accused."""
    witness.findings.speaker = speaker
    if control.VERB.startswith("connection."):
        witness.connection_control(speaker, channel, control)
    else:
        witness.session_control(speaker, channel, control)
    return told(witness)


def told(witness: Witness) -> list[str]:
    rules = [each.rule + ("!" if isinstance(each, Violation) else "") for each in witness.findings.found]
    witness.findings.found.clear()
    return rules


def opened(strict: bool = False, limits: Limits = DEFAULT_LIMITS) -> Witness:
    witness = Witness(strict, limits)
    witness.header("C", True)
    witness.header("S", True)
    for speaker, control in OPENING:
        assert say(witness, speaker, control) == []
    return witness


def test_from_the_header_to_close_ok() -> None:
    witness = opened(True)
    assert say(witness, "C", Heartbeat()) == []
    assert say(witness, "C", Close(200)) == []
    assert say(witness, "S", Heartbeat()) == []
    assert say(witness, "S", CloseOk()) == []
    witness.ended("S")
    assert told(witness) == []


def test_speaking_out_of_turn_is_to_blame_and_answering_is_not() -> None:
    witness = opened()
    assert say(witness, "C", Open("/")) == ["connection.sequence!"]
    assert say(witness, "S", OpenOk()) == []
    assert say(witness, "S", OpenOk()) == ["connection.sequence!"]
    assert say(witness, "S", Open("/")) == ["connection.sequence!"]
    assert say(witness, "C", CloseOk()) == ["connection.sequence!"]


def test_the_answer_to_what_should_not_have_been_asked_changes_nothing() -> None:
    """A start-ok out of turn is the client's fault; the tune that answers it is nobody's, and nothing is agreed by it."""
    witness = Witness(False, DEFAULT_LIMITS)
    witness.header("C", True)
    witness.header("S", True)
    for speaker, control in OPENING[:3]:
        assert say(witness, speaker, control) == []
    assert say(witness, *OPENING[1]) == ["connection.sequence!"]
    assert say(witness, "S", Tune(1, 65535, 0, 0)) == []
    assert say(witness, *OPENING[3]) == []


def test_sessions_before_the_connection_is_open() -> None:
    witness = Witness(False, DEFAULT_LIMITS)
    witness.header("C", True)
    assert say(witness, "C", Attach(b"s"), 1) == ["connection.sequence!"]


def test_speaking_after_ones_own_close_is_a_note() -> None:
    for strict, mark in ((False, ""), (True, "!")):
        witness = opened(strict)
        say(witness, "C", Close(200))
        assert say(witness, "C", Detached(b"s", 0), 1) == ["connection.sequence" + mark]


def test_connection_controls_on_another_channel() -> None:
    assert say(opened(), "C", Heartbeat(), 3) == []
    assert say(opened(True), "C", Heartbeat(), 3) == ["connection.channel!"]


@pytest.mark.parametrize(("channel", "default", "strict"), [(9, [], []), (10, [], ["!"]), (11, ["!"], ["!"])])
def test_channels_beyond_what_was_agreed(channel: int, default: list[str], strict: list[str]) -> None:
    rule = "connection.tune-ok.channel-max.available-channels"
    assert say(opened(), "C", Attach(b"s"), channel) == [rule + mark for mark in default]
    assert say(opened(True), "C", Attach(b"s"), channel) == [rule + mark for mark in strict]


def test_answering_on_such_a_channel_is_not_to_blame_when_octets_were_lost() -> None:
    witness = opened()
    witness.lost("C")
    found = say(witness, "S", Attached(b"s"), 11)
    assert [word for word in found if word.endswith("!")] == []
    assert found == ["connection.tune-ok.channel-max.available-channels"]


@pytest.mark.rule("session.attach.one-transport-per-session")
def test_one_session_on_two_channels() -> None:
    witness = opened()
    for channel, expected in ((1, []), (2, ["session.attach.one-transport-per-session"])):
        assert say(witness, "C", Attach(b"s", True), channel) == []
        assert say(witness, "S", Attached(b"s"), channel) == expected


def test_an_attached_that_nobody_asked_for_attaches_nothing() -> None:
    """Who says attached unasked is to blame; the session of that name may be attached elsewhere all the same."""
    witness = opened(True)
    assert [rule[-1] for rule in say(witness, "S", Attached(b"s"), 1)] == ["!"]
    assert say(witness, "C", Attach(b"s"), 2) == []
    assert say(witness, "S", Attached(b"s"), 2) == []


@pytest.mark.parametrize(
    ("controls", "rule"),
    [(0, "connection.eof"), (2, "connection.authentication"), (6, "connection.eof")],
)
def test_an_end_without_goodbye_is_a_note_once(controls: int, rule: str) -> None:
    witness = Witness(False, DEFAULT_LIMITS)
    witness.header("C", True)
    witness.header("S", True)
    for speaker, control in OPENING[:controls]:
        say(witness, speaker, control)
    witness.ended("S")
    witness.ended("C")
    assert told(witness) == [rule]


def test_an_end_without_close_ok_is_a_note() -> None:
    witness = opened()
    say(witness, "C", Close(200))
    witness.ended("S")
    assert told(witness) == ["connection.close-ok"]


def test_after_lost_octets_nobody_is_accused() -> None:
    witness = opened(True)
    witness.lost("C")
    for speaker, control in OPENING:
        assert say(witness, speaker, control) == []
    assert witness.command("C", 5, "execution.sync", Sync(), 0) == (None, None)
    witness.ended("C")
    assert told(witness) == []


@pytest.mark.parametrize(("channels", "expected"), [(2, []), (3, []), (4, ["limits.channels"])])
def test_limit_channels(channels: int, expected: list[str]) -> None:
    witness = opened(limits=attrs.evolve(DEFAULT_LIMITS, channels=3))
    found = []
    for channel in range(channels):
        found += say(witness, "C", Attach(b"s%d" % channel), channel)
        found += say(witness, "S", Attached(b"s%d" % channel), channel)
    assert found == expected
    assert len(witness._channels) <= 3


@pytest.mark.parametrize(("sessions", "kept"), [(2, 2), (3, 3), (4, 3)])
def test_limit_sessions(sessions: int, kept: int) -> None:
    witness = opened(limits=attrs.evolve(DEFAULT_LIMITS, sessions=3))
    for number in range(sessions):
        say(witness, "C", Attach(b"s%d" % number), number)
        say(witness, "S", Attached(b"s%d" % number), number)
    assert len(witness._sessions) == kept


@pytest.mark.parametrize(("octets", "expected"), [(49, []), (50, []), (51, ["limits.buffered_octets"])])
def test_limit_buffered_octets_bounds_the_names_remembered(octets: int, expected: list[str]) -> None:
    witness = opened(limits=attrs.evolve(DEFAULT_LIMITS, buffered_octets=50))
    assert say(witness, "C", Attach(bytes(20)), 1) == []
    assert say(witness, "C", Attach(bytes(octets - 20)), 2) == expected
