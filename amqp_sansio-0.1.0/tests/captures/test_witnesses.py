"""Observers for conversations in captures."""

from __future__ import annotations

from amqp_sansio.captures.witnesses import observers
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.observer import Observer


def test_from_the_beginning_the_header_tells_the_version_and_from_the_middle_it_is_0_10() -> None:
    make = observers()
    begun, middle = make(False), make(True)
    assert isinstance(begun, Observer)
    assert isinstance(middle, Observer)
    assert (begun.dialect, middle.dialect) == (None, AMQP_0_10)
    assert begun is not make(False)


def test_strict_is_handed_on() -> None:
    for strict in (False, True):
        witness = observers(strict)(False)
        assert isinstance(witness, Observer)
        assert witness.strict is strict
