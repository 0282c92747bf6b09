"""Conversations of the older dialects that are drawn."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.testing.strategies.channels import (
    ChannelConversation,
    channel_conversations,
    channel_parts,
    wrong_channel_conversations,
)

QUICK = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def wrong_at(said: ChannelConversation) -> list[int]:
    """The steps in which an observer that holds everybody to the letter finds a broken rule that the part is about."""
    watch = Observer(strict=True, dialects=(said.part.edition.dialect,))
    found: list[int] = []
    for at, step in enumerate((*said.before, *said.steps), -len(said.before)):
        watch.receive_data(step.side, step.octets)
        rules = [each.event.rule for each in watch.events() if isinstance(each.event, Violation)]
        found += [at for rule in rules if said.part.judges(rule)]
    return found


@given(channel_conversations())
def test_what_is_drawn_as_legal_breaks_no_rule(said: ChannelConversation) -> None:
    assert said.part.language().run(said.words) is not None
    assert wrong_at(said) == []


@QUICK
@given(wrong_channel_conversations())
def test_what_is_drawn_as_wrong_is_wrong_in_its_last_word(said: ChannelConversation) -> None:
    found = wrong_at(said)
    assert found
    assert found[0] == len(said.steps) - 1


@given(channel_conversations("0-8", "stream consumer", max_size=3))
def test_a_part_may_be_asked_for(said: ChannelConversation) -> None:
    assert repr(said.part) == "0-8: stream consumer"
    assert len(said.words) <= 3


def test_a_part_that_there_is_not_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no part 'nonsense' of '0-8': there are .*0-9-1: confirms"):
        channel_parts("0-8", "nonsense")


# Kept and restored before any step, an observer says the same.
@given(channel_conversations(), st.integers(0, 40))
def test_what_an_observer_remembers_can_be_kept(said: ChannelConversation, at: int) -> None:
    dialects = (said.part.edition.dialect,)
    whole, kept = [Observer(strict=True, dialects=dialects) for _ in range(2)]
    told: list[list[str]] = [[], []]
    for number, step in enumerate((*said.before, *said.steps)):
        if number == at:
            kept = Observer.restore(kept.snapshot(), dialects=dialects)
        for watch, events in zip((whole, kept), told, strict=True):
            watch.receive_data(step.side, step.octets)
            events += [repr(each) for each in watch.events()]
    assert told[0] == told[1]
