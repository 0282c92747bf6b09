"""What a transaction holds back, and what a coordinator does with branches."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from tests.broker.branches import ME, XID, YOU, Stage, started, with_work
from tests.broker.model import things
from tests.broker.restarts import declared, stored
from tests.broker.restarts import say as say_all
from tests.steps import steps
from tests.tables.branch_cells import EXPECTED, Expected

from amqp_sansio.broker.conditions import LIMIT, Refused
from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS, code_of
from amqp_sansio.broker.fronts.sessions.holder import Unsettled
from amqp_sansio.broker.journal import (
    BranchDecided,
    BranchEnded,
    BranchPrepared,
    Dequeued,
    Enqueued,
    MessageStored,
    QueueDeleted,
)
from amqp_sansio.broker.model.message import ACQUIRED, GONE
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.subscribers import SESSION, Owner
from amqp_sansio.broker.transactions import (
    FAULT_CONDITIONS,
    HEURISTICS,
    SPARE_RANGES,
    Branch,
    InDoubtBranch,
    ProvisionalAccepts,
    Work,
    standing,
    xid_of,
)
from amqp_sansio.config import ErrorCodes
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.spec.xids import key_of
from amqp_sansio.tables import branch as b
from amqp_sansio.tables.branch import ACTIVE_ELSEWHERE, ACTIVE_HERE, ACTIVE_SUSPENDED, IDLE, UNKNOWN, Phase, Relation


def work_of(stage: Stage) -> Work:
    return Work(stage.host)


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
    stage = Stage(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, **{limit: 4}))
    work = Work(stage.host)
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


OTHER = Xid(1, b"global", b"other")
KEY = (1, b"global", b"branch")


# --- what belongs to a branch ---------------------------------------------------------------------------------------------


@pytest.mark.rule("dtx.transactionality")
def test_work_between_start_and_end_belongs_to_the_branch_and_other_work_to_none() -> None:
    stage = Stage()
    c = stage.coordinator
    assert ME not in c.working
    c.start(ME, XID)
    first = stage.work(ME)
    c.end(ME, XID, suspend=True)
    assert ME not in c.working
    c.start(ME, OTHER)
    assert stage.work(ME) is not first
    c.end(ME, OTHER)
    c.start(ME, XID, resume=True)
    assert stage.work(ME) is first
    c.end(ME, XID)
    assert ME not in c.working


def test_sessions_that_joined_share_the_work() -> None:
    stage = started()
    stage.coordinator.start(YOU, XID, join=True)
    stage.publish(b"mine", owner=ME)
    stage.publish(b"yours", owner=YOU)
    stage.coordinator.end(ME, XID)
    with pytest.raises(Refused, match="still associated"):
        stage.coordinator.prepare(XID)
    stage.coordinator.end(YOU, XID)
    assert stage.coordinator.commit(XID, one_phase=True) == (XaStatus.XA_OK, 0)
    assert stage.on() == [b"mine", b"yours"]


@pytest.mark.rule("dtx.start.illegal-state")
def test_a_session_works_on_one_branch_at_a_time() -> None:
    stage = started()
    stage.coordinator.start(YOU, OTHER)
    for join in (False, True):
        with pytest.raises(Refused, match="end its work on the other branch") as told:
            stage.coordinator.start(ME, OTHER if join else Xid(2), join)
        assert code_of(told.value, "spec") == 409
    assert list(stage.coordinator.branches) == [KEY, (1, b"global", b"other")]


def test_the_format_tells_branches_apart_and_what_is_left_out_is_empty() -> None:
    stage = Stage()
    stage.coordinator.start(ME, Xid(1, b"g", b"b"))
    stage.coordinator.end(ME, Xid(1, b"g", b"b"))
    stage.coordinator.start(ME, Xid(2, b"g", b"b"))
    stage.coordinator.end(ME, Xid(2, b"g", b"b"))
    stage.coordinator.start(ME, Xid())
    assert list(stage.coordinator.branches) == [(1, b"g", b"b"), (2, b"g", b"b"), (0, b"", b"")]


def test_a_command_without_an_xid_is_refused() -> None:
    c = Stage().coordinator
    for say in (
        lambda: c.start(ME, None), lambda: c.end(ME, None), lambda: c.prepare(None), lambda: c.commit(None),
        lambda: c.rollback(None), lambda: c.forget(None), lambda: c.get_timeout(None), lambda: c.set_timeout(None, 1),
    ):  # fmt: skip
        with pytest.raises(Refused) as told:
            say()
        assert code_of(told.value, "qpid") == code_of(told.value, "spec") == 531


# --- outcomes, and the journal --------------------------------------------------------------------------------------------


def test_a_one_phase_commit_is_one_entry() -> None:
    stage = with_work(journal=True)
    stage.stored()
    outcome = stage.coordinator.commit(XID, one_phase=True)
    (entry,) = stage.journal.take()
    assert outcome == (XaStatus.XA_OK, entry.number)
    assert [type(each) for each in entry.operations] == [MessageStored, Enqueued, Dequeued]
    assert (stage.on("q"), stage.on("t")) == ([], [])
    stage.journal.journalled(entry.number)
    assert (stage.on("q"), stage.on("t")) == ([b"published"], [b"published"])


@pytest.mark.rule("dtx.prepare.obligation-1")
def test_prepare_is_journalled_with_all_that_the_branch_holds() -> None:
    stage = with_work(journal=True)
    stage.stored()
    outcome = stage.coordinator.prepare(XID)
    (entry,) = stage.journal.take()
    assert outcome == (XaStatus.XA_OK, entry.number)
    stored, prepared = entry.operations
    assert isinstance(stored, MessageStored)
    assert stored.body == b"published"
    assert isinstance(prepared, BranchPrepared)
    assert prepared.xid == KEY
    assert prepared.published == ((stored.number, ("q",)),)
    assert prepared.accepted == (("q", stored.number + 1),)
    assert prepared.timeout == 60
    stage.journal.journalled(entry.number)
    assert stage.on() == []

    outcome = stage.coordinator.commit(XID)
    (entry,) = stage.journal.take()
    assert outcome == (XaStatus.XA_OK, entry.number)
    assert [type(each) for each in entry.operations] == [Enqueued, Dequeued, BranchEnded]  # the message is stored already
    stage.journal.journalled(entry.number)
    assert (stage.on("q"), stage.on("t")) == ([b"published"], [b"published"])


def test_a_transient_message_of_a_prepared_branch_is_stored_with_it_and_not_put_on_a_queue_in_the_journal() -> None:
    stage = started(journal=True)
    stage.publish(b"transient", persistent=False)
    Work(stage.host).accept([stage.put(b"taken", persistent=False)])
    stage.coordinator.end(ME, XID)
    stage.stored()
    stage.coordinator.prepare(XID)
    (entry,) = stage.journal.take()
    assert [type(each) for each in entry.operations] == [MessageStored, BranchPrepared]
    assert entry.operations[1] == BranchPrepared("h", KEY, [(1, ("q",))], [], 60)
    stage.coordinator.commit(XID)
    (entry,) = stage.journal.take()
    assert entry.operations == (BranchEnded("h", KEY),)


def test_a_prepared_branch_is_rolled_back_when_that_is_journalled() -> None:
    stage = with_work(journal=True)
    stage.coordinator.prepare(XID)
    stage.stored()
    outcome = stage.coordinator.rollback(XID)
    (entry,) = stage.journal.take()
    assert outcome == (XaStatus.XA_OK, entry.number)
    assert entry.operations == (BranchEnded("h", KEY),)
    assert stage.on() == []
    stage.journal.journalled(entry.number)
    assert stage.on() == [b"accepted"]
    assert [entry.redelivered for entry in stage.queue().all()] == [True]


def test_what_is_not_prepared_leaves_no_trace_in_the_journal_when_it_is_rolled_back() -> None:
    stage = with_work(journal=True)
    stage.stored()
    assert stage.coordinator.rollback(XID) == (XaStatus.XA_OK, 0)
    assert stage.journal.take() == ()
    assert stage.on() == [b"accepted"]


def test_a_branch_that_holds_nothing_is_read_only_and_forgotten() -> None:
    stage = started(journal=True)
    stage.coordinator.end(ME, XID)
    stage.stored()
    assert stage.coordinator.prepare(XID) == (XaStatus.XA_RDONLY, 0)
    assert (stage.coordinator.branches, stage.journal.take()) == ({}, ())


def test_the_xid_of_a_completed_branch_can_be_used_again() -> None:
    stage = with_work()
    stage.coordinator.commit(XID, one_phase=True)
    assert stage.coordinator.start(ME, XID).status is XaStatus.XA_OK
    assert not Work(stage.host).published
    assert not Work(stage.host).accepted


@pytest.mark.rule("dtx.prepare.obligation-2")
def test_a_prepared_branch_is_known_until_it_is_completed() -> None:
    """Neither time, nor the end of sessions, nor other branches make the coordinator forget it."""
    stage = with_work(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, branches=1))
    c = stage.coordinator
    c.prepare(XID)
    c.set_timeout(XID, 1)
    assert c.tick(0.0) is None
    c.tick(1e9)
    c.owner_ended(ME)
    with pytest.raises(Refused, match="limit branches"):
        c.start(YOU, OTHER)
    assert c.recover() == (XID,)
    assert c.commit(XID).status is XaStatus.XA_OK
    assert c.recover() == ()


@pytest.mark.parametrize("one_phase", [True, False])
def test_a_queue_without_room_refuses_a_commit_and_a_prepare_and_nothing_has_changed(one_phase: bool) -> None:
    stage = Stage(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, queue_messages=1))
    stage.coordinator.start(ME, XID)
    stage.publish(b"one")
    stage.publish(b"two")
    stage.coordinator.end(ME, XID)
    with pytest.raises(Refused, match="queue_messages"):
        _ = stage.coordinator.commit(XID, True) if one_phase else stage.coordinator.prepare(XID)
    assert stage.coordinator.branches[KEY].phase is Phase.OPEN
    assert stage.coordinator.rollback(XID).status is XaStatus.XA_OK


def test_a_prepared_branch_is_committed_even_when_its_queue_has_filled_up() -> None:
    stage = Stage(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, queue_messages=1))
    stage.coordinator.start(ME, XID)
    stage.publish(b"in the branch")
    stage.coordinator.end(ME, XID)
    stage.coordinator.prepare(XID)
    stage.host.enqueue(stage.message(b"before"), [stage.queue()])
    assert stage.coordinator.commit(XID).status is XaStatus.XA_OK
    assert stage.on() == [b"before", b"in the branch"]


# --- recovery and administrators --------------------------------------------------------------------------------------------


def test_recover_names_what_is_prepared_or_decided_in_the_order_of_their_prepares() -> None:
    stage = Stage()
    c = stage.coordinator
    xids = [Xid(1, b"%d" % number, b"") for number in range(4)]
    for xid in xids:
        c.start(ME, xid)
        stage.publish(b"in %s" % xid.global_id)
        c.end(ME, xid)
    for xid in (xids[2], xids[0], xids[3]):
        c.prepare(xid)
    c.complete(xids[3], XaStatus.XA_HEURCOM)
    assert c.recover() == (xids[2], xids[0], xids[3])
    octets = stage.message(b"in 0").size
    assert c.in_doubt == (
        InDoubtBranch(xids[2], None, 1, 0, octets),
        InDoubtBranch(xids[0], None, 1, 0, octets),
        InDoubtBranch(xids[3], XaStatus.XA_HEURCOM, 0, 0, 0),
    )


def test_recover_of_one_identity_costs_nothing_for_the_branches_of_others() -> None:
    stage = Stage()
    c = stage.coordinator
    c.restore((1, b"bob's", b""), Work(stage.host), 60, identity="bob")
    few = steps(lambda: c.recover(None, "bob"))
    for number in range(200):
        c.restore((1, b"%d" % number, b""), Work(stage.host), 60, identity="alice")
    assert steps(lambda: c.recover(None, "bob")) == few
    assert c.recover(None, "bob") == (Xid(1, b"bob's", b""),)
    assert (len(c.recover(None, "alice")), len(c.recover())) == (200, 201)
    assert c.rollback(Xid(1, b"bob's", b"")).status is XaStatus.XA_OK
    assert c.recover(None, "bob") == ()


@pytest.mark.parametrize(
    ("status", "on_q", "operations"),
    [
        (XaStatus.XA_HEURCOM, [b"published"], [Enqueued, Dequeued, BranchDecided]),
        (XaStatus.XA_HEURRB, [b"accepted"], [BranchDecided]),
        (XaStatus.XA_HEURHAZ, [b"accepted"], [BranchDecided]),
        (XaStatus.XA_HEURMIX, [b"accepted", b"published"], [Enqueued, BranchDecided]),
    ],
)
def test_an_administrator_decides_and_the_manager_gets_the_decision_until_it_forgets(
    status: XaStatus, on_q: list[bytes], operations: list[type]
) -> None:
    stage = with_work(journal=True)
    c = stage.coordinator
    c.prepare(XID)
    stage.stored()
    number = c.complete(XID, status)
    (entry,) = stage.journal.take()
    assert [type(each) for each in entry.operations] == operations
    assert entry.operations[-1] == BranchDecided("h", KEY, int(status))
    assert stage.on() == []
    assert c.commit(XID) == (status, number)  # which is not to be said before the decision is journalled
    stage.journal.journalled(number)
    assert stage.on() == on_q
    assert c.commit(XID, one_phase=True) == (status, number)
    assert c.rollback(XID) == (status, number)
    assert c.recover() == (XID,)
    c.forget(XID)
    (entry,) = stage.journal.take()
    assert entry.operations == (BranchEnded("h", KEY),)
    assert c.recover() == ()
    assert [entry.state for entry in stage.queue().all() if entry.state == ACQUIRED] == []


@pytest.mark.parametrize("status", [XaStatus.XA_OK, XaStatus.XA_RBROLLBACK, 4])
def test_an_administrator_can_decide_what_there_is_to_decide(status: XaStatus) -> None:
    stage = with_work()
    with pytest.raises(LocalProtocolError, match="is not legal in state idle"):
        stage.coordinator.complete(XID, XaStatus.XA_HEURCOM)
    with pytest.raises(LocalProtocolError, match="is not legal in state unknown"):
        stage.coordinator.complete(OTHER, XaStatus.XA_HEURCOM)
    stage.coordinator.prepare(XID)
    if status == 4:
        assert stage.coordinator.complete(XID, status) == 0
    else:
        with pytest.raises(LocalProtocolError, match="XA_HEURCOM"):
            stage.coordinator.complete(XID, status)
        assert stage.coordinator.branches[KEY].phase is Phase.PREPARED


def test_all_four_decisions_are_heuristic_statuses() -> None:
    assert sorted(HEURISTICS) == [3, 4, 5, 6]


# --- the end of a session -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suspended", [False, True])
@pytest.mark.rule("dtx.end.session-closed")
def test_the_branches_of_a_session_that_ends_can_only_be_rolled_back(suspended: bool) -> None:
    stage = started()
    c = stage.coordinator
    stage.publish(b"published")
    if suspended:
        c.end(ME, XID, suspend=True)
        c.start(ME, OTHER)
    c.owner_ended(ME)
    assert ME not in c.working
    assert c.prepare(XID).status is XaStatus.XA_RBROLLBACK
    assert c.rollback(XID).status is XaStatus.XA_OK
    if suspended:
        assert c.prepare(OTHER).status is XaStatus.XA_RBROLLBACK
    assert stage.on() == []


def test_sessions_that_joined_a_branch_learn_at_their_end_that_it_must_be_rolled_back() -> None:
    stage = started()
    c = stage.coordinator
    c.start(YOU, XID, join=True)
    c.owner_ended(ME)
    stage.publish(b"in vain", owner=YOU)
    assert c.end(YOU, XID).status is XaStatus.XA_RBROLLBACK
    assert c.commit(XID, one_phase=True).status is XaStatus.XA_RBROLLBACK
    assert (stage.on(), c.branches) == ([], {})


def test_the_end_of_a_session_without_a_branch_changes_nothing() -> None:
    stage = started()
    stage.coordinator.owner_ended(YOU)
    assert stage.coordinator.branches[KEY].phase is Phase.OPEN


def test_how_it_stands_depends_on_the_session_that_asks() -> None:
    stage = Stage()
    branch = Branch((1, b"g", b"b"), Work(stage.host), 60, "alice")
    here, suspended, elsewhere = Owner(SESSION), Owner(SESSION), Owner(SESSION)
    assert (standing(None, here), standing(branch, here)) == (UNKNOWN, IDLE)
    branch.sessions.update({here: True, suspended: False})
    assert [standing(branch, owner) for owner in (here, suspended, elsewhere)] == [
        ACTIVE_HERE,
        ACTIVE_SUSPENDED,
        ACTIVE_ELSEWHERE,
    ]
    assert (branch.evictable, branch.in_doubt) == (False, False)
    branch.phase = Phase.TIMED_OUT
    assert not branch.evictable
    branch.sessions.clear()
    assert branch.evictable


def test_an_xid_and_its_parts() -> None:
    assert xid_of(key_of(Xid(7, b"g", b"b"))) == Xid(7, b"g", b"b")


def test_of_a_prepared_branch_the_journal_has_what_is_for_durable_queues_that_are_there() -> None:
    """Of what a prepared branch has published, nothing is written down for a queue that is transient or gone."""
    world, client, session = declared()
    say_all(client, session, queue.Declare("gone", durable=True))
    for name in ("q", "t", "gone"):
        say_all(client, session, exchange.Bind(name, "amq.fanout", ""))
    say_all(client, session, dtx.Select(), dtx.Start(XID))
    session.send(message.Transfer("amq.fanout", 1, 0), DeliveryProperties(delivery_mode=2), body=b"x")
    say_all(client, session, queue.Delete("gone"), dtx.End(XID))
    session.send(dtx.Prepare(XID))
    world.run()
    (done,) = [each for entry in stored(world) for each in entry.operations if isinstance(each, BranchPrepared)]
    assert [names for _, names in done.published] == [("q",)]


def test_a_branch_has_60_seconds_from_the_first_tick_after_its_start() -> None:
    stage = with_work()
    c = stage.coordinator
    assert c.get_timeout(XID) == 60
    assert c.tick(1000.0) == 1060.0
    assert c.tick(1059.9) == 1060.0
    assert stage.on() == []
    assert c.tick(1060.0) is None
    assert stage.on() == [b"accepted"]  # at once, and not when somebody asks
    assert c.prepare(XID).status is XaStatus.XA_RBTIMEOUT
    assert c.branches == {}


def test_a_session_that_still_works_on_a_branch_that_timed_out_works_in_vain() -> None:
    stage = started()
    c = stage.coordinator
    stage.work().accept([stage.put(b"first")])
    c.tick(0.0)
    c.tick(60.0)
    stage.publish(b"late")
    stage.work().accept([stage.put(b"second")])
    assert stage.on() == [b"first", b"second"]
    assert c.end(ME, XID).status is XaStatus.XA_RBTIMEOUT
    assert c.rollback(XID).status is XaStatus.XA_RBTIMEOUT
    assert stage.on() == [b"first", b"second"]


@pytest.mark.rule("dtx.set-timeout.effective", "dtx.set-timeout.reset")
def test_a_timeout_that_is_set_counts_until_it_is_set_again_and_zero_is_the_default() -> None:
    stage = started()
    c = stage.coordinator
    c.set_timeout(XID, 3600)
    assert (c.get_timeout(XID), c.tick(0.0)) == (3600, 3600.0)
    c.end(ME, XID, suspend=True)
    c.start(ME, XID, resume=True)
    assert (c.get_timeout(XID), c.tick(100.0)) == (3600, 3600.0)
    c.set_timeout(XID, 2)
    assert (c.get_timeout(XID), c.tick(100.0)) == (2, 102.0)
    c.set_timeout(XID, 0)
    assert (c.get_timeout(XID), c.tick(101.0)) == (60, 161.0)
    c.set_timeout(XID, None)
    assert (c.get_timeout(XID), c.tick(101.0)) == (60, 161.0)
    with pytest.raises(Refused, match="too long") as told:
        c.set_timeout(XID, 3601)
    assert code_of(told.value, "qpid") == code_of(told.value, "spec") == 542
    assert (c.get_timeout(XID), c.tick(101.0)) == (60, 161.0)


def test_a_branch_that_can_only_be_rolled_back_times_out_too() -> None:
    stage = with_work()
    c = stage.coordinator
    c.start(ME, XID, join=True)
    c.owner_ended(ME)
    c.tick(0.0)
    c.tick(60.0)
    assert stage.on() == [b"accepted"]
    assert c.rollback(XID).status is XaStatus.XA_RBTIMEOUT


def test_a_timeout_that_is_set_too_late_has_no_effect() -> None:
    stage = with_work()
    c = stage.coordinator
    c.tick(0.0)
    c.tick(60.0)
    c.set_timeout(XID, 100)
    assert c.tick(61.0) is None
    assert c.get_timeout(XID) == 100
    assert c.commit(XID, one_phase=True).status is XaStatus.XA_RBTIMEOUT


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_limit_branches(over: int) -> None:
    """Branches at the limit less one, at it and beyond it; one that was forgotten makes room for another."""
    stage = Stage(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, branches=3))
    c = stage.coordinator
    owners = [Owner(SESSION) for _ in range(3)]
    for number in range(3 + min(over, 0)):
        c.start(owners[number], Xid(number))
    if over == 1:
        with pytest.raises(Refused, match="limit branches is 3") as told:
            c.start(ME, XID)
        assert (told.value.condition, code_of(told.value, "qpid")) == (LIMIT, 506)
        assert len(c.branches) == 3
        c.end(owners[0], Xid(0))
        c.rollback(Xid(0))
        assert c.start(ME, XID).status is XaStatus.XA_OK
    assert len(c.branches) == 3 + min(over, 0)


def test_a_branch_that_timed_out_and_that_nobody_asks_for_makes_room() -> None:
    stage = Stage(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, branches=2))
    c = stage.coordinator
    one, other = Owner(SESSION), Owner(SESSION)
    c.start(one, Xid(1))
    c.start(other, Xid(2))
    c.tick(0.0)
    c.tick(60.0)
    with pytest.raises(Refused, match="limit branches"):
        c.start(ME, XID)  # somebody has not heard of either yet
    c.owner_ended(other)
    c.end(one, Xid(1))
    c.start(ME, XID)
    assert [xid[0] for xid in c.branches] == [1, 1]
    with pytest.raises(Refused) as told:
        c.rollback(Xid(2))
    assert code_of(told.value, "qpid") == 404


STATUS = {
    "ok": XaStatus.XA_OK,
    "rb": XaStatus.XA_RBROLLBACK,
    "rbtime": XaStatus.XA_RBTIMEOUT,
    "rdonly": XaStatus.XA_RDONLY,
    "told": XaStatus.XA_HEURMIX,
}


def reach(stage: Stage, state: b.Standing, nothing: bool) -> None:
    """Brings the branch there, with some work in it unless it is to hold nothing back."""
    c = stage.coordinator
    if state.phase is Phase.UNKNOWN:
        return
    assert c.start(YOU, XID).status is XaStatus.XA_OK
    if not nothing or state in (b.PREPARED, b.HEURISTIC):
        stage.publish(b"in the branch", owner=YOU)
        stage.work(YOU).accept([stage.put(b"accepted")])
    if state.relation in (Relation.HERE, Relation.SUSPENDED):
        c.start(ME, XID, join=True)
        if state.relation is Relation.SUSPENDED:
            c.end(ME, XID, suspend=True)
    if state.relation is not Relation.ELSEWHERE:
        c.end(YOU, XID)
    if state.phase is Phase.ROLLBACK_ONLY:
        third = Owner(SESSION)
        c.start(third, XID, join=True)
        c.end(third, XID, fail=True)
    elif state.phase is Phase.TIMED_OUT:
        c.tick(0.0)
        c.tick(c.default_timeout)
    elif state in (b.PREPARED, b.HEURISTIC):
        c.prepare(XID)
        if state == b.HEURISTIC:
            c.complete(XID, XaStatus.XA_HEURMIX)


def say(stage: Stage, verb: str) -> object:
    c = stage.coordinator
    said: dict[str, Callable[[], object]] = {
        b.START: lambda: c.start(ME, XID),
        b.START_JOIN: lambda: c.start(ME, XID, join=True),
        b.START_RESUME: lambda: c.start(ME, XID, resume=True),
        b.START_JOIN_RESUME: lambda: c.start(ME, XID, True, True),
        b.END: lambda: c.end(ME, XID),
        b.END_SUSPEND: lambda: c.end(ME, XID, suspend=True),
        b.END_FAIL: lambda: c.end(ME, XID, fail=True),
        b.END_SUSPEND_FAIL: lambda: c.end(ME, XID, True, True),
        b.PREPARE: lambda: c.prepare(XID),
        b.PREPARE_NOTHING: lambda: c.prepare(XID),
        b.COMMIT: lambda: c.commit(XID),
        b.COMMIT_ONE_PHASE: lambda: c.commit(XID, one_phase=True),
        b.ROLLBACK: lambda: c.rollback(XID),
        b.FORGET: lambda: c.forget(XID),
        b.GET_TIMEOUT: lambda: c.get_timeout(XID),
        b.SET_TIMEOUT: lambda: c.set_timeout(XID, 3600),
        b.SET_TIMEOUT_TOO_LONG: lambda: c.set_timeout(XID, 3601),
    }
    return said[verb]()


def stands(stage: Stage) -> b.Standing:
    return standing(stage.coordinator.branches.get(key_of(XID)), ME)


@pytest.mark.parametrize("codes", ["qpid", "spec"])
@pytest.mark.parametrize("expected", EXPECTED, ids=lambda cell: cell.id)
@pytest.mark.rule(
    "dtx.start.illegal-state",
    "dtx.start.already-known",
    "dtx.start.join-and-resume",
    "dtx.start.xid.unknown-xid",
    "dtx.end.illegal-state",
    "dtx.end.suspend-and-fail",
    "dtx.end.success",
    "dtx.end.xid.not-associated",
    "dtx.end.fail.failure",
    "dtx.end.suspend.resume",
    "dtx.commit.illegal-state",
    "dtx.commit.xid.unknown-xid",
    "dtx.commit.xid.not-disassociated",
    "dtx.commit.one-phase.one-phase",
    "dtx.commit.one-phase.two-phase",
    "dtx.forget.illegal-state",
    "dtx.forget.xid.unknown-xid",
    "dtx.forget.xid.not-disassociated",
    "dtx.get-timeout.xid.unknown-xid",
    "dtx.prepare.illegal-state",
    "dtx.prepare.xid.unknown-xid",
    "dtx.prepare.xid.not-disassociated",
    "dtx.rollback.illegal-state",
    "dtx.rollback.xid.unknown-xid",
    "dtx.rollback.xid.not-disassociated",
    "dtx.set-timeout.xid.unknown-xid",
)
def test_a_cell(expected: Expected, codes: ErrorCodes) -> None:
    nothing = expected.verb == b.PREPARE_NOTHING
    stage = Stage(journal=True)
    reach(stage, expected.state, nothing)
    stage.stored()
    assert stands(stage) == expected.state
    if expected.spec is not None:
        before = repr(stage.coordinator.branches)
        with pytest.raises(Refused) as told:
            say(stage, expected.verb)
        assert code_of(told.value, codes) == (expected.spec if codes == "spec" else expected.qpid)
        assert "legal now: " in told.value.text
        assert repr(stage.coordinator.branches) == before
    else:
        answer = say(stage, expected.verb)
        if expected.status:
            assert isinstance(answer, tuple)
            assert answer[0] is STATUS[expected.status]
    assert stands(stage) == expected.next_state
    stage.stored()
    if expected.next_state == b.UNKNOWN and expected.state.phase not in (Phase.UNKNOWN, Phase.HEURISTIC) and not nothing:
        committed = expected.verb in (b.COMMIT, b.COMMIT_ONE_PHASE) and expected.status == "ok"
        assert stage.on() == ([b"in the branch"] if committed else [b"accepted"])
    elif expected.state.phase in (Phase.OPEN, Phase.ROLLBACK_ONLY, Phase.PREPARED) and not nothing:
        assert stage.on() == []


NAMED_OTHERWISE = {"dtx.commit.illegal-state", "dtx.rollback.illegal-state"}
"""Every wrong moment for these has a name of its own: a session still works on it, one phase for two, two for one."""
PERMITTED = {"dtx.end.success", "dtx.end.fail.failure", "dtx.end.suspend.resume"}
"""What these name is an answer, not a refusal."""


def test_a_rule_that_is_carried_is_that_of_a_cell() -> None:
    """One test carries many paths: each is the rule by which some cell refuses, or one of the above."""
    carried = {path for mark in test_a_cell.pytestmark if mark.name == "rule" for path in mark.args}  # type: ignore[attr-defined]
    refused = {cell.answer.rule for cell in b.CELLS.values() if isinstance(cell.answer, b.Fault)}
    assert carried == refused - {""} | NAMED_OTHERWISE | PERMITTED


def test_every_fault_of_the_table_is_a_row_of_the_errors_of_the_model() -> None:
    for cell in b.CELLS.values():
        if isinstance(cell.answer, b.Fault):
            column = COLUMNS[FAULT_CONDITIONS[b.command(cell.verb), cell.answer]]
            assert (column.rule, column.spec, column.qpid) == (
                cell.answer.rule, cell.answer.spec, cell.answer.qpid,
            )  # fmt: skip


def provisional_accepts(*ids: int) -> ProvisionalAccepts:
    """These ids, which no open transaction has accepted."""
    found, q = ProvisionalAccepts(), Queue("q")
    for id in ids:
        entry = q.put(things.message(body=b"%d" % id))
        q.acquire(entry)
        found[id] = Unsettled(entry, True, True)
    return found


def texts(found: ProvisionalAccepts) -> list[bytes]:
    return [entry.message.body for entry in found.entries()]


def test_a_rollback_leaves_all_of_them_and_a_commit_those_that_were_not_accepted() -> None:
    found = provisional_accepts(3, 5, 7)
    found.accept(RangeSet.of(3, 7))
    assert (found.accepted_ids(), texts(found)) == (RangeSet.of(3, 7), [b"3", b"7"])
    found.rollback()
    assert (found.accepted_ids(), texts(found), sorted(found)) == (RangeSet(), [], [3, 5, 7])
    found.accept(RangeSet.of(5))
    found.commit()
    assert (sorted(found), found.accepted_ids()) == ([3, 7], RangeSet())


def test_what_comes_later_is_accepted_only_when_it_is_named_again() -> None:
    found = provisional_accepts(3)
    found.accept(RangeSet([(0, 0x7FFFFFF0)]))
    found.commit()
    found[9] = Unsettled(Queue("q").put(things.message()), True, True)
    assert found.accepted_ids() == RangeSet()


def test_ids_of_which_nothing_is_here_are_not_kept_without_end() -> None:
    found = provisional_accepts(*range(0, 40, 2))
    for number in range(1000):
        found.accept(RangeSet.of(4 * number, 1_000_000 + 4 * number))
        assert found.accepted.range_count <= 2 * len(found) + SPARE_RANGES
    assert found.accepted_ids() == RangeSet.of(*range(0, 40, 4))
