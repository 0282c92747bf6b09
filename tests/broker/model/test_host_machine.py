"""A virtual host beside what somebody makes of its journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.broker.model.things import Sink, durable_host, message

from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.journal import (
    Bound,
    Dequeued,
    Enqueued,
    ExchangeDeclared,
    ExchangeDeleted,
    MessageStored,
    Operation,
    QueueDeclared,
    QueueDeleted,
    Unbound,
)
from amqp_sansio.broker.model.message import ACQUIRED, AVAILABLE, HELD, QueueEntry
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS

QUEUES = st.sampled_from(["a", "b", "c"])
EXCHANGES = st.sampled_from(["amq.direct", "amq.topic", "x", "y"])
KEYS = st.sampled_from(["a", "k"])
ARGUMENTS = st.sampled_from(
    [
        {},
        {"qpid.policy_type": "ring", "qpid.max_count": 2},
        {"qpid.policy_type": "self-destruct", "qpid.max_count": 2},
        {"qpid.auto_delete_timeout": 3},
    ]
)
LIMITS = attrs.evolve(DEFAULT_BROKER_LIMITS, queue_messages=6)


class Store:
    """What survives a restart, made of the journal by the letter; it is an error when an entry makes no sense."""

    def __init__(self) -> None:
        self.queues: dict[str, str] = {}
        self.exchanges: dict[str, str] = {}
        self.bindings: set[tuple[str, str, str]] = set()
        self.messages: dict[int, bytes] = {}
        self.places: set[tuple[str, int]] = set()

    def apply(self, operation: Operation) -> None:
        match operation:
            case QueueDeclared():
                assert operation.queue not in self.queues
                self.queues[operation.queue] = operation.alternate
            case QueueDeleted():
                del self.queues[operation.queue]
                self.bindings = {each for each in self.bindings if each[1] != operation.queue}
                self.places = {each for each in self.places if each[0] != operation.queue}
            case ExchangeDeclared():
                assert operation.exchange not in self.exchanges
                self.exchanges[operation.exchange] = operation.alternate
            case ExchangeDeleted():
                del self.exchanges[operation.exchange]
                self.bindings = {each for each in self.bindings if each[0] != operation.exchange}
            case Bound():
                assert operation.queue in self.queues
                assert (operation.exchange, operation.queue, operation.key) not in self.bindings
                self.bindings.add((operation.exchange, operation.queue, operation.key))
            case Unbound():
                self.bindings.remove((operation.exchange, operation.queue, operation.key))
            case MessageStored():
                assert operation.number not in self.messages
                self.messages[operation.number] = operation.body or b""
            case Enqueued():
                assert operation.queue in self.queues
                assert operation.number in self.messages
                assert (operation.queue, operation.number) not in self.places
                self.places.add((operation.queue, operation.number))
            case Dequeued():
                self.places.remove((operation.queue, operation.number))
            case _:
                raise AssertionError(operation)

    def forget(self) -> None:
        """At the end of an entry: what is on no queue is not needed any more."""
        used = {number for _, number in self.places}
        self.messages = {number: body for number, body in self.messages.items() if number in used}


# Whatever happens to a virtual host, its journal says exactly which durable queues, exchanges and bindings there are and which
# persistent messages are on which durable queue; nobody sees what is not journalled; every count is that of what is there.
class HostMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.host = durable_host(limits=LIMITS)
        self.store = Store()
        self.untold: list[Any] = []
        self.now = 0.0
        self.body = 0
        self.acquired: list[QueueEntry] = []

    @initialize(durable=st.booleans(), messages=st.integers(0, 4), arguments=ARGUMENTS)
    def begin(self, durable: bool, messages: int, arguments: dict[str, Any]) -> None:
        """Two queues, one the other's alternate, with something on the first: what is interesting is near."""
        self.attempt(lambda: self.host.declare_queue("b", durable=True))
        self.attempt(lambda: self.host.bind("b", "amq.direct", "a"))
        self.attempt(lambda: self.host.declare_queue("a", "amq.direct", durable=durable, arguments=arguments))
        for at in range(messages):
            sent, queues = self.made("", "a", 1 + at % 2, None)
            self.attempt(lambda sent=sent, queues=queues: self.host.enqueue(sent, queues))  # type: ignore[misc]
        self.host.journal.journalled(self.host.journal.last)
        self.untold.clear()

    def attempt(self, call: Callable[[], object]) -> None:
        """A refusal changes nothing, not even the journal."""
        before = self.host.journal.last
        try:
            call()
        except Refused:
            assert self.host.journal.last == before
        for entry in self.host.journal.take():
            self.untold.append(entry)
            for operation in entry.operations:
                self.store.apply(operation)
            self.store.forget()

    @rule(
        name=QUEUES,
        durable=st.booleans(),
        alternate=st.sampled_from(["", "amq.direct", "amq.topic", "x"]),
        auto=st.booleans(),
        arguments=ARGUMENTS,
    )
    def declare_queue(self, name: str, durable: bool, alternate: str, auto: bool, arguments: dict[str, Any]) -> None:
        self.attempt(lambda: self.host.declare_queue(name, alternate, False, durable, False, auto, arguments))

    @rule(name=QUEUES, if_empty=st.booleans())
    def delete_queue(self, name: str, if_empty: bool) -> None:
        self.attempt(lambda: self.host.delete_queue(name, False, if_empty))

    @rule(name=QUEUES)
    def purge(self, name: str) -> None:
        self.attempt(lambda: self.host.purge(name))

    @rule(
        name=st.sampled_from(["x", "y"]),
        kind=st.sampled_from(["direct", "fanout"]),
        alternate=st.sampled_from(["", "amq.direct", "x"]),
        durable=st.booleans(),
        auto=st.booleans(),
    )
    def declare_exchange(self, name: str, kind: str, alternate: str, durable: bool, auto: bool) -> None:
        self.attempt(lambda: self.host.declare_exchange(name, kind, alternate, False, durable, auto))

    @rule(name=EXCHANGES, if_unused=st.booleans())
    def delete_exchange(self, name: str, if_unused: bool) -> None:
        self.attempt(lambda: self.host.delete_exchange(name, if_unused))

    @rule(queue=QUEUES, exchange=EXCHANGES, key=KEYS)
    def bind(self, queue: str, exchange: str, key: str) -> None:
        self.attempt(lambda: self.host.bind(queue, exchange, key))

    @rule(queue=QUEUES, exchange=EXCHANGES, key=KEYS)
    def unbind(self, queue: str, exchange: str, key: str) -> None:
        self.attempt(lambda: self.host.unbind(queue, exchange, key))

    def made(self, exchange: str, key: str, mode: int, ttl: int | None) -> tuple[Any, Any]:
        self.body += 1
        sent = message(key, b"%d" % self.body, exchange, self.now, self.host.intake, delivery_mode=mode, ttl=ttl)
        return sent, self.host.route(self.host.destination(exchange), sent, explicit=False).queues

    @rule(exchange=EXCHANGES | st.just(""), key=KEYS, mode=st.sampled_from([1, 2]), ttl=st.sampled_from([None, 1000, 3000]))
    def publish(self, exchange: str, key: str, mode: int, ttl: int | None) -> None:
        def call() -> None:
            sent, queues = self.made(exchange, key, mode, ttl)
            self.host.enqueue(sent, queues)
            for queue in queues:  # what comes back counts again only then
                assert queue.policy != "ring" or queue.available + queue.held <= queue.most_messages

        self.attempt(call)

    @rule(name=QUEUES, many=st.integers(1, 3))
    def take(self, name: str, many: int) -> None:
        for _ in range(many):
            queue = self.host.queues.get(name)
            entry = queue.take() if queue is not None else None
            if entry is not None:
                self.acquired.append(entry)

    @rule(name=QUEUES, many=st.integers(1, 3), then=st.sampled_from(["dequeue", "release", "reject"]), delete=st.booleans())
    def take_and_settle(self, name: str, many: int, then: str, delete: bool) -> None:
        """The way of most messages, of some while their queue goes."""
        queue = self.host.queues.get(name)
        entries = [entry for entry in [queue.take() for _ in range(many)] if entry is not None] if queue is not None else []
        self.acquired += entries
        if delete:
            self.attempt(lambda: self.host.delete_queue(name))
        self.acquired = [entry for entry in self.acquired if entry not in entries]
        self.attempt(lambda: getattr(self.host, then)(entries))
        self.acquired += [entry for entry in entries if entry.state == ACQUIRED]

    def some(self, data: st.DataObject) -> list[QueueEntry]:
        count = data.draw(st.integers(0, len(self.acquired)))
        some, self.acquired = self.acquired[:count], self.acquired[count:]
        return some

    @rule(data=st.data())
    def accept(self, data: st.DataObject) -> None:
        self.attempt(lambda: self.host.dequeue(self.some(data)))

    @rule(data=st.data(), mark=st.booleans())
    def release(self, data: st.DataObject, mark: bool) -> None:
        self.attempt(lambda: self.host.release(self.some(data), mark))

    @rule(data=st.data())
    def reject(self, data: st.DataObject) -> None:
        some = self.some(data)
        self.attempt(lambda: self.host.reject(some))
        self.acquired += [entry for entry in some if entry.state == ACQUIRED]  # it was refused

    @rule(data=st.data(), key=KEYS, mode=st.sampled_from([1, 2]))
    def commit(self, data: st.DataObject, key: str, mode: int) -> None:
        publishes = [self.made("amq.direct", key, mode, None), self.made("", key, 2, None)]
        some = self.some(data)
        self.attempt(lambda: self.host.commit(publishes, some))
        self.acquired += [entry for entry in some if entry.state == ACQUIRED]

    @rule(name=QUEUES)
    def somebody_comes_and_goes(self, name: str) -> None:
        queue = self.host.queues.get(name)
        if queue is not None:
            sink = Sink(credit=0)
            self.host.subscribe(name, sink)
            self.attempt(lambda: self.host.unsubscribe(queue, sink))

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0]))
    def tick(self, seconds: float) -> None:
        self.now += seconds
        self.attempt(lambda: self.host.expire(self.now))
        assert not [
            entry
            for queue in self.host.queues.values()
            for entry in queue.all()
            if entry.state == AVAILABLE and entry.message.expires is not None and entry.message.expires <= self.now
        ]

    @rule(data=st.data())
    def journalled(self, data: st.DataObject) -> None:
        if self.untold:
            at = data.draw(st.integers(0, len(self.untold) - 1))
            number = self.untold[at].number
            del self.untold[: at + 1]
            self.attempt(lambda: self.host.journal.journalled(number))

    @invariant()
    def the_journal_says_what_there_is(self) -> None:
        host, store = self.host, self.store
        durable = {name: queue for name, queue in host.queues.items() if queue.durable}
        assert store.queues == {
            name: queue.alternate.name if queue.alternate is not None and queue.alternate.durable else ""
            for name, queue in durable.items()
        }
        assert set(store.exchanges) == {
            name for name, exchange in host.exchanges.items() if exchange.durable and not name.startswith("amq.")
        }
        assert store.bindings == {
            (exchange.name, name, key)
            for name, queue in durable.items()
            for exchange, key in queue.bindings
            if exchange.durable
        }
        there = [
            (name, entry.message.number)
            for name, queue in durable.items()
            for entry in queue.all()
            if entry.message.envelope.persistent
        ]
        assert len(set(there)) == len(there)
        assert store.places == set(there)

    @invariant()
    def nobody_sees_what_is_not_journalled(self) -> None:
        waiting = {
            (operation.queue, operation.number)
            for entry in self.untold
            for operation in entry.operations
            if isinstance(operation, Enqueued)
        }
        for name, queue in self.host.queues.items():
            for entry in queue.all():
                if (name, entry.message.number) in waiting and queue.durable and entry.message.envelope.persistent:
                    assert entry.state == HELD

    @invariant()
    def the_counts_are_right(self) -> None:
        host = self.host
        entries = [entry for queue in host.queues.values() for entry in queue.all()]
        orphans = [entry for entry in self.acquired if entry.queue.deleted]
        assert host.messages == len(entries) + len(orphans)
        assert host.octets == sum(entry.message.size for entry in entries + orphans)
        assert host.bindings == sum(len(exchange) for exchange in host.exchanges.values())
        assert host.bindings == sum(len(queue.bindings) for queue in host.queues.values())
        for exchange in host.exchanges.values():
            alternates = [queue.alternate for queue in host.queues.values()]
            alternates += [each.alternate for each in host.exchanges.values()]
            assert exchange.alternates == len([each for each in alternates if each is exchange])


HostMachine.TestCase.settings = settings(max_examples=settings().max_examples * 2, stateful_step_count=50, deadline=None)
TestHostMachine = HostMachine.TestCase
