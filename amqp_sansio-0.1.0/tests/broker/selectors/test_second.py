"""Two evaluations of selectors that know nothing of each other agree."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.broker.selectors.second import Speaker

from amqp_sansio.broker.selectors.parser import Selector

MANY = 1000


@pytest.mark.parametrize("seed", range(3))
def test_a_selector_means_what_it_was_made_to_mean(seed: int) -> None:
    speaker, answers = Speaker(seed), Counter[object]()
    for _ in range(MANY):
        phrase = speaker.selector()
        selector = Selector(phrase.text)
        for _ in range(3):
            message = speaker.message()
            expected = phrase.means(message)
            assert selector.selects(message.get) is (expected is True), f"{phrase.text!r} of {message}"
            answers[expected if isinstance(expected, bool) else None] += 1
    assert min(answers.values()) > MANY / 10
    assert len(answers) == 3
