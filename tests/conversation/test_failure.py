"""Why a session is over, and who is to hear that of it."""

from __future__ import annotations

import pytest

from amqp_sansio.conversation.failure import Failure
from amqp_sansio.conversation.ticket import seen
from amqp_sansio.errors import SessionFailed, SessionLost, SessionReopened, SharedSessionFailed
from amqp_sansio.events import Origin, SessionDetached
from amqp_sansio.kernel.serials import EMPTY
from amqp_sansio.spec import queue

DETACHED = SessionDetached(b"s", 1, Origin.PEER, 0, "gone", None, EMPTY, True)


def test_a_refusal_is_the_fault_of_the_one_whose_command_it_names() -> None:
    failure = Failure()
    assert [failure.for_others] == [None]
    failure.error = error = SessionFailed(b"s", 404, "no", "queue.delete")
    assert failure.for_others is error  # nobody knows whose it was
    failure.id = 7
    shared = failure.for_others
    assert isinstance(shared, SharedSessionFailed)
    assert (shared.code, shared.command, shared.text) == (404, "queue.delete", "no")
    assert failure.for_whom(7) is error
    assert type(failure.for_whom(8)) is type(failure.for_whom(None)) is SharedSessionFailed


def test_seeing_the_error_of_the_others_is_seeing_the_failure() -> None:
    failure = Failure()
    assert [failure.seen] == [True]
    failure.error, failure.id = SessionFailed(b"s", 404, "no"), 7
    assert [failure.seen] == [False]
    assert failure.for_others is not None
    seen(failure.for_others)
    assert failure.seen


def test_a_call_that_comes_too_late_has_sent_nothing() -> None:
    failure = Failure()
    failure.must_live()
    failure.error, failure.id = SessionFailed(b"s", 404, "no"), 7
    with pytest.raises(SharedSessionFailed, match="which was not sent") as caught:
        failure.must_live()
    assert (caught.value.sent, caught.value.__cause__) == (False, failure.error)
    assert failure.seen


def test_what_depends_on_the_refused_command_fails_with_its_refusal() -> None:
    failure, other = Failure(), SessionLost(b"s", "lost", EMPTY)
    assert failure.of(7, other) is other
    failure.error, failure.id = SessionFailed(b"s", 404, "no"), 7
    assert failure.of(7, other) is failure.error
    assert failure.of(8, other) is failure.of(None, other) is other


def test_a_detach_is_a_failure_unless_it_was_wanted_or_follows_a_refusal() -> None:
    failure = Failure()
    failure.ended(b"s", DETACHED, True)
    assert [failure.error] == [None]
    failure.ended(b"s", DETACHED, False)
    assert isinstance(failure.error, SessionLost)
    failure.error = error = SessionFailed(b"s", 404, "no")
    failure.ended(b"s", DETACHED, False)
    assert failure.error is error


def test_exclusive_queues_end_with_the_session() -> None:
    failure = Failure()
    for said in (
        queue.Declare("a", exclusive=True),
        queue.Declare("b"),
        queue.Declare("c", exclusive=True),
        queue.Declare("d", exclusive=True, passive=True),
        queue.Delete("c"),
    ):
        failure.said(said)
    failure.check(b"s")
    assert failure.over() == ("a",)
    with pytest.raises(SessionReopened, match="no longer owns its exclusive queues: 'a'"):
        failure.check(b"s")
    failure.check(b"s")
    assert failure.over() == ()
