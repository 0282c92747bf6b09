"""What a transaction holds back."""

from __future__ import annotations

import attrs
import pytest
from tests.broker.transactions.stage import Stage

from amqp_sansio.broker.conditions import LIMIT, Refused
from amqp_sansio.broker.fronts.sessions.error_column import code_of
from amqp_sansio.broker.journal import Dequeued, Enqueued, MessageStored, QueueDeleted
from amqp_sansio.broker.model.message import ACQUIRED, GONE
from amqp_sansio.broker.transactions.transaction_buffer import Work
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits


def work_of(stage: Stage) -> Work:
    return Work(stage.host, stage.limits)


def test_nothing_is_seen_before_commit_and_everything_after() -> None:
    stage = Stage()
    work, taken = work_of(stage), stage.put(b"taken")
    work.publish(stage.message(b"one"), [stage.queue("q"), stage.queue("t")])
    work.accept([taken])
    work.publish(stage.message(b"two"), [stage.queue("q")])
    assert (stage.on("q"), stage.on("t"), taken.state) == ([], [], ACQUIRED)
    assert work.commit() == 0
    assert (stage.on("q"), stage.on("t"), taken.state) == ([b"one", b"two"], [b"one"], GONE)
    assert not work.published
    assert not work.accepted


def test_a_commit_is_one_journal_entry_and_is_seen_when_that_is_journalled() -> None:
    stage = Stage(journal=True)
    work, taken = work_of(stage), stage.put(b"taken")
    message = stage.message(b"one")
    work.publish(message, [stage.queue("q"), stage.queue("r"), stage.queue("t")])
    work.accept([taken])
    number = work.commit([QueueDeleted("h", "other")])
    (entry,) = stage.journal.take()
    assert entry.number == number
    assert [type(each) for each in entry.operations] == [MessageStored, Enqueued, Enqueued, Dequeued, QueueDeleted]
    assert (stage.on("q"), stage.on("t")) == ([], [])
    stage.journal.journalled(number)
    assert (stage.on("q"), stage.on("r"), stage.on("t")) == ([b"one"], [b"one"], [b"one"])


def test_rollback_leaves_what_was_accepted_with_its_consumer() -> None:
    stage = Stage()
    work, taken = work_of(stage), stage.put()
    work.publish(stage.message(b"one"), [stage.queue()])
    work.accept([taken])
    assert work.rollback(requeue=False) == (taken,)
    assert (taken.state, taken.redelivered, stage.on()) == (ACQUIRED, False, [])
    assert not work.published
    assert not work.accepted
    assert work.commit() == 0
    assert stage.on() == []


def test_rollback_can_put_it_back_in_its_place() -> None:
    stage = Stage()
    work, first = work_of(stage), stage.put(b"first")
    second = stage.put(b"second")
    stage.queue().release(second)
    work.accept([first])
    assert work.rollback(requeue=True) == (first,)
    assert stage.on() == [b"first", b"second"]
    assert (first.redelivered, second.redelivered) == (True, False)


def test_work_that_is_closed_holds_nothing_back() -> None:
    stage = Stage()
    work, first, second = work_of(stage), stage.put(b"first"), stage.put(b"second")
    work.accept([first])
    work.close()
    work.publish(stage.message(b"late"), [stage.queue()])
    work.accept([second])
    assert stage.on() == [b"first", b"second"]
    assert not work.published
    assert not work.accepted


def test_a_queue_that_is_deleted_meanwhile_gets_nothing_and_gives_nothing() -> None:
    stage = Stage(journal=True)
    work, taken = work_of(stage), stage.put()
    work.publish(stage.message(b"one"), [stage.queue("q"), stage.queue("r")])
    work.accept([taken])
    stage.host.delete_queue("q")
    stage.host.declare_queue("q", durable=True)
    stage.stored()
    work.commit()
    stage.stored()
    assert (stage.on("q"), stage.on("r")) == ([], [b"one"])


def limited(**limits: int) -> BrokerLimits:
    return attrs.evolve(DEFAULT_BROKER_LIMITS, **limits)


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_limit_transaction_messages(over: int) -> None:
    """Messages and accepts together, at the limit less one, at it and beyond it."""
    stage = Stage(limits=limited(transaction_messages=3))
    work, taken = work_of(stage), stage.put()
    for number in range(2 + over):
        work.publish(stage.message(b"%d" % number), [stage.queue()])
    if over == 1:
        with pytest.raises(Refused, match="limit transaction_messages is 3; the transaction would hold 4") as told:
            work.accept([taken])
        assert (told.value.condition, code_of(told.value, "qpid"), code_of(told.value, "spec")) == (LIMIT, 506, 506)
        with pytest.raises(Refused, match="transaction_messages"):
            work.publish(stage.message(), [stage.queue()])
        assert (len(work.published), list(work.accepted)) == (3, [])
    else:
        work.accept([taken])
    work.commit()
    assert len(stage.on()) == 2 + over


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_limit_transaction_octets(over: int) -> None:
    stage = Stage()
    empty = stage.message(b"").size
    stage = Stage(limits=limited(transaction_octets=2 * empty + 100))
    work = work_of(stage)
    work.publish(stage.message(bytes(50)), [stage.queue()])
    if over == 1:
        with pytest.raises(Refused, match="limit transaction_octets is"):
            work.publish(stage.message(bytes(50 + over)), [stage.queue()])
        assert len(work.published) == 1
    else:
        work.publish(stage.message(bytes(50 + over)), [stage.queue()])
        assert work.octets == 2 * empty + 100 + over
    work.commit()
    assert work.octets == 0


@pytest.mark.parametrize("limit", ["transaction_messages", "held_messages"])
def test_a_message_for_several_queues_counts_for_each(limit: str) -> None:
    """It takes memory for each as long as it is held back: an exchange that reaches many queues must not multiply that."""
    stage = Stage()
    work = Work(stage.host, attrs.evolve(DEFAULT_BROKER_LIMITS, **{limit: 4}))
    queues = [stage.queue("q"), stage.queue("r"), stage.queue("t")]
    work.publish(stage.message(b"one"), queues)
    work.publish(stage.message(b"two"), queues[:1])
    assert stage.host.held_messages == 4
    with pytest.raises(Refused, match=f"limit {limit} is 4; .* would hold 5"):
        work.publish(stage.message(b"three"), queues[:1])
    work.rollback(requeue=False)
    assert stage.host.held_messages == 0
    with pytest.raises(Refused, match=f"limit {limit} is 4"):
        work.publish(stage.message(b"four"), [*queues, *queues])
    assert stage.host.held_messages == 0


def test_a_commit_for_which_a_queue_has_no_room_is_refused_and_changes_nothing() -> None:
    stage = Stage(limits=limited(queue_messages=2))
    work, taken = work_of(stage), stage.put()
    work.accept([taken])
    for _ in range(2):
        work.publish(stage.message(b"one"), [stage.queue()])
    with pytest.raises(Refused, match="queue_messages"):
        work.commit()
    assert (len(work.published), list(work.accepted), stage.on()) == (2, [taken], [])


def test_it_shows_how_much_it_holds_and_not_what() -> None:
    stage = Stage()
    work = work_of(stage)
    work.publish(stage.message(b"secret"), [stage.queue()])
    assert repr(work).startswith("<Work: 1 message, ")
    assert "secret" not in repr(work)
