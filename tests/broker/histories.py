"""Random histories of a virtual host and its coordinator, for properties of what is durable."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeAlias

from hypothesis import strategies as st
from tests.broker.branches import Stage

from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.model.message import ACQUIRED, QueueEntry
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.subscribers import SESSION, Owner
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.values import Value

Step: TypeAlias = tuple[str, int, int, int]
"""What, and three numbers that choose among what there is."""

QUEUES: Final = ("q", "r", "t", "u", "v")
EXCHANGES: Final = ("amq.direct", "amq.topic", "x", "y")
OWNERS: Final = (Owner(SESSION), Owner(SESSION), Owner(SESSION))
XIDS: Final = (Xid(1, b"a", b"1"), Xid(1, b"a", b"2"), Xid(1, b"b", b"1"))


class History(Stage):
    """A stage on which steps are taken.  What a step asks for may be refused; then it did not happen."""

    def __init__(self, journal: bool = True) -> None:
        super().__init__(journal)
        self.now = 0.0

    def take(self, step: Step) -> None:
        what, a, b, c = step
        with suppress(Refused, LocalProtocolError):
            _STEPS[what](self, a, b, c)

    def any(self, number: int) -> Queue:
        """One of the queues that there are, t when there is none."""
        if not self.host.queues:
            self.host.declare_queue("t")
        queues = list(self.host.queues.values())
        return queues[number % len(queues)]

    def some(self, number: int) -> list[QueueEntry]:
        """Of what somebody has acquired outside of branches, up to two."""
        held = [
            entry
            for queue in self.host.queues.values()
            for entry in queue.all()
            if entry.state == ACQUIRED
            and not [b for b in self.coordinator.branches.values() if entry in b.work.accepted]
        ]  # fmt: skip
        return held[number % 3 : number % 3 + 2]


def _declare(h: History, a: int, b: int, c: int) -> None:
    alternate = "x" if c == 3 and "x" in h.host.exchanges else None
    choices: dict[int, dict[str, Value]] = {1: {"qpid.policy_type": "ring", "qpid.max_count": 2}, 2: {"qpid.priorities": 3}}
    h.host.declare_queue(QUEUES[a % 5], alternate, durable=b > 0, arguments=choices.get(c))


def _exchange(h: History, a: int, b: int, c: int) -> None:
    h.host.declare_exchange(EXCHANGES[2 + a % 2], "topic", durable=b > 0, auto_delete=c == 1)


def _enqueue(h: History, a: int, b: int, c: int) -> None:
    message = h.message(b"%d-%d" % (a, b), persistent=c > 0, ttl=a * 1000 + 1 if c == 2 else None)
    h.host.enqueue(message, h.host.exchanges[EXCHANGES[b % 2]].route(message) or [h.any(a)])


def _publish(h: History, a: int, b: int, c: int) -> None:
    if OWNERS[a % 3] in h.coordinator.working:
        queues = [h.host.queues[name] for name in QUEUES[b % 5 : b % 5 + 2] if name in h.host.queues]
        h.work(OWNERS[a % 3]).publish(h.message(b"tx", persistent=c > 0), queues)


def _accept(h: History, a: int, b: int, c: int) -> None:
    if OWNERS[a % 3] in h.coordinator.working:
        h.work(OWNERS[a % 3]).accept(h.some(b))


def _acquire(h: History, a: int, b: int, c: int) -> None:
    h.any(a).take()


def _tick(h: History, a: int, b: int, c: int) -> None:
    h.now += a * 20
    h.host.expire(h.now)
    h.coordinator.tick(h.now)


def _branch(h: History, a: int, b: int, c: int) -> None:
    """A branch from its start to its prepare, with a message and an accept in it."""
    h.coordinator.start(OWNERS[a % 3], XIDS[b % 3])
    _publish(h, a, a + b, c)
    entry = h.any(b).take()
    if entry is not None:
        h.work(OWNERS[a % 3]).accept([entry])
    h.coordinator.end(OWNERS[a % 3], XIDS[b % 3])
    if c < 3:
        h.coordinator.prepare(XIDS[b % 3])


_STEPS: Final[dict[str, Callable[[History, int, int, int], object]]] = {
    "declare": _declare,
    "delete": lambda h, a, b, c: h.host.delete_queue(QUEUES[a % 5]),
    "exchange": _exchange,
    "delete exchange": lambda h, a, b, c: h.host.delete_exchange(EXCHANGES[2 + a % 2]),
    "bind": lambda h, a, b, c: h.host.bind(QUEUES[a % 5], EXCHANGES[b % 4], f"k{c % 2}"),
    "unbind": lambda h, a, b, c: h.host.unbind(QUEUES[a % 5], EXCHANGES[b % 4], f"k{c % 2}"),
    "enqueue": _enqueue,
    "acquire": _acquire,
    "dequeue": lambda h, a, b, c: h.host.dequeue(h.some(a)),
    "release": lambda h, a, b, c: h.host.release(h.some(a), b > 0),
    "reject": lambda h, a, b, c: h.host.reject(h.some(a)),
    "purge": lambda h, a, b, c: h.host.purge(QUEUES[a % 5]),
    "start": lambda h, a, b, c: h.coordinator.start(OWNERS[a % 3], XIDS[b % 3], c == 1, c == 2),
    "end": lambda h, a, b, c: h.coordinator.end(OWNERS[a % 3], XIDS[b % 3], c == 1, c == 2),
    "owner ended": lambda h, a, b, c: h.coordinator.owner_ended(OWNERS[a % 3]),
    "publish": _publish,
    "accept": _accept,
    "branch": _branch,
    "prepare": lambda h, a, b, c: h.coordinator.prepare(XIDS[b % 3]),
    "commit": lambda h, a, b, c: h.coordinator.commit(XIDS[b % 3], c > 1),
    "rollback": lambda h, a, b, c: h.coordinator.rollback(XIDS[b % 3]),
    "complete": lambda h, a, b, c: h.coordinator.complete(XIDS[b % 3], XaStatus(3 + c)),
    "forget": lambda h, a, b, c: h.coordinator.forget(XIDS[b % 3]),
    "tick": _tick,
    "journalled": lambda h, a, b, c: h.stored(),
}

_NUMBER: Final = st.integers(0, 4)
_COMMON: Final = ("enqueue", "acquire", "publish", "accept", "branch", "branch", "prepare", "commit", "rollback", "complete")


def steps() -> st.SearchStrategy[Step]:
    """One step; what makes a history interesting comes more often."""
    return st.tuples(st.sampled_from((*_STEPS, *_COMMON, *_COMMON)), _NUMBER, _NUMBER, st.integers(0, 3))
