"""Credit as a third person can know it."""

from __future__ import annotations

import attrs
import pytest

from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness_credit import CreditWitness
from amqp_sansio.events import Violation
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.message import Cancel, Flow, Flush, SetFlowMode, Stop, Subscribe

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


def test_who_does_not_know_what_was_subscribed_and_cancelled_accuses_nobody() -> None:
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
