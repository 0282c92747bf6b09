"""One channel: who is attached, and who may say what."""

from __future__ import annotations

from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness_channel import ChannelWitness
from amqp_sansio.events import Violation
from amqp_sansio.kernel.serials import TOP, RangeSet
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.execution import Exception_, Result, Sync
from amqp_sansio.spec.message import Accept, Acquire, Acquired, Flow, Reject, Release, Subscribe, Transfer
from amqp_sansio.spec.queue import Declare, Query
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Completed, Detach, Detached, Flush, RequestTimeout
from amqp_sansio.spec.tx import Commit, Rollback, Select

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


def say(witness: ChannelWitness, speaker: str, command: Command, octets: int = 0) -> int | None:
    return witness.command(speaker, command.VERB, command, octets)


def test_a_session_from_attach_to_detach() -> None:
    witness, findings = attached(True)
    assert witness.name == b"s"
    assert say(witness, C, Sync()) == 0
    assert say(witness, C, Declare("q")) == 1
    witness.control(S, Completed(RangeSet([(0, 1)])))
    witness.detach(C, Detach(b"s"))
    witness.detached(S, Detached(b"s", 0))
    assert not witness.attached
    assert rules(findings) == []


def test_nothing_is_sent_without_a_session() -> None:
    witness, findings = make()
    assert say(witness, C, Sync()) is None
    witness.control(S, CommandPoint(0, 0))
    assert rules(findings) == ["session.attachment!", "session.attachment!"]


def test_a_client_that_does_not_wait_for_attached() -> None:
    for strict in (False, True):
        witness, findings = make(strict)
        witness.attach(C, Attach(b"s"))
        witness.control(C, CommandPoint(0, 0))
        assert say(witness, C, Sync()) == 0
        witness.attach_answered(S, Attached(b"s"))
        assert say(witness, C, Sync()) == 1
        assert rules(findings) == []


def test_what_was_in_flight_when_the_session_ended_is_legal() -> None:
    witness, findings = attached()
    witness.detach(S, Detach(b"s"))
    assert say(witness, C, Sync()) == 0
    witness.detached(C, Detached(b"s", 0))
    assert rules(findings) == []
    assert say(witness, C, Sync()) is None
    assert rules(findings) == ["session.attachment!"]


def test_speaking_after_ones_own_detach() -> None:
    witness, findings = attached()
    witness.detach(C, Detach(b"s"))
    assert say(witness, C, Sync()) is None
    assert rules(findings) == ["session.attachment!"]


def test_a_refusal_is_a_note() -> None:
    witness, findings = make()
    witness.attach(C, Attach(b"s"))
    witness.detached(S, Detached(b"s", 1))
    assert findings.found[0] is not None
    assert rules(findings) == ["session.detached"]
    witness, findings = attached()
    say(witness, S, Exception_(404, 0, 8, 4, 0, "no such queue"))
    assert rules(findings) == ["execution.exception"]


def test_attach_again() -> None:
    witness, findings = attached()
    witness.attach(C, Attach(b"s"))
    assert rules(findings) == ["session.attach.idempotence"]
    witness.attach(C, Attach(b"other"))
    assert rules(findings) == ["session.attach.one-session-per-transport"]
    assert say(witness, C, Sync()) == 0


def test_a_new_attachment_begins_anew() -> None:
    witness, findings = attached()
    assert say(witness, C, Sync()) == 0
    witness.detach(C, Detach(b"s"))
    witness.detached(S, Detached(b"s", 0))
    witness.attach(C, Attach(b"t"))
    witness.attach_answered(S, Attached(b"t"))
    assert say(witness, C, Sync()) is None
    assert rules(findings) == ["session.command-point.newly-attached-transports!"]
    witness.control(C, CommandPoint(0, 0))
    assert say(witness, C, Sync()) == 0
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
    say(witness, S, Declare("q"))
    assert rules(findings) == ["implement!"]


def test_results_and_settlement_go_to_the_other_stream() -> None:
    witness, findings = attached()
    assert say(witness, C, Query("q")) == 0
    say(witness, S, Result(0))
    assert rules(findings) == []
    say(witness, S, Result(0))
    assert rules(findings) == ["execution.result!"]
    say(witness, C, Accept(RangeSet.of(99)))
    assert rules(findings) == ["message.accept.transfers"]


def test_a_delivery_beyond_credit() -> None:
    witness, findings = attached()
    for command in (Subscribe("q", "d"), Flow("d", 0, 1), Flow("d", 1, 0xFFFFFFFF)):
        say(witness, C, command)
    say(witness, S, Transfer("d"), 100)
    assert rules(findings) == []
    say(witness, S, Transfer("d"), 100)
    assert rules(findings) == ["message.flow"]


def test_a_command_that_was_broken_off_takes_its_id() -> None:
    witness, findings = attached()
    assert witness.taken(C) == 0
    assert say(witness, C, Sync()) == 1
    assert rules(findings) == []


def test_late_and_lost_accuse_nobody() -> None:
    for lost in (False, True):
        if lost:
            witness, findings = attached(True)
            witness.lost(C)
        else:
            witness, findings = make(True, True)
        assert say(witness, C, Sync()) is None
        say(witness, S, Transfer("d"), 5)
        witness.control(S, Completed(RangeSet([(0, 99)])))
        witness.control(C, RequestTimeout(0))
        witness.detach(C, Detach(b"x"))
        witness.detached(S, Detached(b"x", 0))
        assert [rule for rule in rules(findings) if rule.endswith("!")] == []


def test_a_refused_word_about_transfers_counts() -> None:
    """Also where other ids that it names were never sent, and where its speaker has detached: who holds to it knows it."""
    witness, findings = attached(True)
    say(witness, C, Subscribe("q", "d", 0, 0))
    say(witness, C, Flow("d", 0, 2))
    say(witness, C, Flow("d", 1, 100))
    for _ in range(2):
        say(witness, S, Transfer("d", 0, 0))
    say(witness, C, Accept(RangeSet.of(0, 7)))
    assert rules(findings) == ["message.accept.transfers!"]
    say(witness, C, Accept(RangeSet.of(0)))
    assert rules(findings) == ["message.accept.acquisition!"]
    witness.detach(C, Detach(b"s"))
    book = witness._stream(S).transfers
    assert book is not None
    before = {state: ids.freeze() for (_, state), ids in book.standing.items() if ids}
    say(witness, C, Release(RangeSet.of(1)))
    assert len(rules(findings)) == 1
    assert {state: ids.freeze() for (_, state), ids in book.standing.items() if ids} != before


def test_what_was_accepted_is_settled_anew_after_a_rollback_and_only_then() -> None:
    for between, told in ((Rollback(), []), (Commit(), ["message.accept.acquisition!"])):
        witness, findings = attached(True)
        say(witness, C, Select())
        say(witness, C, Subscribe("q", "d", 0, 0))
        say(witness, C, Flow("d", 0, 1))
        say(witness, C, Flow("d", 1, 100))
        say(witness, S, Transfer("d", 0, 0))
        say(witness, C, Accept(RangeSet.of(0)))
        say(witness, C, between)
        rules(findings)
        say(witness, C, Accept(RangeSet.of(0)))
        assert rules(findings) == told


def test_strict_every_transfer_runs_along_its_rows() -> None:
    """Shown only, acquired, accepted: what is said out of turn is told, whether transfers come one by one or many at once."""
    for many in (False, True):
        witness, findings = attached(True)
        say(witness, C, Subscribe("q", "d", 0, 1))
        for unit in (0, 1):
            say(witness, C, Flow("d", unit, 100))
        shown = Transfer("d", 0, 1)
        if many:
            assert witness.transfers(S, shown, [1, 1, 1], [1, 1, 1]) == 0
        else:
            assert [say(witness, S, shown, 1) for _ in range(3)] == [0, 1, 2]
        say(witness, C, Accept(RangeSet.of(0)))
        assert rules(findings) == ["message.accept.acquisition!"]
        id = say(witness, C, Acquire(RangeSet.of(0, 1)))
        say(witness, S, Result(id, Acquired(RangeSet.of(0))))
        say(witness, C, Accept(RangeSet.of(0)))
        say(witness, C, Release(RangeSet.of(1, 2)))
        witness.control(C, Completed(RangeSet([(0, 2)])))
        assert rules(findings) == []
        say(witness, C, Reject(RangeSet.of(1)))
        assert rules(findings) == ["message.reject.acquisition!"]


def test_strict_what_is_published_is_its_recipients() -> None:
    witness, findings = attached(True)
    say(witness, C, Transfer("x", 0, 1))
    say(witness, C, Transfer("x", 1, 0))
    say(witness, S, Accept(RangeSet.of(0)))
    assert rules(findings) == []
    say(witness, S, Accept(RangeSet.of(1)))
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
            say(witness, S, Transfer("d", 0, 0))
            assert rules(findings) == []


def test_a_flush_in_the_middle_of_a_session_changes_nothing() -> None:
    witness, findings = attached(True)
    say(witness, C, Sync())
    witness.control(C, Flush(True, True, True))
    say(witness, S, Transfer("d", 0, 0))
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
