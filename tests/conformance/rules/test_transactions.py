"""The named rules of classes tx and dtx about what may be said on a session; those of branches and messages are the broker's.

Every cell of the table is tried in tests/engine/test_demarcation.py; here each rule stands by itself, as the server keeps it,
as our client does, and as an observer holds it against who breaks it.
"""

from __future__ import annotations

import pytest
from tests.conformance.rules.peers import Said, of_open_client, overheard, with_client_session, with_server_session
from tests.engine.verdicts import violation_of
from tests.subscribing import subscribed

from amqp_sansio.config import Profile, ServerConfig
from amqp_sansio.engine.demarcation import demarcation_of
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import CommandReceived, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, message, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command, Control

X, Y = dtx.Xid(0, b"x", b""), dtx.Xid(0, b"y", b"")
SPEC, QPID = (ServerConfig(profile=Profile(error_codes=codes)) for codes in ("spec", "qpid"))
SUBSCRIBE = message.Subscribe("q", "d", 1, 0)


def broken(rule: str, spec: int, qpid: int | None, *said: Command) -> None:
    """The last of the commands breaks the rule, and the others break none."""
    for config, code in ((SPEC, spec), (QPID, qpid)):
        peer, session = with_server_session(config=config)
        assert all(isinstance(event, CommandReceived) for command in said[:-1] for event in peer.say(command))
        events = peer.say(said[-1])
        if code is None:
            assert [type(event) for event in events] == [CommandReceived]
            continue
        violation = violation_of(events)
        assert (violation.rule, violation.code) == (rule, code)
        assert session.state == "ended"
    _, session = with_client_session()
    for command in said[:-1]:
        session.send(command)
    with pytest.raises(LocalProtocolError) as raised:
        session.send(said[-1])
    assert raised.value.rule == rule
    attached: list[Said] = [("C", c.Attach(b"s")), ("S", c.Attached(b"s")), ("C", c.CommandPoint(0, 0))]
    assert overheard(*attached, *[("C", command) for command in said], strict=True) == [f"C {rule}"]


@pytest.mark.rule("tx.duplicate-tracking")
@pytest.mark.parametrize("heard", [0, 1, 2])
def test_what_a_client_has_had_is_kept_from_the_application_when_it_comes_again(heard: int) -> None:
    """In a local transaction, as everywhere: the server has lost what the client said about messages, and sends all again.

    What comes in another session has another id, and the same `redelivered` mark for what was worked on and what was not: only
    the application could tell, by a message-id if the publisher gave one.
    """
    sent = [message.Transfer("d"), message.Transfer("d")]
    speaking, session = with_client_session(timeout=None)
    subscribed(session, "d")
    session.select_tx()
    assert speaking.say(c.CommandPoint(0, 0), c.Completed(RangeSet([(0, 3)])))
    first = speaking.say(*sent[:heard])
    assert [each.id for each in first if isinstance(each, TransferReceived)] == list(range(heard))
    speaking.peer.end()
    again = of_open_client()
    again.client.resume(session)
    assert session._channel is not None
    replayed: list[Control | Command] = [c.Attached(b"s"), c.Expected(RangeSet.of(4)), c.CommandPoint(0, 0)]
    replayed += [*sent, message.Transfer("d")]
    events = again.say(*replayed, channel=session._channel.number)
    assert [each.id for each in events if isinstance(each, TransferReceived)] == list(range(heard, 3))


@pytest.mark.rule("tx.select.exactly-once")
def test_a_transactional_session_is_not_made_so_again() -> None:
    broken("tx.select.exactly-once", 409, None, tx.Select(), tx.Select())
    broken("tx.select.exactly-once", 409, None, tx.Select(), tx.Commit(), tx.Select())


@pytest.mark.rule("tx.select.no-dtx")
def test_a_session_of_distributed_transactions_does_not_become_one_of_local_ones() -> None:
    broken("tx.select.no-dtx", 409, 409, dtx.Select(), tx.Select())
    broken("tx.select.no-dtx", 409, 409, dtx.Select(), dtx.Start(X), tx.Select())


@pytest.mark.rule("tx.select.explicit-accepts")
def test_a_transactional_session_has_subscriptions_with_explicit_accept_only() -> None:
    broken("tx.select.explicit-accepts", 530, None, SUBSCRIBE, tx.Select())
    broken("tx.select.explicit-accepts", 530, None, tx.Select(), SUBSCRIBE)


@pytest.mark.rule("tx.commit.select-required")
def test_only_a_transactional_session_commits() -> None:
    broken("tx.commit.select-required", 409, 503, tx.Commit())
    broken("tx.commit.select-required", 409, 409, dtx.Select(), tx.Commit())


@pytest.mark.rule("tx.rollback.select-required")
def test_only_a_transactional_session_rolls_back() -> None:
    broken("tx.rollback.select-required", 409, 503, tx.Rollback())
    broken("tx.rollback.select-required", 409, 409, dtx.Select(), dtx.Start(X), tx.Rollback())


@pytest.mark.rule("dtx.start.illegal-state")
def test_a_branch_is_started_on_a_session_that_was_selected_and_works_on_no_other() -> None:
    broken("dtx.start.illegal-state", 409, 503, dtx.Start(X))
    broken("dtx.start.illegal-state", 409, 503, tx.Select(), dtx.Start(X))
    broken("dtx.start.illegal-state", 409, 409, dtx.Select(), dtx.Start(X), dtx.Start(Y))


@pytest.mark.rule("dtx.start.join-and-resume")
def test_a_branch_is_not_joined_and_resumed_at_once() -> None:
    broken("dtx.start.join-and-resume", 530, 503, dtx.Select(), dtx.Start(X, True, True))


@pytest.mark.rule("dtx.end.illegal-state")
def test_a_branch_is_ended_on_a_session_that_was_selected() -> None:
    broken("dtx.end.illegal-state", 409, 503, dtx.End(X))
    broken("dtx.end.illegal-state", 409, 503, tx.Select(), dtx.End(X))


@pytest.mark.rule("dtx.end.suspend-and-fail")
def test_a_branch_is_not_suspended_and_failed_at_once() -> None:
    broken("dtx.end.suspend-and-fail", 530, 503, dtx.Select(), dtx.Start(X), dtx.End(X, True, True))


@pytest.mark.rule("dtx.end.xid.not-associated")
def test_the_branch_that_is_ended_is_the_one_that_the_session_works_on() -> None:
    broken("dtx.end.xid.not-associated", 409, 409, dtx.Select(), dtx.End(X))
    broken("dtx.end.xid.not-associated", 409, 503, dtx.Select(), dtx.Start(X), dtx.End(Y))
    broken("dtx.end.xid.not-associated", 409, 409, dtx.Select(), dtx.Start(X), dtx.End(X), dtx.End(X))


@pytest.mark.rule("dtx.end.suspend.resume")
def test_a_suspended_branch_is_taken_up_by_start_with_resume() -> None:
    suspended = (dtx.Select(), dtx.Start(X), dtx.End(X, suspend=True))
    for config in (SPEC, QPID):
        peer, session = with_server_session(config=config)
        for command in (*suspended, dtx.Start(X, resume=True)):
            assert [type(event) for event in peer.say(command)] == [CommandReceived]
        assert demarcation_of(session).suspended == {}
        assert [type(event) for event in peer.say(dtx.End(X))] == [CommandReceived]
        assert demarcation_of(session).state == "dtx idle"
    broken("dtx.start.illegal-state", 409, 409, *suspended, dtx.Start(Y), dtx.Start(X, resume=True))
