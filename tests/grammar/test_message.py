"""The grammars of a transfer, and of a subscription and its credit."""

from __future__ import annotations

import pytest

from amqp_sansio.grammar import message as m

PRE, NOT = "sender:message.transfer pre-acquired", "sender:message.transfer not-acquired"
ACCEPT = "recipient:message.accept"


@pytest.mark.parametrize("settle", ["accept", "reject", "release"])
def test_an_acquired_transfer_is_settled_once(settle: str) -> None:
    word = f"recipient:message.{settle}"
    assert m.explicit(True).accepts([PRE, m.COMPLETED, word, m.COMPLETED])
    assert not m.explicit(True).prefixes().accepts([PRE, word, word])


def test_what_is_looked_at_is_acquired_first() -> None:
    browse = m.explicit(False)
    assert browse.accepts([NOT, m.ACQUIRE, m.LOST, m.ACQUIRE, m.GOT, ACCEPT])
    assert browse.accepts([NOT, m.RELEASE])
    assert not browse.prefixes().accepts([NOT, ACCEPT])
    assert not browse.prefixes().accepts([NOT, m.ACQUIRE, ACCEPT])


def test_without_accept_completion_is_the_end() -> None:
    assert m.none(True).accepts([PRE, m.COMPLETED, m.COMPLETED])
    assert not m.none(True).prefixes().accepts([PRE, ACCEPT])
    assert m.none(False).accepts([NOT, m.ACQUIRE, m.COMPLETED, m.LOST])
    assert not m.none(False).prefixes().accepts([NOT, m.ACQUIRE, m.COMPLETED, m.LOST, m.ACQUIRE])
    assert not m.none(False).prefixes().accepts([NOT, m.COMPLETED, m.ACQUIRE])


def test_by_accept_mode() -> None:
    assert m.transfer(0).accepts([PRE, ACCEPT])
    assert not m.transfer(1).prefixes().accepts([PRE, ACCEPT])


BOTH = ["client:message.flow message", "client:message.flow byte"]
TRANSFER = "server:message.transfer"
STOP, STOPPED = "client:message.stop", "server:message.stop completed"


def test_both_units_before_any_transfer() -> None:
    legal = m.subscription_with_credit().prefixes()
    for given in ([], BOTH[:1], BOTH[1:]):
        assert not legal.accepts(["client:message.subscribe", *given, TRANSFER])
    assert legal.accepts(["client:message.subscribe", *BOTH, TRANSFER, TRANSFER])


def test_no_credit_behind_a_stop() -> None:
    legal = m.subscription_with_credit().prefixes()
    begun = ["client:message.subscribe", *BOTH, TRANSFER, STOP]
    assert legal.accepts([*begun, TRANSFER, STOPPED])
    assert not legal.accepts([*begun, STOPPED, TRANSFER])
    assert legal.accepts([*begun, *BOTH, STOPPED, TRANSFER])  # granted again behind the stop


def test_the_mode_is_set_without_credit_only() -> None:
    mode = "client:message.set-flow-mode"
    legal = m.subscription_with_credit().prefixes()
    assert legal.accepts(["client:message.subscribe", mode, *BOTH])
    assert not legal.accepts(["client:message.subscribe", *BOTH[:1], mode])
    assert legal.accepts(["client:message.subscribe", *BOTH, STOP, mode])
    assert not legal.accepts(["client:message.subscribe", *BOTH, STOP, *BOTH[:1], mode])
    assert legal.accepts(["client:message.subscribe", *BOTH, STOP, STOPPED, mode])


def test_transfers_until_the_cancel_is_complete() -> None:
    legal = m.subscription_with_credit().prefixes()
    begun = ["client:message.subscribe", *BOTH, "client:message.cancel", TRANSFER]
    assert legal.accepts(begun)
    assert not legal.accepts([*begun, "client:message.flow byte"])
    assert not legal.accepts([*begun, "server:message.cancel completed", TRANSFER])
