"""The fuzzer's invariant on a small, fixed set of inputs.

Whatever octets arrive, nothing but events comes out: no exception, no endless loop, memory within the limits; and the octets
fed whole, in 7s or one at a time give the same events and the same answer.
"""

from __future__ import annotations

import random

import pytest

from fuzz.mutate import mutated
from fuzz.report import regression, shrink
from fuzz.targets import MEASURED, TARGETS, breach, cut, draw

INPUTS = 300


@pytest.mark.parametrize("target", list(TARGETS))
def test_nothing_but_events_comes_out(target: str) -> None:
    for number in range(INPUTS):
        said = draw(target, 0, number)
        why = breach(target, said, measured=number % MEASURED == 0)
        if why:
            small = shrink(said, lambda smaller: bool(breach(target, smaller)))
            pytest.fail(f"{why}\n{regression(target, str(number), small, why)}")


def test_the_same_seed_draws_the_same_input() -> None:
    assert draw("reader", 3, 4) == draw("reader", 3, 4)
    assert draw("reader", 3, 4) != draw("reader", 3, 5)


def test_damage_is_that_of_the_seed() -> None:
    octets = bytes(range(100))
    assert mutated(random.Random(1), octets) == mutated(random.Random(1), octets)
    assert any(mutated(random.Random(seed), octets) != octets for seed in range(5))


def test_pieces_hold_the_same_octets() -> None:
    said = (("client", b"abcde"), ("server", b"fg"))
    assert cut(said, 2) == (("client", b"ab"), ("client", b"cd"), ("client", b"e"), ("server", b"fg"))


def test_a_failing_input_is_made_small_and_written_as_a_test() -> None:
    said = (("client", b"xxxxBxx"), ("server", b"yyyy"))
    small = shrink(said, lambda smaller: any(b"B" in octets for _, octets in smaller))
    assert small == (("client", b"B"),)
    text = regression("reader", "1_2", small, "why\nit fails")
    assert "def test_reader_1_2() -> None:" in text
    assert "bytes.fromhex('42')" in text
    compile(text, "regression", "exec")
