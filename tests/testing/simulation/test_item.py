"""Messages and transactions, as somebody knows them who only listens."""

from __future__ import annotations

import pytest

from amqp_sansio.testing.simulation.item import Group, Item
from amqp_sansio.testing.simulation.outcome import Fault


def item(group: Group | None = None) -> Item:
    return Item(b"#1", 1, "east", "red", 4, "p", True, publish=group)


def test_a_transaction_is_committed_or_rolled_back_and_never_both() -> None:
    group = Group("t", "asked")
    group.committed()
    group.committed()
    with pytest.raises(Fault, match="was committed"):
        group.rolled_back()
    group = Group("t")
    with pytest.raises(Fault, match="it was open"):
        group.committed()


def test_a_commit_decides_about_all_of_it() -> None:
    group = Group("t", "asked")
    published, accepted = item(group), item()
    group.publishes.append(published)
    group.accepts.append(accepted)
    group.committed()
    assert (published.born, accepted.gone, accepted.certain) == ("yes", "yes", False)


def test_what_was_accepted_in_one_that_is_rolled_back_is_there_again() -> None:
    group = Group("t")
    accepted = item()
    accepted.born, accepted.accept = "yes", group
    group.accepts.append(accepted)
    group.lost()
    assert [group.outcome, accepted.accept is None, accepted.certain] == ["rolled back", True, True]


def test_what_is_not_answered_is_unknown_unless_somebody_has_decided() -> None:
    asked, decided = Group("t", "asked"), Group("u", "asked", decided=True)
    asked.lost()
    decided.lost()
    assert (asked.outcome, decided.outcome) == ("unknown", "asked")
    with pytest.raises(Fault, match="had decided"):
        decided.rolled_back()
