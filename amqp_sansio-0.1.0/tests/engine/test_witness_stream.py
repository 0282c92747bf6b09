"""Command ids, what is said about them, and results."""

from __future__ import annotations

import attrs
import pytest

from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness_stream import StreamWitness
from amqp_sansio.events import Violation
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import Acquired, Transfer
from amqp_sansio.spec.queue import Query, QueueQueryResult
from amqp_sansio.spec.session import CommandPoint, Confirmed, Expected, Gap, KnownCompleted
from amqp_sansio.tables.session import FLUSH_EXPECTED


def make(strict: bool = False, late: bool = False, limits: Limits = DEFAULT_LIMITS) -> tuple[StreamWitness, Findings]:
    findings = Findings(strict, limits)
    return StreamWitness(findings, "client", "server", late), findings


def sent(count: int, strict: bool = False, first: int = 0, limits: Limits = DEFAULT_LIMITS) -> tuple[StreamWitness, Findings]:
    """A stream in which so many commands have been sent."""
    stream, findings = make(strict, limits=limits)
    stream.command_point(CommandPoint(first, 0))
    for _ in range(count):
        stream.command(Sync(), "execution.sync")
    return stream, findings


def rules(findings: Findings) -> list[str]:
    """The rules told, with ! where somebody is accused."""
    told = [each.rule + ("!" if isinstance(each, Violation) else "") for each in findings.found]
    findings.found.clear()
    return told


def ids(*ranges: tuple[int, int]) -> RangeSet:
    return RangeSet(ranges)


def test_ids_count_from_the_command_point_and_wrap() -> None:
    stream, findings = make()
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
    stream, findings = make()
    assert stream.command(Sync(), "execution.sync") is None
    assert rules(findings) == ["session.command-point.newly-attached-transports!"]


def test_a_late_stream_knows_no_ids_and_accuses_nobody() -> None:
    stream, findings = make(late=True)
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
    stream, findings = make(limits=attrs.evolve(DEFAULT_LIMITS, replay_commands=3))
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
    stream, findings = make(True, limits=attrs.evolve(DEFAULT_LIMITS, ranges=8))
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
