"""What full queues do that do not refuse: rings, and queues that destroy themselves."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.test_host_machine import Store
from tests.broker.model.things import Sink, bodies, durable_host, journalled, message, publish, refusal

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.journal import Dequeued, Enqueued, MessageStored, QueueDeleted
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import ACQUIRED, QueueEntry
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec.values import Value

PERSISTENT = 2


def with_full(host: VirtualHost, policy: str, most: int = 2, alternate: str | None = "amq.fanout", **more: Any) -> VirtualHost:
    """A queue `q` of so many messages, which are there, and one `dead` behind its alternate exchange."""
    host.declare_queue("dead", durable=True, arguments={"qpid.priorities": 1})
    host.bind("dead", "amq.fanout")
    host.declare_queue("q", alternate, durable=True, arguments={"qpid.policy_type": policy, "qpid.max_count": most}, **more)
    host.bind("q", "amq.direct", "k")
    for at in range(most):
        publish(host, "", "q", b"%d" % at, delivery_mode=PERSISTENT)
    journalled(host)
    return host


def on(host: VirtualHost, name: str) -> list[bytes]:
    return bodies(host.queues[name])


def test_what_a_ring_gives_up_or_does_not_take_is_counted() -> None:
    host = with_full(VirtualHost(), "ring")
    queue = host.queues["q"]
    publish(host, "", "q", b"2")
    assert (queue.given_up, host.given_up) == (1, 1)
    publish(host, "", "q", b"3", priority=0)
    assert (queue.given_up, host.given_up) == (2, 2), "the one that came"
    queue.take()
    publish(host, "", "q", b"4", priority=9)
    assert (queue.given_up, on(host, "q")) == (2, [b"4", b"1", b"2"])
    host.declare_queue("other", "amq.direct", arguments={"qpid.policy_type": "ring", "qpid.max_count": 0})
    publish(host, "", "other", b"5")
    host.delete_queue("q")
    assert (host.queues["other"].given_up, host.given_up) == (1, 3), "the host remembers what its queues did"
    full = with_full(VirtualHost(), "reject")
    assert refusal(publish, full, "", "q", b"2").text.startswith("limit queue_messages")
    assert (full.queues["q"].given_up, full.given_up) == (0, 0)


@pytest.mark.parametrize("arguments", [{"qpid.max_count": 1}, {"qpid.max_size": 30}])
def test_a_ring_takes_the_newest_while_somebody_has_what_was_there(arguments: dict[str, Value]) -> None:
    host = VirtualHost()
    host.declare_queue("q", arguments={"qpid.policy_type": "ring", **arguments})
    queue = host.queues["q"]
    size = len(b"0123456789") + message("q").size
    assert 30 // size == 1, "there is room for one"
    for round in range(3):
        publish(host, "", "q", b"%010d" % round)
        entry = queue.take()
        assert entry is not None
        assert entry.message.body == b"%010d" % round
    publish(host, "", "q", b"newest one")
    assert (queue.available, queue.acquired, queue.given_up) == (1, 3, 0)
    host.release([entry for entry in queue.all() if entry.state == ACQUIRED], True)
    assert queue.available == 4, "what comes back is there until something comes"
    publish(host, "", "q", b"the newest")
    assert (on(host, "q"), queue.given_up) == ([b"the newest"], 4)
    assert (host.messages, host.octets) == (1, size)


# --- rings ----------------------------------------------------------------------------------------------------------------


class Reference:
    """A ring by the letter: a list that is searched from its beginning each time."""

    def __init__(self, most: int, octets: int) -> None:
        self.most = most
        self.octets = octets
        self.there: list[tuple[int, bytes, int]] = []
        """Priority, body and size, in the order in which they came."""
        self.acquired: set[bytes] = set()
        self.dead: list[bytes] = []

    def put(self, priority: int, body: bytes, size: int) -> None:
        while True:
            free = [each for each in self.there if each[1] not in self.acquired]
            if len(free) < self.most and sum(each[2] for each in free) + size <= self.octets:
                break
            lowest = min(free, key=lambda each: each[0], default=None)  # the first one of several
            if lowest is None or lowest[0] > priority:
                return
            self.there.remove(lowest)
            self.dead.append(lowest[1])
        self.there.append((priority, body, size))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), st.sampled_from([1, 1, 40, 400])),
        st.tuples(st.sampled_from(["take", "accept", "release", "journalled"]), st.just(0), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS, st.integers(0, 4), st.booleans(), st.booleans())
def test_a_ring_drops_the_oldest_message_of_its_lowest_priority_and_journals_that(
    steps: list[tuple[str, int, int]], most: int, durable: bool, enabled: bool
) -> None:
    host = durable_host() if enabled else VirtualHost()
    host.declare_queue("dead", arguments={"qpid.priorities": 1})
    host.bind("dead", "amq.fanout")
    arguments: dict[str, Value] = {"qpid.policy_type": "ring", "qpid.max_count": most, "qpid.max_size": 300}
    host.declare_queue("q", "amq.fanout", durable=durable, arguments=arguments)
    ring, expected, mine, store = host.queues["q"], Reference(most, 300), list[QueueEntry](), Store()
    for number, (what, priority, size) in enumerate(steps):
        if what == "put":
            body = b"%d." % number + bytes(size)
            sent = message("q", body, "", intake=host.intake, priority=priority, delivery_mode=1 + size % 2)
            try:
                host.enqueue(sent, [ring])
            except Refused:
                assert sent.size > 300
            else:
                expected.put(priority, body, sent.size)
        elif what == "take":
            entry = ring.take()
            if entry is not None:
                mine.append(entry)
                expected.acquired.add(entry.message.body)
        elif what == "journalled":
            host.journal.journalled(host.journal._taken)
        elif mine:
            entry = mine.pop(0)
            expected.acquired.discard(entry.message.body)
            if what == "accept":
                host.dequeue([entry])
                expected.there = [each for each in expected.there if each[1] != entry.message.body]
            else:
                host.release([entry])
        for written in host.journal.take():
            for operation in written.operations:
                store.apply(operation)
            store.forget()
        in_order = sorted(ring.all(), key=lambda each: each.position)
        assert [entry.message.body for entry in in_order] == [body for _, body, _ in expected.there]
        assert on(host, "dead") == expected.dead
        kept = {("q", entry.message.number) for entry in in_order if entry.message.envelope.persistent}
        assert store.places == (kept if durable and enabled else set())


@pytest.mark.parametrize("mode", [1, PERSISTENT])
def test_what_goes_and_what_comes_are_one_entry(mode: int) -> None:
    host = with_full(durable_host(), "ring")
    publish(host, "", "q", b"new", delivery_mode=mode)
    (entry,) = host.journal.take()
    stored = [] if mode == 1 else [MessageStored, Enqueued]
    assert [type(operation) for operation in entry.operations] == [Dequeued, *stored, MessageStored, Enqueued]
    assert (on(host, "q"), on(host, "dead")) == ([b"1", b"new"], [b"0"])
    assert host.queues["dead"].available == 0
    host.journal.journalled(entry.number)
    assert (host.queues["q"].available, host.queues["dead"].available) == (2, 1)


def test_a_burst_leaves_the_last_whether_they_are_journalled_or_not() -> None:
    host = with_full(durable_host(), "ring", alternate=None)
    for at in range(10):
        publish(host, "", "q", b"new %d" % at, delivery_mode=PERSISTENT)
    assert on(host, "q") == [b"new 8", b"new 9"]
    journalled(host)
    assert host.queues["q"].available == 2
    assert host.messages == 2


def test_a_message_larger_than_the_whole_ring_is_refused_and_others_of_the_host_too() -> None:
    host = VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, host_messages=3))
    host.declare_queue("q", arguments={"qpid.policy_type": "ring", "qpid.max_size": 100, "qpid.max_count": 2})
    assert refusal(publish, host, "", "q", bytes(200)).condition is conditions.TRANSFER_LIMIT
    host.declare_queue("other")
    for name in ("q", "other", "other"):
        publish(host, "", name)
    assert "host_messages" in refusal(publish, host, "", "q").text


@pytest.mark.parametrize("enabled", [False, True])
def test_a_transaction_that_has_more_than_a_ring_holds(enabled: bool) -> None:
    host = with_full(durable_host() if enabled else VirtualHost(), "ring")
    queue = host.queues["q"]
    sent = [message("q", b"new %d" % at, intake=host.intake, delivery_mode=PERSISTENT) for at in range(3)]
    host.commit([(each, [queue]) for each in sent], [])
    written = host.journal.take()
    assert len(written) == enabled
    assert (on(host, "q"), on(host, "dead")) == ([b"new 1", b"new 2"], [b"0", b"1", b"new 0"])
    host.journal.journalled(host.journal.last)
    assert (queue.available, queue.held) == (2, 0)
    store = Store()
    store.queues = dict.fromkeys(("q", "dead"), "")
    store.messages = dict.fromkeys((1, 2), b"")
    store.places = {("q", 1), ("q", 2)}
    for operation in [operation for entry in written for operation in entry.operations]:
        store.apply(operation)
    assert not enabled or store.places == {
        (name, entry.message.number) for name in ("q", "dead") for entry in host.queues[name].all()
    }


def test_what_a_transaction_accepts_makes_room_first() -> None:
    host = with_full(durable_host(), "ring")
    queue = host.queues["q"]
    entry = queue.take()
    assert entry is not None
    host.commit([(message("q", b"new", intake=host.intake), [queue])], [entry])
    assert (on(host, "q"), on(host, "dead")) == ([b"1", b"new"], [])


def test_rings_that_are_each_others_alternates_move_nothing_twice() -> None:
    host = VirtualHost()
    for name in ("q", "r"):
        host.declare_exchange(f"to {name}", "fanout")
    for name, other in (("q", "r"), ("r", "q")):
        host.declare_queue(name, f"to {other}", arguments={"qpid.policy_type": "ring", "qpid.max_count": 1})
        host.bind(name, f"to {name}")
    for body in (b"1", b"2", b"3"):
        publish(host, "", "q", body)
    assert (on(host, "q"), on(host, "r")) == ([b"3"], [b"2"])


def full_behind(policy: str, **limits: int) -> VirtualHost:
    """A ring of one message; `dead`, which gets what it gives up, is full."""
    host = VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, **limits))
    host.declare_queue("dead", arguments={"qpid.policy_type": policy, "qpid.max_count": 1})
    host.bind("dead", "amq.fanout")
    host.declare_queue("q", "amq.fanout", arguments={"qpid.policy_type": "ring", "qpid.max_count": 1})
    publish(host, "", "dead", b"full")
    publish(host, "", "q", b"old", delivery_mode=PERSISTENT)
    return host


@pytest.mark.parametrize(("policy", "left"), [("reject", [b"full"]), ("ring", [b"old"]), ("self-destruct", [b"full"])])
def test_where_dead_letters_go_when_it_is_full_there(policy: str, left: list[bytes]) -> None:
    host = full_behind(policy)
    publish(host, "", "q", b"new")
    assert (on(host, "q"), on(host, "dead")) == ([b"new"], left)


def test_a_dead_letter_larger_than_a_whole_ring_drives_nothing_out_of_it() -> None:
    host = VirtualHost()
    host.declare_queue("dead", arguments={"qpid.policy_type": "ring", "qpid.max_size": 100})
    host.bind("dead", "amq.fanout")
    host.declare_queue("q", "amq.fanout", arguments={"qpid.policy_type": "ring", "qpid.max_count": 1})
    publish(host, "", "dead", b"small")
    publish(host, "", "q", bytes(200))
    publish(host, "", "q", b"new")
    assert (on(host, "q"), on(host, "dead")) == ([b"new"], [b"small"])


def test_dead_letters_of_a_ring_do_not_exceed_the_limits_of_the_host() -> None:
    host = VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, host_messages=3))
    with_full(host, "ring", 2)
    publish(host, "", "q", b"new")
    assert (on(host, "dead"), host.messages) == ([b"0"], 3)
    entry = host.queues["dead"].take()
    assert entry is not None
    host.dequeue([entry])
    host.declare_queue("more")
    host.bind("more", "amq.fanout")
    publish(host, "", "q", b"newer")
    assert (on(host, "dead"), on(host, "more"), host.messages) == ([], [], 2)


@pytest.mark.parametrize(("policy", "left"), [("ring", [b"old"]), ("self-destruct", None)])
def test_rejected_messages_at_a_full_queue(policy: str, left: list[bytes] | None) -> None:
    host = full_behind(policy)
    entry = host.queues["q"].take()
    assert entry is not None
    if left is None:
        assert refusal(host.reject, [entry]).condition is conditions.TRANSFER_LIMIT
    else:
        host.reject([entry])
    assert on(host, "dead") == (left or [b"full"])


@pytest.mark.parametrize(("priority", "left"), [(4, [b"full", b"old"]), (9, [b"urgent", b"full"])])
def test_orphans_in_a_ring_of_which_somebody_has_something(priority: int, left: list[bytes]) -> None:
    host = full_behind("ring")
    assert host.queues["dead"].take() is not None
    if priority == 9:
        publish(host, "", "dead", b"urgent", priority=9)
    host.delete_queue("q")
    assert on(host, "dead") == left, "not even a persistent one drives out what is more urgent"


# --- queues that destroy themselves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("many", [1, 2])
def test_a_queue_that_is_to_get_too_much_goes_with_all_that_it_has(enabled: bool, many: int) -> None:
    host = with_full(durable_host() if enabled else VirtualHost(), "self-destruct")
    host.declare_queue("other", durable=True)
    host.bind("other", "amq.direct", "k")
    journalled(host)
    queue, sink = host.queues["q"], Sink(0)
    host.subscribe("q", sink)
    sent = [message("k", b"new %d" % at, "amq.direct", intake=host.intake, delivery_mode=PERSISTENT) for at in range(many)]
    if many == 1:
        number = host.enqueue(sent[0], [queue, host.queues["other"]])
    else:
        number = host.commit([(each, [queue, host.queues["other"]]) for each in sent], [])
    news = [each.body for each in sent]
    assert (number, sink.heard, "q" in host.queues) == (host.journal.last, [queue], False)
    assert (on(host, "dead"), on(host, "other"), host.messages) == ([b"0", b"1", *news], news, 2 + 2 * many)
    operations = journalled(host)
    assert [type(each) for each in operations].count(QueueDeleted) == enabled
    assert (host.queues["dead"].available, host.queues["other"].available) == (2 + many, many)


def test_a_message_larger_than_the_whole_queue_destroys_it_unless_another_queue_refuses_the_message() -> None:
    host = VirtualHost()
    host.declare_queue("full", arguments={"qpid.max_count": 0})
    host.declare_queue("q", arguments={"qpid.policy_type": "self-destruct", "qpid.max_size": 100})
    sent: Any = message("q", bytes(200), intake=host.intake)
    assert refusal(host.enqueue, sent, [host.queues["q"], host.queues["full"]]).condition is conditions.TRANSFER_LIMIT
    assert "q" in host.queues
    publish(host, "", "q", bytes(200))
    assert ("q" in host.queues, host.messages) == (False, 0)


def fanned_out(copies: int, most: int) -> VirtualHost:
    """A queue with three messages whose alternate exchange leads to so many others."""
    host = VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, host_messages=most))
    host.declare_queue("q", alternate_exchange="amq.fanout")
    for number in range(copies):
        host.declare_queue(f"dead {number}")
        host.bind(f"dead {number}", "amq.fanout")
    for body in (b"1", b"2", b"3"):
        publish(host, "", "q", body)
    return host


def test_a_deleted_queue_does_not_multiply_its_messages_beyond_the_limits_of_the_host() -> None:
    host = fanned_out(3, 6)
    host.delete_queue("q")
    assert [on(host, f"dead {number}") for number in range(3)] == [[b"1", b"2", b"3"], [b"1"], [b"1"]]
    assert host.messages == 5
