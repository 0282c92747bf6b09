"""What is checked before a command is said, and what saying it changes.  (Misuse verb by verb: test_session.)"""

from __future__ import annotations

import pytest
from tests.carriers import attached_session

from amqp_sansio.engine.session import Session
from amqp_sansio.engine.speaking import check_command, check_modes
from amqp_sansio.errors import EncodeError, LimitError, LocalProtocolError
from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet
from amqp_sansio.ledger.transfers import EXPLICIT, Delivery
from amqp_sansio.limits import Limits
from amqp_sansio.spec import message, queue, tx
from amqp_sansio.tables import transfer as rows


def test_a_check_changes_nothing_and_its_effect_does() -> None:
    _, session = attached_session("client")
    before = session.snapshot()
    effect = check_command(session, message.Subscribe("q", "d", 0, 0))
    assert session.snapshot() == before
    assert effect is not None
    effect(0)
    assert list(session.subscriptions) == ["d"]


def test_a_command_with_a_result_is_remembered() -> None:
    _, session = attached_session("client")
    effect = check_command(session, queue.Query("q"))
    assert effect is not None
    effect(17)
    assert session._results.asked == {17: queue.Query("q")}
    assert check_command(session, queue.Declare("q")) is None


def test_what_the_other_role_says() -> None:
    _, session = attached_session("server")
    for command in (message.Subscribe("q", "d", 0, 0), tx.Select(), queue.Declare("q"), message.Acquire(RangeSet.of(0))):
        with pytest.raises(LocalProtocolError) as raised:
            check_command(session, command)
        assert raised.value.legal == (f"client:{command.VERB}",)


@pytest.mark.parametrize(("held", "fits"), [(1, True), (2, False), (3, False)])
def test_limit_of_subscriptions(held: int, fits: bool) -> None:
    _, session = attached_session("client", limits=Limits(subscriptions=2))
    for n in range(min(held, 2)):
        session.subscribe("q", str(n))
    if fits:
        session.subscribe("q", "last")
    else:
        with pytest.raises(LimitError, match="subscriptions"):
            session.subscribe("q", "last")


def test_throttling_the_other_side() -> None:
    carrier, session = attached_session("server")
    session.send(message.SetFlowMode("", 0))
    session.send(message.Flow("", 0, 5))
    before = session._inbound.throttle
    session.send(message.Stop(""))
    session.send(message.Flow("", 0, 5))
    session.send(message.Flow("", 1, 5))
    assert before is None
    assert session._inbound.throttle is not None
    assert session._inbound.throttle.available == 5
    assert len(carrier.said()) == 6
    with pytest.raises(LocalProtocolError):
        session.send(message.Flow("d", 0, 5))


def test_modes() -> None:
    check_modes(0, 1)
    with pytest.raises(EncodeError):
        check_modes(2, 0)
    with pytest.raises(EncodeError):
        check_modes(0, 2)


def acquired_and_shown() -> Session:
    """A client with a transfer that it acquired, number 1, and one that it was shown, number 2."""
    _, session = attached_session("client")
    for id, state in ((1, rows.ACQUIRED), (2, rows.NOT_ACQUIRED)):
        session._transfers.deliveries[id] = Delivery(state, EXPLICIT, None, 7, False, 7)
    return session


def test_all_or_none() -> None:
    session = acquired_and_shown()
    for ids in (RangeSet([(1, 2)]), RangeSet([(0, 1)]), RangeSet([(1, TOP)]), EMPTY):
        with pytest.raises(LocalProtocolError):
            check_command(session, message.Accept(ids))


def test_settling_what_may_not_be_settled_raises_what_may() -> None:
    """The error lists for which transfers the word would be right, and what may be said of the one for which it is not."""
    session = acquired_and_shown()
    with pytest.raises(LocalProtocolError) as caught:
        check_command(session, message.Accept(RangeSet.of(2)))
    assert caught.value.legal == ("message.accept {1}", "message.acquire 2", "message.release 2", "session.completed 2")
    assert caught.value.rule == "message.accept.acquisition"
    with pytest.raises(LocalProtocolError) as caught:
        check_command(session, message.Release(RangeSet.of(9)))
    assert (caught.value.legal, caught.value.state) == (("message.release {1-2}",), "no such unsettled transfer")
    assert caught.value.rule == "message"


def test_a_subscription_made_while_the_session_is_detached_has_no_channel_to_learn_anew() -> None:
    """The effect of a check is there whether or not a channel is."""
    _, session = attached_session("client")
    before = check_command(session, message.Subscribe("q", "d", 0, 0))
    assert before is not None
    channel, session._channel = session._channel, None
    before(0)
    session._channel = channel
    assert list(session.subscriptions) == ["d"]
