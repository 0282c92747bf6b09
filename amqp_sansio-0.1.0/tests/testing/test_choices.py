"""Choices."""

from __future__ import annotations

from random import Random

from amqp_sansio.testing.choices import Choices


def test_a_list_is_read_again_from_its_start() -> None:
    choices = Choices([1, 5])
    assert [choices.between(10, 12) for _ in range(4)] == [11, 12, 11, 12]


def test_where_there_is_nothing_to_choose_nothing_is_used_up() -> None:
    choices = Choices([1, 2])
    assert choices.between(7, 7) == 7
    assert choices.between(0, 9) == 1
    assert Choices().between(3, 9) == 3


def test_the_same_seed_makes_the_same_choices() -> None:
    one, other = Choices(Random(7)), Choices(Random(7))
    assert [one.between(0, 99) for _ in range(20)] == [other.between(0, 99) for _ in range(20)]
