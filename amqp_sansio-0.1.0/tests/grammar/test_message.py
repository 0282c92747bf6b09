"""The grammar of a transfer."""

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
