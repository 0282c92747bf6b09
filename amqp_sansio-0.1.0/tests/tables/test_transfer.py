"""The life of a transfer."""

from __future__ import annotations

import pytest

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.tables import transfer as t

R, S = t.RECIPIENT, t.SENDER


@pytest.mark.parametrize("verb", [t.ACCEPT, t.REJECT, t.RELEASE])
def test_an_acquired_transfer_is_settled_once(verb: str) -> None:
    machine = Machine(t.TRANSFER[0])
    assert machine.step(S, t.TRANSFER_PRE_ACQUIRED) is None
    assert machine.step(R, verb) is None
    assert machine.finished
    for again in (t.ACCEPT, t.REJECT, t.RELEASE, t.ACQUIRE):
        assert machine.step(R, again) is not None


def test_a_browsed_transfer_must_be_acquired_first() -> None:
    machine = Machine(t.TRANSFER[0])
    assert machine.step(S, t.TRANSFER_NOT_ACQUIRED) is None
    refusal = machine.step(R, t.ACCEPT)
    assert refusal is not None
    assert set(refusal.legal_for(R)) == {t.ACQUIRE, t.RELEASE, t.COMPLETE}
    assert machine.step(R, t.REJECT) is not None
    assert machine.step(R, t.ACQUIRE) is None
    assert machine.step(R, t.ACCEPT) is not None
    assert machine.step(S, t.RESULT_NOT_ACQUIRED) is None
    assert machine.state == t.NOT_ACQUIRED
    assert machine.step(R, t.ACQUIRE) is None
    assert machine.step(S, t.RESULT_ACQUIRED) is None
    assert machine.step(R, t.ACCEPT) is None
    assert machine.finished


def test_completion_settles_nothing_with_explicit_accept_and_everything_without() -> None:
    explicit, none = Machine(t.TRANSFER[0]), Machine(t.TRANSFER[1])
    for machine in (explicit, none):
        assert machine.step(S, t.TRANSFER_PRE_ACQUIRED) is None
        assert machine.step(R, t.COMPLETE) is None
    assert explicit.state == t.ACQUIRED
    assert none.state == t.END
    assert none.step(R, t.ACCEPT) is not None


def test_acquire_with_no_accept_and_credit_flow() -> None:
    machine = Machine(t.TRANSFER[1])
    for speaker, verb in ((S, t.TRANSFER_NOT_ACQUIRED), (R, t.ACQUIRE), (S, t.RESULT_ACQUIRED), (R, t.COMPLETE)):
        assert machine.step(speaker, verb) is None
    assert machine.finished
