"""Blocks of transactions, local and distributed, over good and bad connections."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conversation.stage import Stage, staged

from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.session_core import SessionCore
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.two_phase import Ask, Decide, Decision, TwoPhase
from amqp_sansio.errors import BranchFailed, LocalProtocolError, SessionFailed, TransactionFailed
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.xids import xid

XID = xid(1, b"global", b"branch")


def opened(timeout: int | None = 600) -> tuple[Stage, SessionCore]:
    stage = staged()
    core = stage.open(timeout=timeout)
    stage.get(core.execute(queue.Declare("q")))
    return stage, core


def taken(stage: Stage, core: SessionCore) -> Message:
    """A message that was on the queue."""
    core.publish("", "q", b"taken", {})
    inbox = core.subscribe("q")
    stage.run()
    message = inbox.take()
    assert message is not None
    return message


def test_a_block_that_ends_well_is_committed() -> None:
    stage, core = opened()
    core.transactions.begin()
    core.publish("", "q", b"x", {})
    stage.run()
    assert stage.depth("q") == 0
    stage.get(core.transactions.finish())
    assert stage.depth("q") == 1
    core.transactions.begin()  # and the next one
    stage.get(core.transactions.finish())


def test_a_block_that_ends_badly_has_done_nothing_and_its_messages_are_back() -> None:
    stage, core = opened()
    message = taken(stage, core)
    (inbox,) = core.inboxes.values()
    core.transactions.begin()
    core.publish("", "q", b"x", {})
    message.accept()
    stage.run()
    core.transactions.abandon()
    stage.run()
    assert stage.broker.host("").queues["q"].messages == 1
    assert [(each.body, each.redelivered) for each in inbox.messages] == [(b"taken", True)]


def test_there_is_one_block_at_a_time() -> None:
    _, core = opened()
    core.transactions.begin()
    for begin in (core.transactions.begin, lambda: core.transactions.begin_branch(XID)):
        with pytest.raises(LocalProtocolError, match="another one is open"):
            begin()


def test_behind_a_block_nothing_is_published_or_accepted() -> None:
    """The session stays transactional: a message would wait for a commit that may never come."""
    stage, core = opened()
    message = taken(stage, core)
    stage.get(core.execute(queue.Declare("out")))
    core.publish("", "out", b"before the first block it counts at once", {})
    stage.run()
    assert stage.depth("out") == 1
    core.transactions.begin()
    stage.get(core.transactions.finish())
    with pytest.raises(LocalProtocolError, match="publish is not legal: the session has had a transaction"):
        core.publish("", "out", b"x", {})
    with pytest.raises(LocalProtocolError, match="accept is not legal: the session has had a transaction"):
        message.accept()
    core.transactions.begin()
    core.publish("", "out", b"x", {})
    message.accept()  # it still can be
    stage.get(core.transactions.finish())
    assert stage.depth("out") == 2


def test_a_session_has_one_kind_of_transactions() -> None:
    stage, core = opened()
    core.transactions.begin()
    stage.get(core.transactions.finish())
    with pytest.raises(LocalProtocolError):
        core.transactions.begin_branch(XID)
    core.transactions.begin()  # the failed block is none


def test_a_block_goes_on_over_a_resumed_connection() -> None:
    stage, core = opened()
    core.transactions.begin()
    core.publish("", "q", b"before", {})
    stage.cut()
    stage.connect()
    core.publish("", "q", b"after", {})
    stage.get(core.transactions.finish())
    assert stage.depth("q") == 2


def test_a_block_that_ends_badly_while_the_connection_is_made_again_is_undone_first() -> None:
    stage, core = opened()
    message = taken(stage, core)
    core.transactions.begin()
    core.publish("", "q", b"x", {})
    message.accept()
    stage.run()
    stage.cut()
    core.transactions.abandon()
    stage.connect()
    core.transactions.begin()
    stage.get(core.transactions.finish())
    assert stage.broker.host("").queues["q"].messages == 1


def test_in_a_block_whose_session_was_lost_no_command_goes_out_and_nothing_was_done() -> None:
    stage, core = opened(timeout=0)
    core.transactions.begin()
    core.publish("", "q", b"x", {})
    stage.cut()
    stage.connect()
    assert core.speakable
    for say in (
        lambda: core.publish("", "q", b"y", {}), lambda: core.execute(queue.Purge("q")), lambda: core.execute(queue.Query("q")),
        lambda: core.subscribe("q"), core.transactions.finish,
    ):  # fmt: skip
        with pytest.raises(TransactionFailed, match="rolled back"):
            say()
    core.transactions.abandon()
    stage.get(core.sync())
    assert stage.depth("q") == 0
    core.transactions.begin()
    core.publish("", "q", b"z", {})
    stage.get(core.transactions.finish())
    assert stage.depth("q") == 1


def test_a_commit_whose_answer_was_lost_is_unknown() -> None:
    stage, core = opened(timeout=0)
    core.transactions.begin()
    core.publish("", "q", b"x", {})
    ticket = core.transactions.finish()
    stage.cut()
    assert isinstance(ticket.error, TransactionFailed)
    assert ticket.error.outcome == "unknown"


def test_a_commit_under_way_at_a_cut_has_its_answer_when_the_session_is_resumed() -> None:
    stage, core = opened()
    core.transactions.begin()
    core.publish("", "q", b"x", {})
    ticket = core.transactions.finish()
    stage.cut()
    assert not ticket.done
    stage.connect()
    assert stage.get(ticket) is None
    assert stage.depth("q") == 1


def test_giving_up_raises_that_nobody_knows() -> None:
    stage, core = opened()
    commit = core.transactions
    commit.begin()
    ticket = commit.finish()
    stage.cut()
    stage.client.give_up(OSError("gone"))
    assert isinstance(ticket.error, TransactionFailed)
    assert ticket.error.outcome == "unknown"


def test_a_branch_from_start_to_commit() -> None:
    stage, core = opened()
    words = core.transactions
    assert stage.get(words.begin_branch(XID)) == XaStatus.XA_OK
    core.publish("", "q", b"x", {})
    assert stage.get(words.finish_branch(XID)) == XaStatus.XA_OK
    assert stage.get(words.set_timeout(XID, 60)) == XaStatus.XA_OK
    assert stage.get(words.get_timeout(XID)) == 60
    assert stage.get(words.prepare(XID)) == XaStatus.XA_OK
    assert stage.get(words.recover()) == (XID,)
    assert stage.get(words.commit_branch(XID)) == XaStatus.XA_OK
    assert stage.depth("q") == 1


def test_a_branch_that_ends_badly_can_only_be_rolled_back() -> None:
    stage, core = opened()
    started = core.transactions.begin_branch(XID)
    stage.run()
    core.publish("", "q", b"x", {})
    core.transactions.abandon_branch(XID, started)
    refused = core.transactions.prepare(XID)
    stage.run()
    assert isinstance(refused.error, BranchFailed)
    assert stage.depth("q") == 0


def test_a_branch_left_before_its_start_was_answered_is_ended_behind_it() -> None:
    stage, core = opened()
    started = core.transactions.begin_branch(XID)
    core.transactions.abandon_branch(XID, started)
    stage.run()
    assert stage.get(core.transactions.rollback_branch(XID)) == XaStatus.XA_OK
    assert stage.get(core.transactions.begin_branch(xid(1, b"other", b""))) == XaStatus.XA_OK


def test_a_branch_that_cannot_be_started_is_not_ended() -> None:
    stage, core = opened()
    stage.get(core.transactions.begin_branch(XID))
    stage.get(core.transactions.finish_branch(XID))
    again = core.transactions.begin_branch(XID)
    stage.run()
    assert isinstance(again.error, SessionFailed)
    assert "530 to dtx.start" in str(again.error)
    core.transactions.abandon_branch(XID, again)


def test_a_branch_whose_start_was_answered_badly_is_not_ended_and_the_session_goes_on() -> None:
    stage, core = opened()
    stage.run()
    words = core.transactions
    stage.get(words.start(XID))
    stage.get(words.end(XID, suspend=True))
    stage.now += 100.0  # the branch times out
    stage.run()
    again = words.begin_branch(XID, resume=True)
    stage.run()
    assert isinstance(again.error, BranchFailed)
    words.abandon_branch(XID, again)
    stage.get(core.sync())
    assert not core.ended.done


def test_a_block_of_a_session_that_was_lost_says_nothing_in_the_one_that_follows() -> None:
    stage, core = opened(timeout=0)
    started = core.transactions.begin_branch(XID)
    stage.get(started)
    stage.cut()
    stage.connect()
    stage.run()
    core.transactions.abandon_branch(XID, started)
    stage.get(core.sync())
    assert not core.ended.done


def test_answers_about_branches_that_are_lost_say_so() -> None:
    stage, core = opened(timeout=0)
    stage.get(core.transactions.begin_branch(XID))
    words = core.transactions
    tickets: list[Ticket[Any]] = [words.finish_branch(XID), words.forget(XID), words.recover(), words.get_timeout(XID)]
    stage.cut()
    for error in [each.error for each in tickets]:
        assert isinstance(error, BranchFailed)
        assert error.status is None
    stage.connect()
    words.abandon_branch(XID, Ticket())  # of a session that is gone: nothing to be said


@pytest.mark.parametrize("participants", [("one",), ("one", "two")])
def test_a_two_phase_commit_is_carried_out(participants: tuple[str, ...]) -> None:
    stage, core = opened()
    branches = {name: xid(1, b"whole", name.encode()) for name in participants}
    for branch in branches.values():
        stage.get(core.transactions.begin_branch(branch))
        core.publish("", "q", b"x", {})
        stage.get(core.transactions.finish_branch(branch))
    whole = TwoPhase(branches)
    while not whole.finished:
        for action in whole.take():
            if isinstance(action, Decide):
                whole.durable()
            else:
                stage.get(core.transactions.carry_out(action, whole))
    assert whole.outcome == "committed"
    assert stage.depth("q") == len(participants)


def test_answers_that_are_lost_or_refused_reach_the_two_phase_commit() -> None:
    stage, core = opened(timeout=0)
    lost, refused = TwoPhase({"one": XID}), TwoPhase({"one": xid(1, b"unknown", b"")})
    (ask,) = lost.take()
    assert isinstance(ask, Ask)
    told = core.transactions.carry_out(ask, lost)
    stage.cut()
    assert told.done
    assert lost.awaited == ()
    stage.connect()
    (ask,) = lost.take()  # which lists what is in doubt, or asks again
    assert isinstance(ask, Ask)
    stage.get(core.transactions.carry_out(ask, lost))
    other = stage.open()
    (ask,) = refused.take()
    assert isinstance(ask, Ask)
    stage.get(other.transactions.carry_out(ask, refused))
    assert refused.awaited == ()


def test_a_list_that_is_asked_for_comes_back() -> None:
    stage, core = opened()
    whole = TwoPhase.recover(Decision((("one", XID),)))
    while not whole.finished:
        (ask,) = whole.take()
        assert isinstance(ask, Ask)
        stage.get(core.transactions.carry_out(ask, whole))
        if core.ended.done:
            core = stage.open()
    assert whole.outcome == "committed"
