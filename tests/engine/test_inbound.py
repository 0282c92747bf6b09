"""The other side's half: equal to a plain-set model, across the top of the serial numbers too."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.carriers import BareCarrier, attached_session
from tests.engine.opened import served
from tests.steps import assert_linear
from tests.subscribing import subscribed

from amqp_sansio.config import DEFAULT_PROFILE, STRICT_PROFILE, CompletionPolicy, Profile
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Role
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.inbound import DUPLICATE, EXPECTED_RANGES, TIMELY_IDS, TIMELY_RANGES, Inbound, Owed, exception_of, parts
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.engine.subscription import Subscription
from amqp_sansio.engine.witness import CreditWitness
from amqp_sansio.errors import HeaderError, LocalProtocolError
from amqp_sansio.events import (
    CommandReceived,
    CommandsCompleted,
    CommandsConfirmed,
    CommandsSkipped,
    ExceptionReceived,
    Origin,
    ProducerCreditChanged,
    ResultReceived,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import execution, message, queue, stream
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, FlowMode
from amqp_sansio.spec.session import Completed, Confirmed, Flush, KnownCompleted
from amqp_sansio.spec.values import Map
from amqp_sansio.testing.link import Link
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_command

BASES = [0, TOP - 6, 0x7FFFFFFA]


class Model:
    """The same, counted from 0 and with plain sets of ints."""

    def __init__(self) -> None:
        self.cursor = 0
        self.high = 0
        self.seen: set[int] = set()
        self.skipped: set[int] = set()
        self.completed: set[int] = set()
        self.incomplete: set[int] = set()
        self.ahead: set[int] = set()

    def holes(self) -> set[int]:
        return set(range(self.high)) - self.seen - self.skipped

    def take(self) -> int:
        while self.cursor in self.skipped and self.cursor in self.ahead:
            self.cursor += 1
        id = self.cursor
        self.cursor += 1
        if id in self.seen or id in self.skipped:
            return -1
        self.high = max(self.high, id + 1)
        self.seen.add(id)
        self.incomplete.add(id)
        return id


small = st.integers(0, 12)
steps = st.lists(st.tuples(st.sampled_from(["point", "take", "complete", "gap", "known"]), small, small), max_size=40)


@given(steps, st.sampled_from(BASES))
def test_received_holes_and_completed_are_those_of_plain_sets(script: list[tuple[str, int, int]], base: int) -> None:
    """Whatever is pointed at, received, gapped and completed, each id is fresh at most once and the sets are exact."""
    inbound, model = Inbound(), Model()

    def abs_(ids: set[int]) -> RangeSet:
        return RangeSet.of(*[(base + id) & TOP for id in ids])

    inbound.point(base)
    for verb, a, b in script:
        low, high = min(a, b), max(a, b)
        if verb == "point":
            inbound.point((base + a) & TOP)
            model.cursor = a
            model.high = max(model.high, a)
            model.ahead = {id for id in model.ahead if id >= a}
        elif verb == "take":
            id = inbound.take()
            expected = model.take()
            assert id == (DUPLICATE if expected < 0 else (base + expected) & TOP)
            if id >= 0:
                inbound.outstanding.add(id)
        elif verb == "complete":
            some = {id for id in model.incomplete if low <= id <= high}
            inbound.complete(abs_(some))
            model.incomplete -= some
            model.completed |= some
        elif verb == "gap":
            ids = set(range(low, high + 1))
            news = ids - model.seen - model.skipped
            assert inbound.gap(abs_(ids)) == abs_(news)
            model.ahead |= {id for id in news if id >= model.cursor}
            model.skipped |= news
            model.high = max(model.high, high + 1)
            model.completed |= news | (model.incomplete & ids)
            model.incomplete -= ids
            while model.cursor in model.ahead:
                model.cursor += 1
        else:
            some = {id for id in model.completed if low <= id <= high}
            inbound.known_completed(abs_(some))
            model.completed -= some
        assert inbound.known.freeze() == abs_(model.completed)
        assert inbound.outstanding.freeze() == abs_(model.incomplete)
        assert inbound.holes.freeze() == abs_(model.holes())
        assert inbound.expected(new=True) == abs_(model.holes() | {model.high})


def receive(inbound: Inbound, n: int) -> list[int]:
    ids = [inbound.take() for _ in range(n)]
    for id in ids:
        if id >= 0:
            inbound.outstanding.add(id)
    return ids


@pytest.mark.parametrize("base", BASES)
def test_duplicates_after_an_attachment_are_consumed_and_count(base: int) -> None:
    inbound = Inbound()
    inbound.point(base)
    ids = receive(inbound, 10)
    inbound.begin_attachment()
    assert not inbound.pointed
    inbound.point(ids[4])
    assert receive(inbound, 7) == [DUPLICATE] * 6 + [(base + 10) & TOP]


def test_the_first_point_may_be_anywhere_and_makes_no_holes() -> None:
    inbound = Inbound()
    assert inbound.expected(new=True) == EMPTY
    assert inbound.expected(new=False) == RangeSet.of(0)
    inbound.point(4000)
    assert not inbound.holes
    assert inbound.expected(new=True) == RangeSet.of(4000)


def test_a_point_ahead_leaves_a_hole_whatever_its_size() -> None:
    inbound = Inbound()
    inbound.point(0)
    inbound.point(0x30000000)
    assert inbound.take() == 0x30000000
    assert inbound.expected(new=False) == RangeSet([(0, 0x2FFFFFFF), (0x30000001, 0x30000001)])
    inbound.point(5)
    assert inbound.take() == 5
    assert 5 not in inbound.holes


def test_sync_completes_only_after_all_prior_commands() -> None:
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 3)
    sync = inbound.take()
    inbound.add_sync(sync)
    receive(inbound, 1)
    inbound.complete(RangeSet.of(0, 2, 4))
    assert sync not in inbound.known
    inbound.complete(RangeSet.of(1))
    assert inbound.known.freeze() == RangeSet([(0, 4)])


def test_sync_waits_for_holes_too() -> None:
    inbound = Inbound()
    inbound.point(0)
    inbound.point(1)
    inbound.add_sync(inbound.take())
    assert not inbound.known
    inbound.gap(RangeSet.of(0))
    assert inbound.known.freeze() == RangeSet([(0, 1)])


def test_a_sync_that_fills_a_hole_does_not_wait_for_one_behind_it() -> None:
    """What comes again out of order is complete in its own order: 5 does not wait for 6, which 7 waits for."""
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 5)
    inbound.complete(RangeSet([(0, 4)]))
    inbound.point(7)
    inbound.add_sync(inbound.take())
    inbound.point(5)
    inbound.add_sync(inbound.take())
    assert 5 in inbound.known
    assert 7 not in inbound.known
    receive(inbound, 1)
    inbound.complete(RangeSet.of(6))
    assert inbound.known.freeze() == RangeSet([(0, 7)])
    assert inbound.sync_count == 0


@pytest.mark.parametrize("base", BASES)
def test_syncs_behind_holes_cost_what_came(base: int) -> None:
    """Each sync looks at the first hole only, whichever way the numbers go around."""

    def syncs(size: int) -> Callable[[], object]:
        inbound = Inbound()
        inbound.point(base)

        def work() -> None:
            for number in range(size):
                inbound.point((base + 2 * number + 1) & TOP)
                inbound.add_sync(inbound.take())

        return work

    assert_linear(syncs, 300)


@given(st.lists(st.lists(st.integers(0, 80), max_size=20), max_size=12), st.sampled_from(BASES))
def test_repeated_reports_hold_what_is_complete(turns: list[list[int]], base: int) -> None:
    """All that is complete is told, in whole ranges; ranges that did not change are told again only when they are few."""
    inbound = Inbound()
    inbound.point(base)
    receive(inbound, 81)
    told = EMPTY
    for turn in turns:
        for number in turn:
            id = (base + number) & TOP
            if id in inbound.outstanding:
                inbound.complete(RangeSet.of(id))
        now = inbound.tell_completed()
        told |= now
        assert told == inbound.known.freeze()
        assert now == inbound.known.around(now)
    inbound.begin_attachment()
    assert inbound.untold_completed() == told


def test_many_ranges_are_reported_once() -> None:
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 200)
    inbound.complete(RangeSet.of(*range(0, 100, 2)))
    assert inbound.tell_completed() == RangeSet.of(*range(0, 100, 2))
    assert not inbound.tell_completed()
    inbound.complete(RangeSet.of(1, 150))
    assert inbound.tell_completed() == RangeSet([(0, 2), (150, 150)])
    inbound.point(4)
    assert inbound.take() == DUPLICATE
    assert inbound.tell_completed() == RangeSet.of(4)


@pytest.mark.parametrize("verb", ["point", "complete", "gap", "known"])
def test_ranges_without_end_cost_what_came(verb: str) -> None:
    """Whatever falls into many ranges, a control about one of them does not look at the others."""

    def calls(size: int) -> Callable[[], object]:
        inbound = Inbound()
        inbound.point(0)
        if verb == "complete":
            receive(inbound, 2 * size + 1)
        if verb in ("gap", "known"):
            for number in range(size):
                inbound.point(2 * number + 1)
                inbound.take()
        if verb == "known":
            inbound.known.update(RangeSet.of(*range(1, 2 * size, 2)))

        def work() -> None:
            for number in range(size):
                if verb == "point":
                    inbound.point(2 * number + 1)
                    inbound.take()
                elif verb == "complete":
                    inbound.complete(RangeSet.of(2 * number + 1))
                elif verb == "gap":
                    inbound.gap(RangeSet.of(2 * number))
                else:
                    inbound.known_completed(RangeSet.of(2 * number + 1))

        return work

    assert_linear(calls, 400)


@pytest.mark.rule("session.gap.gap-confirmation-and-completion")
def test_gap_moves_the_cursor_and_completes_all_that_it_covers() -> None:
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 3)
    inbound.complete(RangeSet.of(0))
    inbound.outstanding.discard(RangeSet.of(2))
    inbound.add_sync(2)
    assert inbound.gap(RangeSet([(0, 4)])) == RangeSet([(3, 4)])
    assert inbound.known.freeze() == RangeSet([(0, 4)])
    assert not inbound.outstanding
    assert not inbound.syncs
    assert inbound.sync_count == 0
    inbound.known_completed(RangeSet([(0, 4)]))
    inbound.complete(RangeSet.of(1))  # the application had not heard
    assert not inbound.known
    assert inbound.take() == 5


def test_what_the_sender_knows_to_be_complete_is_not_confirmed_any_more() -> None:
    """Also where it was confirmed and is not complete."""
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 2)
    inbound.confirmed.update(RangeSet([(0, 1)]))
    inbound.known_completed(RangeSet.of(0))
    assert inbound.confirmed.freeze() == RangeSet.of(1)


@pytest.mark.parametrize("how", ["complete", "gap"])
def test_what_is_complete_is_not_confirmed_besides(how: str) -> None:
    """However it came to be complete: `confirmed` holds what will be, and is not yet."""
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 3)
    inbound.confirmed.update(RangeSet([(0, 2)]))
    if how == "complete":
        inbound.complete(RangeSet.of(1))
    else:
        inbound.gap(RangeSet.of(1))
    assert inbound.confirmed.freeze() == RangeSet.of(0, 2)
    assert inbound.known.freeze() == RangeSet.of(1)


def test_gap_in_a_new_session() -> None:
    inbound = Inbound()
    assert inbound.gap(EMPTY) == EMPTY
    assert inbound.gap(RangeSet([(0, 9)])) == RangeSet([(0, 9)])
    assert inbound.expected(new=True) == RangeSet.of(10)


def test_a_gap_of_billions_costs_nothing() -> None:
    inbound = Inbound()
    inbound.point(0)
    news = inbound.gap(RangeSet([(0, 0xFFFFFFFF)]))
    assert len(news) == 0x80000000
    assert inbound.ranges <= 2


def test_timely_reply_is_asked_for_when_what_the_sender_does_not_know_has_grown() -> None:
    inbound = Inbound()
    inbound.point(0)
    for id in receive(inbound, TIMELY_IDS - 1):
        inbound.complete(RangeSet.of(id))
    assert not inbound.wants_timely()
    inbound.complete(RangeSet.of(*receive(inbound, 1)))
    assert inbound.wants_timely()
    assert not inbound.wants_timely()
    inbound.known_completed(RangeSet([(0, TIMELY_IDS)]))
    assert not inbound.known
    ids = receive(inbound, 2 * TIMELY_RANGES)
    inbound.complete(RangeSet.of(*ids[::2]))
    assert inbound.wants_timely()


def test_a_duplicate_of_a_completed_command_has_its_completion_said_again() -> None:
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 1)
    inbound.complete(RangeSet.of(0))
    inbound.begin_attachment()
    inbound.point(0)
    assert not inbound.due
    assert inbound.take() == DUPLICATE
    assert inbound.due


def test_seen() -> None:
    inbound = Inbound()
    assert not inbound.seen(0)
    inbound.point(0)
    receive(inbound, 2)
    inbound.point(5)
    assert [id for id in range(7) if inbound.seen(id)] == [0, 1]
    assert inbound.cursor == 5


def test_completions_that_nobody_acknowledges_do_not_outgrow_the_serial_numbers() -> None:
    inbound = Inbound()
    inbound.point(0)
    inbound.known.add_range(0, 0x7FFFFFF0)
    inbound.cursor = inbound.next_id = 0x7FFFFFF1
    assert inbound.wants_timely()
    assert len(inbound.known) <= 1 << 30
    assert inbound.known.freeze().last == 0x7FFFFFF0


def test_a_result_is_given_once_and_before_completion() -> None:
    inbound = Inbound()
    inbound.owed[4] = Owed(8, 4, "queue.queue-query-result")
    inbound.owed[5] = Owed(8, 1, "")
    with pytest.raises(LocalProtocolError):
        inbound.check_results_given(RangeSet([(0, TOP)]))
    inbound.check_results_given(RangeSet.of(5))
    inbound.check_result(4, None)
    inbound.given(4)
    with pytest.raises(LocalProtocolError):
        inbound.check_result(4, None)
    inbound.check_results_given(RangeSet.of(4, 5))
    inbound.complete(RangeSet.of(4, 5))
    assert inbound.owed == {}


TRANSFER = message.Transfer("d", 0, 0)
NO_ACCEPT = message.Transfer("d", 1, 0)


@pytest.mark.parametrize(
    ("role", "policy", "explicit", "none", "other"),
    [
        ("client", "default", False, True, True),
        ("client", "on_hand_out", True, True, True),
        ("client", "manual", False, False, False),
        ("server", "default", False, False, False),
        ("server", "on_hand_out", True, True, True),
        ("server", "manual", False, False, False),
    ],
)
def test_completion_policies(role: Role, policy: CompletionPolicy, explicit: bool, none: bool, other: bool) -> None:
    carrier, session = attached_session(role, profile=Profile(completion=policy))
    if role == "client":
        subscribed(session, "d")
        carrier.said()
    other_command = message.Flow("", 0, 1)
    for command, done in ((TRANSFER, explicit), (NO_ACCEPT, none), (other_command, other)):
        id = session._inbound.cursor
        carrier.hear(command)
        assert (id in session._inbound.known) == done, command
        assert (id in session._inbound.outstanding) != done, command
        if not done:
            session.complete(id)
    assert session._inbound.known.freeze() == RangeSet([(0, 2)])
    assert carrier.said() == [c.Completed(RangeSet([(0, 2)]))]


@pytest.mark.parametrize(
    ("accept_mode", "strict", "explicit"), [(None, False, False), (None, True, True), (0, False, True), (1, True, False)]
)
def test_a_publish_is_to_be_accepted_when_it_says_so(accept_mode: int | None, strict: bool, explicit: bool) -> None:
    """A server keeps nothing of a publish that leaves accept-mode out, unless it is strict: its completion is the answer."""
    profile = STRICT_PROFILE if strict else Profile()
    carrier, session = attached_session("server", profile=profile, limits=Limits(incomplete_commands=3))
    for _ in range(5):
        carrier.hear(message.Transfer("d", accept_mode))
        (event,) = carrier.happened()
        assert isinstance(event, TransferReceived)
        session.complete(event.id)
        if explicit:
            session.accept(event.id)
        else:
            with pytest.raises(LocalProtocolError, match="no such unsettled transfer"):
                session.accept(event.id)
    assert session._transfers.deliveries == {}
    assert session.state == "attached"


@pytest.mark.parametrize("role", ["client", "server"])
def test_what_a_server_hears_is_acquired_whatever_its_mode_says(role: Role) -> None:
    """Acquire-mode is about a queue and who reads it: a publish that says not-acquired is accepted like any other."""
    carrier, session = attached_session(role)
    if role == "client":
        subscribed(session, "d")
    carrier.hear(message.Transfer("d", 0, 1))
    if role == "client":
        with pytest.raises(LocalProtocolError, match="NOT-ACQUIRED"):
            session.accept(0)
    else:
        session.accept(0)
        assert message.Accept(RangeSet.of(0)) in carrier.said()


@pytest.mark.parametrize("verb", ["accept", "reject", "release"])
def test_transfers_with_explicit_accept_complete_when_they_settle(verb: str) -> None:
    for policy, completes in (("default", True), ("manual", False)):
        assert policy in ("default", "manual")
        carrier, session = attached_session("client", profile=Profile(completion="default" if completes else "manual"))
        subscription = session.subscribe("q", "d")
        subscription.grant(5)
        carrier.hear(TRANSFER, TRANSFER)
        assert subscription.message_credit == 3
        getattr(session, verb)(RangeSet([(0, 1)]))
        assert subscription.unsettled == EMPTY
        assert bool(session._inbound.known) == completes
        assert subscription.message_credit == (5 if completes else 3)
        if not completes:
            session.complete([0, 1])
        assert subscription.message_credit == 5
        assert session._transfers.deliveries == {}
        assert carrier.said()[-1] == c.Completed(RangeSet([(0, 1)]))


def test_completing_before_settling_moves_the_window_and_leaves_the_transfer_to_be_settled() -> None:
    _, session = attached_session("client")
    carrier = session._place.carrier
    assert isinstance(carrier, BareCarrier)
    subscription = session.subscribe("q", "d")
    subscription.grant(1)
    carrier.hear(TRANSFER)
    session.complete(0)
    assert subscription.message_credit == 1
    assert subscription.unsettled == RangeSet.of(0)
    session.accept(0)
    assert subscription.unsettled == EMPTY
    assert subscription.message_credit == 1
    assert session._transfers.deliveries == {}


def test_credit_in_credit_mode_is_spent_for_good() -> None:
    carrier, session = attached_session("client")
    subscription = session.subscribe("q", "d", accept_mode=AcceptMode.NONE)
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(3, 100)
    carrier.hear(NO_ACCEPT, body=b"x" * 30)
    assert (subscription.message_credit, subscription.octet_credit) == (2, 70)
    carrier.hear(NO_ACCEPT, NO_ACCEPT, body=b"x" * 35)
    assert (subscription.message_credit, subscription.octet_credit) == (0, 0)
    assert session.state == "attached"


def test_acquire_and_its_result() -> None:
    carrier, session = attached_session("client")
    session.subscribe("q", "d", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(9)
    carrier.hear(message.Transfer("d", 0, 1), message.Transfer("d", 0, 1), message.Transfer("d", 0, 1))
    id = session.acquire([0, 1])
    carrier.happened()
    carrier.hear(execution.Result(id, message.Acquired(RangeSet.of(1))))
    assert carrier.happened() == [ResultReceived(b"s", id, message.Acquired(RangeSet.of(1)))]
    session.accept(1)
    session.release([0, 2])
    assert session._transfers.deliveries == {}


def test_results_are_paired_and_strays_counted() -> None:
    carrier, session = attached_session("client")
    id = session.send(queue.Query("q"))
    value = queue.QueueQueryResult("q", message_count=3)
    carrier.hear(c.Completed(RangeSet.of(id)))
    carrier.happened()
    carrier.hear(execution.Result(id, value), execution.Result(id, value), execution.Result(99), execution.Result())
    assert carrier.happened() == [ResultReceived(b"s", id, value)]
    assert session._outbound.stray == 2
    assert session._inbound.known.freeze() == RangeSet([(0, 3)])
    carrier, session = attached_session("client", profile=STRICT_PROFILE)
    carrier.hear(execution.Result(99))
    assert session.state == "ended"


@pytest.mark.parametrize("strict", [False, True])
def test_a_result_of_another_type_than_its_command_has_is_handed_to_nobody(strict: bool) -> None:
    carrier, session = attached_session("client", profile=STRICT_PROFILE if strict else DEFAULT_PROFILE)
    id = session.send(queue.Query("q"))
    carrier.take()
    carrier.hear(execution.Result(id, message.Acquired(RangeSet.of(1))))
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert (event.violation.rule, event.violation.code) == ("execution.result.value", 542)
    assert event.violation.legal == (f"execution.result queue.queue-query-result for {id}",)


@pytest.mark.parametrize("verb", [message.Accept, message.Reject, message.Release, message.Acquire])
def test_transfers_that_were_never_sent_are_left_out_by_default_and_a_violation_by_the_letter(
    verb: type[message.Accept | message.Reject | message.Release | message.Acquire],
) -> None:
    """What the observer says: a note by default, a violation when strict."""
    for profile, ends in ((DEFAULT_PROFILE, False), (STRICT_PROFILE, True)):
        carrier, session = attached_session("server", profile=profile)
        session.sync()
        carrier.hear(verb(RangeSet.of(0)))
        assert session.cause == ""  # that one was sent
        carrier.happened()
        carrier.hear(verb(RangeSet.of(1)))
        event = carrier.happened()[-1]
        assert (session.state == "ended") is ends
        if ends:
            assert isinstance(event, SessionDetached)
            assert event.violation is not None
            assert event.violation.rule == f"{verb.VERB}.transfers"


def test_exceptions_that_name_no_command() -> None:
    for said, id in (
        (execution.Exception_(408, 0, 0, 0, 0, "gone"), None),
        (execution.Exception_(408, 0, 8, 4, 0), 0),
        (execution.Exception_(408, 0), 0),
        (execution.Exception_(408), None),
    ):
        carrier, _ = attached_session("client")
        carrier.hear(said)
        (event,) = carrier.happened()
        assert isinstance(event, ExceptionReceived)
        assert event.id == id


def test_after_an_exception_commands_do_not_count() -> None:
    carrier, session = attached_session("client")
    carrier.hear(execution.Exception_(404, 0), TRANSFER, message.Stop(""))
    assert len(carrier.happened()) == 1
    carrier.hear(c.RequestTimeout(0), c.Detach(b"s"))
    assert c.Detached(b"s", 0) in carrier.said()
    assert session.state == "ended"


def test_producer_credit_is_reported() -> None:
    carrier, _ = attached_session("client")
    carrier.hear(message.SetFlowMode("", 0), message.Flow("", 0, 5), message.Stop(""), message.Flow("", 0, 2))
    carrier.hear(message.Flow("", 1, 2), message.Flow("", 0, INFINITE))
    changes = [event.messages for event in carrier.happened() if isinstance(event, ProducerCreditChanged)]
    assert changes == [0, 2, None]
    assert c.Completed(RangeSet([(0, 5)])) in carrier.said()


def test_subscribers_are_tracked() -> None:
    carrier, session = attached_session("server")
    carrier.hear(message.Subscribe("q", "d", 0, 1), message.Flow("d", 0, 5), message.Flow("d", 1, None))
    subscriber = session.subscribers["d"]
    assert (subscriber.queue, subscriber.accept_mode, subscriber.acquire_mode, subscriber.mode) == ("q", 0, 1, 1)
    assert (subscriber.message_credit, subscriber.octet_credit) == (5, INFINITE)
    carrier.hear(message.Flush("d"), message.Flow("d", 0, 2))
    assert subscriber.message_credit == 7
    session.complete([0, 1, 2, 3, 4])
    assert (subscriber.message_credit, subscriber.octet_credit) == (2, 0)
    carrier.hear(message.Stop("d"), message.SetFlowMode("d", 0))
    assert (subscriber.message_credit, subscriber.mode) == (0, 0)
    carrier.hear(message.Flow("nowhere", 0, 1), message.Stop("nowhere"), message.Flush("nowhere"))
    carrier.hear(message.SetFlowMode("nowhere", 0))
    carrier.hear(message.Subscribe("q"))
    assert [each.destination for each in session.subscribers.values()] == ["d", ""]
    carrier.hear(message.Cancel("d"), message.Cancel(""))
    assert session.subscribers == {}
    assert session.state == "attached"
    assert session.state == "attached"
    assert all(isinstance(event, CommandReceived) for event in carrier.happened())


@pytest.mark.parametrize(("most", "ends"), [(1, True), (2, False), (3, False)])
def test_limit_of_subscribers(most: int, ends: bool) -> None:
    carrier, session = attached_session("server", limits=Limits(subscriptions=most))
    carrier.hear(message.Subscribe("q", "1", 0, 0), message.Subscribe("q", "2", 0, 0))
    assert (session.state == "ended") == ends


BAD = {
    "a mode outside its domain": (message.Transfer("d", 9, 0), 531),
    "an acquire mode outside its domain": (message.Transfer("d", 0, 9), 531),
    "a subscription in no accept mode": (message.Subscribe("q", "d", 2, 0), 531),
    "a subscription in no acquire mode": (message.Subscribe("q", "d", 0, 2), 531),
    "a flow in no unit": (message.Flow("d", 9, 1), 531),
    "a flow mode that is none": (message.SetFlowMode("d", 9), 531),
}


@pytest.mark.parametrize("name", BAD)
def test_values_outside_their_domain_end_the_session_and_name_the_command(name: str) -> None:
    command, code = BAD[name]
    carrier, session = attached_session("server")
    carrier.hear(execution.Sync())
    carrier.take()
    carrier.hear(command)
    said = carrier.said()
    exception = next(thing for thing in said if isinstance(thing, execution.Exception_))
    assert (exception.error_code, exception.command_id, exception.class_code) == (code, 1, 4)
    assert said[-1] == c.Detach(b"s")
    event = carrier.happened()[-1]
    assert isinstance(event, SessionDetached)
    assert (event.origin, event.code, event.ended) == (Origin.VIOLATION, None, True)
    assert event.violation is not None
    assert (event.violation.code, event.violation.speaker) == (code, "client")
    assert session._channel is None


def test_a_command_that_only_the_other_role_says() -> None:
    carrier, session = attached_session("client")
    carrier.hear(message.Subscribe("q", "d", 0, 0))
    assert session.state == "ended"
    exception = carrier.said()[1]
    assert isinstance(exception, execution.Exception_)
    assert (exception.error_code, exception.class_code, exception.command_code) == (540, 4, 7)


UNDECODABLE = {
    "an unknown command": (b"\x77\x01\x01\x00\x00\x00", None, 540),
    "packing bits beyond the last field": (b"\x08\x02\x01\x00\xff\xff\x01q", None, 503),
    "text that is no UTF-8": (b"\x08\x02\x01\x00\x01\x00\x01\xff", None, 531),
    "a header struct that goes beyond its segment": (b"\x04\x01\x01\x00\x00\x00", b"\x00\x00\x00\x99\x04\x01", 503),
}


@pytest.mark.parametrize("name", UNDECODABLE)
def test_what_cannot_be_decoded_ends_the_session_with_the_code_that_goes_with_it(name: str) -> None:
    payload, header, code = UNDECODABLE[name]
    carrier, session = attached_session("server")
    carrier.feed(b"".join(frame_command(0, payload, header, None)))
    said = carrier.said()
    exception = next(thing for thing in said if isinstance(thing, execution.Exception_))
    assert (exception.error_code, exception.command_id, exception.class_code) == (code, 0, payload[0])
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert event.violation.code == code
    assert session.state == "ended"
    assert carrier.failed == []


def test_eager_headers_are_read_on_receipt() -> None:
    bad = b"\x00\x00\x00\x06\x04\x01\x00\x02\x05k"  # a routing key of five octets, of which one came
    for eager in (False, True):
        carrier, session = attached_session("server", eager_headers=eager)
        carrier.hear(NO_ACCEPT, header=bad, body=b"x")
        (event,) = carrier.happened()
        assert isinstance(event, SessionDetached if eager else TransferReceived)
        assert (session.state == "ended") == eager


def test_a_duplicate_is_consumed_and_its_completion_said_again() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"))
    session.complete(0)
    carrier.said()
    carrier.happened()
    carrier.hear(c.CommandPoint(0, 0), queue.Declare("q"), queue.Declare("r"))
    assert carrier.happened() == [CommandReceived(b"s", 1, queue.Declare("r"))]
    assert carrier.said() == [c.Completed(RangeSet.of(0))]


def test_fragments_are_handed_out_as_they_are() -> None:
    carrier, _ = attached_session("server")
    struct = message.FragmentProperties(True, False)
    carrier.hear(NO_ACCEPT, header=carrier.layout.encode_struct32(struct), body=b"half")
    (event,) = carrier.happened()
    assert isinstance(event, TransferReceived)
    assert event.fragment_properties == struct


def nested(depth: int) -> Map:
    value: Map = Map({})
    for _ in range(depth - 1):
        value = Map({"k": value})
    return value


def test_the_limits_of_the_connection_hold_for_what_is_decoded() -> None:
    limits = Limits(nesting=3, ranges=2)
    for command, rule in (
        (queue.Declare("q", arguments=nested(4)), "limits.nesting"),
        (message.Release(RangeSet.of(1, 3, 5)), "limits.ranges"),
    ):
        carrier, session = attached_session("server", limits=limits)
        carrier.hear(command)
        (event,) = carrier.happened()
        assert isinstance(event, SessionDetached)
        assert event.violation is not None
        assert (event.violation.rule, event.violation.code) == (rule, 506)
        assert session.state == "ended"


def test_header_structs_are_read_under_the_limits_of_the_connection_whenever_they_are_read() -> None:
    for limits, depth, good in ((Limits(nesting=3), 4, False), (Limits(nesting=40), 39, True), (Limits(), 33, False)):
        carrier, session = attached_session("client", limits=limits)
        subscribed(session, "d")
        octets = bytes(4)
        for _ in range(depth - 1):  # we do not write them so deep
            octets = b"\x00\x00\x00\x01\x01k\xa8" + len(octets).to_bytes(4) + octets
        header = b"\x04\x03\x00\x01" + len(octets).to_bytes(4) + octets
        header = len(header).to_bytes(4) + header
        carrier.hear(NO_ACCEPT, header=header, body=b"x")
        (event,) = carrier.happened()
        assert isinstance(event, TransferReceived)
        if good:
            assert event.message_properties is not None
            assert event.message_properties.application_headers == nested(depth)
        else:
            with pytest.raises(HeaderError, match="nesting"):
                _ = event.headers


def test_eager_reading_looks_into_the_headers_of_every_command_that_has_them() -> None:
    bad = b"\x00\x00\x00\x06\x0a\x01\x01\x00\x05k"  # a content-type of five octets, of which one came
    for eager in (False, True):
        carrier, _ = attached_session("server", eager_headers=eager)
        carrier.hear(stream.Publish("x"), header=bad, body=b"x")
        (event,) = carrier.happened()
        assert isinstance(event, SessionDetached if eager else CommandReceived)


# A server is held to its credit.

PROFILES = [Profile(), STRICT_PROFILE]


def held(
    messages: int = 3, octets: int = INFINITE, *, mode: int = 1, accept_mode: int = 0, profile: Profile = PROFILES[0]
) -> tuple[BareCarrier, Session, Subscription]:
    """A client that has granted so much to "d"."""
    carrier, session = attached_session("client", profile=profile)
    subscription = session.subscribe("q", "d", accept_mode=AcceptMode(accept_mode))
    subscription.set_mode(FlowMode(mode))
    subscription.grant(messages, octets)
    carrier.said()
    return carrier, session, subscription


def accused(carrier: BareCarrier) -> list[str]:
    """The rules for which the session ended, and how many messages were handed out before."""
    events = carrier.happened()
    ends = [event for event in events if isinstance(event, SessionDetached)]
    assert all(event.origin == Origin.VIOLATION and event.ended for event in ends)
    came = sum(isinstance(event, TransferReceived) for event in events)
    return [f"{event.violation.rule} after {came}" for event in ends if event.violation is not None]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("accept_mode", [0, 1])
def test_a_message_beyond_the_message_credit_ends_the_session(profile: Profile, mode: int, accept_mode: int) -> None:
    for count, rules in ((2, []), (3, []), (4, ["message.flow after 3"]), (9, ["message.flow after 3"])):
        carrier, session, _ = held(mode=mode, accept_mode=accept_mode, profile=profile)
        carrier.hear(*[message.Transfer("d", accept_mode, 0)] * count, body=b"x")
        assert accused(carrier) == rules
        assert len(session._transfers.deliveries) <= 3
        said = [each for each in carrier.said() if isinstance(each, execution.Exception_)]
        assert [(each.error_code, each.command_id) for each in said] == [(506, 3)] * len(rules)


@pytest.mark.parametrize(("profile", "size", "rules"), [
    (PROFILES[0], 30, []),
    (PROFILES[0], 31, ["message.flow after 0"]),
    (PROFILES[1], 30, ["message.flow after 0"]),
    (PROFILES[1], 30 - 15, []),
    (PROFILES[1], 31 - 15, ["message.flow after 0"]),
    (attrs.evolve(STRICT_PROFILE, octets="body"), 30, []),
])  # fmt: skip
def test_octets_of_headers_count_by_the_letter_alone(profile: Profile, size: int, rules: list[str]) -> None:
    header = LAYOUT.encode_struct32(message.DeliveryProperties(exchange="", routing_key="a-key"))
    for accept_mode in (0, 1):
        carrier, _, _ = held(octets=30, accept_mode=accept_mode, profile=profile)
        carrier.hear(message.Transfer("d", accept_mode, 0), header=header, body=b"x" * size)
        assert (len(header), accused(carrier)) == (15, rules)


@pytest.mark.parametrize("accept_mode", [0, 1])
def test_a_window_moves_when_the_completion_is_written(accept_mode: int) -> None:
    transfer = message.Transfer("d", accept_mode, 0)
    for written in (False, True):
        carrier, session, subscription = held(accept_mode=accept_mode)
        carrier.hear(transfer, transfer, transfer)
        if accept_mode == 0:
            session.accept(subscription.unsettled)
        if written:
            carrier.take()
        carrier.hear(transfer, transfer)
        assert accused(carrier) == ([] if written else ["message.flow after 3"])


@pytest.mark.parametrize("verb", ["stop", "flush"])
def test_what_is_taken_back_may_still_come_until_that_is_complete(verb: str) -> None:
    for complete in (False, True):
        carrier, _, subscription = held()
        id = getattr(subscription, verb)()
        carrier.hear(TRANSFER)
        if complete:
            carrier.hear(c.Completed(RangeSet.of(id)))
        carrier.hear(TRANSFER)
        assert accused(carrier) == (["message.flow after 1"] if complete else [])


@pytest.mark.parametrize("profile", PROFILES)
def test_a_message_for_nobody_ends_the_session(profile: Profile) -> None:
    for accept_mode in (0, 1):
        carrier, session, subscription = held(profile=profile)
        carrier.hear(message.Transfer("e", accept_mode, 0))
        assert accused(carrier) == ["message.transfer.destination after 0"]
        carrier, session, subscription = held(profile=profile)
        id = subscription.cancel()
        carrier.hear(message.Transfer("d", accept_mode, 0))
        carrier.hear(c.Completed(RangeSet.of(id)))
        assert session.subscriptions == {}
        carrier.hear(message.Transfer("d", accept_mode, 0))
        assert accused(carrier) == ["message.transfer.destination after 1"]


def test_a_destination_used_anew_may_get_what_the_cancelled_one_had() -> None:
    carrier, session, subscription = held()
    id = subscription.cancel()
    session.subscribe("q", "d").grant(1)
    carrier.hear(TRANSFER, TRANSFER, TRANSFER, TRANSFER)
    assert accused(carrier) == []
    carrier.hear(c.Completed(RangeSet.of(id)), TRANSFER)
    assert accused(carrier) == ["message.flow after 0"]


def test_what_was_received_before_costs_nothing_again() -> None:
    carrier, _, _ = held()
    carrier.hear(TRANSFER, TRANSFER, TRANSFER, c.CommandPoint(0, 0), TRANSFER, TRANSFER, TRANSFER)
    assert accused(carrier) == []


def test_what_a_server_sends_again_may_be_for_a_subscription_whose_cancel_is_complete() -> None:
    """It tells what it has completed before it sends again what was lost; what it completes of later commands comes behind."""
    for later in (False, True):
        carrier, session = attached_session("client", timeout=None)
        (subscription,) = subscribed(session, "d")
        id = subscription.cancel()
        carrier.lost()
        carrier = BareCarrier("client")
        session = Session.restore(session.snapshot())
        carrier.channel(0).bind(session)
        session.attach()
        said = c.Attached(b"s"), c.Flush(True, True, True), c.Expected(RangeSet.of(id + 1)), c.Completed(RangeSet([(0, id)]))
        carrier.hear(*said, c.CommandPoint(0, 0))
        if later:
            carrier.hear(c.Completed(RangeSet.of(session.sync())))
            assert session.subscriptions == {}
        carrier.hear(TRANSFER)
        assert accused(carrier) == (["message.transfer.destination after 0"] if later else [])


@pytest.mark.parametrize("accept_mode", [0, 1])
def test_a_flood_through_a_connection_ends_the_session_and_stays_small(accept_mode: int) -> None:
    """The quick way, on which every message after the first one comes, counts as well."""
    link = Link(ClientConnection(), ServerConnection())
    link.run()
    session = link.client.session(b"s")
    link.run()
    session.subscribe("q", "d", accept_mode=AcceptMode(accept_mode)).grant(10)
    link.run()
    (theirs,) = link.server.sessions
    theirs.subscribers["d"]._book.grant(0, INFINITE)  # it believes so
    for _ in range(500):
        theirs.deliver("d", message.DeliveryProperties(routing_key="q"), body=b"x" * 1000)
    link.client.receive_data(link.server.data_to_send())
    events = list(link.client.events())
    assert [type(event) for event in events] == [TransferReceived] * 10 + [SessionDetached]
    assert isinstance(events[-1], SessionDetached)
    assert events[-1].violation is not None
    assert events[-1].violation.rule == "message.flow"
    assert link.client.sessions == ()
    assert len(session._transfers.deliveries) == (0 if accept_mode else 10)


@pytest.mark.parametrize("accept_mode", [0, 1])
def test_the_quick_way_knows_of_subscriptions_that_have_changed(accept_mode: int) -> None:
    """A command that came before means the subscription that is there now, or nobody's."""
    link = Link(ClientConnection(), ServerConnection())
    link.run()
    session = link.client.session(b"s")
    link.run()
    session.subscribe("q", "d", accept_mode=AcceptMode(accept_mode)).grant(INFINITE)
    link.run()
    (theirs,) = link.server.sessions

    def sent(count: int) -> list[str]:
        for _ in range(count):
            theirs.deliver("d", message.DeliveryProperties(routing_key="q"), body=b"x")
        link.client.receive_data(link.server.data_to_send())
        return [type(event).__name__ for event in link.client.events()]

    assert sent(3) == ["TransferReceived"] * 3
    cancel = session.subscriptions["d"].cancel(sync=True)
    link.run()
    theirs.complete(RangeSet([(0, cancel)]))
    link.run()
    session.subscribe("q", "d", accept_mode=AcceptMode(accept_mode)).grant(2)
    link.run()
    theirs.subscribers["d"]._book.grant(0, INFINITE)
    assert sent(3) == ["TransferReceived"] * 2 + ["SessionDetached"]


def test_a_second_subscription_without_a_name_is_refused_like_any_other_second_one() -> None:
    for again in (None, ""):
        carrier, session = attached_session("server")
        carrier.hear(message.Subscribe("q"))
        assert list(session.subscribers) == [""]
        carrier.hear(message.Subscribe("q", again))
        (ended,) = [each for each in carrier.happened() if isinstance(each, SessionDetached)]
        assert ended.violation is not None
        assert (ended.violation.rule.rpartition(".")[2], ended.violation.code) == ("unique-subscriber-destination", 530)


@pytest.mark.rule("message.set-flow-mode.mode-switching")
@pytest.mark.parametrize("words", [
    (), (message.Flow("d", 0, 1),), (message.Flow("d", 1),), (message.Flow("d", 0, 1), message.Stop("d")),
    (message.Flow("d", 0, 1), message.Flush("d")), (message.Flow("d", 0, 1), message.Flush("d"), message.Flow("d", 0, 1)),
])  # fmt: skip
def test_the_strict_machine_refuses_a_mode_where_the_strict_observer_accuses(words: tuple[Command, ...]) -> None:
    """Set-flow-mode with credit left, for the same words: one answer."""
    said = message.Subscribe("q", "d"), *words, message.SetFlowMode("d", 0)
    findings = Findings(True, DEFAULT_LIMITS)
    witness = CreditWitness(findings, False)
    for id, command in enumerate(said):
        witness.hear(id, command)
    for profile in PROFILES:
        carrier, _ = attached_session("server", profile=profile)
        carrier.hear(*said)
        refused = [each.error_code for each in carrier.said() if isinstance(each, execution.Exception_)]
        assert refused == [406] * len(findings.found) * profile.strict


def test_an_exception_full_of_zeros_is_about_no_command() -> None:
    assert exception_of(execution.Exception_(404, 0, 0, 0, 0)) == (None, None, None, None)
    assert exception_of(execution.Exception_(404, 7, 0, 0, 0)) == (7, 0, 0, 0)
    assert exception_of(execution.Exception_(404, 7)) == (7, None, None, None)
    assert exception_of(execution.Exception_(404)) == (None, None, None, None)


def test_flush_is_answered_in_order_even_when_there_is_nothing() -> None:
    carrier, session = attached_session("server", pointed=False)
    carrier.hear(c.Flush(True, True, True))
    assert carrier.said() == [c.Expected(EMPTY), c.Confirmed(EMPTY), c.Completed(EMPTY)]
    carrier.hear(c.CommandPoint(0, 0), queue.Declare("q"), queue.Declare("q"), queue.Declare("q"))
    session.complete(1)
    session.confirm(0)
    carrier.hear(c.Flush(True, True, True))
    assert carrier.said() == [
        c.Expected(RangeSet.of(3)),
        c.Confirmed(RangeSet([(0, 1)])),
        c.Completed(RangeSet.of(1), True),
    ]
    assert carrier.said() == []
    carrier.hear(c.Flush(False, False, True), c.Flush(True))
    assert carrier.said() == [c.Completed(RangeSet.of(1), True), c.Expected(RangeSet.of(3))]


def test_session_expected_include_next_command_and_holes() -> None:
    carrier, _ = attached_session("server")
    carrier.hear(queue.Declare("q"), c.CommandPoint(5, 0), queue.Declare("q"), c.Flush(True))
    assert carrier.said() == [c.Expected(RangeSet([(1, 4), (6, 6)]))]


def test_completed_each_id_comes_once() -> None:
    carrier, session = attached_session("client")
    for _ in range(4):
        session.sync()
    carrier.hear(c.Completed(RangeSet([(0, 1)])), c.Completed(RangeSet([(0, 2)])), c.Completed(EMPTY), c.Completed(None))
    assert carrier.happened() == [CommandsCompleted(b"s", RangeSet([(0, 1)])), CommandsCompleted(b"s", RangeSet.of(2))]
    carrier.hear(c.Confirmed(RangeSet([(2, 3)])), c.Confirmed(RangeSet([(2, 3)])))
    assert carrier.happened() == [CommandsConfirmed(b"s", RangeSet.of(3))]


def test_session_completed_known_completed_reply_is_never_unsolicited() -> None:
    carrier, session = attached_session("client")
    for _ in range(4):
        session.sync()
    carrier.take()
    carrier.hear(c.Completed(RangeSet.of(0)), c.Completed(RangeSet.of(2)))
    assert carrier.said() == []
    carrier.hear(c.Completed(RangeSet.of(3), True))
    assert carrier.said() == [c.KnownCompleted(RangeSet.of(0, 2, 3))]
    carrier.hear(c.Completed(RangeSet.of(3), True))
    assert carrier.said() == [c.KnownCompleted(RangeSet.of(3))]


def test_session_completed_commands_completed_implies_confirmed() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.sync()
    carrier.hear(c.Completed(RangeSet.of(0)))
    assert session._outbound.kept == {}
    carrier.hear(c.Confirmed(RangeSet.of(0)))
    assert carrier.happened() == [CommandsCompleted(b"s", RangeSet.of(0))]


def test_session_completed_commands_exclude_known_complete() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), queue.Declare("q"))
    session.complete([0, 1])
    carrier.take()
    carrier.hear(c.KnownCompleted(RangeSet.of(0)), c.Flush(False, True, True))
    assert carrier.said() == [c.Confirmed(RangeSet.of(1)), c.Completed(RangeSet.of(1), True)]


def test_session_gap_rules() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), queue.Declare("q"))
    session.complete(0)
    carrier.happened()
    carrier.hear(c.Gap(RangeSet([(0, 4)])))
    assert carrier.happened() == [CommandsSkipped(b"s", RangeSet([(2, 4)]))]
    assert carrier.said() == [c.Completed(RangeSet([(0, 4)]))]
    carrier.hear(c.Flush(True))
    assert carrier.said() == [c.Expected(RangeSet.of(5))]
    carrier.hear(c.Gap(RangeSet([(0, 4)])), c.Gap(EMPTY))
    assert carrier.happened() == []


def test_session_gap_aborted_commands() -> None:
    """A gap over a command that is half received aborts it."""
    carrier, session = attached_session("server")
    writer, theirs = attached_session("client")
    theirs.publish("", message.DeliveryProperties(routing_key="k"), body=b"x" * 100)
    octets = writer.take()[28:]  # behind command-point
    carrier.feed(octets[:-40])
    assert carrier.happened() == []
    assert carrier.reader.buffered
    carrier, session = attached_session("server")
    carrier.feed(octets[: octets.index(b"x") - 12])  # command and header frames, no body
    carrier.hear(c.Gap(RangeSet.of(0)))
    assert carrier.happened() == [CommandsSkipped(b"s", RangeSet.of(0))]
    carrier.feed(octets[octets.index(b"x") - 12 :])
    assert carrier.happened() == []
    assert carrier.failed == []
    carrier.hear(execution.Sync())
    assert session._inbound.next_id == 2


def test_session_command_point_nonzero_offset() -> None:
    carrier, session = attached_session("server")
    carrier.hear(c.CommandPoint(3, 17))
    assert carrier.said() == [c.Detached(b"s", 4)]
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert event.violation.rule == "session.command-point.nonzero-offset"
    assert session.state == "ended"


NEVER_SENT: dict[str, Control] = {
    "completed": c.Completed(RangeSet([(0, 7)])),
    "confirmed": c.Confirmed(RangeSet([(0, 7)])),
    "known-completed": c.KnownCompleted(RangeSet([(0, 7)])),
}


@pytest.mark.parametrize("profile", [DEFAULT_PROFILE, STRICT_PROFILE], ids=["default", "strict"])
@pytest.mark.parametrize("name", NEVER_SENT)
def test_ids_that_were_never_sent_are_a_violation_as_an_observer_says(name: str, profile: Profile) -> None:
    carrier, session = attached_session("client", profile=profile)
    session.sync()
    carrier.take()
    carrier.hear(NEVER_SENT[name])
    exception, detach = carrier.said()
    assert isinstance(exception, execution.Exception_)
    assert (exception.error_code, detach) == (542, c.Detach(b"s"))
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.origin == Origin.VIOLATION
    assert event.violation is not None
    assert event.violation.rule == f"session.{name}.commands"


@pytest.mark.parametrize("last", [0, 1, 2])
def test_a_confirmed_set_may_end_one_behind_the_last_unless_the_letter_counts(last: int) -> None:
    for profile, ends in ((DEFAULT_PROFILE, last > 1), (STRICT_PROFILE, last > 0)):
        carrier, session = attached_session("client", profile=profile)
        session.sync()
        carrier.hear(c.Confirmed(RangeSet([(0, last)])))
        assert (session.state == "ended") is ends


def test_expected_that_nobody_asked_for() -> None:
    carrier, session = attached_session("client")
    carrier.hear(c.Expected(RangeSet.of(0)))
    assert session.state == "attached"
    session.flush(expected=True)
    carrier.hear(c.Expected(RangeSet.of(0)))
    assert carrier.happened() == []
    carrier, session = attached_session("client", profile=STRICT_PROFILE)
    carrier.hear(c.Expected(RangeSet.of(0)))
    assert session.state == "ended"


@pytest.mark.parametrize(("ranges", "ends"), [(2, False), (3, False), (4, True)])
def test_limit_of_ranges(ranges: int, ends: bool) -> None:
    carrier, session = attached_session("server", limits=Limits(ranges=3))
    for n in range(ranges):
        carrier.hear(c.CommandPoint(2 * n + 1, 0), execution.Sync())
    assert (session.state == "ended") == ends
    if ends:
        event = carrier.happened()[-1]
        assert isinstance(event, SessionDetached)
        assert event.violation is not None
        assert (event.violation.rule, event.violation.code) == ("limits.ranges", 506)


@pytest.mark.parametrize(("ranges", "ends"), [(2, False), (3, False), (4, True)])
def test_limit_of_ranges_that_are_completed(ranges: int, ends: bool) -> None:
    """Completions that leave holes, of which the other side never says that we need not remember them."""
    carrier, session = attached_session("client", limits=Limits(ranges=3))
    for _ in range(2 * ranges):
        session.sync()
    for n in range(ranges):
        carrier.hear(c.Completed(RangeSet.of(2 * n)))
    assert (session.state == "ended") == ends
    if ends:
        event = carrier.happened()[-1]
        assert isinstance(event, SessionDetached)
        assert event.violation is not None
        assert (event.violation.rule, event.violation.said) == ("limits.ranges", "session.completed")


def test_sync_is_complete_when_all_before_it_are() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), execution.Sync(), queue.Declare("q"))
    assert carrier.said() == []
    session.complete(2)
    assert carrier.said() == [c.Completed(RangeSet.of(2))]
    session.complete(0)
    assert carrier.said() == [c.Completed(RangeSet([(0, 2)]))]


def test_more_holes_than_one_control_can_say() -> None:
    carrier, session = attached_session("server", max_frame_size=4096)
    for n in range(700):
        carrier.hear(c.CommandPoint(2 * n + 1, 0), execution.Sync())
    carrier.take()
    carrier.hear(c.Flush(True))
    (expected,) = carrier.said()
    assert isinstance(expected, c.Expected)
    assert expected.commands is not None
    assert expected.commands.ranges == tuple((2 * n, 2 * n) for n in range(EXPECTED_RANGES))
    assert session.state == "attached"


def test_holes_of_billions_can_still_be_reported() -> None:
    """Two points far ahead leave a hole wider than one range can say: the oldest of it is forgotten."""
    carrier, session = attached_session("server")
    carrier.hear(c.CommandPoint(0x7FFFFFFE, 0), c.CommandPoint(0xFFFFFFF0, 0), c.CommandPoint(0x7FFFFFE0, 0))
    carrier.hear(c.Flush(True, True, True), c.Gap(RangeSet([(0x7FFFFFE0, 0xFFFFFFDE)])), c.Flush(True, True, True))
    assert session.state == "attached"
    assert len(carrier.said()) == 6


def test_expectations_of_billions_can_still_be_answered() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.publish()
    carrier.lost()
    carrier = BareCarrier("client")
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Attached(b"s"))
    carrier.take()
    carrier.hear(c.Expected(RangeSet([(0x80000010, 0xFFFFFFF0), (0xFFFFFFF2, 1)])))
    assert session.state == "attached"
    assert isinstance(carrier.said()[0], c.Gap)


@pytest.mark.rule("session.request-timeout.maximum-granted-timeout")
@pytest.mark.parametrize(("asked", "granted"), [(9, 9), (10, 10), (11, 10), (None, 10)])
def test_a_client_grants_no_more_than_it_wants(asked: int | None, granted: int) -> None:
    """And says what it has granted: not what was asked for."""
    carrier, session = attached_session("client", timeout=0, max_timeout=10)
    carrier.hear(c.RequestTimeout(asked))
    assert carrier.said() == [c.Timeout(granted)]
    assert session.timeout == granted


@pytest.mark.rule("session.gap.gap-confirmation-and-completion")
def test_an_application_may_end_what_a_gap_has_completed() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Query("q"), message.Transfer("x", 0, 0), c.Gap(RangeSet([(0, 1)])))
    assert c.Completed(RangeSet([(0, 1)])) in carrier.said()
    session.result(0, queue.QueueQueryResult())
    session.accept(1)
    session.complete(0)
    with pytest.raises(LocalProtocolError):
        session.complete(0)


@pytest.mark.parametrize(("gap", "heard"), [(5, 1), (0, 0)])
def test_a_gap_ahead_leaves_what_is_under_way_to_be_received(gap: int, heard: int) -> None:
    """Only a gap over the next id means that a command which was begun will not be finished."""
    peer = served()
    peer.say(c.Attach(b"s"), c.CommandPoint(0, 0), channel=1)
    payload = peer.dialect.codec.encode_command(message.Transfer("", 1, 0), False)
    *begun, rest = frame_command(1, payload, b"\0\0\0\x04\0\x63\0\0", b"body")
    events = peer.say(b"".join(begun), peer.octets_of(c.Gap(RangeSet.of(gap)), 1), rest)
    assert [type(event) for event in events].count(TransferReceived) == heard


def test_a_set_is_cut_so_that_each_part_fits_into_a_frame() -> None:
    _, session = attached_session("server", max_frame_size=4096)
    whole = RangeSet.of(*range(0, 2 * 509, 2))
    assert parts(session, whole) == [whole]
    more = RangeSet.of(*range(0, 2 * 510, 2))
    assert [len(part) for part in parts(session, more)] == [509, 1]
    assert parts(session, RangeSet()) == [RangeSet()]


def test_said_once_however_often_it_was_asked() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"))
    session.complete(0)
    carrier.hear(*[Flush(False, False, True)] * 5)
    assert carrier.said() == [Completed(RangeSet.of(0), True)] * 2
    assert carrier.said() == []


@settings(max_examples=settings().max_examples * 3)
@given(
    st.lists(st.tuples(st.sampled_from(["complete", "complete", "flush", "take", "known"]), st.integers(0, 99)), max_size=80)
)
def test_what_is_not_sent_again_was_sent_with_timely_reply(words: list[tuple[str, int]]) -> None:
    """Of what is complete and not known to be known, nothing is left out of session.completed that was not said before with the
    mark by which the sender must answer at once."""
    carrier, session = attached_session("server")
    carrier.hear(*[queue.Declare("q")] * 100)
    for id in range(0, 60, 2):  # many ranges
        session.complete(id)
    done, timely = set(range(0, 60, 2)), set[int]()
    incomplete = set(range(100)) - done
    for word, id in [*words, ("flush", 0), ("take", 0)]:
        if word == "complete" and id in incomplete:
            session.complete(id)
            incomplete.remove(id)
            done.add(id)
        elif word == "flush":
            carrier.hear(Flush(False, False, True))
        elif word == "known" and id in timely:
            carrier.hear(KnownCompleted(RangeSet.of(id)))
            done.discard(id)
        elif word == "take":
            batch = [said for said in carrier.said() if isinstance(said, Completed)]
            told = {id for id in done for said in batch if id in (said.commands or EMPTY)}
            assert not batch or done - told <= timely
            timely |= {id for id in done for said in batch if said.timely_reply and id in (said.commands or EMPTY)}


def test_commands_confirmed_in_many_ranges_are_reported_complete_too() -> None:
    carrier, session = attached_session("server")
    carrier.hear(*[queue.Declare("q")] * 40)
    for count, words in ((TIMELY_RANGES, [Confirmed]), (TIMELY_RANGES + 1, [Confirmed, Completed])):
        for id in range(0, 2 * count, 2):
            if id in session._inbound.outstanding:
                session.complete(id)
        carrier.said()
        carrier.hear(Flush(False, True, False))
        assert [type(each) for each in carrier.said()] == words
