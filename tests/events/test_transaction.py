"""Events about transactions are plain values and name their session."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from amqp_sansio.events import BranchAnswered, BranchesRecovered, BranchTimeout, TransactionEnded, TransactionOutcome
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid

X = Xid(0, b"x", b"")
PAIRS: list[tuple[ValueObject, ValueObject]] = [
    (TransactionEnded(b"s", 1, TransactionOutcome.COMMITTED), TransactionEnded(b"s", 1, TransactionOutcome.UNKNOWN)),
    (BranchAnswered(b"s", 1, "dtx.end", X, XaStatus.XA_OK), BranchAnswered(b"s", 1, "dtx.end", X, None)),
    (BranchAnswered(b"s", 1, "dtx.end", X, None, 404), BranchAnswered(b"s", 1, "dtx.end", X, None)),
    (BranchTimeout(b"s", 1, X, 60), BranchTimeout(b"s", 1, X, None)),
    (BranchesRecovered(b"s", 1, (X,)), BranchesRecovered(b"s", 1, ())),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_an_event_about_a_transaction_is_a_plain_value(
    plain: Callable[[ValueObject, ValueObject], None], one: ValueObject, other: ValueObject
) -> None:
    plain(one, other)
    assert one.values()[0] == b"s"
