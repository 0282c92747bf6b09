"""The whole conversation as a witness hears it, word by word: attachment, ids, completion, credit and results."""

from __future__ import annotations

import attrs
import pytest
from tests.engine import overheard
from tests.engine.overheard import ATTACH, observe, opening, words

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.observer import Observer
from amqp_sansio.engine.session_checker import Witness
from amqp_sansio.engine.witness import ChannelWitness, CreditWitness, StreamWitness
from amqp_sansio.events import CommandSeen, Violation
from amqp_sansio.kernel.serials import TOP, RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.connection import Close, CloseOk, Heartbeat, Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.execution import Exception_, Result, Sync
from amqp_sansio.spec.message import (
    Accept,
    Acquire,
    Acquired,
    Cancel,
    Flow,
    Reject,
    Release,
    SetFlowMode,
    Stop,
    Subscribe,
    Transfer,
)
from amqp_sansio.spec.message import Flush as FlushCredit
from amqp_sansio.spec.queue import Declare, Query, QueueQueryResult
from amqp_sansio.spec.session import (
    Attach,
    Attached,
    CommandPoint,
    Completed,
    Confirmed,
    Detach,
    Detached,
    Expected,
    Flush,
    Gap,
    KnownCompleted,
    RequestTimeout,
)
from amqp_sansio.spec.tx import Commit, Rollback, Select
from amqp_sansio.tables.session import FLUSH_EXPECTED
from amqp_sansio.wire.segments import frame_command

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


def test_a_server_may_attach_a_session_whose_client_did_not_wait_for_detached() -> None:
    witness = opened(True)
    attached: list[tuple[str, Control]] = [("S", Attached(b"s")), ("C", CommandPoint(0, 0))]
    for speaker, control in [("C", Attach(b"s")), *attached, ("C", Detach(b"s"))]:
        assert say(witness, speaker, control, 1) == []
    assert say(witness, "C", Attach(b"s"), 1) == ["session.attachment!"]
    for speaker, control in [("S", Detached(b"s", 0)), *attached]:
        assert say(witness, speaker, control, 1) == []


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


C, S = "client", "server"


def make(strict: bool = False, late: bool = False) -> tuple[ChannelWitness, Findings]:
    findings = Findings(strict, DEFAULT_LIMITS)
    findings.channel = 1
    return ChannelWitness(findings, 1, late), findings


def attached(strict: bool = False) -> tuple[ChannelWitness, Findings]:
    """A channel with the session b"s" on which both have said their command-point."""
    witness, findings = make(strict)
    witness.attach(C, Attach(b"s"))
    assert witness.attach_answered(S, Attached(b"s"))
    for speaker in (C, S):
        witness.control(speaker, CommandPoint(0, 0))
    return witness, findings


def rules(findings: Findings) -> list[str]:
    told = [each.rule + ("!" if isinstance(each, Violation) else "") for each in findings.found]
    findings.found.clear()
    return told


def said_on(witness: ChannelWitness, speaker: str, command: Command, octets: int = 0) -> int | None:
    return witness.command(speaker, command.VERB, command, octets)


def test_a_session_from_attach_to_detach() -> None:
    witness, findings = attached(True)
    assert witness.name == b"s"
    assert said_on(witness, C, Sync()) == 0
    assert said_on(witness, C, Declare("q")) == 1
    witness.control(S, Completed(RangeSet([(0, 1)])))
    witness.detach(C, Detach(b"s"))
    witness.detached(S, Detached(b"s", 0))
    assert not witness.attached
    assert rules(findings) == []


def test_nothing_is_sent_without_a_session() -> None:
    witness, findings = make()
    assert said_on(witness, C, Sync()) is None
    witness.control(S, CommandPoint(0, 0))
    assert rules(findings) == ["session.attachment!", "session.attachment!"]


def test_a_client_that_does_not_wait_for_attached() -> None:
    for strict in (False, True):
        witness, findings = make(strict)
        witness.attach(C, Attach(b"s"))
        witness.control(C, CommandPoint(0, 0))
        assert said_on(witness, C, Sync()) == 0
        witness.attach_answered(S, Attached(b"s"))
        assert said_on(witness, C, Sync()) == 1
        assert rules(findings) == []


def test_what_was_in_flight_when_the_session_ended_is_legal() -> None:
    witness, findings = attached()
    witness.detach(S, Detach(b"s"))
    assert said_on(witness, C, Sync()) == 0
    witness.detached(C, Detached(b"s", 0))
    assert rules(findings) == []
    assert said_on(witness, C, Sync()) is None
    assert rules(findings) == ["session.attachment!"]


def test_speaking_after_ones_own_detach() -> None:
    witness, findings = attached()
    witness.detach(C, Detach(b"s"))
    assert said_on(witness, C, Sync()) is None
    assert rules(findings) == ["session.attachment!"]


def test_a_refusal_is_a_note() -> None:
    witness, findings = make()
    witness.attach(C, Attach(b"s"))
    witness.detached(S, Detached(b"s", 1))
    assert findings.found[0] is not None
    assert rules(findings) == ["session.detached"]
    witness, findings = attached()
    said_on(witness, S, Exception_(404, 0, 8, 4, 0, "no such queue"))
    assert rules(findings) == ["execution.exception"]


def test_attach_again() -> None:
    witness, findings = attached()
    witness.attach(C, Attach(b"s"))
    assert rules(findings) == ["session.attach.idempotence"]
    witness.attach(C, Attach(b"other"))
    assert rules(findings) == ["session.attach.one-session-per-transport"]
    assert said_on(witness, C, Sync()) == 0


def test_a_new_attachment_begins_anew() -> None:
    witness, findings = attached()
    assert said_on(witness, C, Sync()) == 0
    witness.detach(C, Detach(b"s"))
    witness.detached(S, Detached(b"s", 0))
    witness.attach(C, Attach(b"t"))
    witness.attach_answered(S, Attached(b"t"))
    assert said_on(witness, C, Sync()) is None
    assert rules(findings) == ["session.command-point.newly-attached-transports!"]
    witness.control(C, CommandPoint(0, 0))
    assert said_on(witness, C, Sync()) == 0
    assert witness.name == b"t"


def test_names_that_do_not_match() -> None:
    witness, findings = make()
    witness.attach(C, Attach(b"s"))
    witness.attach_answered(S, Attached(b"t"))
    assert rules(findings) == ["session.attached.name"]
    witness.detach(C, Detach(b"u"))
    assert rules(findings) == ["session.detach.name"]


def test_only_a_client_declares_queues() -> None:
    witness, findings = attached()
    said_on(witness, S, Declare("q"))
    assert rules(findings) == ["implement!"]


def test_results_and_settlement_go_to_the_other_stream() -> None:
    witness, findings = attached()
    assert said_on(witness, C, Query("q")) == 0
    said_on(witness, S, Result(0))
    assert rules(findings) == []
    said_on(witness, S, Result(0))
    assert rules(findings) == ["execution.result!"]
    said_on(witness, C, Accept(RangeSet.of(99)))
    assert rules(findings) == ["message.accept.transfers"]


def test_a_delivery_beyond_credit() -> None:
    witness, findings = attached()
    for command in (Subscribe("q", "d"), Flow("d", 0, 1), Flow("d", 1, 0xFFFFFFFF)):
        said_on(witness, C, command)
    said_on(witness, S, Transfer("d"), 100)
    assert rules(findings) == []
    said_on(witness, S, Transfer("d"), 100)
    assert rules(findings) == ["message.flow"]


def test_a_command_that_was_broken_off_takes_its_id() -> None:
    witness, findings = attached()
    assert witness.taken(C) == 0
    assert said_on(witness, C, Sync()) == 1
    assert rules(findings) == []


def test_late_and_lost_accuse_nobody() -> None:
    for lost in (False, True):
        if lost:
            witness, findings = attached(True)
            witness.lost(C)
        else:
            witness, findings = make(True, True)
        assert said_on(witness, C, Sync()) is None
        said_on(witness, S, Transfer("d"), 5)
        witness.control(S, Completed(RangeSet([(0, 99)])))
        witness.control(C, RequestTimeout(0))
        witness.detach(C, Detach(b"x"))
        witness.detached(S, Detached(b"x", 0))
        assert [rule for rule in rules(findings) if rule.endswith("!")] == []


def test_a_refused_word_about_transfers_counts() -> None:
    """Also where other ids that it names were never sent, and where its speaker has detached: who holds to it knows it."""
    witness, findings = attached(True)
    said_on(witness, C, Subscribe("q", "d", 0, 0))
    said_on(witness, C, Flow("d", 0, 2))
    said_on(witness, C, Flow("d", 1, 100))
    for _ in range(2):
        said_on(witness, S, Transfer("d", 0, 0))
    said_on(witness, C, Accept(RangeSet.of(0, 7)))
    assert rules(findings) == ["message.accept.transfers!"]
    said_on(witness, C, Accept(RangeSet.of(0)))
    assert rules(findings) == ["message.accept.acquisition!"]
    witness.detach(C, Detach(b"s"))
    book = witness._stream(S).transfers
    assert book is not None
    before = {state: ids.freeze() for (_, state), ids in book.standing.items() if ids}
    said_on(witness, C, Release(RangeSet.of(1)))
    assert len(rules(findings)) == 1
    assert {state: ids.freeze() for (_, state), ids in book.standing.items() if ids} != before


def test_what_was_accepted_is_settled_anew_after_a_rollback_and_only_then() -> None:
    for between, told in ((Rollback(), []), (Commit(), ["message.accept.acquisition!"])):
        witness, findings = attached(True)
        said_on(witness, C, Select())
        said_on(witness, C, Subscribe("q", "d", 0, 0))
        said_on(witness, C, Flow("d", 0, 1))
        said_on(witness, C, Flow("d", 1, 100))
        said_on(witness, S, Transfer("d", 0, 0))
        said_on(witness, C, Accept(RangeSet.of(0)))
        said_on(witness, C, between)
        rules(findings)
        said_on(witness, C, Accept(RangeSet.of(0)))
        assert rules(findings) == told


def test_strict_every_transfer_runs_along_its_rows() -> None:
    """Shown only, acquired, accepted: what is said out of turn is told, whether transfers come one by one or many at once."""
    for many in (False, True):
        witness, findings = attached(True)
        said_on(witness, C, Subscribe("q", "d", 0, 1))
        for unit in (0, 1):
            said_on(witness, C, Flow("d", unit, 100))
        shown = Transfer("d", 0, 1)
        if many:
            assert witness.transfers(S, shown, [1, 1, 1], [1, 1, 1]) == 0
        else:
            assert [said_on(witness, S, shown, 1) for _ in range(3)] == [0, 1, 2]
        said_on(witness, C, Accept(RangeSet.of(0)))
        assert rules(findings) == ["message.accept.acquisition!"]
        id = said_on(witness, C, Acquire(RangeSet.of(0, 1)))
        said_on(witness, S, Result(id, Acquired(RangeSet.of(0))))
        said_on(witness, C, Accept(RangeSet.of(0)))
        said_on(witness, C, Release(RangeSet.of(1, 2)))
        witness.control(C, Completed(RangeSet([(0, 2)])))
        assert rules(findings) == []
        said_on(witness, C, Reject(RangeSet.of(1)))
        assert rules(findings) == ["message.reject.acquisition!"]


def test_strict_what_is_published_is_its_recipients() -> None:
    witness, findings = attached(True)
    said_on(witness, C, Transfer("x", 0, 1))
    said_on(witness, C, Transfer("x", 1, 0))
    said_on(witness, S, Accept(RangeSet.of(0)))
    assert rules(findings) == []
    said_on(witness, S, Accept(RangeSet.of(1)))
    assert rules(findings) == ["message.accept.acquisition!"]


def test_nobody_is_held_to_the_subscriptions_of_a_session_that_began_elsewhere() -> None:
    for goes_on in (Flush(True, True, True), CommandPoint(7, 0)):
        for speaker in (C, S):
            witness, findings = make(True)
            witness.attach(C, Attach(b"s"))
            witness.attach_answered(S, Attached(b"s"))
            witness.control(speaker, goes_on)
            for each in (C, S):
                witness.control(each, CommandPoint(7, 0))
            said_on(witness, S, Transfer("d", 0, 0))
            assert rules(findings) == []


def test_a_flush_in_the_middle_of_a_session_changes_nothing() -> None:
    witness, findings = attached(True)
    said_on(witness, C, Sync())
    witness.control(C, Flush(True, True, True))
    said_on(witness, S, Transfer("d", 0, 0))
    assert rules(findings) == ["message.transfer.destination!"]


def test_many_transfers_at_once_take_their_ids_and_the_credit() -> None:
    witness, findings = attached()
    witness.command(C, "message.subscribe", Subscribe("q", "d"), 0)
    witness.command(C, "message.flow", Flow("d", 0, 3), 0)
    witness.command(C, "message.flow", Flow("d", 1, 100), 0)
    assert witness.transfers(S, Transfer("d"), [10, 10], [10, 10]) == 0
    assert witness.transfers(S, Transfer("d"), [10, 10], [10, 10]) is None  # beyond the credit: each by itself
    assert witness.transfers(S, Transfer("other"), [10], [10]) is None
    assert witness.transfers(S, Transfer("d"), [10], [10]) == 2
    assert witness.transfers(C, Transfer(""), [10, 10], [10, 10]) == 3
    assert witness.transfers(C, Transfer(""), [10], [10]) == 5
    assert rules(findings) == []


def test_transfers_whose_ids_go_around_come_one_by_one() -> None:
    witness, _ = make()
    witness.attach(C, Attach(b"s"))
    witness.attach_answered(S, Attached(b"s"))
    witness.control(C, CommandPoint(TOP - 2, 0))
    assert witness.transfers(C, Transfer(""), [1, 1, 1], [1, 1, 1]) is None
    assert witness.transfers(C, Transfer(""), [1, 1], [1, 1]) == TOP - 2


MESSAGE, BYTE = 0, 1


class Scene:
    """A subscriber and a deliverer; ids count on each side."""

    def __init__(self, *commands: Command, strict: bool = False, limits: Limits = DEFAULT_LIMITS) -> None:
        self.findings = Findings(strict, limits)
        self.findings.speaker = "S"
        self.credit = CreditWitness(self.findings, False)
        self.said = 0
        self.sent = 0
        self.say(*commands)

    def say(self, *commands: Command) -> int:
        """The subscriber speaks; the id of the last command."""
        for command in commands:
            self.credit.hear(self.said, command)
            self.said += 1
        return self.said - 1

    def deliver(self, count: int = 1, octets: int = 10) -> list[str]:
        """The rules that so many deliveries break, with ! where somebody is accused."""
        for _ in range(count):
            self.credit.delivered(self.sent, "d", octets, octets)
            self.sent += 1
        return self.told()

    def told(self) -> list[str]:
        """The rules that were broken, with ! where somebody is accused."""
        told = [each.rule + ("!" if isinstance(each, Violation) else "") for each in self.findings.found]
        self.findings.found.clear()
        return told


def granted(messages: int, octets: int = INFINITE) -> tuple[Command, ...]:
    return (Subscribe("q", "d"), SetFlowMode("d", 0), Flow("d", MESSAGE, messages), Flow("d", BYTE, octets))


def windowed(messages: int, octets: int = INFINITE) -> tuple[Command, ...]:
    """The mode in which a subscription begins."""
    return (Subscribe("q", "d"), Flow("d", MESSAGE, messages), Flow("d", BYTE, octets))


UNIQUE = "message.subscribe.destination.unique-subscriber-destination!"


def test_a_destination_that_stands_is_not_subscribed_to_again() -> None:
    for strict in (False, True):
        scene = Scene(Subscribe("q", "d"), Subscribe("q", "e"), strict=strict)
        assert scene.told() == []
        scene.say(Subscribe("r", "d"))
        assert scene.told() == [UNIQUE]
        last = scene.say(Cancel("d"), Subscribe("r", "d"))
        scene.credit.book.carried_out(RangeSet([(0, last)]))
        assert scene.told() == []
        scene.say(Cancel("e"))
        scene.credit.book.carried_out(RangeSet([(0, last + 1)]))
        scene.say(Subscribe("q", "e"))
        assert scene.told() == []
        scene.say(Subscribe("q", "e"))
        assert scene.told() == [UNIQUE]


def test_a_second_subscription_without_destination_is_against_the_letter_alone() -> None:
    """Qpidd takes it."""
    for strict, told in ((False, []), (True, [UNIQUE])):
        scene = Scene(Subscribe("q"), Subscribe("q"), strict=strict)
        assert scene.told() == told


def test_a_late_observer_of_subscriptions_accuses_nobody() -> None:
    scene = Scene(Subscribe("q", "d"), strict=True)
    scene.credit.hear(None, Cancel("d"))  # its id was not heard, and so not its end
    scene.say(Subscribe("q", "d"))
    assert scene.told() == []
    scene = Scene(Subscribe("q", "d"), strict=True)
    scene.credit.book.lose()
    scene.say(Subscribe("q", "d"), Subscribe("q", "d"))
    assert scene.told() == []


@pytest.mark.parametrize(("count", "told"), [(2, []), (3, []), (4, ["message.flow"]), (9, ["message.flow"])])
def test_message_credit(count: int, told: list[str]) -> None:
    assert Scene(*granted(3)).deliver(count) == told
    assert Scene(*granted(3), strict=True).deliver(count) == [rule + "!" for rule in told]
    assert Scene(*windowed(3)).deliver(count) == told


@pytest.mark.parametrize(("count", "told"), [(2, []), (3, []), (4, ["message.flow"])])
def test_octet_credit(count: int, told: list[str]) -> None:
    assert Scene(*granted(INFINITE, 30)).deliver(count) == told
    assert Scene(*windowed(INFINITE, 30)).deliver(count) == told


def test_both_units_are_needed() -> None:
    assert Scene(Subscribe("q", "d"), Flow("d", MESSAGE, 5)).deliver() == ["message.flow"]
    assert Scene(Subscribe("q", "d"), Flow("d", BYTE, 5)).deliver() == ["message.flow"]


def test_credit_adds_up_and_does_not_wrap() -> None:
    scene = Scene(*granted(0xFFFFFFFA), Flow("d", MESSAGE, 10))
    assert scene.deliver(20) == []
    assert Scene(*granted(1), Flow("d", MESSAGE, 2)).deliver(3) == []
    assert Scene(*granted(INFINITE), Flow("d", MESSAGE, 2)).deliver(9) == []
    assert Scene(Subscribe("q", "d"), Flow("d", MESSAGE), Flow("d", BYTE)).deliver(9) == []  # no value: without limit


def test_a_window_moves_by_completion_and_credit_does_not() -> None:
    scene = Scene(*windowed(2))
    for _ in range(5):
        assert scene.deliver(2) == []
        scene.credit.book.completed(RangeSet([(0, scene.sent - 1)]))
    scene = Scene(*granted(2))
    assert scene.deliver(2) == []
    scene.credit.book.completed(RangeSet([(0, 1)]))
    assert scene.deliver() == ["message.flow"]


@pytest.mark.parametrize("taking_back", [Stop("d"), FlushCredit("d")])
def test_credit_taken_back_counts_when_the_deliverer_has_completed_it(taking_back: Command) -> None:
    scene = Scene(*granted(3))
    id = scene.say(taking_back)
    assert scene.deliver(2) == []
    scene.credit.book.carried_out(RangeSet.of(id))
    assert scene.deliver() == ["message.flow"]


def test_what_is_granted_after_a_stop_stays() -> None:
    scene = Scene(*granted(3))
    id = scene.say(Stop("d"))
    scene.say(Flow("d", MESSAGE, 2), Flow("d", BYTE, INFINITE))
    scene.credit.book.carried_out(RangeSet.of(id))
    assert scene.deliver(2) == []
    assert scene.deliver() == ["message.flow"]


def test_a_server_that_adds_a_grant_to_its_balance_after_a_stop_keeps_the_letter() -> None:
    """message.flow adds to the balance, which stop has made zero, whatever is not complete; each completion adds one more."""
    scene = Scene(*windowed(5), strict=True)
    assert scene.deliver(5) == []
    id = scene.say(Stop("d"))
    scene.credit.book.carried_out(RangeSet.of(id))
    scene.say(Flow("d", MESSAGE, 5), Flow("d", BYTE, INFINITE))
    assert scene.deliver(5) == []
    scene.credit.book.completed(RangeSet([(0, 4)]))
    assert scene.deliver(5) == []
    assert scene.deliver() == ["message.flow!"]


def test_after_a_stop_of_infinite_credit_completions_give_what_nobody_counted() -> None:
    scene = Scene(*windowed(INFINITE), strict=True)
    assert scene.deliver(5) == []
    scene.credit.book.carried_out(RangeSet.of(scene.say(Stop("d"))))
    scene.credit.book.completed(RangeSet([(0, 4)]))
    assert scene.deliver(5) == []


@pytest.mark.parametrize(("count", "told"), [(5, []), (6, ["message.flow"])])
def test_a_destination_used_anew_is_judged_when_the_cancel_of_the_old_one_is_complete(count: int, told: list[str]) -> None:
    scene = Scene(*granted(3))
    id = scene.say(Cancel("d"))
    scene.say(*granted(2))
    assert scene.deliver(count) == told
    scene = Scene(*granted(3))
    id = scene.say(Cancel("d"))
    scene.say(*granted(2))
    scene.credit.book.carried_out(RangeSet.of(id))
    assert scene.deliver(count - 3) == told


def test_deliveries_after_a_cancel_that_was_completed() -> None:
    scene = Scene(*granted(9))
    id = scene.say(Cancel("d"))
    assert scene.deliver() == []
    scene.credit.book.carried_out(RangeSet.of(id))
    assert scene.deliver(2) == ["message.transfer.destination"]


def test_a_destination_that_nobody_subscribed_with() -> None:
    assert Scene().deliver() == ["message.transfer.destination"]
    assert Scene(strict=True).deliver() == ["message.transfer.destination!"]


def test_of_a_destination_eighty_characters_are_shown() -> None:
    """A name that a speaker made up is cut where it is told, and told once however often it comes."""
    scene = Scene(Subscribe("q", "y" * 200), strict=True)
    for _ in range(2):
        scene.credit.delivered(0, "x" * 200, 1, 1)
    (violation,) = scene.findings.found
    assert isinstance(violation, Violation)
    assert violation.said == f"message.transfer to destination {'x' * 80!r}"
    assert violation.legal == (repr("y" * 80),)


def test_without_accounting_nobody_is_held_to_anything() -> None:
    scene = Scene()
    scene.credit.book.doubt = True
    scene.say(*granted(0))
    assert scene.deliver(5) == []


def test_a_mode_changed_under_way_is_not_judged() -> None:
    scene = Scene(*granted(3))
    scene.say(SetFlowMode("d", 1))
    assert scene.deliver(9) == []


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ((), []),
        ((Flow("d", MESSAGE, 1),), ["message.set-flow-mode.mode-switching!"]),
        ((Flow("d", BYTE, INFINITE),), ["message.set-flow-mode.mode-switching!"]),
        ((Flow("d", BYTE, 5), Stop("d")), []),
        ((Flow("d", BYTE, 5), FlushCredit("d"), Flow("d", MESSAGE, 1)), ["message.set-flow-mode.mode-switching!"]),
    ],
)
@pytest.mark.rule("message.set-flow-mode.mode-switching")
def test_the_mode_is_set_without_credit(before: tuple[Command, ...], told: list[str]) -> None:
    for strict in (True, False):
        scene = Scene(Subscribe("q", "d"), *before, SetFlowMode("d", 0), strict=strict)
        found = [each.rule + ("!" if isinstance(each, Violation) else "") for each in scene.findings.found]
        assert found == (told if strict else [])


@pytest.mark.parametrize(("count", "doubt"), [(2, False), (3, False), (4, True)])
def test_limit_subscriptions(count: int, doubt: bool) -> None:
    scene = Scene(limits=attrs.evolve(DEFAULT_LIMITS, subscriptions=3))
    scene.say(*[Subscribe("q", str(number)) for number in range(count)])
    assert scene.credit.book.doubt is doubt


@pytest.mark.parametrize(("count", "doubt"), [(2, False), (3, False), (4, True)])
def test_limit_replay_commands_bounds_the_transfers_in_a_window(count: int, doubt: bool) -> None:
    scene = Scene(*windowed(100), limits=attrs.evolve(DEFAULT_LIMITS, replay_commands=3))
    assert scene.deliver(count) == []
    assert scene.credit.book.doubt is doubt


def stream_of(strict: bool = False, late: bool = False, limits: Limits = DEFAULT_LIMITS) -> tuple[StreamWitness, Findings]:
    findings = Findings(strict, limits)
    return StreamWitness(findings, "client", "server", late), findings


def sent(count: int, strict: bool = False, first: int = 0, limits: Limits = DEFAULT_LIMITS) -> tuple[StreamWitness, Findings]:
    """A stream in which so many commands have been sent."""
    stream, findings = stream_of(strict, limits=limits)
    stream.command_point(CommandPoint(first, 0))
    for _ in range(count):
        stream.command(Sync(), "execution.sync")
    return stream, findings


def ids(*ranges: tuple[int, int]) -> RangeSet:
    return RangeSet(ranges)


def test_ids_count_from_the_command_point_and_wrap() -> None:
    stream, findings = stream_of()
    stream.command_point(CommandPoint(0xFFFFFFFE, 0))
    assert [stream.command(Sync(), "execution.sync") for _ in range(4)] == [0xFFFFFFFE, 0xFFFFFFFF, 0, 1]
    stream.completed(ids((0xFFFFFFFE, 1)))
    assert rules(findings) == []
    stream.completed(ids((2, 2)))
    assert rules(findings) == ["session.completed.commands!"]


@pytest.mark.parametrize(("to", "legal"), [(10, "ids up to 9"), (3, "ids up to 2"), (2, "no ids: no command was sent")])
def test_behind_a_jump_what_was_sent_before_was_sent_all_the_same(to: int, legal: str) -> None:
    """A command-point ahead makes nothing unsaid; one back to the beginning does."""
    stream, findings = sent(3, first=2)
    stream.command_point(CommandPoint(to, 0))
    findings.found.clear()
    stream.completed(ids((20, 20)))
    (violation,) = findings.found
    assert isinstance(violation, Violation)
    assert violation.legal == (legal,)


def test_a_command_before_the_first_command_point() -> None:
    stream, findings = stream_of()
    assert stream.command(Sync(), "execution.sync") is None
    assert rules(findings) == ["session.command-point.newly-attached-transports!"]


def test_a_late_stream_knows_no_ids_and_accuses_nobody() -> None:
    stream, findings = stream_of(late=True)
    assert stream.command(Sync(), "execution.sync") is None
    stream.completed(ids((0, 1000)))
    stream.confirmed(Confirmed(ids((0, 1000))))
    stream.known_completed(KnownCompleted(ids((0, 1000))))
    stream.result(5, None)
    assert rules(findings) == []
    stream.command_point(CommandPoint(7, 0))
    assert stream.command(Sync(), "execution.sync") == 7


@pytest.mark.parametrize(("last", "told"), [(3, []), (4, []), (5, ["session.completed.commands!"])])
def test_completed_beyond_what_was_sent(last: int, told: list[str]) -> None:
    stream, findings = sent(5)
    stream.completed(ids((0, last)))
    assert rules(findings) == told


@pytest.mark.parametrize(
    ("last", "told", "strict"),
    [
        (4, [], []),
        (5, [], ["session.confirmed.commands!"]),
        (6, ["session.confirmed.commands!"], ["session.confirmed.commands!"]),
    ],
)
def test_confirmed_may_end_one_behind_the_last(last: int, told: list[str], strict: list[str]) -> None:
    for is_strict, expected in ((False, told), (True, strict)):
        stream, findings = sent(5, is_strict)
        stream.confirmed(Confirmed(ids((0, last))))
        assert rules(findings) == expected


def test_completions_from_an_earlier_life_of_the_session_are_nobodys_fault() -> None:
    stream, findings = sent(3, True, first=100)
    stream.completed(ids((0, 102)))
    stream.known_completed(KnownCompleted(ids((0, 102))))
    assert rules(findings) == []


def test_known_completed_that_was_never_reported() -> None:
    for strict, mark in ((False, ""), (True, "!")):
        stream, findings = sent(5, strict)
        stream.completed(ids((0, 1)))
        stream.known_completed(KnownCompleted(ids((0, 2))))
        assert rules(findings) == ["session.known-completed.commands.known-completed-implies-known-confirmed" + mark]
    stream, findings = sent(5)
    stream.known_completed(KnownCompleted(ids((5, 5))))
    assert rules(findings) == ["session.known-completed.commands!"]


def test_completed_again_after_known_completed() -> None:
    for strict, told in ((False, []), (True, ["session.completed.commands.exclude-known-complete!"])):
        stream, findings = sent(5, strict)
        stream.completed(ids((0, 1)))
        stream.completed(ids((0, 2)))
        stream.known_completed(KnownCompleted(ids((0, 1))))
        stream.completed(ids((2, 3)))
        assert rules(findings) == []
        stream.completed(ids((0, 3)))
        assert rules(findings) == told


def test_expected_unasked() -> None:
    stream, findings = sent(2)
    stream.expected(Expected(ids((2, 2))))
    assert rules(findings) == ["session.expected"]
    stream.flush(FLUSH_EXPECTED)
    stream.expected(Expected(ids((2, 2))))
    assert rules(findings) == []
    stream.expected(Expected(ids((3, 3))))
    assert rules(findings) == ["session.expected.commands!"]


def test_results_once_and_only_where_one_is_due() -> None:
    stream, findings = sent(2)
    assert stream.command(Query("q"), "queue.query") == 2
    assert stream.command(Query("q"), "queue.query") == 3
    stream.result(3, None)
    stream.result(2, None)
    assert rules(findings) == []
    stream.result(2, None)
    stream.result(1, None)
    stream.result(4, None)
    assert rules(findings) == ["execution.result!", "execution.result!", "execution.result.command-id!"]


def test_a_jump_of_the_command_point_is_a_note() -> None:
    stream, findings = sent(3)
    stream.command_point(CommandPoint(3, 0))
    assert rules(findings) == []
    stream.command_point(CommandPoint(9, 0))
    assert stream.next == 9
    stream.command_point(CommandPoint(0, 5))
    assert rules(findings) == ["session.command-point", "session.command-point.nonzero-offset", "session.command-point"]
    assert stream.next == 1  # the rest of command 0 is announced: it takes no other id


def test_behind_lost_octets_of_the_client_nobody_knows_whose_session_a_channel_has() -> None:
    watch = Observer()
    observe([*opening(), *ATTACH], watch, end=False)
    watch.receive_gap("C", 40)
    found = [each.event for each in observe([("C", overheard.command(Declare("q")) * 5)], watch, end=False)]
    assert [each.session for each in found if isinstance(each, CommandSeen)] == [None] * 5


@pytest.mark.parametrize("broken_off", [True, False])
def test_a_command_of_the_client_that_was_broken_off_may_have_selected_transactions(broken_off: bool) -> None:
    frames = frame_command(1, AMQP_0_10.codec.encode_command(Transfer(""), False), b"", b"x" * 3000, 1000)
    found = words(
        observe([*opening(), *ATTACH, ("C", (frames[0] if broken_off else b"") + overheard.command(Commit()))], end=False)
    )
    assert ("C message.transfer broken" in found) is broken_off
    assert ("C !tx.commit.select-required" in found) is not broken_off


def test_a_gap_moves_the_stream_on() -> None:
    stream, findings = sent(3)
    stream.gap(Gap(ids((1, 5))))
    assert stream.next == 6
    stream.completed(ids((0, 5)))
    assert rules(findings) == ["session.gap"]


def test_settling_what_was_never_sent_and_settling_twice() -> None:
    stream, findings = sent(3)
    stream.settled("message.accept", ids((0, 3)), True)
    assert rules(findings) == ["message.accept.transfers"]
    for strict, told in ((False, []), (True, ["message.reject.acquisition!"])):
        stream, findings = sent(3, strict)
        if stream.transfers is not None:
            stream.transfers.sent(0, 2, 0, True)
        stream.settled("message.accept", ids((0, 1)), True)
        stream.settled("message.release", ids((0, 1)), False)
        assert rules(findings) == []
        stream.settled("message.reject", ids((1, 2)), True)
        assert rules(findings) == told


def test_after_lost_octets_ids_are_unknown_until_a_command_point() -> None:
    stream, findings = sent(3, True)
    stream.lost()
    assert stream.command(Sync(), "execution.sync") is None
    stream.completed(ids((0, 99)))
    stream.result(77, None)
    assert rules(findings) == []
    stream.command_point(CommandPoint(50, 0))
    assert stream.command(Sync(), "execution.sync") == 50


@pytest.mark.parametrize(("ranges", "told"), [(2, []), (3, []), (4, ["limits.ranges"])])
def test_limit_ranges(ranges: int, told: list[str]) -> None:
    stream, findings = sent(20, limits=attrs.evolve(DEFAULT_LIMITS, ranges=3))
    stream.completed(ids(*[(2 * at, 2 * at) for at in range(ranges)]))
    assert rules(findings) == told
    stream.completed(ids((0, 19)))
    stream.known_completed(KnownCompleted(ids((0, 19))))
    assert rules(findings) == []


@pytest.mark.parametrize(("commands", "kept"), [(2, True), (3, True), (4, False)])
def test_limit_replay_commands_bounds_the_results_awaited(commands: int, kept: bool) -> None:
    stream, findings = stream_of(limits=attrs.evolve(DEFAULT_LIMITS, replay_commands=3))
    stream.command_point(CommandPoint(0, 0))
    for _ in range(commands):
        stream.command(Query("q"), "queue.query")
    assert stream.ids is not None
    assert len(stream.ids.awaited) == (commands if kept else 3)
    for _ in range(2):
        for id in range(commands):
            stream.result(id, None)
    assert rules(findings) == ["execution.result!"] * min(commands, 3)  # nobody is held to what went


@pytest.mark.parametrize("word", ["message.transfer", "message.acquire"])
def test_limit_ranges_bounds_what_is_remembered_of_transfers(word: str) -> None:
    """Transfers of two kinds by turns make a range each, and so does each acquire that nobody answers."""
    stream, findings = stream_of(True, limits=attrs.evolve(DEFAULT_LIMITS, ranges=8))
    stream.command_point(CommandPoint(0, 0))
    for at in range(20):
        if at == 0 or word == "message.transfer":
            transfer = Transfer("d", at % 2)
            stream.sent(stream.command(transfer, "message.transfer"), transfer)
        else:
            stream.settled(word, ids((0, 0)), False, at)
        assert stream.transfers is not None
        kept = [len(stream.transfers._asked), *[each.range_count for each in stream.transfers.standing.values()]]
        assert max(kept) <= 8
    assert rules(findings) == ["limits.ranges"]


def test_an_enormous_range_costs_nothing() -> None:
    stream, findings = sent(3, True)
    stream.completed(ids((0x80000000, 2)))
    stream.known_completed(KnownCompleted(ids((0x80000000, 2))))
    stream.settled("message.accept", ids((0x80000000, 2)), True)
    assert "session.completed.commands!" not in rules(findings)


@pytest.mark.parametrize("strict", [False, True])
def test_a_result_is_of_the_type_that_its_command_has(strict: bool) -> None:
    stream, findings = sent(0, strict)
    for value in (QueueQueryResult("q"), None, Acquired(ids((0, 0)))):
        id = stream.command(Query("q"), "queue.query")
        stream.result(id, value)
    assert rules(findings) == ["execution.result.value!"]


def test_behind_a_loss_nobody_is_held_to_what_the_receiver_has_reported() -> None:
    stream, findings = sent(3)
    stream.lost()
    stream.command_point(CommandPoint(3, 0))
    stream.command(Sync(), "execution.sync")
    stream.known_completed(KnownCompleted(ids((0, 3))))
    assert rules(findings) == []
