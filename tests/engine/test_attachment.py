"""Lifetime, resume and expiry."""

from __future__ import annotations

import math
import pickle

import attrs
import pytest
from tests.carriers import BareCarrier, Wire, attached_session

from amqp_sansio.engine.session import Session
from amqp_sansio.errors import SessionDetachedError
from amqp_sansio.events import (
    CommandReceived,
    CommandsCompleted,
    CommandsSkipped,
    Origin,
    SessionAttached,
    SessionDetached,
    TimeoutGranted,
    TransferReceived,
)
from amqp_sansio.kernel.serials import EMPTY, RangeSet
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec import execution, message
from amqp_sansio.spec import session as c

ALL = c.Flush(True, True, True)


def standing(session: Session) -> str:
    return session.state


def again(session: Session, max_frame_size: int = 65535) -> BareCarrier:
    """The session attached on a new transport, up to `attached`."""
    carrier = BareCarrier(session.role, max_frame_size=max_frame_size)
    if session.role == "client":
        carrier.channel(0).bind(session)
        session.attach()
        carrier.hear(c.Attached(session.name))
    else:
        carrier.hear(c.Attach(session.name))
        carrier.channel(0).accept(session)
    carrier.take()
    carrier.happened()
    return carrier


@pytest.mark.parametrize(
    ("most", "asked", "granted"),
    [(0, 60, 0), (0, None, 0), (0, 0, 0), (30, 60, 30), (30, 10, 10), (30, None, 30), (None, 60, 60), (None, None, None)],
)
def test_session_request_timeout_maximum_granted_timeout(most: int | None, asked: int | None, granted: int | None) -> None:
    carrier, session = attached_session("server", max_timeout=most)
    carrier.hear(c.RequestTimeout(asked))
    assert carrier.said() == [c.Timeout(granted)]
    assert session.timeout == granted
    assert session.resumable == (granted != 0)


def test_a_client_asks_for_the_lifetime_that_it_wants() -> None:
    carrier = BareCarrier("client")
    session = Session(b"s", "client", timeout=None)
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Attached(b"s"))
    assert carrier.said() == [c.Attach(b"s"), c.RequestTimeout(None)]
    carrier.hear(c.Timeout(45))
    assert carrier.happened() == [SessionAttached(b"s", 0), TimeoutGranted(b"s", 45)]
    assert session.timeout == 45


@pytest.mark.rule("session.request-timeout.maximum-granted-timeout")
@pytest.mark.parametrize("granted", [61, 2**32 - 1, None])
def test_a_side_that_is_granted_more_than_it_asked_for_keeps_what_it_asked_for(granted: int | None) -> None:
    carrier, session = attached_session("client", timeout=60)
    carrier.hear(c.Timeout(granted))
    assert carrier.happened()[-1] == TimeoutGranted(b"s", granted)
    assert session.timeout == 60


def test_what_deployed_brokers_grant_ends_replay() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.publish(body=b"1")
    assert session._outbound.kept
    carrier.hear(c.Timeout(0))
    assert not session._outbound.kept
    session.publish(body=b"2")
    assert not session._outbound.kept
    carrier.lost()
    assert standing(session) == "ended"
    (_, event) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert (event.ended, event.in_doubt) == (True, RangeSet([(0, 1)]))


def test_request_timeout_by_the_caller() -> None:
    carrier, session = attached_session("client")
    session.request_timeout(30)
    assert carrier.said() == [c.RequestTimeout(30)]
    session.publish(body=b"1")
    assert session._outbound.kept
    carrier.hear(c.Timeout(30))
    carrier.lost()
    assert standing(session) == "detached"


def due(session: Session) -> float | None:
    """When the session is to be ticked: asked anew each time, which the type checker does not know."""
    return session.due


def test_a_detached_session_expires_its_timeout_after_the_first_tick() -> None:
    carrier, session = attached_session("client", timeout=60)
    assert session.tick(5.0) is None
    assert due(session) is None
    carrier.lost()
    assert due(session) == -math.inf  # a tick is wanted, whatever the clock shows
    assert session.tick(107.0) == due(session) == 167.0
    assert session.tick(166.9) == 167.0
    assert standing(session) == "detached"
    assert session.tick(167.0) is due(session) is None
    assert standing(session) == "ended"
    with pytest.raises(SessionDetachedError, match="detached for 60 s"):
        session.attach()
    assert session.tick(1000.0) is None


def test_for_ever_is_for_ever_and_a_new_session_does_not_expire() -> None:
    carrier, session = attached_session("client", timeout=None)
    carrier.lost()
    assert session.tick(1e12) is None
    assert standing(session) == "detached"
    assert session.due is None
    fresh = Session(b"s", "client", timeout=5)
    assert fresh.tick(0.0) is fresh.tick(100.0) is fresh.due is None
    assert standing(fresh) == "detached"


def test_headers_are_minded_only_where_they_are_read_otherwise_than_by_default() -> None:
    """Two readings are compared by value in either build: whoever minds looks at every header on receipt."""
    for limits, minds in ((DEFAULT_LIMITS, False), (attrs.evolve(DEFAULT_LIMITS, nesting=7), True)):
        session = Session(b"s", "client", limits=limits)
        BareCarrier("client", limits=limits).channel(0).bind(session)
        assert session._minds_headers is minds


def test_resume_waits_for_what_the_other_side_expects() -> None:
    carrier, session = attached_session("client", timeout=60)
    for n in range(5):
        session.publish(body=b"%d" % n)
    carrier.hear(c.Completed(RangeSet.of(0)), c.Confirmed(RangeSet.of(1)))
    carrier.lost()
    carrier = again(session)
    assert standing(session) == "resuming"
    assert carrier.happened() == []
    with pytest.raises(SessionDetachedError, match="expects"):
        session.publish()
    carrier.hear(c.Completed(RangeSet.of(2)))
    assert carrier.happened() == [CommandsCompleted(b"s", RangeSet.of(2))]
    carrier.hear(c.Expected(RangeSet.of(4)))
    assert carrier.happened() == [SessionAttached(b"s", 0, True)]
    assert carrier.said() == [c.CommandPoint(4, 0), message.Transfer("", 1, 0), c.RequestTimeout(60)]
    session.sync()
    assert carrier.said() == [execution.Sync()]


def test_replay_points_before_every_run_and_behind_the_last() -> None:
    carrier, session = attached_session("client", timeout=60)
    for n in range(6):
        session.publish(body=b"%d" % n)
    carrier.lost()
    carrier = again(session)
    carrier.hear(c.Timeout(60), c.Expected(RangeSet.of(0, 1, 3, 6)))
    assert carrier.said() == [
        c.CommandPoint(0, 0), message.Transfer("", 1, 0), message.Transfer("", 1, 0),
        c.CommandPoint(3, 0), message.Transfer("", 1, 0),
    ]  # fmt: skip
    session.sync()
    assert carrier.said() == [c.CommandPoint(6, 0), execution.Sync()]
    assert list(session._outbound.kept) == [0, 1, 2, 3, 4, 5, 6]


def test_replay_is_framed_anew() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.publish("", message.DeliveryProperties(routing_key="k"), body=b"x" * 10000)
    carrier.lost()
    carrier = again(session, max_frame_size=4096)
    carrier.hear(c.Expected(RangeSet.of(0)))
    octets = carrier.take()
    assert octets.count(b"x") == 10000
    other, _ = attached_session("server", pointed=False, max_frame_size=4096)
    other.feed(octets)
    assert other.failed == []
    assert [event.body for event in other.happened() if isinstance(event, TransferReceived)] == [b"x" * 10000]


def test_what_does_not_fit_the_new_frames_ends_the_session() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.publish("", message.DeliveryProperties(routing_key="k"), b"\0\0\0\0" * 2000)
    carrier.lost()
    carrier = again(session, max_frame_size=4096)
    carrier.hear(c.Expected(RangeSet.of(0)))
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert (event.ended, event.origin, event.in_doubt) == (True, Origin.LOCAL, RangeSet.of(0))
    assert carrier.said() == [c.Detach(b"s")]


def test_session_expected_commands_empty_means_new_session() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.publish()
    carrier.lost()
    carrier = again(session)
    carrier.hear(c.Expected(EMPTY))
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert (event.origin, event.ended, event.in_doubt) == (Origin.PEER, True, RangeSet.of(0))
    assert carrier.said() == [c.Detach(b"s")]
    with pytest.raises(SessionDetachedError, match="lost"):
        session.publish()


@pytest.mark.rule("session.expected.include-next-command")
def test_the_other_side_has_seen_more_than_was_sent() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.publish()
    carrier.lost()
    carrier = again(session)
    carrier.hear(c.Expected(RangeSet.of(9)))
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert event.violation.rule == "session.expected.include-next-command"


def test_what_was_not_kept_ends_the_session_when_it_is_expected() -> None:
    carrier, session = attached_session("client")
    session.publish()
    session.request_timeout(30)
    session.publish()
    carrier.hear(c.Timeout(30))
    carrier.lost()
    carrier = again(session)
    carrier.hear(c.Expected(RangeSet.of(0)))
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert (event.origin, event.ended, event.in_doubt) == (Origin.LOCAL, True, RangeSet([(0, 1)]))


def test_what_was_confirmed_and_is_expected_again_is_gapped() -> None:
    carrier, session = attached_session("client", timeout=60)
    for _ in range(3):
        session.publish()
    carrier.hear(c.Confirmed(RangeSet.of(1)))
    carrier.lost()
    carrier = again(session)
    carrier.hear(c.Timeout(60), c.Expected(RangeSet.of(1)))
    assert carrier.said() == [c.Gap(RangeSet.of(1)), c.CommandPoint(2, 0), message.Transfer("", 1, 0)]
    assert carrier.happened()[-1] == SessionAttached(b"s", 0, True)


def test_a_client_that_begins_anew_gets_a_new_session() -> None:
    """A server that kept state and is told that the client has none gives the session up, since its ids would not fit, and
    says why."""
    carrier, session = attached_session("server", max_timeout=60)
    carrier.hear(c.RequestTimeout(60), message.Transfer("", 1, 0))
    carrier.lost()
    carrier = again(session)
    carrier.hear(c.Expected(EMPTY))
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.ended
    text = "session cannot be resumed: the client has no state of this session: it is lost"
    assert carrier.said() == [c.CommandPoint(0, 0), execution.Exception_(409, description=text), c.Detach(b"s")]


def test_an_attachment_that_was_never_used_is_resumed_too() -> None:
    wire = Wire(session_timeout=None)
    ours, theirs = wire.session(timeout=None)
    wire.cut()
    wire.client.happened()
    wire.client.channel(0).bind(ours)
    ours.attach()
    wire.run()
    assert wire.client.happened() == [SessionAttached(b"s", 0, True)]
    assert standing(theirs) == "attached"


def test_commands_lost_before_the_other_side_saw_any() -> None:
    wire = Wire(session_timeout=None)
    ours, _ = wire.session(timeout=None)
    ours.publish(body=b"1")
    wire.cut()
    wire.client.channel(0).bind(ours)
    ours.attach()
    wire.run()
    assert [event.body for event in wire.server.happened() if isinstance(event, TransferReceived)] == [b"1"]


def test_loss_while_resuming_and_while_attaching() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.publish(body=b"1")
    carrier.lost()
    for until_attached in (True, False, True):
        carrier = BareCarrier("client")
        carrier.channel(0).bind(session)
        session.attach()
        if until_attached:
            carrier.hear(c.Attached(b"s"))
        carrier.lost()
        assert standing(session) == "detached"
    carrier = again(session)
    carrier.hear(c.Expected(RangeSet.of(0)))
    assert carrier.happened() == [SessionAttached(b"s", 0, True)]


def test_a_snapshot_is_resumed_elsewhere() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.subscribe("q", "d").grant(5)
    session.publish(body=b"1")
    carrier.hear(message.Transfer("d", 0, 0), body=b"m")
    carrier.lost()
    other = Session.restore(pickle.loads(pickle.dumps(session.snapshot())))
    carrier = again(other)
    carrier.hear(c.Expected(RangeSet.of(4)), c.CommandPoint(0, 0))
    carrier.hear(message.Transfer("d", 0, 0), body=b"m")
    assert carrier.happened() == [SessionAttached(b"s", 0, True)]
    other.accept(0)
    assert other.subscriptions["d"].message_credit == 5
    assert message.Accept(RangeSet.of(0)) in carrier.said()


def test_gap_reaches_the_application() -> None:
    carrier, session = attached_session("server")
    carrier.hear(execution.Sync(), c.Gap(RangeSet([(1, 3)])), execution.Sync())
    assert carrier.happened() == [
        CommandReceived(b"s", 0, execution.Sync()),
        CommandsSkipped(b"s", RangeSet([(1, 3)])),
        CommandReceived(b"s", 4, execution.Sync()),
    ]
    assert carrier.said() == [c.Completed(RangeSet([(0, 4)]))]
    assert standing(session) == "attached"


def test_detach_and_attach_again_on_the_same_connection() -> None:
    wire = Wire(session_timeout=None)
    ours, _ = wire.session(timeout=60)
    ours.publish(body=b"1")
    ours.detach()
    wire.run()
    assert standing(ours) == "detached"
    wire.client.happened()
    wire.client.channel(0).bind(ours)
    ours.attach()
    wire.run()
    assert SessionAttached(b"s", 0, True) in wire.client.happened()
    ours.publish(body=b"2")
    wire.run()
    bodies = [event.body for event in wire.server.happened() if isinstance(event, TransferReceived)]
    assert bodies == [b"1", b"2"]


def test_a_session_that_was_never_attached_does_not_expire() -> None:
    carrier = BareCarrier("client")
    session = Session(b"s", "client")
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Detached(b"s", 1))
    assert session.tick(0.0) is None
    assert session.tick(100.0) is None
    assert standing(session) == "detached"


def test_a_session_that_the_other_side_may_have_made_anew_asks_to_be_kept_again() -> None:
    """Found by simulation: a server that had crashed kept nothing, because nothing had been said and nobody asked it again."""
    carrier = BareCarrier("client")
    session = Session(b"s", "client", timeout=60)
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Attached(b"s"), c.Timeout(60))
    assert carrier.said() == [c.Attach(b"s"), c.RequestTimeout(60)]
    carrier.lost()
    carrier = BareCarrier("client")
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Attached(b"s"), c.Expected(EMPTY))
    assert session.state == "attached"
    assert carrier.said() == [c.Attach(b"s"), c.Flush(True, True, True), c.RequestTimeout(60)]
