"""A virtual host: the commands of classes exchange and queue, owners, and the effects of deletions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Condition, Refused
from amqp_sansio.broker.journal import (
    Bound,
    ExchangeDeclared,
    ExchangeDeleted,
    Journal,
    Operation,
    QueueDeclared,
    QueueDeleted,
    Unbound,
)
from amqp_sansio.broker.model.arguments import (
    UNFILTERED,
    octets_of,
    read_binding_arguments,
    read_queue_arguments,
    refuse_unknown,
)
from amqp_sansio.broker.model.exchange import FILTERS, PREDECLARED, TYPES, Binding, BindingFilter, Exchange
from amqp_sansio.broker.model.message import Intake
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.queue_options import LastValues, MessageNumbering, Shares
from amqp_sansio.broker.model.queueing import HostMessages
from amqp_sansio.broker.model.subscribers import browses, connection_of
from amqp_sansio.broker.selectors.properties import Selectable
from amqp_sansio.broker.transactions import DEFAULT_TIMEOUT, MAX_TIMEOUT, Coordinator
from amqp_sansio.config import ErrorCodes
from amqp_sansio.errors.core import many
from amqp_sansio.kernel.timers import Countdowns, earliest
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits
from amqp_sansio.spec.values import Map, Value

if TYPE_CHECKING:
    from amqp_sansio.broker.model.subscribers import Consumer, Owner


Arguments = Mapping[str, Value] | None


class VirtualHost(HostMessages):
    """A virtual host: exchanges, queues, bindings and messages, separate from those of every other.

    The methods that implement a command take its fields in order: `delete_exchange(*command.values())`.  They raise `Refused`,
    and then have changed nothing.  A returned number is that of the entry that must be journalled before the command is
    complete; 0 for none.  An `owner` is what a queue can be exclusive to.  `error_codes` is the profile, which decides what is
    refused at all (see `conditions`).
    """

    def __init__(
        self,
        name: str = "",
        journal: Journal | None = None,
        limits: BrokerLimits = DEFAULT_BROKER_LIMITS,
        intake: Intake | None = None,
        error_codes: ErrorCodes = "qpid",
        branch_timeout: int = DEFAULT_TIMEOUT,
        most_branch_timeout: int = MAX_TIMEOUT,
    ) -> None:
        super().__init__(
            name, journal if journal is not None else Journal(), limits, intake if intake is not None else Intake()
        )
        self.error_codes: Final[ErrorCodes] = error_codes
        self.selectable: Final = Selectable()
        """The properties of its messages as selectors see them."""
        self.bindings = 0
        """The number of bindings, without those of the default exchange."""
        self.binding_words = 0
        """Words in keys and headers in arguments by which exchanges index their bindings."""
        self.argument_octets = 0
        """The octets of the arguments of all exchanges, queues and bindings."""
        self.subscribers = 0
        """The number of subscriptions to its queues."""
        self.users = 0
        """Connections that have opened it, and sessions in it."""
        self.coordinator: Final = Coordinator(self, branch_timeout, most_branch_timeout)
        self._owned: Final[dict[Owner, dict[Queue, None]]] = {}
        self._lingering: Final[Countdowns[Queue]] = Countdowns()

    @property
    def empty(self) -> bool:
        """Whether nobody uses it and it contains nothing that clients made: its removal would go unnoticed."""
        used = self.users or self.queues or self.coordinator.branches
        return not used and self.exchanges.keys() == PREDECLARED.keys()

    def room(self, limit: str, asked: int) -> None:
        """Raises Refused when a limit is less than what is asked for."""
        value: int = getattr(self.limits, limit)
        if asked > value:
            raise Refused(conditions.LIMIT, limit=limit, value=value, why=f"there would be {asked}")

    # --- exchanges --------------------------------------------------------------------------------------------------------

    def declare_exchange(
        self,
        exchange: str | None,
        type_: str | None = None,
        alternate_exchange: str | None = None,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        arguments: Arguments = None,
    ) -> int:
        """Implements exchange.declare: creates the exchange, or checks that it is as described."""
        if not exchange:
            raise Refused(conditions.EXCHANGE_DECLARE_NO_NAME)
        found = self.exchange(exchange)
        if found is not None and arguments and conditions.EXCHANGE_REDECLARE_ARGUMENT.counts(self.error_codes):
            raise Refused(conditions.EXCHANGE_REDECLARE_ARGUMENT, exchange=exchange, argument=next(iter(arguments)))
        if passive:
            if found is None:
                raise Refused(conditions.EXCHANGE_DECLARE_PASSIVE, exchange=exchange)
            if type_ and type_ != found.TYPE:
                self._other_type(found, type_)
            return 0
        for prefix, reserved in (
            ("amq.", conditions.EXCHANGE_DECLARE_RESERVED),
            ("qpid.", conditions.EXCHANGE_DECLARE_QPID),
        ):
            if exchange.startswith(prefix) and reserved.counts(self.error_codes):
                raise Refused(reserved, exchange=exchange, prefix=prefix)
        kind = TYPES.get(type_ or "")
        if kind is None:
            raise Refused(conditions.EXCHANGE_DECLARE_NO_TYPE, exchange=exchange, type=type_ or "", legal=", ".join(TYPES))
        if found is not None:
            if kind.TYPE != found.TYPE:
                self._other_type(found, kind.TYPE)
            if alternate_exchange:
                self._same_alternate(found, alternate_exchange, conditions.EXCHANGE_DECLARE_OTHER_ALTERNATE)
            return 0
        alternate = self._alternate(alternate_exchange, conditions.EXCHANGE_DECLARE_NO_ALTERNATE)
        for name in arguments or ():
            raise Refused(conditions.EXCHANGE_DECLARE_ARGUMENT, exchange=exchange, argument=name)
        self.room("exchanges", len(self.exchanges) + 1)
        made = kind(exchange, durable, auto_delete, alternate)
        self.exchanges[exchange] = made
        if alternate is not None:
            alternate.alternates += 1
        if not durable:
            return 0
        return self.journal.write(self.exchange_declared(made))

    def delete_exchange(self, exchange: str | None, if_unused: bool = False) -> int:
        """Implements exchange.delete: removes the exchange, with its bindings."""
        if not exchange:
            raise Refused(conditions.EXCHANGE_DELETE_NO_NAME)
        found = self.exchange(exchange)
        if found is None:
            raise Refused(conditions.EXCHANGE_DELETE_NO_EXCHANGE, exchange=exchange)
        if found.name.startswith("amq."):
            raise Refused(conditions.EXCHANGE_DELETE_RESERVED, exchange=exchange)
        if found.alternates:
            raise Refused(conditions.EXCHANGE_DELETE_ALTERNATE, exchange=exchange, count=found.alternates)
        if if_unused and len(found):
            raise Refused(conditions.EXCHANGE_DELETE_IN_USE, exchange=exchange, bindings=many(len(found), "binding"))
        operations: list[Operation] = []
        self._remove_exchange(found, operations)
        return self.journal.write(*operations)

    def bind(
        self,
        queue: str | None,
        exchange: str | None,
        binding_key: str | None = None,
        arguments: Arguments = None,
        owner: Owner | None = None,
        restored: bool = False,
    ) -> int:
        """Implements exchange.bind, which has no effect when a binding with that key exists, whatever the arguments.

        A selector in the arguments restricts the queue to messages for which it is true; `x-qpid-no-local` excludes those that
        the connection of its user published.  `restored`: it was made before a restart, so any arguments are accepted.
        """
        if not exchange:
            raise Refused(conditions.BIND_NO_EXCHANGE_NAME)
        bound = self._found(
            queue, owner, conditions.BIND_NO_QUEUE, conditions.BIND_NO_QUEUE_NAME, conditions.BIND_OWNED
        )  # fmt: skip
        to = self.exchange(exchange)
        if to is None:
            raise Refused(conditions.BIND_NO_EXCHANGE, exchange=exchange)
        key = binding_key or ""
        if to.has(bound, key, None):
            return 0
        given = Map(arguments or {})
        unknown = [name for name in given if name not in FILTERS]
        if unknown and not to.KNOWN and not restored and conditions.BIND_ARGUMENT.counts(self.error_codes):
            raise Refused(conditions.BIND_ARGUMENT, argument=unknown[0], type=to.TYPE, known=", ".join(FILTERS))
        to.check(key, given)
        asked = read_binding_arguments(given, self.limits) if given else UNFILTERED
        octets = octets_of(given)
        words = to.words(key, given)
        self.room("bindings", self.bindings + 1)
        self.room("binding_words", self.binding_words + words)
        self.room("argument_octets", self.argument_octets + octets)
        filter = BindingFilter(asked.selector, self.selectable, bound if asked.no_local else None) if asked.filters else None
        to.bind(bound, key, given, filter)
        self.bindings += 1
        self.binding_words += words
        self.argument_octets += octets
        if not (bound.durable and to.durable):
            return 0
        return self.journal.write(Bound(self.name, to.name, bound.name, key, given))

    def unbind(
        self, queue: str | None, exchange: str | None, binding_key: str | None = None, owner: Owner | None = None
    ) -> int:
        """Implements exchange.unbind: removes a binding."""
        if not exchange:
            raise Refused(conditions.UNBIND_NO_EXCHANGE_NAME)
        missing = conditions.UNBIND_NO_QUEUE
        bound = self._found(queue, owner, missing, missing, conditions.UNBIND_OWNED)
        of = self.exchange(exchange)
        if of is None:
            raise Refused(conditions.UNBIND_NO_EXCHANGE, exchange=exchange)
        binding = bound.bindings.get((of, binding_key or ""))
        if binding is None:
            raise Refused(conditions.UNBIND_NO_KEY, queue=queue, exchange=exchange, key=binding_key or "")
        operations: list[Operation] = []
        self._unbind(binding, operations)
        return self.journal.write(*operations)

    # --- queues -----------------------------------------------------------------------------------------------------------

    def declare_queue(
        self,
        queue: str | None,
        alternate_exchange: str | None = None,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Arguments = None,
        owner: Owner | None = None,
    ) -> int:
        """Implements queue.declare: creates the queue, or checks that it is as described.

        With `exclusive` only its owner may use it.  `passive` changes nothing; with `exclusive`, it checks that the owner has
        the queue exclusively.
        """
        if not queue:
            raise Refused(conditions.QUEUE_DECLARE_NO_NAME)
        found = self.queues.get(queue)
        if passive and found is None:
            raise Refused(conditions.QUEUE_DECLARE_PASSIVE, queue=queue)
        if found is not None:
            if not _free(found, owner):
                held = (
                    conditions.QUEUE_DECLARE_EXCLUSIVE if exclusive or not passive else conditions.QUEUE_DECLARE_PASSIVE_OWNED
                )
                if held.counts(self.error_codes):
                    raise Refused(held, queue=queue, why=f"queue {queue!r} belongs to another session")
            if conditions.QUEUE_REDECLARE_ARGUMENT.counts(self.error_codes):
                refuse_unknown(Map(arguments or {}), conditions.QUEUE_REDECLARE_ARGUMENT)
            if passive:
                if exclusive and (found.owner is None or not _free(found, owner)):
                    raise Refused(
                        conditions.QUEUE_DECLARE_EXCLUSIVE, queue=queue, why=f"queue {queue!r} is not exclusive to this session"
                    )
                return 0
            if alternate_exchange and conditions.QUEUE_DECLARE_OTHER_ALTERNATE.counts(self.error_codes):
                self._same_alternate(found, alternate_exchange, conditions.QUEUE_DECLARE_OTHER_ALTERNATE)
            if exclusive and found.owner is None:
                if found.dispatcher is not None and any(each.owner is not owner for each in found.dispatcher.consumers):
                    raise Refused(
                        conditions.QUEUE_DECLARE_EXCLUSIVE, queue=queue, why=f"other sessions subscribe to queue {queue!r}"
                    )
                self._own(found, owner)
            return 0
        reserved = conditions.QUEUE_DECLARE_RESERVED
        if queue.startswith("amq.") and reserved.counts(self.error_codes):
            raise Refused(reserved, queue=queue)
        if not (queue[0].isalnum() or queue[0] == "_") and conditions.QUEUE_DECLARE_NAME.counts(self.error_codes):
            raise Refused(conditions.QUEUE_DECLARE_NAME, queue=queue)
        alternate = self._alternate(alternate_exchange, conditions.QUEUE_DECLARE_NO_ALTERNATE)
        given = Map(arguments or {})
        asked = read_queue_arguments(given, self.limits)
        octets = octets_of(given)
        self.room("queues", len(self.queues) + 1)
        self.room("argument_octets", self.argument_octets + octets)
        auto_delete = auto_delete or asked.deleted_with_owner or asked.linger > 0
        made = Queue(
            queue,
            durable,
            None,
            auto_delete,
            alternate,
            given,
            asked.levels,
            asked.most_messages,
            asked.most_octets,
            self.dispatchable,
            asked.no_local,
            asked.policy,
            asked.linger,
            LastValues(asked.last_value, self._headers) if asked.last_value else None,
            MessageNumbering(asked.sequence) if asked.sequence else None,
            Shares(asked.shares) if asked.shares else None,
        )
        self.queues[queue] = made
        self.no_local += asked.no_local
        self.argument_octets += octets
        if alternate is not None:
            alternate.alternates += 1
        if exclusive or asked.of_session or asked.of_connection:
            self._own(made, connection_of(owner) if asked.of_connection else owner)
        if not durable:
            return 0
        return self.journal.write(self.queue_declared(made))

    def delete_queue(
        self, queue: str | None, if_unused: bool = False, if_empty: bool = False, owner: Owner | None = None
    ) -> int:
        """Implements queue.delete: messages go to the alternate exchange, and subscribers are notified (408).

        The owner's own subscriptions stay if it deletes the queue, and get nothing more.
        """
        found = self._found(
            queue, owner, conditions.QUEUE_DELETE_NO_QUEUE, conditions.QUEUE_DELETE_NO_NAME, conditions.QUEUE_DELETE_OWNED
        )
        if if_unused and found.subscribers:
            raise Refused(conditions.QUEUE_DELETE_IN_USE, queue=queue, subscribers=many(found.subscribers, "subscriber"))
        if if_empty and found.messages:
            raise Refused(conditions.QUEUE_DELETE_NOT_EMPTY, queue=queue, messages=many(found.messages, "message"))
        return self._drop(found, owner)

    def purge(self, queue: str | None, owner: Owner | None = None) -> int:
        """Implements queue.purge: removes all messages that no subscriber has acquired."""
        found = self._found(
            queue, owner, conditions.QUEUE_PURGE_NO_QUEUE, conditions.QUEUE_PURGE_NO_NAME, conditions.QUEUE_PURGE_OWNED
        )
        return self.dequeue(found.waiting())

    # --- subscribers and owners -------------------------------------------------------------------------------------------

    def subscribe(self, queue: str | None, consumer: Consumer) -> Queue:
        """Implements the queue's part of message.subscribe: the consumer joins its subscribers."""
        found = self._found(
            queue,
            consumer.owner,
            conditions.SUBSCRIBE_NO_QUEUE,
            conditions.SUBSCRIBE_NO_NAME,
            conditions.SUBSCRIBE_OWNED,
        )
        if browses(consumer):
            self.room("browsers", found.browsers + 1)
        self.room("consumer_priorities", found.ranks_with(consumer.priority))
        found.subscribe(consumer)
        self._lingering.stop(found)
        return found

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

    # --- for the journal ------------------------------------------------------------------------------------------------------

    def exchange_declared(self, exchange: Exchange) -> ExchangeDeclared:
        """Returns the journal's record of an exchange."""
        kept = _kept_alternate(exchange)
        return ExchangeDeclared(self.name, exchange.name, exchange.TYPE, kept, exchange.auto_delete, exchange.arguments)

    def queue_declared(self, queue: Queue) -> QueueDeclared:
        """Returns the journal's record of a queue."""
        owned = queue.owner is not None
        return QueueDeclared(self.name, queue.name, _kept_alternate(queue), owned, queue.auto_delete, queue.arguments)

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
        """The moment to call `expire`: at once when a period must start, None when nothing will expire or time out."""
        return earliest(self.next_expiry, self._lingering.next, self.coordinator.due)

    def expire(self, now: float) -> float | None:
        """Removes expired messages, and queues and branches whose time is over; returns the next moment, None for never."""
        self.expire_messages(now)
        for queue in self._lingering.due(now):
            if not queue.subscribers:
                self._drop(queue)
        self.coordinator.tick(now)
        return self.due

    def _own(self, queue: Queue, owner: Owner | None) -> None:
        if owner is not None:
            queue.owner = owner
            self._owned.setdefault(owner, {})[queue] = None
            self._lingering.stop(queue)

    # --- internals ------------------------------------------------------------------------------------------------------------

    def _found(self, queue: str | None, owner: Owner | None, missing: Condition, empty: Condition, owned: Condition) -> Queue:
        if not queue:
            raise Refused(empty, why="the name of the queue is empty")
        found = self.queues.get(queue)
        if found is None:
            raise Refused(missing, queue=queue, why=f"there is no queue {queue!r}")
        if not _free(found, owner):
            raise Refused(owned, queue=queue)
        return found

    def _alternate(self, name: str | None, missing: Condition) -> Exchange | None:
        if not name:
            return None
        found = self.exchange(name)
        if found is None:
            raise Refused(missing, exchange=name, legal=self._named_exchanges())
        return found

    def _same_alternate(self, of: Exchange | Queue, name: str, other: Condition) -> None:
        has = of.alternate.name if of.alternate is not None else ""
        if self.exchange(name) is not of.alternate:
            raise Refused(other, name=of.name, has=has, exchange=name)

    def _other_type(self, found: Exchange, type_: str) -> None:
        raise Refused(conditions.EXCHANGE_DECLARE_OTHER_TYPE, exchange=found.name, has=found.TYPE, type=type_)


def _free(queue: Queue, owner: Owner | None) -> bool:
    """Returns whether no other owner has the queue exclusively."""
    return queue.owner is None or queue.owner in (owner, connection_of(owner))


def _kept_alternate(of: Exchange | Queue) -> str:
    """Returns the name of the alternate exchange; "" for a transient one, which is gone after a restart."""
    return of.alternate.name if of.alternate is not None and of.alternate.durable else ""


def _spent(exchange: Exchange) -> bool:
    """Returns whether an exchange that ends with its last binding has neither bindings nor users as an alternate."""
    return exchange.auto_delete and exchange.was_bound and not len(exchange) and not exchange.alternates
