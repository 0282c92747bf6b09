"""Questions ahead of their answers."""

from __future__ import annotations

from itertools import product

import pytest

from amqp_sansio.grammar.algebra import difference
from amqp_sansio.grammar.notation import Question
from amqp_sansio.grammar.pipelines import in_order

ASKED = (Question("c:a", ("s:a-ok",)), Question("c:b", ("s:b-ok", "s:ok")), Question("c:d", ("s:ok",)), Question("c:n", ()))


def test_answers_come_in_the_order_of_the_questions() -> None:
    legal = in_order(ASKED).prefixes()
    assert legal.accepts(["c:a", "c:b", "s:a-ok", "c:n", "c:a", "s:ok", "s:a-ok"])
    for wrong in (["s:ok"], ["c:a", "c:b", "s:ok"], ["c:a", "s:b-ok"], ["c:n", "s:ok"], ["c:a", "c:a", "c:a"]):
        assert legal.accepts(wrong[:-1])
        assert not legal.accepts(wrong)


def test_what_is_answered_at_any_time() -> None:
    legal = in_order(ASKED, any_time={"b", "d"}).prefixes()
    assert legal.accepts(["c:b", "c:a", "s:a-ok", "s:ok"])
    assert legal.accepts(["c:b", "c:a", "s:ok", "s:a-ok"])
    # Who hears `ok` may not know whether it is for b or for d.
    assert legal.accepts(["c:d", "c:b", "s:ok", "s:ok"])
    assert legal.accepts(["c:d", "c:b", "s:ok", "s:b-ok"])
    assert not legal.accepts(["c:d", "c:b", "s:ok", "s:b-ok", "s:ok"])


def test_more_that_waits_is_more_that_is_legal() -> None:
    assert difference(in_order(ASKED, 1), in_order(ASKED, 2)).empty
    assert not difference(in_order(ASKED, 3), in_order(ASKED, 2)).empty
    with pytest.raises(ValueError, match="most must be at least 1"):
        in_order(ASKED, 0)


# Against a list that is kept by hand, for all conversations of up to five words.
def test_as_a_queue_has_it() -> None:
    words = ["c:a", "c:b", "s:a-ok", "s:b-ok", "s:ok"]
    legal = in_order(ASKED[:2]).prefixes()
    answers = {"c:a": ("s:a-ok",), "c:b": ("s:b-ok", "s:ok")}
    for said in (each for length in range(6) for each in product(words, repeat=length)):
        waiting: list[str] = []
        right = True
        for word in said:
            if word in answers:
                waiting.append(word)
                right = right and len(waiting) <= 2
            else:
                right = right and bool(waiting) and word in answers[waiting.pop(0)]
            if not right:
                break
        assert legal.accepts(said) is right, said
