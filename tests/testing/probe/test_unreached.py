"""Why a probe did not come to a move."""

from __future__ import annotations

import pytest
from tests.testing.probe.inmemory import InMemory

from amqp_sansio.broker import Broker
from amqp_sansio.grammar.walks import transition_words
from amqp_sansio.testing.probe import Prober
from amqp_sansio.testing.probe.plans import covering
from amqp_sansio.testing.probe.unreached import REASONS, missed
from amqp_sansio.testing.speech.parts import PARTS


def test_every_move_of_our_broker_is_gone_through_but_those_that_no_client_can_lead_to() -> None:
    """The conversations that are planned for moves come to all moves of what the broker has, or it is written why not."""
    broker = Broker()
    report = Prober(lambda: InMemory(broker), conversations=sum([len(covering(part)) for part in PARTS.values()])).run()
    left = {(name, each.word) for name, _, _, missing in report.coverage() for each in missing}
    assert {(name, word) for name, word in left if PARTS[name].section not in report.not_offered} == set(REASONS)


@pytest.mark.parametrize("name", PARTS)
def test_each_missing_move_has_a_reason_and_none_is_forgotten(name: str) -> None:
    """Whatever was gone through, what is left is told with a reason, and as many moves as there are."""
    part = PARTS[name]
    every = transition_words(part.client_led)
    for gone in (set(), {move for move, way in every.items() if len(way) == 1}, set(every)):
        told = missed(part, gone)
        assert sum([each.moves for each in told]) == len(every) - len(gone)
        assert all(each.why and each.word.rpartition(":")[2] in str(each) for each in told)


def test_what_lies_behind_a_move_that_was_not_made_says_so() -> None:
    """A move from a state that was never entered is put down to the word on the way that was not said."""
    (first, *_) = [each for each in missed(PARTS["tx"], ()) if each.word == "client:tx.commit"]
    assert first.why == "it follows client:tx.select, which no conversation reached"
