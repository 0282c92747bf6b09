"""What is planned."""

from __future__ import annotations

from itertools import islice

import pytest

from amqp_sansio.grammar.walks import transition_words
from amqp_sansio.testing.probe.plans import covering, plans, wrongs
from amqp_sansio.testing.speech.parts import PARTS


@pytest.mark.parametrize("name", PARTS)
def test_every_move_that_a_client_can_lead_to_is_planned(name: str) -> None:
    part = PARTS[name]
    said = covering(part)
    led = part.client_led
    made = {(led.run(words[:at]), word) for words in said for at, word in enumerate(words)}
    assert made == transition_words(led).keys()
    assert len(said) <= len(made)


def test_every_illegal_step_is_planned() -> None:
    part = PARTS["tx"]
    found = wrongs(part)
    assert ((), "client:tx.commit") in found
    assert all(part.language.run((*way, word)) is None for way, word in found)


def test_the_seed_decides() -> None:
    assert list(plans("tx", 50, 1)) == list(plans("tx", 50, 1)) != list(plans("tx", 50, 2))
    assert [plan.number for plan in plans(None, 30, 1)] == list(range(30))
    assert len(list(islice(plans(None, 2000, 3), 2000))) == 2000
