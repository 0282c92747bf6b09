"""Messages and transactions, as somebody knows them who only listens."""

from __future__ import annotations

import pytest

from amqp_sansio.engine.session import Session
from amqp_sansio.testing.simulation.ledger import Item, MessageGroup, PublishedMessages
from amqp_sansio.testing.simulation.outcome import InvariantError
from amqp_sansio.testing.simulation.session_model import Tenure


def item(group: MessageGroup | None = None) -> Item:
    return Item(b"#1", 1, "east", "red", 4, "p", True, publish=group)


def test_a_transaction_is_committed_or_rolled_back_and_never_both() -> None:
    group = MessageGroup("t", "asked")
    group.committed()
    group.committed()
    with pytest.raises(InvariantError, match="was committed"):
        group.rolled_back()
    group = MessageGroup("t")
    with pytest.raises(InvariantError, match="it was open"):
        group.committed()


def test_a_commit_decides_about_all_of_it() -> None:
    group = MessageGroup("t", "asked")
    published, accepted = item(group), item()
    group.publishes.append(published)
    group.accepts.append(accepted)
    group.committed()
    assert (published.born, accepted.gone, accepted.certain) == ("yes", "yes", False)


def test_what_was_accepted_in_one_that_is_rolled_back_is_there_again() -> None:
    group = MessageGroup("t")
    accepted = item()
    accepted.born, accepted.accept = "yes", group
    group.accepts.append(accepted)
    group.lost()
    assert [group.outcome, accepted.accept is None, accepted.certain] == ["rolled back", True, True]


def test_what_is_not_answered_is_unknown_unless_somebody_has_decided() -> None:
    asked, decided = MessageGroup("t", "asked"), MessageGroup("u", "asked", decided=True)
    asked.lost()
    decided.lost()
    assert (asked.outcome, decided.outcome) == ("unknown", "asked")
    with pytest.raises(InvariantError, match="had decided"):
        decided.rolled_back()


def tenure(name: str) -> Tenure:
    return Tenure(name, name, Session(name.encode(), "client"))


def published(ledger: PublishedMessages, group: MessageGroup | None = None) -> Item:
    item = ledger.publish("east", "red", 4, "p", True, group, False, 0)
    if group is None:
        item.born = "yes"
    return item


def test_a_message_that_nobody_sent_or_from_elsewhere_is_reported() -> None:
    ledger = PublishedMessages()
    item = published(ledger)
    assert ledger.find(item.body, "east", "red") is item
    for body, queue in ((b"?", "red"), (item.body, "blue")):
        with pytest.raises(InvariantError):
            ledger.find(body, "east", queue)


def test_nobody_gets_what_another_has() -> None:
    ledger, one, two = PublishedMessages(), tenure("one"), tenure("two")
    item = published(ledger)
    ledger.received(one, item, False, 1.0, "d")
    with pytest.raises(InvariantError, match="one has it"):
        ledger.received(two, item, True, 1.0, "d")
    one.harm(1.0)
    ledger.received(two, item, True, 1.0, "d")


def test_what_comes_again_is_marked() -> None:
    ledger, one = PublishedMessages(), tenure("one")
    item = published(ledger)
    ledger.received(one, item, False, 1.0, "d")
    ledger.released(item, False)
    ledger.received(one, item, False, 1.0, "d")  # he gave it back without a mark
    ledger.released(item, True)
    with pytest.raises(InvariantError, match="without a mark"):
        ledger.received(one, item, False, 1.0, "d")


def test_what_nobody_had_comes_in_order() -> None:
    ledger, one = PublishedMessages(), tenure("one")
    first, second = published(ledger), published(ledger)
    ledger.received(one, second, False, 1.0, "d")
    with pytest.raises(InvariantError, match="order holds"):
        ledger.received(one, first, False, 1.0, "d")


def test_what_was_taken_for_good_does_not_come() -> None:
    ledger = PublishedMessages()
    item = published(ledger)
    item.gone = "yes"
    with pytest.raises(InvariantError, match="for good"):
        ledger.received(tenure("one"), item, True, 1.0, "d")


@pytest.mark.parametrize("outcome", ["open", "rolled back"])
def test_what_is_held_back_does_not_come(outcome: str) -> None:
    ledger = PublishedMessages()
    group = ledger.group("t")
    item = published(ledger, group)
    if outcome == "rolled back":
        group.rolled_back()
    with pytest.raises(InvariantError, match="a transaction is whole or nothing"):
        ledger.received(tenure("one"), item, False, 1.0, "d")


def test_what_comes_of_a_commit_that_was_not_answered_tells_that_it_happened() -> None:
    ledger = PublishedMessages()
    group = ledger.group("t")
    item, other = published(ledger, group), published(ledger, group)
    group.outcome = "unknown"
    ledger.received(tenure("one"), item, False, 1.0, "d")
    assert (group.outcome, other.certain) == ("committed", True)


def test_what_a_prepared_branch_has_does_not_come() -> None:
    ledger, one = PublishedMessages(), tenure("one")
    group = ledger.group("t")
    item = published(ledger)
    item.accept, group.owner, group.due = group, one, 5.0
    group.accepts.append(item)
    group.promised.add("east")
    with pytest.raises(InvariantError, match="had prepared"):
        ledger.received(tenure("two"), item, True, 9.0, "d")
    group.promised.clear()
    with pytest.raises(InvariantError, match="which is open"):
        ledger.received(tenure("two"), item, True, 4.0, "d")
    ledger.received(tenure("two"), item, True, 9.0, "d")
    assert group.outcome == "rolled back"


def test_what_must_be_there_in_the_end_is() -> None:
    ledger = PublishedMessages()
    item, gone = published(ledger), published(ledger)
    gone.gone = "yes"
    ledger.drained({item.body})
    with pytest.raises(InvariantError, match="#1 is lost"):
        ledger.drained(set())


def test_half_of_a_transaction_is_reported() -> None:
    ledger = PublishedMessages()
    group = ledger.group("t")
    one, _ = published(ledger, group), published(ledger, group)
    group.outcome = "unknown"
    with pytest.raises(InvariantError, match="half of what was published"):
        ledger.drained({one.body})


def test_what_does_not_last_may_be_lost_in_a_crash_and_what_is_taken_without_accept_at_any_time() -> None:
    ledger = PublishedMessages()
    for lasts in (True, False):
        ledger.publish("east", "red", 4, "p", lasts, None, False, 0).born = "yes"
    ledger.crashed("east", 1.0)
    assert [item.certain for item in ledger.items.values()] == [True, False]
    ledger.leak("east", "red")
    assert [item.certain for item in ledger.items.values()] == [False, False]
