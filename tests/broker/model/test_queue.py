"""Queues: order, priorities, acquisition, release; and subscribers, asked in turn, only those that can take something."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from tests.broker.model.things import Sink, bodies, message, refusal
from tests.steps import assert_linear

from amqp_sansio.broker import conditions
from amqp_sansio.broker.model.message import ACQUIRED, AVAILABLE, GONE, QueueEntry
from amqp_sansio.broker.model.queue import ASKED, VAIN, Queue, level_of
from amqp_sansio.broker.model.subscribers import Asks, Consumer


def filled(count: int, **properties: Any) -> Queue:
    queue = Queue("q")
    for at in range(count):
        queue.put(message(body=b"%d" % at, **properties))
    return queue


def counts(queue: Queue) -> tuple[int, int, int]:
    return queue.available, queue.acquired, queue.held


# --- priorities -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("message.priority-level-implementation")
@pytest.mark.parametrize("levels", range(1, 11))
def test_priorities_are_divided_evenly_around_the_middle(levels: int) -> None:
    lowest, highest = 5 - math.ceil(levels / 2), 4 + levels // 2
    by_priority = [level_of(priority, levels) for priority in range(10)]
    assert set(by_priority[: lowest + 1]) == {0}
    assert set(by_priority[max(highest, 0) :]) == {levels - 1}
    assert by_priority[lowest : highest + 1] == sorted(set(by_priority))
    assert by_priority == list(Queue("q", levels=levels).level)


@pytest.mark.rule("message.min-priority-levels")
def test_two_levels_tell_0_from_9() -> None:
    queue = Queue("q", levels=2)
    for priority in (0, 9):
        queue.put(message(body=b"%d" % priority, priority=priority))
    assert bodies(queue) == [b"9", b"0"]
    assert [level_of(priority, 2) for priority in range(10)] == [0] * 5 + [1] * 5


def test_levels_that_some_number_tells_apart_more_levels_tell_apart_too() -> None:
    for levels in range(1, 10):
        for a in range(10):
            for b in range(a):
                if level_of(a, levels) != level_of(b, levels):
                    assert level_of(a, levels + 1) != level_of(b, levels + 1)


@pytest.mark.rule("message.priority-delivery")
def test_messages_of_one_priority_come_in_order_persistent_or_not() -> None:
    queue = Queue("q", durable=True)
    for at in range(10):
        queue.put(message(body=b"%d" % at, delivery_mode=1 + at % 2))
    assert bodies(queue) == [b"%d" % at for at in range(10)]


def test_urgent_messages_come_first() -> None:
    queue = Queue("q")
    for priority in (4, 0, 9, 4, 5, 9):
        queue.put(message(body=b"%d" % priority, priority=priority))
    taken = []
    while (entry := queue.take()) is not None:
        taken.append(entry.message.body)
    assert taken == [b"9", b"9", b"5", b"4", b"4", b"0"]


# --- taking and giving back -----------------------------------------------------------------------------------------------


def test_counts_and_octets() -> None:
    queue = filled(3)
    octets = queue.octets
    assert octets == sum(entry.message.size for entry in queue.all())
    entry = queue.take()
    assert entry is not None
    assert (counts(queue), queue.octets, queue.messages) == ((2, 1, 0), octets, 3)
    assert queue.remove(entry)
    assert not queue.remove(entry)
    assert (counts(queue), queue.octets) == ((2, 0, 0), octets - entry.message.size)
    assert entry.state == GONE


def test_nothing_is_taken_from_an_empty_queue() -> None:
    assert Queue("q").take() is None


@pytest.mark.rule("message.release.ordering")
def test_what_is_released_has_its_place_again() -> None:
    queue = filled(6)
    taken = [queue.take() for _ in range(5)]
    for at in (3, 0, 4, 1):
        entry = taken[at]
        assert entry is not None
        queue.release(entry)
    assert [entry.message.body for entry in queue.waiting()] == [b"0", b"1", b"3", b"4", b"5"]
    queue.put(message(body=b"fresh"))
    first = queue.take()
    assert first is taken[0]


def test_a_release_of_what_is_not_acquired_changes_nothing() -> None:
    queue = filled(1)
    (entry,) = queue.all()
    queue.release(entry, set_redelivered=True)
    assert (counts(queue), entry.redelivered) == ((1, 0, 0), False)
    queue.remove(entry)
    queue.release(entry)
    assert counts(queue) == (0, 0, 0)


def test_only_what_is_available_can_be_acquired() -> None:
    queue = filled(3)
    middle = list(queue.all())[1]
    assert queue.acquire(middle)
    assert not queue.acquire(middle)
    assert [entry.message.body for entry in queue.waiting()] == [b"0", b"2"]
    assert counts(queue) == (2, 1, 0)


def test_a_release_without_the_mark_leaves_the_mark_as_it_was() -> None:
    queue = filled(1)
    for mark, expected in ((False, False), (True, True), (False, True)):
        entry = queue.take()
        assert entry is not None
        queue.release(entry, mark)
        assert entry.redelivered is expected


def test_what_is_held_holds_up_its_level_and_no_other() -> None:
    queue = filled(1)
    held = queue.put(message(body=b"held"), held=True)
    queue.put(message(body=b"behind"))
    queue.put(message(body=b"low", priority=0))
    assert counts(queue) == (3, 0, 1)
    taken = [entry.message.body for entry in iter(queue.take, None)]
    assert taken == [b"0", b"low"]
    queue.unhold(held)
    queue.unhold(held)
    assert counts(queue) == (2, 2, 0)
    assert [entry.message.body for entry in iter(queue.take, None)] == [b"held", b"behind"]


def test_what_is_held_cannot_be_acquired_but_removed() -> None:
    queue = Queue("q")
    held = queue.put(message(), held=True)
    assert not queue.acquire(held)
    assert queue.remove(held)
    queue.unhold(held)
    assert (counts(queue), queue.octets) == ((0, 0, 0), 0)


def test_all_of_them_stand_in_the_order_of_delivery() -> None:
    queue = filled(3)
    queue.put(message(body=b"urgent", priority=9))
    queue.take()
    queue.take()
    assert bodies(queue) == [b"urgent", b"0", b"1", b"2"]


def test_a_queue_without_subscribers() -> None:
    queue = filled(1)
    assert not queue.dispatch(10)
    assert not queue.able(message(), Asks(1000))
    queue.wake(Sink())
    queue.unsubscribe(Sink())
    assert queue.subscribers == 0
    assert "1 available" in repr(queue)


def queue_of(*consumers: Consumer, messages: int = 0) -> Queue:
    queue = Queue("q")
    for consumer in consumers:
        queue.subscribe(consumer)
    for at in range(messages):
        queue.put(message(body=b"%d" % at))
    return queue


def test_messages_go_round() -> None:
    a, b = Sink(), Sink()
    queue = queue_of(a, b, messages=5)
    assert queue.dispatch(3)
    assert not queue.dispatch(3)
    assert (a.bodies, b.bodies) == ([b"0", b"2", b"4"], [b"1", b"3"])
    assert (queue.available, queue.acquired) == (0, 5)
    assert {entry.state for entry in a.got} == {ACQUIRED}


def test_one_that_says_no_is_not_asked_again_before_it_is_woken() -> None:
    a, b = Sink(credit=1), Sink()
    queue = queue_of(a, b, messages=4)
    queue.dispatch(100)
    assert (a.bodies, b.bodies, a.asked) == ([b"0"], [b"1", b"2", b"3"], 2)
    for _ in range(10):
        queue.put(message())
        queue.dispatch(100)
    assert a.asked == 2
    a.credit = 1
    queue.wake(a)
    for _ in range(2):
        queue.put(message(body=b"z"))
    queue.dispatch(100)
    assert a.bodies == [b"0", b"z"]


def test_what_nobody_takes_has_its_place_and_its_mark_again() -> None:
    queue = queue_of(Sink(credit=0), messages=2)
    assert not queue.dispatch(100)
    assert [entry.message.body for entry in queue.waiting()] == [b"0", b"1"]
    assert [(entry.state, entry.redelivered) for entry in queue.all()] == [(AVAILABLE, False)] * 2


def test_browsers_see_everything_and_take_nothing() -> None:
    a, b = Sink(acquires=False), Sink(acquires=False, credit=1)
    queue = queue_of(a, b, messages=3)
    queue.dispatch(100)
    assert (a.bodies, b.bodies) == ([b"0", b"1", b"2"], [b"0"])
    assert queue.available == 3
    b.credit = 10
    queue.wake(b)
    queue.put(message(body=b"3"))
    queue.dispatch(100)
    assert (a.bodies, b.bodies) == ([b"0", b"1", b"2", b"3"],) * 2


def test_a_browser_that_has_seen_all_is_not_asked() -> None:
    a = Sink(acquires=False)
    queue = queue_of(a, messages=1)
    assert not queue.dispatch(100)
    for _ in range(5):
        assert not queue.dispatch(100)
    assert a.asked == 1


def test_takers_and_browsers_side_by_side() -> None:
    looks, takes = Sink(acquires=False), Sink()
    queue = queue_of(looks, takes, messages=3)
    queue.dispatch(100)
    assert (looks.bodies, takes.bodies) == ([b"0", b"1", b"2"],) * 2


def test_one_that_leaves_while_it_is_offered_something() -> None:
    class Leaves(Sink):
        def offer(self, entry: object) -> bool:
            queue.unsubscribe(self)
            return False

    leaves, stays = Leaves(), Sink()
    queue = queue_of(leaves, stays, messages=1)
    queue.dispatch(100)
    assert (stays.bodies, queue.subscribers) == ([b"0"], 1)


def test_one_that_settles_at_once() -> None:
    class Settles(Sink):
        def offer(self, entry: object) -> bool:
            return super().offer(entry) and queue.remove(self.got[-1])  # type: ignore[arg-type]  # it is a QueueEntry

    settles = Settles()
    queue = queue_of(settles, messages=3)
    queue.dispatch(100)
    assert (len(settles.got), queue.messages) == (3, 0)


@pytest.mark.rule("message.subscribe.exclusive.in-use")
def test_one_that_wants_to_be_the_only_one() -> None:
    queue = queue_of(Sink())
    assert refusal(queue.subscribe, Sink(exclusive=True)).condition is conditions.SUBSCRIBE_EXCLUSIVE
    alone = queue_of(Sink(exclusive=True))
    assert refusal(alone.subscribe, Sink()).condition is conditions.SUBSCRIBE_EXCLUSIVE
    assert (queue.subscribers, alone.subscribers) == (1, 1)


@pytest.mark.rule("message.subscribe.simultaneous-subscriptions")
def test_sixteen_subscriptions_and_more() -> None:
    sinks = [Sink() for _ in range(1000)]
    queue = queue_of(*sinks, messages=1000)
    queue.dispatch(1000)
    assert {len(sink.got) for sink in sinks} == {1}


def test_which_consumers_are_able() -> None:
    sent = message(immediate=True)
    assert not queue_of(Sink(credit=0)).able(sent, Asks(1000))
    assert queue_of(Sink(credit=0), Sink(credit=1)).able(sent, Asks(1000))
    assert queue_of(Sink(acquires=False)).able(sent, Asks(1000))


def test_a_queue_is_dispatchable_only_when_somebody_may_take_something() -> None:
    dispatchable: dict[Queue, None] = {}
    queue = Queue("q", dispatchable=dispatchable)
    queue.put(message())
    assert not dispatchable
    sink = Sink(credit=0)
    queue.subscribe(sink)
    assert list(dispatchable) == [queue]
    dispatchable.clear()
    queue.dispatch(1)
    assert not dispatchable
    queue.put(message())
    assert not dispatchable
    queue.wake(sink)
    assert list(dispatchable) == [queue]


def test_a_selective_consumer_takes_what_it_selects_and_leaves_the_rest_to_others() -> None:
    odd, rest = Sink(wanted=b"1"), Sink(credit=2)
    queue = queue_of(odd, rest)
    for body in (b"0a", b"1a", b"0b", b"1b", b"0c"):
        queue.put(message(body=body))
    assert not queue.dispatch(100)
    assert odd.bodies == [b"1a", b"1b"]
    assert rest.bodies == [b"0a", b"0b"]
    assert [entry.message.body for entry in queue.waiting()] == [b"0c"]
    assert {entry.state for entry in odd.got} == {ACQUIRED}


def test_a_selective_consumer_looks_at_each_message_once_and_again_after_a_release() -> None:
    sink, other = Sink(wanted=b"x"), Sink(credit=1)
    queue = queue_of(sink, messages=50)
    for _ in range(5):
        queue.dispatch(100)
    assert (sink.looked, sink.got) == (50, [])
    queue.subscribe(other)
    queue.dispatch(100)
    queue.release(other.got[0])
    queue.dispatch(100)
    assert sink.looked == 51


def test_a_selective_consumer_without_credit_loses_nothing() -> None:
    sink = Sink(wanted=b"x", credit=1)
    queue = queue_of(sink)
    for number in range(3):
        queue.put(message(body=b"x%d" % number))
    queue.dispatch(100)
    assert (sink.bodies, queue.available, queue.acquired) == ([b"x0"], 2, 1)
    sink.credit = 5
    queue.wake(sink)
    queue.release(sink.got[0])
    queue.dispatch(100)
    assert sink.bodies == [b"x0", b"x0", b"x1", b"x2"]


def test_a_selective_browser_sees_what_it_selects_and_takes_nothing() -> None:
    sink = Sink(wanted=b"1", acquires=False)
    queue = queue_of(sink, messages=12)
    queue.dispatch(100)
    assert sink.bodies == [b"1", b"10", b"11"]
    assert (queue.available, queue.acquired) == (12, 0)


@pytest.mark.parametrize("many", [1000])
def test_selective_consumers_cost_linear_work(many: int) -> None:
    """Ten of them look at each message once each, however the turns are cut."""
    sinks = [Sink(wanted=b"%d" % number) for number in range(10)]
    queue = queue_of(*sinks, messages=many)
    turns = 0
    while queue.dispatch(7):
        turns += 1
    assert sum(sink.looked for sink in sinks) <= 10 * many
    assert sum(len(sink.got) for sink in sinks) == many
    assert turns <= 2 * many


@pytest.mark.parametrize(
    ("size", "turns", "body", "looks"),
    [
        (100, 1, b"not selected", 16),
        (10_000, 1, b"not selected", 1),
        (10_000, 10, b"not selected", 4),
        (10_000, 10, b"selected, and there is no credit", 4),
    ],
)
def test_a_look_at_a_large_header_counts_as_many_deliveries(size: int, turns: int, body: bytes, looks: int) -> None:
    """To read one of a megabyte takes as long as thousands of deliveries, in which everybody else would wait."""
    sinks = [Sink(credit=0, wanted=b"selected") for _ in range(20)]
    queue = queue_of(*sinks)
    for _ in range(20):
        queue.put(message(body=body, application_headers={"h": "x" * size}))
    for _ in range(turns):
        assert queue.dispatch(16)
    assert sum([sink.looked for sink in sinks]) == looks


def test_of_many_subscribers_without_credit_some_are_asked_now_and_others_the_next_time() -> None:
    sent = message()
    queue = queue_of(*[Sink(credit=0) for _ in range(ASKED)], Sink(credit=1))
    assert not queue.able(sent, Asks(1000))
    assert queue.able(sent, Asks(1000))


def short(octets: int, acquires: bool = True, wanted: bytes | None = None) -> Sink:
    """A consumer with so many octets of credit."""
    sink = Sink(acquires=acquires, wanted=wanted)
    sink.octets = octets
    return sink


def test_one_whose_octets_are_too_few_for_the_head_gets_the_next_message_that_fits() -> None:
    small, large = short(100), Sink(credit=1)
    queue = queue_of(small, large)
    for size in (1000, 50, 60):
        queue.put(message(body=bytes(size)))
    assert queue.dispatch(100) is False or queue.dispatch(100) is False
    assert [len(each) for each in small.bodies] == [50]
    assert [len(each) for each in large.bodies] == [1000]
    assert queue.available == 1


@pytest.mark.parametrize("leaves", ["acquired", "removed"])
@pytest.mark.parametrize("kind", ["taker", "browser", "selective"])
def test_a_message_that_was_too_large_and_leaves_gives_way_to_a_smaller_one(leaves: str, kind: str) -> None:
    sink = short(100, acquires=kind != "browser", wanted=b"" if kind == "selective" else None)
    dispatchable: dict[Queue, None] = {}
    queue = Queue("q", dispatchable=dispatchable)
    queue.subscribe(sink)
    head = queue.put(message(body=bytes(1000)))
    queue.put(message(body=bytes(50)))
    while dispatchable:
        dispatchable.clear()
        queue.dispatch(100)
    assert sink.bodies == []
    assert queue.acquire(head) if leaves == "acquired" else queue.remove(head)
    assert queue in dispatchable, "a server must know that there is something to do"
    queue.dispatch(100)
    assert [len(each) for each in sink.bodies] == [50]


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["taker", "browser", "selective"])), min_size=1, max_size=4),
)
def test_dispatch_ends_only_when_nobody_can_take_what_is_next_for_it(sizes: list[int], credits: list[tuple[int, str]]) -> None:
    """When no queue is dispatchable, whoever acquires has too few octets for the head."""
    dispatchable: dict[Queue, None] = {}
    queue = Queue("q", dispatchable=dispatchable)
    sinks = [short(octets, kind != "browser", b"" if kind == "selective" else None) for octets, kind in credits]
    for sink in sinks:
        queue.subscribe(sink)
    for size in sizes:
        queue.put(message(body=bytes(size)))
    rounds = 0
    while dispatchable:
        rounds += 1
        assert rounds < 1000, "it never comes to rest"
        del dispatchable[queue]
        if queue.dispatch(3):
            dispatchable[queue] = None
    head = queue.head
    for sink in sinks:
        if head is not None and sink.acquires:
            assert sink.octets is not None
            assert len(head.message.body) > sink.octets


def test_many_whose_octets_are_too_few_cost_nothing_for_each_message() -> None:
    """Twice as many of them are asked once each, and then only the one that fits."""
    asked: dict[int, int] = {}
    for many in (100, 200):
        sinks = [short(10) for _ in range(many)]
        large = Sink()
        queue = queue_of(*sinks)
        queue.put(message(body=bytes(50)))
        while queue.dispatch(100):
            pass
        queue.subscribe(large)
        for _ in range(50):
            queue.put(message(body=bytes(50)))
            while queue.dispatch(100):
                pass
        asked[many] = sum(sink.asked for sink in sinks)
    assert asked == {100: 100, 200: 200}


@pytest.mark.parametrize("acquires", [True, False], ids=["takers", "browsers"])
def test_a_turn_ends_when_many_have_taken_nothing(acquires: bool) -> None:
    """So that no queue keeps the others waiting, however many subscribers of it have no credit."""
    sinks = [Sink(credit=0, acquires=acquires) for _ in range(2 * VAIN)]
    queue = queue_of(*sinks, Sink(acquires=acquires), messages=1)
    assert [(queue.dispatch(100), sum(sink.asked for sink in sinks)) for _ in range(3)] == [
        (True, VAIN),
        (True, 2 * VAIN),
        (False, 2 * VAIN),
    ]


def test_what_is_released_wakes_only_browsers_that_have_not_passed_it() -> None:
    first, late = Sink(acquires=False), Sink(acquires=False)
    queue = queue_of(first, messages=3)
    queue.dispatch(100)
    taken = [entry for entry in (queue.take(), queue.take(), queue.take()) if entry is not None]
    queue.subscribe(late)
    assert not queue.dispatch(100)
    assert (first.bodies, late.bodies) == ([b"0", b"1", b"2"], [])
    for entry in (taken[1], taken[0], taken[2]):
        queue.release(entry)
        assert not queue.dispatch(100)
    assert (first.bodies, late.bodies) == ([b"0", b"1", b"2"], [b"1", b"2"])


def test_the_highest_priority_comes_first_and_those_of_one_priority_by_turns() -> None:
    low, one, two = Sink(), Sink(priority=5, credit=2), Sink(priority=5, credit=1)
    queue = queue_of(low, one, two, messages=6)
    assert not queue.dispatch(100)
    assert (one.bodies, two.bodies, low.bodies) == ([b"0", b"2"], [b"1"], [b"3", b"4", b"5"])
    queue.put(message(body=b"6"))
    two.credit = 1
    queue.wake(two)
    queue.put(message(body=b"7"))
    queue.dispatch(100)
    assert (two.bodies, low.bodies[3:]) == ([b"1", b"6"], [b"7"])
    queue.unsubscribe(one)
    queue.unsubscribe(two)
    queue.put(message(body=b"8"))
    queue.dispatch(100)
    assert low.bodies[-1] == b"8"


def test_a_selector_of_a_higher_priority_looks_before_the_others_take() -> None:
    low, high = Sink(), Sink(priority=1, wanted=b"x")
    queue = queue_of(low, high)
    for body in (b"0", b"x1", b"2", b"x3"):
        queue.put(message(body=body))
    queue.dispatch(100)
    assert (high.bodies, low.bodies) == ([b"x1", b"x3"], [b"0", b"2"])
    queue.release(high.got[0])
    queue.put(message(body=b"x4"))
    queue.dispatch(100)
    assert (high.bodies[2:], low.bodies) == ([b"x1", b"x4"], [b"0", b"2"])


def test_a_message_too_large_for_the_credit_goes_to_a_subscription_of_lower_priority() -> None:
    low, high = Sink(), short(100)
    high.priority = 1
    queue = queue_of(low, high)
    for size in (1000, 60, 50):
        queue.put(message(body=bytes(size)))
    while queue.dispatch(100):
        pass
    assert [len(each) for each in high.bodies] == [60]
    assert [len(each) for each in low.bodies] == [1000, 50]
    assert queue.dispatcher is not None
    assert queue.dispatcher.waits_for_smaller, "40 octets are left"
    high.octets = 40
    queue.wake(high)
    queue.put(message(body=bytes(1000)))
    low.credit = 0
    while queue.dispatch(100):
        pass
    queue.put(message(body=bytes(40)))
    assert queue.take() is not None
    while queue.dispatch(100):
        pass
    assert ([len(each) for each in high.bodies], queue.dispatcher.waits_for_smaller) == ([60, 40], False)


def test_a_browser_has_its_turns_whatever_its_priority() -> None:
    looks, takes, over = Sink(acquires=False, priority=-9), Sink(), Sink(acquires=False, priority=9)
    queue = queue_of(looks, takes, over, messages=3)
    queue.dispatch(100)
    assert (looks.bodies, takes.bodies, over.bodies) == ([b"0", b"2"], [b"0", b"1", b"2"], [b"1"])


def test_a_rank_goes_with_the_last_of_it() -> None:
    one, two = Sink(priority=1), Sink(priority=2)
    queue = queue_of(one, two)
    assert (queue.ranks_with(1), queue.ranks_with(3)) == (2, 3)
    queue.unsubscribe(two)
    queue.unsubscribe(two)
    assert (queue.ranks_with(1), queue.ranks_with(2), Queue("empty").ranks_with(5)) == (1, 2, 1)
    assert queue.able(message(), Asks(1000))


class Judge(Sink):
    """Looks, whenever it is offered something, whether somebody of a higher priority could have had it."""

    others: list[Judge]

    def offer(self, entry: QueueEntry) -> bool:
        if self.acquires and self.credit:
            for each in self.others:
                wants = each.wanted is None or entry.message.body.startswith(each.wanted)
                assert each.priority <= self.priority or not (each.acquires and each.credit and wants), "it was passed over"
        return super().offer(entry)


JUDGES = st.lists(
    st.tuples(st.integers(-1, 2), st.integers(0, 3), st.sampled_from([None, b"", b"a"]), st.booleans()), min_size=1, max_size=5
)
DOINGS = st.lists(st.tuples(st.sampled_from(["put a", "put b", "grant", "release", "leave"]), st.integers(0, 4)), max_size=25)


@given(JUDGES, DOINGS, st.integers(1, 9))
def test_no_message_goes_to_one_while_another_of_higher_priority_could_have_it(
    asked: list[tuple[int, int, bytes | None, bool]], doings: list[tuple[str, int]], most: int
) -> None:
    """Who acquires a message has the highest priority of all who have credit and want it; what is left nobody could have."""
    dispatchable: dict[Queue, None] = {}
    queue = Queue("q", levels=2, dispatchable=dispatchable)
    judges = [Judge(credit, browses < 1, priority=p, wanted=wanted) for p, credit, wanted, browses in asked]
    for judge in judges:
        judge.others = judges
        queue.subscribe(judge)
    for doing, number in doings:
        if doing.startswith("put"):
            queue.put(message(body=doing[-1].encode(), priority=9 * (number % 2)))
        elif judges:
            judge = judges[number % len(judges)]
            if doing == "grant":
                judge.credit += 1
                queue.wake(judge)
            elif doing == "release":
                for entry in judge.got:
                    queue.release(entry)
            else:
                queue.unsubscribe(judge)
                judges.remove(judge)
        while dispatchable:
            del dispatchable[queue]
            if queue.dispatch(most):
                dispatchable[queue] = None
    for entry in queue.waiting():
        for judge in judges:
            wants = judge.wanted is None or entry.message.body.startswith(judge.wanted)
            assert not (judge.acquires and judge.credit and wants)


def test_priorities_and_selectors_together_cost_linear_steps() -> None:
    """Ten subscriptions of five priorities, half of them with a selector, and twice the messages."""

    def prepared(many: int) -> Callable[[], object]:
        sinks = [Sink(priority=at % 5, wanted=b"%d" % at if at % 2 else None, credit=many // 10) for at in range(10)]
        queue = queue_of(*sinks)

        def work() -> None:
            for at in range(many):
                queue.put(message(body=b"%d" % at))
                queue.dispatch(16)

        return work

    assert_linear(prepared, 400)


def test_a_delivery_looks_at_each_priority_once() -> None:
    """Many of a higher priority that wait for a smaller message are not asked for each one that goes to a lower priority."""
    asked: dict[int, int] = {}
    for many in (50, 100):
        sinks = [short(10) for _ in range(many)]
        for at, sink in enumerate(sinks):
            sink.priority = 1 + at % 8
        queue = queue_of(Sink(), *sinks)
        for _ in range(50):
            queue.put(message(body=bytes(50)))
            while queue.dispatch(100):
                pass
        asked[many] = sum(sink.asked for sink in sinks)
    assert asked == {50: 50, 100: 100}


class BrowsingMachine(RuleBasedStateMachine):
    """Every browser sees every message once that is available behind the last one that it saw on its level."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue("q", levels=2)
        self.sinks: list[Sink] = []
        self.taken: list[QueueEntry] = []

    @rule(priority=st.sampled_from([0, 9]))
    def put(self, priority: int) -> None:
        self.queue.put(message(priority=priority))

    @rule()
    def take(self) -> None:
        entry = self.queue.take()
        if entry is not None:
            self.taken.append(entry)

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        self.queue.release(self.taken.pop(data.draw(st.integers(0, len(self.taken) - 1))))

    @precondition(lambda self: len(self.sinks) < 4)
    @rule(credit=st.integers(0, 5))
    def join(self, credit: int) -> None:
        self.sinks.append(Sink(credit, acquires=False))
        self.queue.subscribe(self.sinks[-1])

    @precondition(lambda self: self.sinks)
    @rule(data=st.data())
    def grant(self, data: st.DataObject) -> None:
        sink = data.draw(st.sampled_from(self.sinks))
        sink.credit += 3
        self.queue.wake(sink)

    @rule()
    def dispatch(self) -> None:
        while self.queue.dispatch(3):
            pass
        available = [entry for entry in self.queue.waiting() if entry.state == AVAILABLE]
        for sink in self.sinks:
            seen = {entry.message.envelope.priority: entry.position for entry in sink.got}
            assert not sink.credit or not [
                entry for entry in available if entry.position > seen.get(entry.message.envelope.priority, -1)
            ], "somebody with credit has not seen what is there"


BrowsingMachine.TestCase.settings = settings(max_examples=settings().max_examples * 2, stateful_step_count=30, deadline=None)
TestBrowsing = BrowsingMachine.TestCase
