"""The topology of a virtual host: exchanges and queues, with bindings, owners, and the effects of deletions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.journal import ExchangeDeleted, Operation, QueueDeleted, Unbound
from amqp_sansio.broker.model.arguments import octets_of
from amqp_sansio.broker.model.queueing import Traffic
from amqp_sansio.broker.model.subscribers import Asks
from amqp_sansio.broker.routing.direct import Direct
from amqp_sansio.broker.routing.exchange import ALIASES, STEPS, Binding, Exchange
from amqp_sansio.broker.routing.fanout import Fanout
from amqp_sansio.broker.routing.headers import Headers
from amqp_sansio.broker.routing.topic import Topic
from amqp_sansio.kernel.timers import Countdowns, earliest
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.broker.journal import Journal
    from amqp_sansio.broker.model.message import Intake, Message
    from amqp_sansio.broker.model.owner import Owner
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.model.subscribers import Consumer

TYPES: Final[dict[str, type[Exchange]]] = {kind.TYPE: kind for kind in (Direct, Fanout, Topic, Headers)}
"""The types of exchanges, by the word of exchange.declare."""

PREDECLARED: Final = {
    "amq.direct": Direct,
    "amq.fanout": Fanout,
    "amq.topic": Topic,
    "amq.match": Headers,
    "amq.headers": Headers,
}
"""The predeclared exchanges; each of `ALIASES` is another name of one of them."""


Rejection: TypeAlias = Literal["unroutable", "immediate"]
UNROUTABLE: Final = "unroutable"
"""No queue for the message."""
IMMEDIATE: Final = "immediate"
"""Queues exist, but no subscriber that could take the message at once."""


class Routed:
    """The routing of a message: the `queues` that get it or, without any, perhaps a `reject` for its publisher.

    `via` is the alternate exchange that found the queues, None when the first exchange did.
    """

    __slots__ = ("queues", "reject", "via")

    def __init__(self, queues: Sequence[Queue], via: Exchange | None = None, reject: Rejection | None = None) -> None:
        self.queues: Final = queues
        self.via: Final = via
        self.reject: Final = reject

    def __repr__(self) -> str:
        return f"Routed({[queue.name for queue in self.queues]}, via={self.via!r}, reject={self.reject!r})"


DROPPED: Final = Routed(())


class Default(Exchange):
    """The default exchange, without a name: every queue is bound to it by its own name, irrevocably."""

    __slots__ = ("_named",)
    TYPE: ClassVar[str] = "direct"

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        super().__init__("", durable=True)
        self._named: Final = queues

    def route(self, message: Message, most: int = STEPS) -> Sequence[Queue]:
        queue = self._named.get(message.envelope.routing_key)
        return (queue,) if queue is not None else ()

    def has(self, queue: Queue | None, key: str | None, arguments: Map | None) -> bool:
        if arguments:
            return False
        if queue is None:
            return bool(self._named) if key is None else key in self._named
        return key in (None, queue.name)

    def __contains__(self, queue: object) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._named)


class Topology(Traffic):
    """The exchanges and queues of one virtual host."""

    def __init__(self, name: str, journal: Journal, limits: BrokerLimits, intake: Intake) -> None:
        super().__init__(name, journal, limits, intake)
        self.queues: Final[dict[str, Queue]] = {}
        self.default: Final = Default(self.queues)
        self.exchanges: Final[dict[str, Exchange]] = {}
        """The exchanges by name, without the default exchange."""
        for each, kind in PREDECLARED.items():
            if each not in ALIASES:
                self.exchanges[each] = kind(each, durable=True)
        self.bindings = 0
        """The number of bindings, without those of the default exchange."""
        self.binding_words = 0
        """Words in keys and headers in arguments by which exchanges index their bindings."""
        self.argument_octets = 0
        """The octets of the arguments of all exchanges, queues and bindings."""
        self.no_local = 0
        """The number of queues that ignore what their owner's connection publishes."""
        self.dropped = 0
        """Published messages that reached no queue, and that no message.reject reported to their publishers."""
        self._owned: Final[dict[Owner, dict[Queue, None]]] = {}
        self._lingering: Final[Countdowns[Queue]] = Countdowns()

    def exchange(self, name: str | None) -> Exchange | None:
        """Returns the exchange of that name, the default one for "" and None.  None when there is none."""
        return self.exchanges.get(ALIASES.get(name, name)) if name else self.default

    def destination(self, name: str | None) -> Exchange:
        """Returns the exchange to which a transfer goes.  Raises Refused (404)."""
        exchange = self.exchange(name)
        if exchange is None:
            raise Refused(conditions.TRANSFER_NO_EXCHANGE, exchange=name, legal=self._named_exchanges())
        return exchange

    def route(self, exchange: Exchange, message: Message, explicit: bool = True) -> Routed:
        """Decides what happens to a message published to an exchange.  `explicit`: it is accepted or rejected by command.

        Dispatch a queue before the next message is routed to it, so that an immediate one sees the credit that is left.
        """
        queues = exchange.route(message, self.limits.routing_steps)
        envelope = message.envelope
        if envelope.immediate:
            asks = Asks(self.limits.routing_steps)
            if queues and all(queue.able(message, asks) for queue in queues):
                return Routed(queues)
            why: Rejection = IMMEDIATE if queues else UNROUTABLE
        elif queues:
            return Routed(queues)
        else:
            why = UNROUTABLE
        if envelope.discard_unroutable:
            return DROPPED
        if explicit:
            return Routed((), None, why)
        alternate = exchange.alternate
        if alternate is not None:  # one hop
            queues = alternate.route(message, self.limits.routing_steps)
            if queues:
                return Routed(queues, alternate)
        return DROPPED

    # --- bindings ---------------------------------------------------------------------------------------------------------

    def _unbind(self, binding: Binding, operations: list[Operation], told: bool = True) -> None:
        """Removes a binding, and the exchange with its last one; `told`: the journal records the unbinding."""
        exchange = binding.exchange
        self._unbound(binding)
        if told and exchange.durable and binding.queue.durable:
            operations.append(Unbound(self.name, exchange.name, binding.queue.name, binding.key))
        self._auto_delete(exchange, operations)

    def _unbound(self, binding: Binding) -> None:
        exchange = binding.exchange
        exchange.unbind(binding.queue, binding.key)
        self.bindings -= 1
        self.binding_words -= exchange.words(binding.key, binding.arguments)
        self.argument_octets -= octets_of(binding.arguments)

    def _auto_delete(self, exchange: Exchange, operations: list[Operation]) -> None:
        """Deletes an exchange that ends with its last binding, unless it is an alternate: then with the last of its users."""
        if _spent(exchange):
            self._remove_exchange(exchange, operations)

    # --- deletions ------------------------------------------------------------------------------------------------------------

    def _remove_exchange(self, exchange: Exchange, operations: list[Operation]) -> None:
        """Removes an exchange, and then each exchange that was auto-delete and only used as its alternate, in a chain."""
        gone: Exchange | None = exchange
        while gone is not None and self.exchanges.pop(gone.name, None) is not None:
            for binding in list(gone):
                self._unbound(binding)
            self.argument_octets -= octets_of(gone.arguments)
            if gone.durable:
                operations.append(ExchangeDeleted(self.name, gone.name))
            alternate = gone.alternate
            if alternate is not None:
                alternate.alternates -= 1
            gone = alternate if alternate is not None and _spent(alternate) else None

    def _drop(self, queue: Queue, by: Owner | None = None) -> int:
        """Removes a queue: its bindings too, its messages to the alternate exchange.

        Notifies its subscribers, except those of the session that deletes it.
        """
        self._lingering.stop(queue)
        if queue.owner is not None:
            owned = self._owned.get(queue.owner)
            if owned is not None:
                owned.pop(queue, None)
                if not owned:
                    del self._owned[queue.owner]
        if queue.deleted:
            return 0
        operations: list[Operation] = []
        del self.queues[queue.name]
        self.no_local -= queue.no_local
        self.dispatchable.pop(queue, None)
        if queue.durable:
            operations.append(QueueDeleted(self.name, queue.name))
        for binding in list(queue.bindings.values()):
            self._unbind(binding, operations, told=False)
        self.argument_octets -= octets_of(queue.arguments)
        queue.deleted = True
        if queue.shortened is not None:
            queue.shortened(queue)
        number = self._move(queue.waiting(), operations, gone=partial(self._dispense, queue.alternate))
        consumers = list(queue.dispatcher.consumers) if queue.dispatcher is not None else []
        for consumer in consumers:
            queue.unsubscribe(consumer)
        for consumer in consumers:
            consumer.gone(queue, by)
        return number

    def _dispense(self, alternate: Exchange | None) -> int:
        """Notes that a queue that is gone has no more messages for its alternate exchange."""
        operations: list[Operation] = []
        if alternate is not None:
            alternate.alternates -= 1
            self._auto_delete(alternate, operations)
        return self.journal.write(*operations)

    def _named_exchanges(self) -> str:
        return f'"" and the names of {len(self.exchanges)} exchanges'

    # --- ownership and auto-delete --------------------------------------------------------------------------------------------

    def unsubscribe(self, queue: Queue, consumer: Consumer) -> int:
        """Removes a consumer.  Deletes an auto-delete queue with its last consumer, unless it ends with its owner."""
        was = queue.subscribers
        queue.unsubscribe(consumer)
        if was and not queue.subscribers and queue.auto_delete and queue.owner is None and not queue.deleted:
            return self.left(queue)
        return 0

    def owned(self, owner: Owner) -> Iterable[Queue]:
        """Returns the queues that are exclusive to an owner."""
        return self._owned.get(owner, ())

    def owner_ended(self, owner: Owner) -> None:
        """Ends the ownership of a session or connection: exclusive queues become free or, if auto-delete, are deleted."""
        for queue in list(self._owned.pop(owner, ())):
            queue.owner = None
            if queue.auto_delete:
                self.left(queue)

    def unused(self, queue: Queue, was_owned: bool) -> bool:
        """Returns whether a restored queue is unused: its owner no longer exists, or it lingers and has no consumer.

        It is not known since when.
        """
        if queue.owner is not None:
            return False
        return was_owned or (queue.linger > 0 and not queue.subscribers)

    def left(self, queue: Queue) -> int:
        """Handles an auto-delete queue that is no longer used: it goes at once, or `linger` seconds after the next `expire`."""
        if not queue.linger:
            return self._drop(queue)
        self._lingering.begin(queue, queue.linger)
        return 0

    @property
    def due(self) -> float | None:
        """The moment to call `expire`: at once when a period must start, None when nothing will expire."""
        return earliest(self.next_expiry, self._lingering.next)

    def expire(self, now: float) -> float | None:
        """Removes expired messages, and queues whose time is over; returns the next moment, None for never."""
        self.expire_messages(now)
        for queue in self._lingering.due(now):
            if not queue.subscribers:
                self._drop(queue)
        return self.due

    def _own(self, queue: Queue, owner: Owner | None) -> None:
        if owner is not None:
            queue.owner = owner
            self._owned.setdefault(owner, {})[queue] = None
            self._lingering.stop(queue)


def _spent(exchange: Exchange) -> bool:
    """Returns whether an exchange that ends with its last binding has neither bindings nor users as an alternate."""
    return exchange.auto_delete and exchange.was_bound and not len(exchange) and not exchange.alternates
