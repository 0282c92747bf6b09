"""The conversation about files and streams.  (Word by word, and what crosses: test_content_talk.)"""

from __future__ import annotations

import attrs
import pytest
from tests.scripted import Word

from amqp_sansio.engine.contents import CONTENT_VERBS, Contents, ContentWitness, is_global
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import file, stream
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Detach, Detached, Expected, Flush, Gap
from amqp_sansio.wire.frames import frame_command, frame_control
from amqp_sansio.wire.layouts.v0_10 import LAYOUT

C, S = "client", "server"
ALL = [thing for module in (file, stream) for thing in vars(module).values() if isinstance(thing, type)]
COMMANDS: list[type[Command]] = [each for each in ALL if issubclass(each, Command) and each is not Command]


def test_every_command_of_the_two_classes_is_taken() -> None:
    assert {each.VERB for each in COMMANDS} == CONTENT_VERBS
    for each in COMMANDS:
        for speaker in (C, S):
            contents = Contents(DEFAULT_LIMITS, None, True)
            contents.check(speaker, each(), None, None)
            contents.step(speaker, each(), None)


def test_content_that_must_have_a_header_is_that_of_the_layout() -> None:
    assert {verb for verb in LAYOUT.segments if verb.startswith(("file.", "stream."))} == {
        each.VERB
        for each in COMMANDS
        for objection in [Contents(DEFAULT_LIMITS).check(S, each(), False, 0)]
        if objection is not None and objection.rule == f"{each.VERB}.header"
    }


@pytest.mark.parametrize("late", [False, True])
def test_a_snapshot(late: bool) -> None:
    contents = Contents(DEFAULT_LIMITS, None, late)
    for speaker, command in [
        (C, file.Qos(7, 3)),
        (C, stream.Qos()),
        (S, stream.QosOk()),
        (C, stream.Consume("q", "t")),
        (C, stream.Publish("x")),
        (S, file.Open("f", 8)),
    ]:
        assert contents.check(speaker, command, True, 0) is None
        contents.step(speaker, command, 0)
    again = Contents(DEFAULT_LIMITS, None, late)
    again.restore(contents.snapshot())
    assert again.snapshot() == contents.snapshot()
    for key in contents.snapshot():
        with pytest.raises((KeyError, ValueError, TypeError)):
            Contents(DEFAULT_LIMITS).restore({**contents.snapshot(), key: ("x", "y")})


def test_what_is_for_the_whole_connection() -> None:
    assert is_global(file.Qos(0, 1, True))
    assert not is_global(file.Qos(0, 1))
    assert not is_global(stream.Qos(0, 1, 1, True))  # a server may ignore what is asked of a stream


@pytest.mark.parametrize("heard", [False, True])
def test_to_a_late_observer_a_delivery_shows_that_its_tag_has_a_consumer(heard: bool) -> None:
    """Whoever did not hear the consume knows of the consumer by what is delivered to it, and counts it."""
    contents = Contents(attrs.evolve(DEFAULT_LIMITS, subscriptions=1), None, True)
    if heard:
        contents.step(S, file.Deliver("t", 1), None)
    objection = contents.check(C, file.Consume("q", "u"), None, None)
    assert (None if objection is None else objection.rule) == ("limits.subscriptions" if heard else None)


def witness(late: bool = False, strict: bool = False, limits: Limits = DEFAULT_LIMITS) -> tuple[ContentWitness, Findings]:
    findings = Findings(strict, limits)
    return ContentWitness(findings, late), findings


def rules(findings: Findings) -> list[str]:
    told = [each.rule + ("!" if isinstance(each, Violation) else "") for each in findings.found]
    findings.found.clear()
    return told


def say(content: ContentWitness, speaker: str, *commands: Command) -> None:
    for command in commands:
        content.hear(speaker, 0, command, 0, None)


WRONG: list[tuple[str, Command]] = [
    (S, file.QosOk()), (S, stream.ConsumeOk("t")), (C, file.Cancel("t")), (S, stream.Deliver("t", 1)), (S, file.OpenOk(0)),
    (C, file.Stage()), (S, file.Return(312)), (C, file.Ack(4)), (C, file.Reject(4)), (S, file.Deliver("t", 3)),
]  # fmt: skip


@pytest.mark.parametrize(("speaker", "command"), WRONG)
def test_nobody_is_accused_of_what_may_follow_from_missing_words(speaker: str, command: Command) -> None:
    content, findings = witness()
    say(content, speaker, command)
    assert rules(findings)[0].startswith(command.VERB)
    content, findings = witness(late=True, strict=True)
    say(content, speaker, command)
    assert rules(findings) == []
    content, findings = witness(strict=True)
    content.forget()
    say(content, speaker, command)
    assert rules(findings) == []


@pytest.mark.parametrize("command", [file.Consume("", "t"), stream.Consume("q", ""), file.Ack(0)])
def test_a_late_observer_reports_what_is_wrong_by_itself(command: Command) -> None:
    content, findings = witness(late=True)
    say(content, C, command)
    assert len(rules(findings)) == 1


def test_answering_what_should_not_have_been_asked_is_not_to_blame() -> None:
    content, findings = witness(strict=True)
    say(content, C, stream.Qos(0, 1), stream.Qos(0, 2))
    assert rules(findings) == ["stream.qos!"]
    say(content, S, stream.QosOk(), stream.QosOk())
    assert rules(findings) == []


def test_a_file_of_another_session_is_a_note_and_for_the_letter_a_breach() -> None:
    for strict, told in ((False, ["file.publish.identifier"]), (True, ["file.publish.identifier!"])):
        content, findings = witness(strict=strict)
        say(content, C, file.Publish("x", identifier="f"), file.Publish("x", identifier="f"))
        assert rules(findings) == told
        say(content, S, file.QosOk())  # and all the rest is still followed
        assert rules(findings) == ["file.qos-ok!"]


def test_a_command_that_cannot_be_read_may_have_been_any() -> None:
    content, findings = witness(strict=True)
    content.hear(C, 0, None, 0, 0)
    say(content, S, file.QosOk())
    assert rules(findings) == []


@pytest.mark.parametrize(("count", "told"), [(2, []), (3, []), (4, ["limits.subscriptions"])])
def test_limit_subscriptions(count: int, told: list[str]) -> None:
    content, findings = witness(limits=attrs.evolve(DEFAULT_LIMITS, subscriptions=3))
    say(content, C, *[file.Consume("q", str(number), nowait=True) for number in range(count)])
    assert rules(findings) == told


BEGUN: list[tuple[str, Word]] = [("C", Attach(b"s")), ("S", Attached(b"s"))]
POINTS: list[tuple[str, Word]] = [("C", CommandPoint(0, 0)), ("S", CommandPoint(0, 0))]
ANSWER: tuple[str, Word] = ("S", file.QosOk())


@pytest.mark.parametrize(
    ("said", "accused"),
    [
        ([*BEGUN, *POINTS, ANSWER], True),
        ([*BEGUN, ("C", CommandPoint(5, 0)), ("S", CommandPoint(0, 0)), ANSWER], False),
        ([*BEGUN, ("S", CommandPoint(3, 0)), ANSWER], False),
        ([*BEGUN, ("S", Flush(expected=True)), ("C", Expected()), *POINTS, ANSWER], False),
        ([*BEGUN, *POINTS, ("C", Gap()), ANSWER], False),
        ([*BEGUN, *POINTS, ("C", Detach(b"s")), ("S", Detached(b"s", 0)), *BEGUN, *POINTS, ANSWER], False),
        ([*BEGUN, *POINTS, ("C", Detach(b"s")), ("S", Detached(b"s", 0)), ("C", Attach(b"t")), ("S", Attached(b"t")), *POINTS,
          ANSWER], True),
        ([*BEGUN, *POINTS, ("C", file.Qos()), ANSWER, ("S", CommandPoint(0, 0)), ANSWER], False),
        ([*BEGUN, *POINTS, ("C", file.Qos()), ANSWER, ("S", CommandPoint(1, 0)), ANSWER], True),
    ],
)  # fmt: skip
def test_a_session_that_may_have_begun_before_starts_in_its_middle(said: list[tuple[str, Word]], accused: bool) -> None:
    from tests.conformance.rules.peers import OPENING

    watch = Observer()
    found: list[Violation] = []
    for stored in (False, True):
        watch, found = Observer(), []
        for speaker, word in (*OPENING, *said):
            watch.receive_data(speaker, octets(word))  # type: ignore[arg-type]  # "C" or "S", from the lists above
            found += [each.event for each in watch.events() if isinstance(each.event, Violation)]
            if stored:
                watch = Observer.restore(watch.snapshot())
        assert [each.rule for each in found] == (["file.qos-ok"] if accused else [])


def octets(word: Word) -> bytes:
    if isinstance(word, Control):
        return frame_control(0, LAYOUT.encode_control(word))
    return b"".join(frame_command(0, LAYOUT.encode_command(word, False), None, None)) if isinstance(word, Command) else word


def test_a_global_quality_makes_windows_unknown_elsewhere() -> None:
    content, findings = witness()
    say(content, C, file.Consume("q", "t", nowait=True), file.Qos(0, 1))
    say(content, S, file.QosOk(), file.Open("f", 0))
    say(content, C, file.OpenOk(0))
    say(content, S, file.Stage())
    content.close_window()
    for tag in (1, 2, 3):
        content.hear(S, tag, file.Deliver("t", tag, identifier="f"), 0, 0)
    assert rules(findings) == []
