"""The base of exchanges, with their bindings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, TypeVar, cast

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.routing.likeness import likeness
from amqp_sansio.errors.core import many
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.routing.filters import Filter

NO_ARGUMENTS: Final = Map()
STEPS: Final = DEFAULT_BROKER_LIMITS.routing_steps
Alike: TypeAlias = tuple[object, ...]
"""The likeness of arguments, or that together with a queue or a key."""
Target: TypeAlias = "Queue | Binding"
"""The target of a matching message: the queue of the binding or, when the binding has a filter, the binding itself."""
T = TypeVar("T")
ALIASES: Final = {"amq.headers": "amq.match"}
"""Aliases: amq.headers is the specification's name for the exchange that is otherwise called amq.match."""


class Binding:
    """A binding, by which a queue gets messages of an exchange."""

    __slots__ = ("alike", "arguments", "exchange", "filter", "key", "queue", "target")

    def __init__(self, exchange: Exchange, queue: Queue, key: str, arguments: Map, filter: Filter | None = None) -> None:
        self.exchange: Final = exchange
        self.queue: Final = queue
        self.key: Final = key
        self.arguments: Final = arguments
        self.alike: Final = likeness(arguments)
        """The likeness of the arguments, which exchange.bound compares, computed once."""
        self.filter: Final = filter
        self.target: Final[Target] = queue if filter is None else self

    def __repr__(self) -> str:
        return f"<Binding of {self.queue.name!r} to {self.exchange.name!r} with key {self.key!r}>"


class Exchange:
    """An exchange, which finds queues for messages.

    A subclass indexes bindings in `added` and `removed`, and finds them in `matches`.  `alternates` counts the queues and
    exchanges of which it is the alternate exchange.
    """

    __slots__ = (
        "_alike", "_bindings", "_by_key", "_by_queue", "_filters", "alternate", "alternates", "arguments", "auto_delete",
        "durable", "name", "was_bound",
    )  # fmt: skip
    TYPE: ClassVar[str] = ""
    """The type, by the word of exchange.declare."""
    KNOWN: ClassVar[bool] = False
    """Whether it interprets the arguments of its bindings."""

    def __init__(
        self,
        name: str,
        durable: bool = False,
        auto_delete: bool = False,
        alternate: Exchange | None = None,
        arguments: Map = NO_ARGUMENTS,
    ) -> None:
        self.name: Final = name
        self.durable: Final = durable
        self.auto_delete: Final = auto_delete
        self.alternate: Final = alternate
        self.arguments: Final = arguments
        self.alternates = 0
        self.was_bound = False
        """Whether it ever had a binding; before that it is not auto-deleted."""
        self._bindings: Final[dict[tuple[Queue, str], Binding]] = {}
        self._by_key: Final[dict[str, int]] = {}
        self._by_queue: Final[dict[Queue, int]] = {}
        self._alike: Final[dict[Alike, int]] = {}
        self._filters = 0  # the number of bindings with a filter
        self._begin()

    def _begin(self) -> None:
        """Creates the empty index of the bindings."""

    def route(self, message: Message, most: int = STEPS) -> Sequence[Queue]:
        """Returns the queues that get the message, each once.  Bindings that do not match cost no time.

        Raises Refused (506) when it takes more than `most` steps besides one for each queue (BrokerLimits.routing_steps), or
        when the filters of the matching bindings take more than that again.
        """
        targets = self.matches(message, most)
        return self._filtered(targets, message, most) if self._filters else cast("Sequence[Queue]", targets)

    def matches(self, message: Message, most: int) -> Sequence[Target]:
        """Returns the targets of the matching bindings, each once.  Raises Refused as `route` does."""
        raise NotImplementedError

    def _filtered(self, targets: Sequence[Target], message: Message, most: int) -> Sequence[Queue]:
        found: dict[Queue, None] = {}
        asked: list[tuple[Queue, Filter]] = []
        for target in targets:
            if not isinstance(target, Binding):
                found[target] = None
            elif target.filter is not None:
                asked.append((target.queue, target.filter))
        left = most
        for queue, filter in asked:
            left -= 1 if queue in found else filter.steps
            if queue not in found and filter.passes(message):
                found[queue] = None
                left += 1
            if left < 0:
                raise too_long(message, most)
        return tuple(found)

    def words(self, key: str, arguments: Map) -> int:
        """Returns how many words of such a binding are indexed individually (BrokerLimits.binding_words)."""
        return 0

    def check(self, key: str, arguments: Map) -> None:
        """Raises Refused when such a binding is invalid."""

    def added(self, binding: Binding) -> None:
        """Indexes a new binding."""
        raise NotImplementedError

    def removed(self, binding: Binding) -> None:
        """Removes a binding from the index."""
        raise NotImplementedError

    def bind(self, queue: Queue, key: str, arguments: Map = NO_ARGUMENTS, filter: Filter | None = None) -> Binding | None:
        """Binds the queue; returns None when a binding with that key exists, whatever its arguments, which do not change.

        Raises Refused when the arguments are invalid.
        """
        if (queue, key) in self._bindings:
            return None
        self.check(key, arguments)
        binding = Binding(self, queue, key, arguments, filter)
        self._bindings[queue, key] = binding
        self._by_key[key] = self._by_key.get(key, 0) + 1
        self._by_queue[queue] = self._by_queue.get(queue, 0) + 1
        for alike in _alike(binding):
            self._alike[alike] = self._alike.get(alike, 0) + 1
        queue.bindings[self, key] = binding
        self._filters += filter is not None
        self.was_bound = True
        self.added(binding)
        return binding

    def unbind(self, queue: Queue, key: str) -> Binding | None:
        """Removes the binding and returns it; None when there is none."""
        binding = self._bindings.pop((queue, key), None)
        if binding is None:
            return None
        less(self._by_key, key)
        less(self._by_queue, queue)
        for alike in _alike(binding):
            less(self._alike, alike)
        del queue.bindings[self, key]
        self._filters -= binding.filter is not None
        self.removed(binding)
        return binding

    def __len__(self) -> int:
        return len(self._bindings)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Binding]:
        return iter(self._bindings.values())

    def __contains__(self, queue: object) -> bool:
        """Returns whether the queue is bound to it."""
        return queue in self._by_queue

    def has(self, queue: Queue | None, key: str | None, arguments: Map | None) -> bool:
        """Returns whether some binding has all of these; None matches any."""
        if arguments is None:
            if queue is None:
                return bool(self._bindings) if key is None else key in self._by_key
            return queue in self._by_queue if key is None else (queue, key) in self._bindings
        if queue is not None and key is not None:
            binding = self._bindings.get((queue, key))
            return binding is not None and binding.alike == likeness(arguments)
        asked = likeness(arguments)
        among: Alike = (asked,) if queue is None and key is None else (queue if key is None else key, asked)
        return among in self._alike

    def __repr__(self) -> str:
        return f"<{self.TYPE} exchange {self.name!r}: {many(len(self._bindings), 'binding')}>"


def _alike(binding: Binding) -> tuple[Alike, ...]:
    """Returns what exchange.bound may ask about a binding with arguments, so that the answer needs no search."""
    if not binding.arguments:
        return ()
    asked = binding.alike
    return (asked,), (binding.queue, asked), (binding.key, asked)


def too_long(message: Message, most: int) -> Refused:
    """Returns the error for a message whose routing takes more than `most` steps."""
    key = message.envelope.routing_key
    why = f"a message with key {key!r:.80} would take more"
    return Refused(conditions.TRANSFER_LIMIT, limit="routing_steps", value=most, where="", why=why)


def less(counts: dict[T, int], key: T) -> None:
    """Decrements the count of `key`, and removes it at 0."""
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]
