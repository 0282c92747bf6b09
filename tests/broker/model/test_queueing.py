"""Messages come to queues and leave them: limits, journal, expiry."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from tests.broker.model.things import Sink, bodies, durable_host, journalled, message, publish, refusal
from tests.steps import assert_linear

from amqp_sansio.broker import conditions
from amqp_sansio.broker.journal import BranchEnded, Dequeued, Enqueued, Journal, MessageStored
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import GONE, Intake, QueueEntry
from amqp_sansio.broker.model.queueing import SLICE, UNDATED
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS

PERSISTENT = 2


def with_queues(host: VirtualHost, durable: bool = True, *names: str) -> VirtualHost:
    for name in names or ("q",):
        host.declare_queue(name, durable=durable)
    if host.journal.enabled:
        journalled(host)
    return host


def states(host: VirtualHost, name: str = "q") -> tuple[int, int, int]:
    queue = host.queues[name]
    return queue.available, queue.acquired, queue.held


def taken(host: VirtualHost, name: str = "q") -> QueueEntry:
    entry = host.queues[name].take()
    assert entry is not None
    return entry


def test_lifetimes_that_wait_for_a_tick_cost_linear() -> None:
    def prepared(count: int) -> Callable[[], object]:
        host, sent = VirtualHost(), [message("q") for _ in range(count)]

        def work() -> None:
            for each in sent:
                host.begin_ttl(each)

        return work

    assert_linear(prepared, 2 * UNDATED)


# --- the journal ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("message.persistent-message")
def test_a_persistent_message_on_a_durable_queue_is_held_until_it_is_journalled() -> None:
    host = with_queues(durable_host())
    sent = message("q", b"1", delivery_mode=PERSISTENT)
    number = host.enqueue(sent, [host.queues["q"]])
    assert (number, states(host)) == (host.journal.last, (0, 0, 1))
    operations = journalled(host)
    assert operations == [MessageStored("h", sent.number, sent.envelope.header, b"1"), Enqueued("h", "q", sent.number)]
    assert states(host) == (1, 0, 0)
    entry = taken(host)
    assert host.dequeue([entry]) == host.journal.last
    assert entry.state == GONE
    assert journalled(host) == [Dequeued("h", "q", sent.number)]


@pytest.mark.parametrize(("durable", "mode"), [(True, 1), (True, None), (False, PERSISTENT), (False, 1)])
def test_what_is_not_both_durable_and_persistent_waits_for_nobody(durable: bool, mode: int | None) -> None:
    host = with_queues(durable_host(), durable)
    assert host.enqueue(message("q", delivery_mode=mode), [host.queues["q"]]) == 0
    assert states(host) == (1, 0, 0)
    assert host.dequeue([taken(host)]) == 0
    assert journalled(host) == []


def test_without_a_journal_nothing_waits() -> None:
    host = with_queues(VirtualHost("h", Journal()))
    assert host.enqueue(message("q", delivery_mode=PERSISTENT), [host.queues["q"]]) == 0
    assert states(host) == (1, 0, 0)
    assert host.dequeue([taken(host)]) == 0


def test_transient_messages_wait_behind_what_is_held() -> None:
    host = with_queues(durable_host())
    publish(host, "", "q", b"durable", delivery_mode=PERSISTENT)
    publish(host, "", "q", b"transient")
    assert host.queues["q"].take() is None
    journalled(host)
    assert taken(host).message.body == b"durable"


def test_a_message_is_stored_once_for_all_its_queues() -> None:
    host = with_queues(durable_host(), True, "a", "b")
    host.declare_queue("c")
    for name in "abc":
        host.bind(name, "amq.fanout")
    journalled(host)
    publish(host, "amq.fanout", "", delivery_mode=PERSISTENT)
    assert states(host, "c") == (1, 0, 0)
    assert [type(operation) for operation in journalled(host)] == [MessageStored, Enqueued, Enqueued]
    assert [states(host, name) for name in "abc"] == [(1, 0, 0)] * 3


def test_times_in_the_journal_are_posix_when_the_epoch_is_known() -> None:
    host = with_queues(durable_host(intake=Intake(epoch=1000.0)))
    publish(host, "", "q", delivery_mode=PERSISTENT, ttl=500)
    assert journalled(host)[0].expires == 1000.5


def test_what_is_restored_is_known_to_the_journal() -> None:
    host = with_queues(durable_host())
    sent = message("q", delivery_mode=PERSISTENT)
    entry = host.restore(host.queues["q"], sent, redelivered=True)
    assert (entry.redelivered, states(host), host.messages) == (True, (1, 0, 0), 1)
    host.dequeue([entry])
    assert journalled(host) == [Dequeued("h", "q", sent.number)]


@pytest.mark.rule("message.transfer.transactional-publish")
def test_a_commit_is_one_entry_and_becomes_visible_as_a_whole() -> None:
    host = with_queues(durable_host(), True, "q", "r")
    publish(host, "", "q", b"old", delivery_mode=PERSISTENT)
    journalled(host)
    old = taken(host)
    one, two = message("r", b"one", delivery_mode=PERSISTENT), message("q", b"two")
    ended = BranchEnded("h", (1, b"g", b"b"))
    number = host.commit([(one, [host.queues["r"]]), (two, [host.queues["q"]])], [old], [ended])
    assert number == host.journal.last
    assert [states(host, name) for name in "qr"] == [(0, 0, 1)] * 2
    (entry,) = host.journal.take()
    assert entry.operations == (
        MessageStored("h", one.number, one.envelope.header, b"one"),
        Enqueued("h", "r", one.number),
        Dequeued("h", "q", old.message.number),
        ended,
    )
    host.journal.journalled(number)
    assert [states(host, name) for name in "qr"] == [(1, 0, 0)] * 2


@pytest.mark.rule("message.no-persistent-message-discard")
def test_a_commit_for_which_there_is_no_room_changes_nothing_unless_it_was_admitted() -> None:
    host = with_queues(VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, queue_messages=2)))
    queue = host.queues["q"]
    publishes = [(message("q"), [queue]) for _ in range(3)]
    publish(host, "", "q")
    entry = taken(host)
    assert refusal(host.commit, publishes, [entry]).condition is conditions.TRANSFER_LIMIT
    assert states(host) == (0, 1, 0)
    assert host.commit(publishes, [entry], admitted=True) == 0
    assert states(host) == (3, 0, 0)


def test_a_commit_to_a_queue_that_is_gone() -> None:
    host = with_queues(durable_host(), True, "q", "r")
    gone = host.queues["q"]
    host.delete_queue("q")
    journalled(host)
    sent = message("q", delivery_mode=PERSISTENT)
    host.commit([(sent, [gone, host.queues["r"]])], [])
    assert [type(operation) for operation in journalled(host)] == [MessageStored, Enqueued]
    assert (host.messages, gone.messages) == (1, 0)


# --- release and reject ---------------------------------------------------------------------------------------------------


def test_release_puts_back_and_marks() -> None:
    host = with_queues(VirtualHost())
    for at in range(3):
        publish(host, "", "q", b"%d" % at)
    entries = [taken(host) for _ in range(3)]
    host.release(entries[::2], set_redelivered=True)
    host.release(entries[:1], set_redelivered=False)
    assert [(entry.message.body, entry.redelivered) for entry in host.queues["q"].waiting()] == [(b"0", True), (b"2", True)]


@pytest.mark.rule("message.reject.alternate-exchange")
def test_what_is_rejected_goes_to_the_alternate_exchange() -> None:
    host = durable_host()
    host.declare_queue("dead", durable=True)
    host.bind("dead", "amq.fanout")
    host.declare_queue("q", "amq.fanout", durable=True)
    publish(host, "", "q", b"1", delivery_mode=PERSISTENT)
    publish(host, "", "q", b"2")
    journalled(host)
    first = taken(host)
    number = host.reject([first, taken(host)])
    assert states(host, "dead") == (1, 0, 1)
    journalled(host)
    assert host.journal.done == number
    assert bodies(host.queues["dead"]) == [b"1", b"2"]
    assert [entry.redelivered for entry in host.queues["dead"].all()] == [False, False]
    assert (states(host), host.messages) == ((0, 0, 0), 2)


@pytest.mark.rule("exchange.declare.alternate-exchange.double-failure")
def test_a_dead_letter_goes_on_through_the_alternate_of_its_alternate_exchange() -> None:
    """One more hop, as for a message that is published to that exchange; it keeps the mark of its publisher alone."""
    host = durable_host()
    host.declare_queue("last")
    host.declare_exchange("third", "fanout")
    host.declare_exchange("second", "direct", "third")
    host.declare_exchange("first", "direct", "second")
    host.declare_queue("q", "first")
    host.declare_queue("r", "second")
    for name in ("q", "r"):
        host.bind("last", "third", name)
        publish(host, "", name, name.encode(), redelivered=name == "r")
        entry = host.queues[name].take()
        assert entry is not None
        entry.redelivered = True
        host.reject([entry])
    assert [(entry.message.body, entry.redelivered) for entry in host.queues["last"].all()] == [(b"r", True)]
    publish(host, "", "r", b"s")
    entry = host.queues["r"].take()
    assert entry is not None
    host.release([entry], set_redelivered=True)
    host.delete_queue("r")
    assert [(entry.message.body, entry.redelivered) for entry in host.queues["last"].all()] == [(b"r", True), (b"s", True)]


def test_a_rejected_message_is_moved_in_one_entry_under_a_number_of_its_own() -> None:
    host = durable_host()
    host.declare_queue("dead", durable=True)
    host.bind("dead", "amq.fanout")
    host.declare_queue("q", "amq.fanout", durable=True)
    publish(host, "", "q", b"1", delivery_mode=PERSISTENT)
    journalled(host)
    entry = taken(host)
    host.reject([entry])
    moved = next(host.queues["dead"].all()).message
    assert journalled(host) == [
        Dequeued("h", "q", entry.message.number),
        MessageStored("h", moved.number, entry.message.envelope.header, b"1"),
        Enqueued("h", "dead", moved.number),
    ]
    assert states(host, "dead") == (1, 0, 0)


def test_what_is_rejected_without_an_alternate_exchange_is_dropped() -> None:
    host = with_queues(VirtualHost())
    publish(host, "", "q")
    host.reject([taken(host)])
    assert (host.messages, host.octets) == (0, 0)


@pytest.mark.rule("message.reject.acquisition")
def test_what_is_not_acquired_is_not_rejected() -> None:
    host = with_queues(VirtualHost())
    publish(host, "", "q")
    host.reject(list(host.queues["q"].all()))
    assert states(host) == (1, 0, 0)


def test_a_message_does_not_come_back_to_the_queue_that_it_was_rejected_from() -> None:
    host = VirtualHost()
    host.declare_queue("q", "amq.fanout")
    host.bind("q", "amq.fanout")
    publish(host, "", "q")
    host.reject([taken(host)])
    assert host.messages == 0


def test_a_reject_for_which_there_is_no_room_is_refused() -> None:
    host = VirtualHost()
    host.declare_queue("dead", arguments={"qpid.max_count": 1})
    host.bind("dead", "amq.fanout")
    host.declare_queue("q", "amq.fanout")
    for at in range(2):
        publish(host, "", "q", b"%d" % at)
    entries = [taken(host), taken(host)]
    assert refusal(host.reject, entries).condition is conditions.TRANSFER_LIMIT
    assert (states(host), states(host, "dead")) == ((0, 2, 0), (0, 0, 0))


@pytest.mark.parametrize(("mode", "left"), [(1, [b"full"]), (PERSISTENT, [b"full", b"orphan"])])
def test_of_orphans_for_which_there_is_no_room_the_persistent_ones_stay(mode: int, left: list[bytes]) -> None:
    host = VirtualHost()
    host.declare_queue("dead", arguments={"qpid.max_count": 1})
    host.bind("dead", "amq.fanout")
    publish(host, "", "dead", b"full")
    host.declare_queue("q", "amq.fanout")
    publish(host, "", "q", b"orphan", delivery_mode=mode)
    host.delete_queue("q")
    assert bodies(host.queues["dead"]) == left


# --- expiry ---------------------------------------------------------------------------------------------------------------


def test_what_expires_goes_and_the_next_moment_is_returned() -> None:
    host = with_queues(durable_host())
    for body, ttl in ((b"1", 1000), (b"2", 2000), (b"for ever", None)):
        publish(host, "", "q", body, ttl=ttl, delivery_mode=PERSISTENT)
    journalled(host)
    assert host.expire(0.5) == 1.0
    assert host.expire(1.0) == 2.0
    assert bodies(host.queues["q"]) == [b"2", b"for ever"]
    assert [type(operation) for operation in journalled(host)] == [Dequeued]
    assert host.expire(5.0) is None
    assert bodies(host.queues["q"]) == [b"for ever"]
    assert host.messages == 1


def test_what_somebody_has_expires_when_it_comes_back() -> None:
    host = with_queues(VirtualHost())
    publish(host, "", "q", b"1", ttl=1000)
    entry = taken(host)
    assert host.expire(2.0) is None
    assert states(host) == (0, 1, 0)
    host.release([entry])
    assert (entry.state, host.messages) == (GONE, 0)


def test_what_was_released_before_it_expires_expires() -> None:
    host = with_queues(VirtualHost())
    publish(host, "", "q", b"1", ttl=1000)
    host.release([taken(host)])
    assert states(host) == (1, 0, 0)
    host.expire(1.0)
    assert host.messages == 0


def test_what_expires_while_it_is_held_is_never_seen() -> None:
    host = with_queues(durable_host())
    publish(host, "", "q", ttl=1000, delivery_mode=PERSISTENT)
    assert host.expire(2.0) is None
    assert states(host) == (0, 0, 1)
    journalled(host)
    assert host.messages == 0
    assert [type(operation) for operation in journalled(host)] == [Dequeued]


@pytest.mark.parametrize("acquires", [True, False])
def test_what_waited_behind_a_held_message_that_expires_is_offered(acquires: bool) -> None:
    host = with_queues(durable_host())
    sink = Sink(acquires=acquires)
    host.subscribe("q", sink)
    publish(host, "", "q", b"held", ttl=1000, delivery_mode=PERSISTENT)
    publish(host, "", "q", b"behind")
    while host.dispatch(10):
        pass
    host.expire(2.0)
    journalled(host)
    while host.dispatch(10):
        pass
    assert sink.bodies == [b"behind"]


def test_a_message_that_is_consumed_leaves_the_heap() -> None:
    host = with_queues(VirtualHost())
    for _ in range(1000):
        publish(host, "", "q", ttl=1000000)
        host.dequeue([taken(host)])
    assert host.expire(0.0) is None


# --- dispatch -------------------------------------------------------------------------------------------------------------


def test_queues_are_served_by_turns() -> None:
    host = with_queues(VirtualHost(), False, "a", "b")
    sinks: dict[str, Any] = {name: Sink() for name in "ab"}
    for name, sink in sinks.items():
        host.subscribe(name, sink)
        for at in range(2 * SLICE):
            publish(host, "", name, b"%d" % at)
    assert host.dispatch(2 * SLICE)
    assert [len(sink.got) for sink in sinks.values()] == [SLICE, SLICE]
    while host.dispatch(100):
        pass
    assert [sink.bodies for sink in sinks.values()] == [[b"%d" % at for at in range(2 * SLICE)]] * 2


def test_nobody_is_woken_before_those_that_were_have_taken_what_there_is() -> None:
    host = with_queues(VirtualHost())
    order: list[str] = []
    sink = Sink()
    host.subscribe("q", sink)
    publish(host, "", "q")
    host.wakeable[lambda: order.append(f"woken behind {len(sink.got)}")] = None
    host.watch(host.queues["q"], lambda: order.append(f"done behind {len(sink.got)}"))
    assert not host.dispatch(100)
    assert order == ["done behind 1", "woken behind 1"]
    publish(host, "", "q")
    host.dispatch(100)
    assert len(order) == 2, "each is called once"


def test_the_next_queue_is_found_at_once_however_many_were_served_before_it() -> None:
    """The first key of a plain dict is searched behind all that were deleted: no step of ours, but time for each."""
    assert isinstance(VirtualHost().dispatchable, OrderedDict)


def test_only_queues_with_something_new_are_looked_at() -> None:
    host = with_queues(VirtualHost(), False, *[f"q{n}" for n in range(50)])
    sinks = [Sink() for _ in range(50)]
    for n, sink in enumerate(sinks):
        host.subscribe(f"q{n}", sink)
    host.dispatch(1000)
    publish(host, "", "q7")
    assert [queue.name for queue in host.dispatchable] == ["q7"]
    host.dispatch(1)
    assert not host.dispatchable
    assert len(sinks[7].got) == 1


@pytest.mark.parametrize("name", ["queue_messages", "queue_octets", "host_messages", "host_octets"])
@pytest.mark.parametrize("count", [3, 4, 5])
def test_messages_below_at_and_beyond_a_limit(name: str, count: int) -> None:
    size = message("q", b"body").size
    value = 4 * size if name.endswith("octets") else 4
    host = with_queues(VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, **{name: value})))
    for _ in range(min(count, 4)):
        publish(host, "", "q", b"body")
    if count > 4:
        refused = refusal(publish, host, "", "q", b"body")
        assert refused.condition is conditions.TRANSFER_LIMIT
        assert f"limit {name} is {value}" in refused.text
    assert host.messages == min(count, 4)


@pytest.mark.rule("message.no-persistent-message-discard")
def test_a_full_queue_refuses_and_throws_nothing_away() -> None:
    """Unless its declarer made it a ring (qpid.policy_type), which is to keep the newest."""
    host = with_queues(VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, queue_messages=2)), True, "q", "r")
    for name in ("q", "r"):
        host.bind(name, "amq.fanout")
    for at in range(2):
        publish(host, "", "q", b"%d" % at, delivery_mode=PERSISTENT)
    for mode in (1, PERSISTENT):
        assert refusal(publish, host, "amq.fanout", "", b"new", delivery_mode=mode).condition is conditions.TRANSFER_LIMIT
    assert bodies(host.queues["q"]) == [b"0", b"1"]
    assert bodies(host.queues["r"]) == []
    assert host.messages == 2


def test_a_queue_may_have_a_lower_limit_of_its_own() -> None:
    host = VirtualHost()
    host.declare_queue("q", arguments={"qpid.max_count": 1})
    publish(host, "", "q")
    assert refusal(publish, host, "", "q").condition is conditions.TRANSFER_LIMIT


@pytest.mark.parametrize(("copies", "room"), [(3, True), (4, True), (5, False)])
@pytest.mark.parametrize("name", ["host_messages", "host_octets"])
def test_what_the_host_takes_besides(name: str, copies: int, room: bool) -> None:
    sent = message("q", b"body")
    value = 5 * (sent.size if name == "host_octets" else 1)
    host = with_queues(VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, **{name: value})))
    publish(host, "", "q", b"body")
    assert host.takes(sent, copies) is room


def test_what_the_host_has_no_room_for_is_refused_before_the_rest_is_looked_at() -> None:
    host = with_queues(VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, host_messages=5)), True, "q", "r")
    rest = iter([(message("k"), list(host.queues.values()))] * 9)
    assert refusal(host.admit, rest).condition is conditions.TRANSFER_LIMIT
    assert len(list(rest)) == 6
    host.admit([])
