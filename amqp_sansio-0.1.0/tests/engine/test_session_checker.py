"""The checker of sessions, by itself: what the observer's tests do not ask."""

from __future__ import annotations

import pytest

from amqp_sansio.engine.observer import Observer
from amqp_sansio.engine.session_checker import SessionChecker
from amqp_sansio.errors import DecodeError


def checker() -> SessionChecker:
    made = Observer()._checker
    assert isinstance(made, SessionChecker)
    return made


def test_only_a_transfer_and_its_kind_carry_more() -> None:
    carries = checker().carries
    assert carries(4, 1)
    assert carries(119, 1)
    assert not carries(4, 2)


def test_it_goes_on_with_a_witness_and_with_nothing_else() -> None:
    one, another = checker(), checker()
    another.resume(one.state())
    assert another.findings is one.findings
    with pytest.raises(DecodeError):
        another.resume(("not", "a witness"))
