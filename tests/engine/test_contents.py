"""The conversation about files and streams.  (Word by word, and what crosses: test_content_talk.)"""

from __future__ import annotations

import attrs
import pytest
from tests.scripted import Word

from amqp_sansio.engine.contents import (
    CONTENT_VERBS,
    Consumers,
    Contents,
    ContentWitness,
    Deliveries,
    Staging,
    is_global,
    refused,
)
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import file, stream
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.file import Ack, Consume, Deliver, Reject
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Detach, Detached, Expected, Flush, Gap
from amqp_sansio.tables import content_classes as t
from amqp_sansio.tables.connection import CLIENT, SERVER
from amqp_sansio.tables.content_classes import OPENING, PUBLISH, QOS, STAGED
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_command, frame_control

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


def test_asking_moves_nothing() -> None:
    machine = Machine(QOS["stream"])
    assert refused(machine, "client", "stream.qos") is None
    assert machine.state == "idle"
    refusal = refused(machine, "server", "stream.qos-ok")
    assert refusal is not None
    assert refusal.legal == ("client:stream.qos",)


def make(role: str | None = None, late: bool = False, *consumes: Consume) -> Consumers:
    consumers = Consumers("file", t.CONSUMER["file"], role, late)
    for consume in consumes:
        assert consumers.check_consume(consume, 9) is None
        consumers.consume(consume)
    return consumers


def test_only_the_last_cancel_of_a_tag_frees_it() -> None:
    consumers = make(None, False, Consume("q", "t", nowait=True))
    consumers.step(CLIENT, "file.cancel", "t", 1)
    consumers.consume(Consume("q", "t", nowait=True))
    consumers.step(CLIENT, "file.cancel", "t", 3)
    consumers.completed(RangeSet.of(1))
    assert consumers._machine("t").state == t.CANCELLED
    assert consumers.check(SERVER, "file.deliver", "t") is None
    consumers.completed(RangeSet.of(3))
    assert consumers.check(SERVER, "file.deliver", "t") is not None
    assert len(consumers._machines) == 0


def test_the_completion_of_an_old_cancel_leaves_the_new_consumer() -> None:
    consumers = make(None, False, Consume("q", "t", nowait=True))
    consumers.step(CLIENT, "file.cancel", "t", 1)
    consumers.consume(Consume("q", "t", nowait=True))
    consumers.completed(RangeSet.of(1))
    assert consumers._machine("t").state == t.CONSUMING


def test_whether_to_acknowledge_is_unknown_when_a_tag_changes_hands() -> None:
    consumers = make(None, False, Consume("q", "t", nowait=True))
    assert consumers.acknowledged("t") is True
    consumers.step(CLIENT, "file.cancel", "t", 1)
    consumers.consume(Consume("q", "t", no_ack=True, nowait=True))
    assert consumers.acknowledged("t") is None


def test_our_own_client_does_not_let_a_tag_change_hands_so() -> None:
    consumers = make(CLIENT, False, Consume("q", "t", nowait=True))
    consumers.step(CLIENT, "file.cancel", "t", 1)
    assert consumers.check_consume(Consume("q", "t"), 9) is None
    other = Consume("q", "t", no_ack=True)
    objection = consumers.check_consume(other, 9)
    assert objection is not None
    assert "another tag" in objection.legal
    consumers.completed(RangeSet.of(1))
    assert consumers.check_consume(other, 9) is None


def test_a_server_has_carried_out_a_cancel_when_it_hears_it() -> None:
    consumers = make(SERVER, False, Consume("q", "t"), Consume("q", "u", nowait=True))
    consumers.step(CLIENT, "file.cancel", "u", 1)
    assert len(consumers._machines) == 1
    consumers.step(CLIENT, "file.cancel", "t", 2)
    assert consumers._machine("t").state == t.ANSWER_OWED
    consumers.step(SERVER, "file.consume-ok", "t", 0)
    assert len(consumers._machines) == 0


def test_a_late_observer_takes_a_tag_for_anything_and_learns() -> None:
    consumers = make(late=True)
    for speaker, verb in ((SERVER, "file.consume-ok"), (SERVER, "file.deliver"), (CLIENT, "file.cancel")):
        assert consumers.check(speaker, verb, "t") is None
    assert consumers.check_consume(Consume("q", "t"), 9) is None
    consumers.step(SERVER, "file.consume-ok", "t", 5)
    consumers.step(SERVER, "file.deliver", "t", 6)
    assert consumers._machine("t").state in (f"{t.CONSUMING}|{t.CANCELLED}", f"{t.CANCELLED}|{t.CONSUMING}")
    assert consumers.check(SERVER, "file.consume-ok", "t") is not None
    consumers.forget()
    assert consumers.check(SERVER, "file.consume-ok", "t") is None


@pytest.mark.parametrize(("count", "fits"), [(1, True), (2, True), (3, False)])
def test_limit_of_consumers(count: int, fits: bool) -> None:
    consumers = make(CLIENT, False, *[Consume("q", str(number)) for number in range(count - 1)])
    objection = consumers.check_consume(Consume("q", "last"), 2)
    assert (objection is None) == fits
    assert objection is None or objection.rule == "limits.subscriptions"


def test_a_snapshot_of_consumers() -> None:
    consumers = make(None, False, Consume("q", "t", nowait=True), Consume("q", "u"))
    consumers.step(CLIENT, "file.cancel", "t", 7)
    again = make()
    again.restore(consumers.snapshot())
    assert again.snapshot() == consumers.snapshot()
    again.completed(RangeSet.of(7))
    assert len(again._machines) == 1
    for bad in ({}, {"tags": (("t", ("nowhere",), True),), "cancels": ()}, {"tags": ((1, ("asked",), True),), "cancels": ()}):
        with pytest.raises((KeyError, ValueError, TypeError)):
            make().restore(bad)


def delivered(*tags: int, at_once: bool = False) -> Deliveries:
    """Deliveries with the ids 0, 1, 2, of 10 octets each."""
    deliveries = Deliveries(at_once, False)
    for id, tag in enumerate(tags):
        assert deliveries.check_deliver(Deliver("t", tag), True, 10, 99) is None
        deliveries.deliver(tag, True, id, 10)
    return deliveries


def settled(deliveries: Deliveries, *words: Ack | Reject, heard: bool = True) -> list[bool]:
    """Which of these words were right."""
    found = []
    for at, word in enumerate(words):
        found.append(deliveries.check_ack(word) is None)
        if found[-1]:
            deliveries.settle(word, 100 + at, heard)
    return found


def test_up_to_a_tag_is_in_the_order_of_the_deliveries() -> None:
    deliveries = delivered(5, 3, 9, 1)
    assert settled(deliveries, Ack(3, True), Ack(5), Ack(9), Ack(1)) == [True, False, True, True]
    assert len(deliveries._open) == 0


def test_all_is_what_the_client_has_received() -> None:
    deliveries = delivered(1, 2)
    deliveries.completed(RangeSet.of(0))
    assert settled(deliveries, Ack(0, True)) == [True]
    assert len(deliveries._open) == 0
    assert settled(deliveries, Ack(1), Reject(2), Reject(2)) == [False, True, False]


def test_a_client_has_received_what_it_hears() -> None:
    deliveries = delivered(1, 2, at_once=True)
    assert settled(deliveries, Ack(0, True), Ack(1), Ack(2), heard=False) == [True, False, False]


def test_what_a_late_observer_missed_is_perhaps_acknowledged_and_fills_no_window() -> None:
    deliveries = Deliveries(True, False)
    deliveries.open_window(0, 1)
    settled(deliveries, Ack(0, True), heard=False)
    for tag in (1, 2, 3):
        assert deliveries.check_deliver(Deliver("t", tag), True, 10, 99) is None
        deliveries.deliver(tag, True, tag, 10)
    deliveries.carried_out(RangeSet.of(99))
    assert deliveries.check_deliver(Deliver("t", 4), True, 10, 99) is None
    deliveries.carried_out(RangeSet.of(100))
    deliveries.deliver(4, True, 4, 10)
    assert deliveries.check_deliver(Deliver("t", 5), True, 10, 99) is not None
    assert settled(deliveries, Ack(2, True), Ack(1), Ack(3), heard=False) == [True, False, True]


def test_perhaps_ends_with_the_next_all_once_it_was_received() -> None:
    deliveries = delivered(1, 2)
    settled(deliveries, Ack(0, True))
    deliveries.completed(RangeSet.of(1))
    settled(deliveries, Ack(0, True))
    assert settled(deliveries, Ack(2), Ack(1)) == [False, True]


def test_the_window_is_in_messages_and_octets_and_lets_one_message_pass() -> None:
    for window, fits in (((0, 0), 9), ((0, 2), 2), ((25, 0), 2), ((5, 0), 1), ((25, 1), 1)):
        deliveries = Deliveries(False, False)
        deliveries.open_window(*window)
        for tag in range(1, fits + 1):
            assert deliveries.check_deliver(Deliver("t", tag), True, 10, 99) is None
            deliveries.deliver(tag, True, tag, 10)
        if fits < 9:
            assert deliveries.check_deliver(Deliver("t", 99), True, 10, 99) is not None
            assert deliveries.check_deliver(Deliver("t", 99), False, 10, 99) is None
            deliveries.close_window()
            assert deliveries.check_deliver(Deliver("t", 99), True, 10, 99) is None


@pytest.mark.parametrize(("count", "fits"), [(2, True), (3, True), (4, False)])
def test_limit_of_deliveries_perhaps_or_not(count: int, fits: bool) -> None:
    deliveries = delivered(*range(1, count))
    settled(deliveries, Ack(0, True))
    objection = deliveries.check_deliver(Deliver("t", 99), True, 10, 3)
    assert (objection is None) == fits
    assert objection is None or objection.rule == "limits.incomplete_commands"


def test_a_late_observer_lets_any_tag_pass_but_zero() -> None:
    deliveries = Deliveries(False, True)
    assert settled(deliveries, Ack(7), Ack(7), Reject(7), Ack(0), Ack(9, True)) == [True, True, True, False, True]
    deliveries.open_window(0, 1)
    for tag in (1, 2, 3):
        assert deliveries.check_deliver(Deliver("t", tag), True, 10, 99) is None
        deliveries.deliver(tag, True, tag, 10)


def test_a_tag_used_anew() -> None:
    deliveries = delivered(1)
    settled(deliveries, Ack(0, True))
    deliveries.deliver(1, True, 8, 10)
    deliveries.completed(RangeSet.of(0))
    assert settled(deliveries, Ack(1), Ack(1)) == [True, False]


def test_a_snapshot_of_deliveries() -> None:
    deliveries = delivered(1, 2, 3)
    deliveries.completed(RangeSet.of(0))
    settled(deliveries, Ack(0, True))
    deliveries.deliver(4, True, 9, 10)
    settled(deliveries, Ack(0, True), heard=False)
    deliveries.deliver(5, True, 10, 10)
    again = Deliveries(False, False)
    again.restore(deliveries.snapshot())
    assert again.snapshot() == deliveries.snapshot()
    for each in (deliveries, again):
        each.completed(RangeSet([(0, 10)]))
        assert settled(each, Ack(2), Ack(4), Ack(5), Ack(1)) == [True, True, True, False]
    for key in deliveries.snapshot():
        with pytest.raises((KeyError, ValueError, TypeError)):
            Deliveries(False, False).restore({**deliveries.snapshot(), key: "x"})


def test_what_was_perhaps_not_received_keeps_its_place_behind_a_snapshot() -> None:
    """An acknowledgement of all passes over it, so that one up to its tag finds it before what was delivered later."""
    deliveries = delivered(1, 2)
    settled(deliveries, Ack(0, True), heard=False)
    deliveries.deliver(3, True, 7, 10)
    again = Deliveries(False, False)
    again.restore(deliveries.snapshot())
    for each in (deliveries, again):
        each.deliver(4, True, 8, 10)
        assert settled(each, Ack(0, True), Ack(3, True), Ack(3), Ack(4), heard=False) == [True, True, False, True]


def test_a_window_in_octets_goes_on_behind_a_snapshot() -> None:
    """What was under way when the snapshot was taken fills the window of octets as before, and is given back once."""
    deliveries = delivered(1, 2)
    deliveries.open_window(30, 0)
    again = Deliveries(False, False)
    again.restore(deliveries.snapshot())
    for each in (deliveries, again):
        assert each.check_deliver(Deliver("t", 3), True, 10, 99) is None
        assert each.check_deliver(Deliver("t", 3), True, 11, 99) is not None
        assert settled(each, Ack(1)) == [True]
        assert each.check_deliver(Deliver("t", 3), True, 20, 99) is None
        assert each.check_deliver(Deliver("t", 3), True, 21, 99) is not None


def test_what_is_acknowledged_as_one_of_all_waits_for_that_command_alone() -> None:
    deliveries = Deliveries(False, False)
    deliveries.open_window(0, 1)
    settled(deliveries, Ack(0, True), heard=False)
    deliveries.carried_out(RangeSet.of(99))
    deliveries.deliver(1, True, 1, 10)
    assert deliveries.check_deliver(Deliver("t", 2), True, 10, 99) is None
    deliveries.carried_out(RangeSet.of(100))
    deliveries.deliver(2, True, 2, 10)
    assert deliveries.check_deliver(Deliver("t", 3), True, 10, 99) is not None


def staged(*names: str, most: int = 9, late: bool = False) -> Staging:
    staging = Staging(CLIENT, most, late)
    for name in names:
        for speaker, command in ((CLIENT, file.Open(name, 7)), (SERVER, file.OpenOk(3)), (CLIENT, file.Stage())):
            assert staging.check(speaker, command, 4) is None
            staging.step(speaker, command)
    return staging


def test_a_file_may_be_used_as_soon_as_it_was_opened() -> None:
    staging = staged()
    assert staging.check_use(PUBLISH, "f") is not None
    staging.step(CLIENT, file.Open("f", 1))
    assert staging._machine.state == OPENING
    assert staging.check_use(PUBLISH, "f") is None
    assert staging.size("f") == 1
    objection = staging.check_use(PUBLISH, "g")
    assert objection is not None
    assert not objection.sure
    assert objection.legal == ("file.publish of 'f'", "file.open")


@pytest.mark.parametrize(("count", "held"), [(1, True), (2, True), (3, False)])
def test_limit_of_files_that_are_remembered(count: int, held: bool) -> None:
    staging = staged(*[str(number) for number in range(count)], most=2)
    assert (staging.check_use(PUBLISH, "another") is not None) == held
    assert staging.check_use(PUBLISH, str(count - 1)) is None


def test_the_same_file_again_takes_no_room() -> None:
    assert staged(*"ababab", most=2).check_use(PUBLISH, "c") is not None


def test_missing_sizes_are_not_judged() -> None:
    staging = Staging(CLIENT, 9, False)
    staging.step(CLIENT, file.Open("f"))
    assert staging.check(SERVER, file.OpenOk(99), None) is None
    staging.step(SERVER, file.OpenOk(99))
    assert staging.check(CLIENT, file.Stage(), 5) is None


def test_a_late_observer_holds_nobody_to_anything_and_learns() -> None:
    staging = staged(late=True)
    assert staging.check_use(PUBLISH, "f") is None
    for speaker, command in ((CLIENT, file.Open("f", 1)), (SERVER, file.OpenOk(2)), (CLIENT, file.Stage())):
        assert staging.check(speaker, command, 5) is None
    staging.step(SERVER, file.OpenOk(2))
    assert staging.check(SERVER, file.OpenOk(2), None) is not None
    staging.forget()
    assert staging.check(SERVER, file.OpenOk(2), None) is None


def test_a_snapshot_of_a_staging() -> None:
    staging = staged("f", "g")
    assert staging._machine.state == STAGED
    staging.step(CLIENT, file.Open("h", 9))
    again = Staging(CLIENT, 9, False)
    again.restore(staging.snapshot())
    assert again.snapshot() == staging.snapshot()
    assert again.check(SERVER, file.OpenOk(10), None) is not None
    for key in staging.snapshot():
        if key != "forgot":
            with pytest.raises((KeyError, ValueError, TypeError)):
                Staging(CLIENT, 9, False).restore({**staging.snapshot(), key: "x"})
