"""What every checker and witness does alike: it reports what was sent, then what it found, and judges the connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from amqp_sansio.captures.replay.rows import properties_of
from amqp_sansio.engine.channel_checker import ConversationWitness
from amqp_sansio.engine.checker import Checker, ConnectionWitness, Observed
from amqp_sansio.engine.session_checker import Witness
from amqp_sansio.events import Note, OpaqueSeen, Violation
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Close, CloseOk, Open, OpenOk, Redirect, Secure, SecureOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.execution import Sync
from amqp_sansio.tables.connection import HANDSHAKE
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.framing import Cut, KnownCommand
from amqp_sansio.wire.layouts.layout import HeaderDecoder


def test_it_is_a_plain_tuple_of_speaker_octets_and_event() -> None:
    event = Note("gap", "12 octets are missing")
    speaker, start, end, said = Observed("C", 8, 20, event)
    assert (speaker, start, end, said) == ("C", 8, 20, event)


def test_findings_come_after_the_words_that_they_are_about() -> None:
    told: deque[Observed] = deque()
    checker = Checker(ConnectionWitness(True, DEFAULT_LIMITS, HANDSHAKE), {}, told)
    checker.findings.note("rule", "text")
    checker.say("C", 3, 5, OpaqueSeen("why"))
    checker.flush("C", 3, 5)
    checker.flush("C", 5, 6)
    assert list(told) == [Observed("C", 3, 5, OpaqueSeen("why")), Observed("C", 3, 5, Note("rule", "text"))]


def test_without_a_way_of_its_own_everything_is_taken_one_by_one() -> None:
    checker = Checker(ConnectionWitness(False, DEFAULT_LIMITS, HANDSHAKE), {}, deque())
    cut: Cut = (KnownCommand(1, Sync(), False, b""), b"", None, b"", 0, 1)
    assert checker.hear_plain("C", cut) is None
    assert checker.next_alike("S", HeaderDecoder(Reading.of(DEFAULT_LIMITS), properties_of), 0) is None
    assert checker.subscriptions(1) is None


Made = Callable[[], ConnectionWitness]

HELLO: tuple[tuple[str, Control], ...] = (("S", Start({}, ("PLAIN",), ("en_US",))), ("C", StartOk({}, "PLAIN", b"", "en_US")))
TUNED: tuple[tuple[str, Control], ...] = (*HELLO, ("S", Tune(10, 65535, 0, 120)), ("C", TuneOk(10, 65535, 0)))
OPENED: tuple[tuple[str, Control], ...] = (*TUNED, ("C", Open("/")), ("S", OpenOk()))
ELSEWHERE: tuple[tuple[str, Control], ...] = (*TUNED, ("C", Open("/")), ("S", Redirect("there")))

EOF, SASL, CLOSING = ["connection.eof"], ["connection.authentication"], ["connection.close-ok"]
SEQUENCE = ["connection.sequence!"]


def sessions() -> Witness:
    return Witness(False, DEFAULT_LIMITS)


def channels() -> ConversationWitness:
    return ConversationWitness(False, DEFAULT_LIMITS, False)


both = pytest.mark.parametrize("made", [sessions, channels])


def begun(made: Made, *said: tuple[str, Control]) -> ConnectionWitness:
    witness = made()
    witness.header("C", True)
    if isinstance(witness, Witness):  # the servers of the other family answer with a method
        witness.header("S", True)
    assert [rule for rule in say(witness, *said) if rule != "connection.redirect"] == []
    return witness


def say(witness: ConnectionWitness, *said: tuple[str, Control]) -> list[str]:
    """The rules told, with ! where somebody is accused."""
    for speaker, control in said:
        witness.findings.speaker = speaker
        if isinstance(witness, Witness):
            witness.connection_control(speaker, 0, control)
        elif isinstance(witness, ConversationWitness):
            witness.control(speaker, 0, control.VERB, control)
    return told(witness)


def told(witness: ConnectionWitness) -> list[str]:
    rules = [each.rule + ("!" if isinstance(each, Violation) else "") for each in witness.findings.found]
    witness.findings.found.clear()
    return rules


@both
@pytest.mark.parametrize(
    ("said", "rules"),
    [
        ((), EOF),
        (HELLO, SASL),
        ((*HELLO, ("S", Secure(b"?"))), SASL),
        ((*HELLO, ("S", Secure(b"?")), ("C", SecureOk(b"!"))), SASL),
        (TUNED, EOF),
        (OPENED, EOF),
        ((*OPENED, ("C", Close(200))), CLOSING),
        ((*OPENED, ("S", Close(200))), CLOSING),
        ((*OPENED, ("C", Close(200)), ("S", CloseOk())), []),
        (ELSEWHERE, []),
    ],
    ids=[
        "header",
        "start-ok",
        "secure",
        "secure-ok",
        "tune-ok",
        "open-ok",
        "client closes",
        "server closes",
        "closed",
        "redirect",
    ],
)
def test_what_an_end_is_called_depends_on_where_the_machines_stand(
    made: Made, said: tuple[tuple[str, Control], ...], rules: list[str]
) -> None:
    witness = begun(made, *said)
    witness.ended("S")
    assert told(witness) == rules
    witness.ended("C")  # the other side only follows
    assert told(witness) == []


def test_a_close_after_a_redirect_is_answered_in_sessions() -> None:
    for made, rules in ((sessions, CLOSING), (channels, [])):
        witness = begun(made, *ELSEWHERE, ("C", Close(200)))
        witness.ended("S")
        assert told(witness) == rules


@both
def test_an_end_is_about_no_channel(made: Made) -> None:
    witness = begun(made, *OPENED)
    witness.findings.channel = 7
    witness.ended("S")
    assert [each.channel for each in witness.findings.found] == [None]


def test_a_server_refuses_with_its_header_whatever_it_says_in_the_family_of_channels() -> None:
    for made, same, rules in ((sessions, True, EOF), (sessions, False, []), (channels, True, []), (channels, False, [])):
        witness = made()
        witness.header("C", True)
        witness.header("S", same)
        witness.ended("S")
        assert told(witness) == rules


@both
@pytest.mark.parametrize("speaker", ["C", "S"])
def test_behind_a_header_that_nobody_asked_for_every_state_is_possible(made: Made, speaker: str) -> None:
    witness = begun(made, *OPENED)
    witness.header(speaker, True)
    assert told(witness) == ["connection.protocol-header"]
    assert say(witness, ("C", TuneOk(10, 65535, 0))) == []
    witness.header(speaker, True)  # it is known by now that something was not heard
    witness.ended("S")
    assert told(witness) == []


@both
def test_a_speaker_whose_octets_were_lost_is_accused_of_no_end(made: Made) -> None:
    witness = begun(made, *OPENED)
    witness.lost("C")
    assert say(witness, ("S", Start({}, ("PLAIN",), ("en_US",)))) == []
    witness.ended("S")
    assert told(witness) == []


@both
def test_an_answer_to_what_was_asked_at_the_wrong_time_is_excused_once(made: Made) -> None:
    witness = begun(made, *OPENED)
    assert say(witness, ("C", Open("/"))) == SEQUENCE
    assert say(witness, ("C", OpenOk())) != []  # the one who asked has nothing to answer
    assert say(witness, ("S", OpenOk())) == []
    assert say(witness, ("S", OpenOk())) == SEQUENCE
    witness.ended("S")
    assert told(witness) == EOF
