"""What a person may have lost on channels."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.captures.replay.channel_doubt import ChannelDoubt
from amqp_sansio.events import MethodSeen
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.connection import Close, CloseOk, Heartbeat
from amqp_sansio.spec.methods import basic, channel, confirm, queue, tx

Said = tuple[Literal["C", "S"], Method]

OPENED: list[Said] = [("C", channel.Open()), ("S", channel.OpenOk())]
PUBLISH: Said = "C", basic.Publish("", "orders")
SELECT: list[Said] = [("C", confirm.Select()), ("S", confirm.SelectOk())]
TX: list[Said] = [("C", tx.Select()), ("S", tx.SelectOk())]
ASKED: list[Said] = [("C", queue.Declare("orders")), ("S", queue.DeclareOk("orders"))]
CONSUME: list[Said] = [("C", basic.Consume("orders")), ("S", basic.ConsumeOk("me"))]
CLOSED: list[Said] = [("C", channel.Close(200)), ("S", channel.CloseOk())]
REFUSED: list[Said] = [("S", channel.Close(404)), ("C", channel.CloseOk())]


def deliver(tag: int) -> Said:
    return "S", basic.Deliver("me", tag)


def heard(said: list[Said], limits: Limits = DEFAULT_LIMITS, number: int = 1) -> ChannelDoubt:
    doubt = ChannelDoubt(limits)
    for speaker, method in said:
        doubt.method(speaker, MethodSeen(number, method.VERB, method, b""))
    return doubt


def counted(said: list[Said], limits: Limits = DEFAULT_LIMITS) -> tuple[int, int, int]:
    publishes, deliveries, commits, _ = heard(said, limits).doubt()
    return publishes, deliveries, commits


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ([PUBLISH, PUBLISH], 2),
        ([PUBLISH, *ASKED, PUBLISH], 1),
        ([("C", queue.Declare("orders")), PUBLISH, ("S", queue.DeclareOk("orders"))], 1),  # asked before the publish
        ([PUBLISH, *CLOSED], 0),
        ([PUBLISH, *REFUSED], 1),
        ([("S", channel.Close(404)), PUBLISH, ("C", channel.CloseOk())], 1),
        ([("S", channel.Close(404)), PUBLISH, *CLOSED], 1),  # both close: the server's close-ok is no word about the publish
        ([*SELECT, PUBLISH, PUBLISH, PUBLISH, ("S", basic.Ack(2))], 2),
        ([*SELECT, PUBLISH, PUBLISH, PUBLISH, ("S", basic.Ack(2, True))], 1),
        ([*SELECT, PUBLISH, PUBLISH, ("S", basic.Ack(0, True))], 0),
        ([*SELECT, PUBLISH, ("S", basic.Nack(1))], 0),  # refused, not in doubt
        ([*SELECT, PUBLISH, *ASKED], 1),
        ([*SELECT, PUBLISH, *CLOSED], 1),
        ([PUBLISH, ("C", confirm.Select(True)), PUBLISH, PUBLISH, ("S", basic.Ack(2))], 2),  # the first one and number 1
        ([PUBLISH, ("C", confirm.Select(True)), PUBLISH, ("S", basic.Ack(1, True))], 0),
        ([PUBLISH, ("C", confirm.Select(True)), PUBLISH, *ASKED], 1),
        ([*TX, PUBLISH, *ASKED], 1),
        ([*TX, PUBLISH, ("C", tx.Commit()), ("S", tx.CommitOk())], 0),
        ([*TX, PUBLISH, ("C", tx.Rollback()), ("S", tx.RollbackOk())], 0),
        ([PUBLISH, ("C", channel.Open())], 1),
    ],
)
def test_a_publish_is_in_doubt_until_the_server_has_taken_it(said: list[Said], left: int) -> None:
    assert counted([*OPENED, *said]) == (left, 0, 0)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ([*CONSUME, deliver(1), deliver(2)], 2),
        ([*CONSUME, deliver(1), deliver(2), deliver(3), ("C", basic.Ack(2))], 2),
        ([*CONSUME, deliver(1), deliver(2), deliver(3), ("C", basic.Ack(2, True))], 1),
        ([*CONSUME, deliver(1), ("C", basic.Nack(1, False, True))], 0),
        ([*CONSUME, deliver(1), ("C", basic.Reject(1))], 0),
        ([*CONSUME, deliver(1), *CLOSED], 1),
        ([*CONSUME, deliver(1), ("C", basic.Recover(True)), ("S", basic.RecoverOk()), deliver(2)], 1),
        ([*CONSUME, ("C", basic.Recover(True)), deliver(1), ("S", basic.RecoverOk())], 0),
        ([*CONSUME, deliver(1), ("C", basic.RecoverAsync(True))], 0),
        ([("C", basic.Consume("orders", no_ack=True)), ("S", basic.ConsumeOk("me")), deliver(1)], 0),
        ([("C", basic.Consume("orders", "me", no_ack=True, no_wait=True)), deliver(1)], 0),
        ([("C", basic.Get("orders")), ("S", basic.GetOk(1))], 1),
        ([("C", basic.Get("orders", True)), ("S", basic.GetOk(1))], 0),
        ([*TX, *CONSUME, deliver(1), ("C", basic.Ack(1))], 1),  # nobody commits the ack
        ([*TX, *CONSUME, deliver(1), ("C", basic.Ack(1)), ("C", tx.Commit()), ("S", tx.CommitOk())], 0),
        ([*TX, *CONSUME, deliver(1), ("C", basic.Ack(1)), ("C", tx.Rollback()), ("S", tx.RollbackOk())], 1),
        ([*CONSUME, ("S", channel.Close(404)), deliver(1)], 0),  # RabbitMQ delivers after its close, and takes it back
    ],
)
def test_a_delivery_is_in_doubt_until_the_client_has_settled_it(said: list[Said], left: int) -> None:
    assert counted([*OPENED, *said]) == (0, left, 0)


def test_a_commit_does_not_settle_what_the_client_took_back_before() -> None:
    said: list[Said] = [*OPENED, *TX, *CONSUME, deliver(1), ("C", basic.Ack(1)), ("C", tx.Rollback()), ("S", tx.RollbackOk())]
    assert counted([*said, ("C", tx.Commit()), ("S", tx.CommitOk())]) == (0, 1, 0)


def test_a_commit_is_in_doubt_until_the_server_has_answered_it() -> None:
    assert counted([*OPENED, *TX, PUBLISH, ("C", tx.Commit())]) == (1, 0, 1)
    assert counted([*OPENED, *TX, PUBLISH, ("C", tx.Commit()), ("S", tx.CommitOk())]) == (0, 0, 0)
    assert counted([*OPENED, ("C", tx.Commit()), ("S", channel.Close(406))]) == (0, 0, 0)  # the channel is not transacted


def test_the_server_takes_what_came_before_the_clients_close_of_the_connection() -> None:
    doubt = heard([*OPENED, PUBLISH])
    doubt.control("C", Close(200))
    doubt.control("S", CloseOk())
    assert doubt.doubt().publishes == 0
    doubt = heard([*OPENED, PUBLISH])
    doubt.control("S", Close(320))
    doubt.control("C", CloseOk())
    assert doubt.doubt().publishes == 1


@pytest.mark.parametrize(
    "said", [[("C", Close(200)), ("S", Heartbeat())], [("C", Close(200)), ("S", None)], [("S", CloseOk())]]
)
def test_nothing_else_that_the_server_says_of_the_connection_tells_what_it_has_taken(
    said: list[tuple[Literal["C", "S"], Control | None]],
) -> None:
    """Of None nobody can read what it is; without the client's close a close-ok answers nothing."""
    doubt = heard([*OPENED, PUBLISH])
    for speaker, control in said:
        doubt.control(speaker, control)
    assert doubt.doubt().publishes == 1


def test_an_observer_counts_nothing_of_what_it_has_missed() -> None:
    assert counted([PUBLISH, deliver(1)]) == (0, 0, 0)  # the channel was open before
    doubt = heard([*OPENED, PUBLISH])
    doubt.lost()
    assert doubt.doubt().publishes == 0
    doubt = heard([*OPENED, PUBLISH])
    doubt.method("C", MethodSeen(1, "basic.ack", None, b"?"))  # nobody can read it
    assert doubt.doubt().publishes == 0
    many = [deliver(tag) for tag in range(1, 9)] + [("C", basic.Ack(tag)) for tag in range(2, 9, 2)]
    assert counted([*OPENED, *CONSUME, *many], Limits(ranges=4)) == (0, 4, 0)
    assert counted([*OPENED, *CONSUME, *many, deliver(9), ("C", basic.Ack(9)), deliver(10)], Limits(ranges=4)) == (0, 0, 0)


def test_an_observer_counts_nothing_where_an_answer_was_captured_before_its_message() -> None:
    early = [*OPENED, *SELECT, *CONSUME, PUBLISH, deliver(1)]
    assert counted(early) == (1, 1, 0)
    assert counted([*early, ("S", basic.Ack(2)), PUBLISH]) == (0, 1, 0)
    assert counted([*early, ("C", basic.Ack(2)), deliver(2)]) == (1, 0, 0)


def test_a_delivery_that_does_not_arrive_whole_is_not_in_doubt() -> None:
    doubt = heard([*OPENED, *CONSUME])
    doubt.method("S", MethodSeen(1, "basic.deliver", deliver(1)[1], b"", complete=False))
    doubt.method("C", MethodSeen(1, "basic.publish", PUBLISH[1], b"", complete=False))
    assert doubt.doubt()[:2] == (1, 0)


@given(st.lists(st.one_of(st.just(0), st.integers(1, 20)), max_size=40), st.booleans())
def test_what_is_confirmed_and_what_is_in_doubt_are_all_that_was_published(steps: list[int], multiple: bool) -> None:
    """Whatever the order of publishes and confirms, a publish is in doubt exactly when no confirm names it."""
    said: list[Said] = [*OPENED, *SELECT]
    last, outstanding = 0, set[int]()
    for step in steps:
        if not step:
            last += 1
            outstanding.add(last)
            said.append(PUBLISH)
        elif step <= last:
            outstanding -= set(range(1, step + 1)) if multiple else {step}
            said.append(("S", basic.Ack(step, multiple)))
    assert counted(said) == (len(outstanding), 0, 0)
