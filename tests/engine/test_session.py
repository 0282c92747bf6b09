"""What a caller says on a session, and what it may not say."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from tests.carriers import BareCarrier, attached_session
from tests.engine.delivered import with_transfers

from amqp_sansio.config import Profile
from amqp_sansio.engine.connection import Role
from amqp_sansio.engine.inbound import _emit, complete_one
from amqp_sansio.engine.session import Session, State, as_ids
from amqp_sansio.errors import (
    ConnectionClosedError,
    EncodeError,
    LimitError,
    LocalProtocolError,
    NoCredit,
    SessionDetachedError,
)
from amqp_sansio.events import (
    CommandReceived,
    CommandsCompleted,
    ExceptionReceived,
    Origin,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.limits import Limits
from amqp_sansio.spec import execution, message, queue
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.tables.session import ENDPOINT, EXPECTED


def test_command_point_goes_before_the_first_command_only() -> None:
    carrier, session = attached_session("client")
    assert session.send(queue.Declare("q")) == 0
    assert session.sync() == 1
    assert carrier.said() == [c.CommandPoint(0, 0), queue.Declare("q"), execution.Sync()]


def test_ids_go_around() -> None:
    carrier, session = attached_session("client")
    session._outbound.next_id = 0xFFFFFFFF
    assert session.sync() == 0xFFFFFFFF
    assert session.sync() == 0
    assert carrier.said() == [c.CommandPoint(0xFFFFFFFF, 0), execution.Sync(), execution.Sync()]
    assert session.in_doubt == RangeSet([(0xFFFFFFFF, 0)])


def test_a_message_in_frames() -> None:
    header = message.DeliveryProperties(routing_key="k")
    for body_octets in (0, 1, 4084, 4085, 20000):
        rich = (header, message.MessageProperties(content_length=body_octets))
        several: tuple[tuple[Struct, ...], ...] = ((), (header,), rich)
        for headers in several:
            carrier, session = attached_session("client", max_frame_size=4096)
            body = b"x" * body_octets
            session.publish("ex", *headers, body=body, sync=True)
            other, theirs = attached_session("server", pointed=False, max_frame_size=4096)
            other.feed(carrier.take())
            (event,) = other.happened()
            raw = b"".join([carrier.layout.encode_struct32(struct) for struct in headers])
            assert event == TransferReceived(b"s", 0, message.Transfer("ex", 1, 0), raw, body, True)
            assert other.failed == []
            assert theirs._inbound.outstanding.freeze() == RangeSet.of(0)


def test_header_octets_can_be_forwarded_as_they_are() -> None:
    carrier, session = attached_session("client")
    raw = carrier.layout.encode_struct32(message.DeliveryProperties(routing_key="k"))
    session.publish("", raw, body=b"1")
    first = carrier.take()
    session.publish("", message.DeliveryProperties(routing_key="k"), body=b"1")
    assert first.endswith(carrier.take())


def test_what_is_done_while_detached_is_reported_when_resumed() -> None:
    carrier, session = attached_session("server", timeout=60)
    carrier.hear(queue.Declare("q"), queue.Declare("r"))
    carrier.lost()
    session.complete(0)
    carrier = BareCarrier("server")
    carrier.hear(c.Attach(b"s"))
    carrier.channel(0).accept(session)
    carrier.take()
    session.complete(1)
    carrier.hear(c.Flush(False, False, True))
    assert carrier.said()[0] == c.Completed(RangeSet([(0, 1)]), True)


def test_commands_that_come_while_it_resumes_are_handed_out_behind_attached() -> None:
    carrier, session = attached_session("server", timeout=60)
    carrier.lost()
    carrier.happened()
    carrier = BareCarrier("server")
    carrier.hear(c.Attach(b"s"))
    carrier.channel(0).accept(session)
    carrier.happened()
    carrier.hear(c.CommandPoint(0, 0), queue.Declare("q"))
    assert carrier.happened() == []
    carrier.hear(c.Expected(RangeSet.of(0)))
    attached, declare = carrier.happened()
    assert isinstance(attached, SessionAttached)
    assert isinstance(declare, CommandReceived)


def test_commands_that_wait_are_handed_out_before_the_session_is_lost_again() -> None:
    carrier, session = attached_session("server", timeout=60)
    carrier.lost()
    carrier = BareCarrier("server")
    carrier.hear(c.Attach(b"s"))
    carrier.channel(0).accept(session)
    carrier.hear(c.CommandPoint(0, 0), queue.Declare("q"))
    carrier.happened()
    carrier.lost()
    declare, detached = carrier.happened()
    assert isinstance(declare, CommandReceived)
    assert isinstance(detached, SessionDetached)


def test_complete_gathers_and_writes_once() -> None:
    carrier, session = attached_session("server")
    for _ in range(4):
        carrier.hear(queue.Declare("q"))
    session.complete(0)
    session.complete([1, 3])
    assert carrier.said() == [c.Completed(RangeSet.of(0, 1, 3))]
    assert carrier.said() == []
    session.complete(RangeSet.of(2))
    assert carrier.said() == [c.Completed(RangeSet([(0, 3)]))]
    carrier.hear(c.KnownCompleted(RangeSet([(0, 2)])))
    carrier.hear(queue.Declare("q"))
    session.complete(4)
    assert carrier.said() == [c.Completed(RangeSet([(3, 4)]))]


def test_many_ranges_take_several_controls() -> None:
    carrier, session = attached_session("server", max_frame_size=4096)
    carrier.hear(c.CommandPoint(0, 0))
    for n in range(1200):
        carrier.hear(queue.Declare("q"))
        if n % 2:
            session.complete(n)
    said = carrier.said()
    assert [type(control) for control in said] == [c.Completed] * 2
    assert all(isinstance(control, c.Completed) and control.timely_reply for control in said)


def test_result_goes_before_completed_and_once() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Query("q"), queue.Declare("q"))
    with pytest.raises(LocalProtocolError) as raised:
        session.complete([0, 1])
    assert raised.value.legal == ("execution.result for 0: queue.queue-query-result",)
    with pytest.raises(LocalProtocolError, match="another result"):
        session.result(0, message.Acquired(RangeSet()))
    session.result(0, queue.QueueQueryResult("q"))
    with pytest.raises(LocalProtocolError, match="no result is owed"):
        session.result(0, queue.QueueQueryResult("q"))
    with pytest.raises(LocalProtocolError):
        session.result(1)
    session.complete([0, 1])
    said = carrier.said()
    assert said == [
        c.CommandPoint(0, 0),
        execution.Result(0, queue.QueueQueryResult("q")),
        c.Completed(RangeSet([(0, 1)])),
    ]


def test_fail_says_exception_and_detach_with_all_that_is_known() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), queue.Declare("r"))
    session.complete(0)
    carrier.happened()
    session.fail(1, ErrorCode.RESOURCE_LOCKED, "locked", field_index=0, error_info={"k": "v"})
    said = carrier.said()
    assert said == [
        c.Completed(RangeSet.of(0)),
        c.CommandPoint(0, 0),
        execution.Exception_(405, 1, 8, 1, 0, "locked", {"k": "v"}),
        c.Detach(b"s"),
    ]
    carrier.hear(queue.Declare("later"), c.Flush(True, True, True))
    assert carrier.said() == carrier.happened() == []
    carrier.hear(c.Detached(b"s", 0))
    (event,) = carrier.happened()
    assert event == SessionDetached(b"s", 0, Origin.LOCAL, 0, "we refused it with 405: locked", ended=True)
    with pytest.raises(SessionDetachedError, match="405"):
        session.sync()


def test_fail_about_no_certain_command_and_about_a_transfer() -> None:
    carrier, session = attached_session("server")
    carrier.hear(message.Transfer("", 1, 0))
    session.fail(0, ErrorCode.UNAUTHORIZED_ACCESS)
    assert execution.Exception_(403, 0, 4, 1) in carrier.said()
    carrier, session = attached_session("server")
    session.fail(None, ErrorCode.RESOURCE_DELETED, "the queue is gone")
    assert execution.Exception_(408, description="the queue is gone") in carrier.said()


def test_an_exception_said_by_send_is_fail() -> None:
    carrier, session = attached_session("client")
    session.send(execution.Exception_(540, description="no"))
    assert carrier.said()[1:] == [execution.Exception_(540, description="no"), c.Detach(b"s")]
    assert session.state == "detaching"


def test_limits_of_what_is_kept_for_replay() -> None:
    limits = Limits(replay_commands=2, replay_octets=200)
    carrier, session = attached_session("client", timeout=60, limits=limits)
    session.publish(body=b"x" * 100)
    before = session.snapshot()
    with pytest.raises(LimitError, match="replay_octets"):
        session.publish(body=b"x" * 100)
    assert session.snapshot() == before
    session.sync()
    before = session.snapshot()
    verbs: list[Callable[[], object]] = [session.sync, session.publish, lambda: session.subscribe("q", "d")]
    for say in verbs:
        with pytest.raises(LimitError, match="replay_commands"):
            say()
    assert session.snapshot() == before
    carrier.take()
    carrier.hear(c.Completed(RangeSet([(0, 1)])))
    assert session.sync() == 2
    free, unlimited = attached_session("client", limits=limits)
    for _ in range(5):
        unlimited.publish(body=b"x" * 300)
    assert len(free.said()) == 6


def test_a_grant_is_sent_whole_or_not_at_all() -> None:
    carrier, session = attached_session("client", timeout=60, limits=Limits(replay_commands=2))
    subscription = session.subscribe("q", "d")
    before = session.snapshot()
    carrier.take()
    with pytest.raises(LimitError):
        subscription.grant(10)
    assert session.snapshot() == before
    assert carrier.said() == []


def test_producer_flow_control() -> None:
    carrier, session = attached_session("client")
    carrier.hear(message.SetFlowMode("", 0), message.Stop(""))
    before = session.snapshot()
    carrier.take()
    verbs: list[Callable[[], object]] = [session.publish, lambda: session.send(message.Transfer(""))]
    for say in verbs:
        with pytest.raises(NoCredit) as raised:
            say()
        assert (raised.value.unit, raised.value.needed, raised.value.available) == ("message", 1, 0)
    assert session.snapshot() == before
    carrier.hear(message.Flow("", 0, 2))
    session.publish()
    session.publish()
    with pytest.raises(NoCredit):
        session.publish()
    carrier.hear(message.Flow("", 0, INFINITE))
    for _ in range(10):
        session.publish()


def test_subscriber_credit_in_both_units() -> None:
    carrier, session = attached_session("server")
    carrier.hear(message.Subscribe("q", "d", 0, 0), message.Flow("d", 0, 3), message.Flow("d", 1, 30))
    carrier.take()
    header = message.DeliveryProperties(routing_key="q")  # 4 + 2 + 2 + 2 octets
    assert session.deliver("d", header, body=b"x" * 8) == 0
    subscriber = session.subscribers["d"]
    assert (subscriber.message_credit, subscriber.octet_credit) == (2, 12)
    before = session.snapshot()
    with pytest.raises(NoCredit) as raised:
        session.deliver("d", header, body=b"x" * 8)
    assert (raised.value.unit, raised.value.needed, raised.value.available) == ("byte", 18, 12)
    assert session.snapshot() == before
    session.publish("d", header, body=b"xx")
    carrier.hear(c.Completed(RangeSet.of(0)))
    assert carrier.happened()[-1] == CommandsCompleted(b"s", RangeSet.of(0))
    assert (subscriber.message_credit, subscriber.octet_credit) == (2, 18)
    session.deliver("d")
    session.deliver("d")
    with pytest.raises(NoCredit) as raised:
        session.deliver("d")
    assert raised.value.unit == "message"


def test_octet_accounting_of_the_body_alone() -> None:
    carrier, session = attached_session("server", profile=Profile(octets="body"))
    carrier.hear(message.Subscribe("q", "d", 0, 0), message.Flow("d", 0, 3), message.Flow("d", 1, 30))
    session.deliver("d", message.DeliveryProperties(routing_key="q"), body=b"x" * 8)
    assert session.subscribers["d"].octet_credit == 22


def test_ids_may_be_given_in_any_form() -> None:
    assert as_ids(3) == as_ids([3]) == as_ids(RangeSet.of(3)) == as_ids(iter([3])) == RangeSet.of(3)
    with pytest.raises(EncodeError):
        as_ids(["x"])  # type: ignore[list-item]


def test_a_name_is_opaque_and_may_be_long() -> None:
    _, session = attached_session("client", b"\xff\x00" * 1000)
    assert session.name == b"\xff\x00" * 1000
    with pytest.raises(EncodeError):
        Session(b"x" * 65536, "client")
    _, session = attached_session("client", b"")
    assert session.state == "attached"


def test_an_exception_fails_all_that_waits() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.send(queue.Query("q"))
    session.sync()
    carrier.take()
    carrier.hear(execution.Exception_(404, 0, 8, 4, 0, "no such queue"))
    assert carrier.happened() == [ExceptionReceived(b"s", 404, 0, 8, 4, 0, "no such queue")]
    with pytest.raises(SessionDetachedError, match="no such queue"):
        session.sync()
    carrier.hear(c.Detach(b"s"))
    assert c.Detached(b"s", 0) in carrier.said()
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert (event.origin, event.ended, event.in_doubt) == (Origin.PEER, True, RangeSet([(0, 1)]))
    assert "no such queue" in event.text
    assert session.state == "ended"


def test_nothing_is_iterated_that_is_not_there() -> None:
    """Sets of billions of ids, in either direction, are answered at once."""
    everything = RangeSet([(0, 0x7FFFFFFF)])
    for control in (c.Completed(everything), c.Confirmed(everything), c.KnownCompleted(everything)):
        carrier, session = with_transfers()
        carrier.hear(control)
        assert session.state == "ended"  # nobody sent so many
    carrier, session = with_transfers()
    carrier.hear(c.Gap(everything))
    carrier.take()
    with pytest.raises(LocalProtocolError):
        session.accept(everything)


def test_all_commands_go_through_send() -> None:
    commands: list[Command] = [
        message.Subscribe("q", "d", 0, 0),
        message.Flow("d", 0, 5),
        message.Stop("d"),
        message.Cancel("d"),
    ]
    carrier, session = attached_session("client")
    for id, command in enumerate(commands):
        assert session.send(command) == id
    assert carrier.said()[1:] == commands
    assert list(itertools.chain(session.subscriptions)) == ["d"]
    carrier.hear(c.Completed(RangeSet([(0, 3)])))
    assert session.subscriptions == {}


def test_expected_is_an_answer_to_each_flush_that_asked_for_it_and_to_no_other() -> None:
    """To the letter, the other side says what it expects once for each time that it was asked, and never else."""
    carrier, session = attached_session("client", profile=Profile(strict=True))
    session.flush()
    session.flush(expected=True)
    carrier.hear(c.Expected(RangeSet()))
    assert carrier.happened() == []
    carrier.hear(c.Expected(RangeSet()))
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert event.violation.rule == "session.expected"


STATES: dict[State, tuple[bool, bool]] = {
    "detached": (False, False),
    "attaching": (False, False),
    "resuming": (True, False),
    "attached": (True, True),
    "refused": (True, False),
    "detaching": (False, False),
    "ended": (False, False),
}


def walk(session: Session, state: State) -> None:
    """Says the fewest words of its table that lead to the state."""
    moves = ENDPOINT[session.role].moves
    ways: dict[str, list[tuple[str, str]]] = {session.state: []}
    while state not in ways:
        for (before, speaker, verb), after in moves.items():
            if before in ways and after not in ways:
                ways[after] = [*ways[before], (speaker, verb)]
    for speaker, verb in ways[state]:
        session._step(speaker, verb)


@pytest.mark.parametrize("state", STATES)
def test_a_state_tells_which_side_it_takes_and_whether_it_sends(state: State) -> None:
    session = Session(b"s", "client")
    walk(session, state)
    assert session.state == state
    assert (session._hears, session._speaks) == STATES[state]
    assert bool(session.legal) == (state in ("detached", "attaching", "resuming", "attached"))


def test_a_word_that_its_table_refuses_is_a_fault_of_the_engine() -> None:
    session = Session(b"s", "client")
    with pytest.raises(AssertionError, match=EXPECTED):
        session._step("server", EXPECTED)
    assert session.state == "detached"


@pytest.mark.parametrize(
    ("timeout", "state", "resumable"), [(0, "detached", False), (9, "detached", True), (None, "ended", False)]
)
def test_what_may_be_resumed(timeout: int | None, state: State, resumable: bool) -> None:
    session = Session(b"s", "client", timeout=timeout)
    walk(session, state)
    assert session.resumable is resumable


@pytest.mark.parametrize(
    ("role", "timeout", "most", "granted"),
    [("client", 5, 0, 5), ("client", 5, 9, 9), ("server", 5, 0, 0), ("server", 5, 9, 9), ("client", None, 0, None)],
)
def test_what_is_granted_at_most(role: Role, timeout: int | None, most: int, granted: int | None) -> None:
    """A client that says nothing else grants what it asks for itself; a server grants nothing unless told."""
    assert Session(b"s", role, timeout=timeout, max_timeout=most)._max_timeout == granted


def test_the_codes_of_a_command_under_way() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Query("q"))
    assert session.codes_of(0) == (8, 4)
    assert session.codes_of(1) == session.codes_of(None) == (None, None)


def test_touched_once_and_told_once() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), queue.Declare("r"))
    session._complete_now(RangeSet.of(0))
    session._complete_now(RangeSet.of(1))
    assert [said for said in carrier.said() if isinstance(said, c.Completed)] == [c.Completed(RangeSet([(0, 1)]))]
    assert carrier.said() == []


def test_commands_wait_while_it_resumes_and_nothing_else_does() -> None:
    carrier, session = attached_session("server")
    event = CommandReceived(b"s", 0, queue.Declare("q"))
    walk(session, "resuming")
    _emit(session, event)
    assert carrier.happened() == []
    session._held_octets = 7
    session._emit_held()
    assert session._held_octets == 0
    assert carrier.happened() == [event]
    walk(session, "attached")
    _emit(session, event)
    assert carrier.happened() == [event]
    assert session._held == []


def test_it_may_be_spoken_on_only_while_attached_and_open() -> None:
    carrier, session = attached_session("client")
    session.check_speak("anything")
    carrier._closed_cause = "gone"
    with pytest.raises(ConnectionClosedError, match="gone"):
        session.check_speak("anything")
    walk(session, "detaching")
    with pytest.raises(SessionDetachedError):
        session.check_speak("anything")


def test_one_command_completed_without_a_set() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), execution.Sync(), queue.Declare("r"))
    complete_one(session, 0)
    complete_one(session, 2)
    assert not session._inbound.outstanding
    assert not session._inbound.owed
    assert [said for said in carrier.said() if isinstance(said, c.Completed)] == [c.Completed(RangeSet([(0, 2)]))]
