"""The coordinator: what a branch holds back, how it ends, and what of it is in the journal."""

from __future__ import annotations

import attrs
import pytest
from tests.broker.restarts import declared, stored
from tests.broker.restarts import say as say_all
from tests.broker.transactions.stage import ME, XID, YOU, Stage, started, with_work
from tests.steps import steps

from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.fronts.sessions.error_column import code_of
from amqp_sansio.broker.journal import BranchDecided, BranchEnded, BranchPrepared, Dequeued, Enqueued, MessageStored
from amqp_sansio.broker.model.message import ACQUIRED
from amqp_sansio.broker.model.owner import SESSION, Owner
from amqp_sansio.broker.transactions.coordinator import HEURISTICS, Branch, InDoubt, standing, xid_of
from amqp_sansio.broker.transactions.transaction_buffer import Work
from amqp_sansio.engine.demarcation import key_of
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.tables.branch import ACTIVE_ELSEWHERE, ACTIVE_HERE, ACTIVE_SUSPENDED, IDLE, UNKNOWN, Phase

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
    Work(stage.host, DEFAULT_BROKER_LIMITS).accept([stage.put(b"taken", persistent=False)])
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
    assert not Work(stage.host, DEFAULT_BROKER_LIMITS).published
    assert not Work(stage.host, DEFAULT_BROKER_LIMITS).accepted


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
        InDoubt(xids[2], None, 1, 0, octets),
        InDoubt(xids[0], None, 1, 0, octets),
        InDoubt(xids[3], XaStatus.XA_HEURCOM, 0, 0, 0),
    )


def test_recover_of_one_identity_costs_nothing_for_the_branches_of_others() -> None:
    stage = Stage()
    c = stage.coordinator
    c.restore((1, b"bob's", b""), Work(stage.host, DEFAULT_BROKER_LIMITS), 60, identity="bob")
    few = steps(lambda: c.recover(None, "bob"))
    for number in range(200):
        c.restore((1, b"%d" % number, b""), Work(stage.host, DEFAULT_BROKER_LIMITS), 60, identity="alice")
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
    branch = Branch((1, b"g", b"b"), Work(stage.host, stage.limits), 60, "alice")
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
