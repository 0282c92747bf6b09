"""The whole conversation as a witness hears it, word by word."""

from __future__ import annotations

import attrs
import pytest

from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness import ChannelWitness, Witness
from amqp_sansio.events import Violation
from amqp_sansio.kernel.serials import TOP, RangeSet
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.connection import Close, CloseOk, Heartbeat, Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.execution import Exception_, Result, Sync
from amqp_sansio.spec.message import Accept, Acquire, Acquired, Flow, Reject, Release, Subscribe, Transfer
from amqp_sansio.spec.queue import Declare, Query
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Completed, Detach, Detached, Flush, RequestTimeout
from amqp_sansio.spec.tx import Commit, Rollback, Select

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
