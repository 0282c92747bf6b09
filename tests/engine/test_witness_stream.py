"""Command ids, what is said about them, and results."""

from __future__ import annotations

import attrs
import pytest

from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness_stream import CreditWitness, StreamWitness
from amqp_sansio.events import Violation
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import Acquired, Cancel, Flow, Flush, SetFlowMode, Stop, Subscribe, Transfer
from amqp_sansio.spec.queue import Query, QueueQueryResult
from amqp_sansio.spec.session import CommandPoint, Confirmed, Expected, Gap, KnownCompleted
from amqp_sansio.tables.session import FLUSH_EXPECTED

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


@pytest.mark.parametrize("taking_back", [Stop("d"), Flush("d")])
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
        ((Flow("d", BYTE, 5), Flush("d"), Flow("d", MESSAGE, 1)), ["message.set-flow-mode.mode-switching!"]),
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
