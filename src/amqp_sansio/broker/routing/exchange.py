"""The base of exchanges: their bindings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, TypeVar, cast

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.routing.likeness import likeness
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.routing.filters import Filter

NO_ARGUMENTS: Final = Map()
STEPS: Final = DEFAULT_BROKER_LIMITS.routing_steps
Alike: TypeAlias = tuple[object, ...]
"""The likeness of arguments; or a queue or a key, and that."""
Target: TypeAlias = "Queue | Binding"
"""What a message that matches a binding goes to: its queue or, when the binding has a filter, the binding, which is asked."""
T = TypeVar("T")
ALIASES: Final = {"amq.headers": "amq.match"}
"""amq.headers is the specification's name for the one that everybody calls amq.match: one exchange, two names."""


class Binding:
    """Lets a queue have messages of an exchange."""

    __slots__ = ("alike", "arguments", "exchange", "filter", "key", "queue", "target")

    def __init__(self, exchange: Exchange, queue: Queue, key: str, arguments: Map, filter: Filter | None = None) -> None:
        self.exchange: Final = exchange
        self.queue: Final = queue
        self.key: Final = key
        self.arguments: Final = arguments
        self.alike: Final = likeness(arguments)
        """Their likeness, which exchange.bound compares: who asks again and again must not have it made each time."""
        self.filter: Final = filter
        self.target: Final[Target] = queue if filter is None else self

    def __repr__(self) -> str:
        return f"<Binding of {self.queue.name!r} to {self.exchange.name!r} with key {self.key!r}>"


class Exchange:
    """Finds queues for messages.  A subclass keeps the bindings by `added` and `removed`, and says in `matches` which match.

    `alternates` counts the queues and exchanges of which it is the alternate exchange.
    """

    __slots__ = (
        "_alike", "_bindings", "_by_key", "_by_queue", "_filters", "alternate", "alternates", "arguments", "auto_delete",
        "durable", "name", "was_bound",
    )  # fmt: skip
    TYPE: ClassVar[str] = ""
    """The word of exchange.declare."""
    KNOWN: ClassVar[bool] = False
    """Whether bindings to it have arguments that mean something."""

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
        """Whether there was a binding ever, without which it is not deleted by itself."""
        self._bindings: Final[dict[tuple[Queue, str], Binding]] = {}
        self._by_key: Final[dict[str, int]] = {}
        self._by_queue: Final[dict[Queue, int]] = {}
        self._alike: Final[dict[Alike, int]] = {}
        self._filters = 0  # bindings that have one
        self._begin()

    def _begin(self) -> None:
        """Nothing is bound yet: makes what the bindings are found by."""

    def route(self, message: Message, most: int = STEPS) -> Sequence[Queue]:
        """The queues that get the message, each once.  The time does not grow with bindings that do not match.

        Refused 506 when it takes more than `most` steps besides one for each queue (BrokerLimits.routing_steps), and when the
        filters of the bindings that match take more than that once again.
        """
        targets = self.matches(message, most)
        return self._filtered(targets, message, most) if self._filters else cast("Sequence[Queue]", targets)

    def matches(self, message: Message, most: int) -> Sequence[Target]:
        """The targets of the bindings that match, each once.  Refused as `route`."""
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
        """How much of such a binding is to be found one by one (BrokerLimits.binding_words)."""
        return 0

    def check(self, key: str, arguments: Map) -> None:
        """Refused when such a binding cannot be."""

    def added(self, binding: Binding) -> None:
        """There is a new binding."""
        raise NotImplementedError

    def removed(self, binding: Binding) -> None:
        """A binding is no more."""
        raise NotImplementedError

    def bind(self, queue: Queue, key: str, arguments: Map = NO_ARGUMENTS, filter: Filter | None = None) -> Binding | None:
        """Binds the queue; None when it was bound with that key already, whatever the arguments, which stay as they were.

        Refused when the arguments are wrong.
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
        """Takes the binding away; None when there is none."""
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
        """Whether the queue is bound to it."""
        return queue in self._by_queue

    def has(self, queue: Queue | None, key: str | None, arguments: Map | None) -> bool:
        """Whether some binding has all of these; None stands for any."""
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
        return f"<{self.TYPE} exchange {self.name!r}: {len(self._bindings)} bindings>"


def _alike(binding: Binding) -> tuple[Alike, ...]:
    """What exchange.bound may ask of a binding with arguments, so that the answer is found without a look at all of them."""
    if not binding.arguments:
        return ()
    asked = binding.alike
    return (asked,), (binding.queue, asked), (binding.key, asked)


def too_long(message: Message, most: int) -> Refused:
    """Routing the message takes more than `most` steps."""
    key = message.envelope.routing_key
    why = f"a message with key {key!r:.80} would take more"
    return Refused(conditions.TRANSFER_LIMIT, limit="routing_steps", value=most, where="", why=why)


def less(counts: dict[T, int], key: T) -> None:
    """One less of it; what there is none of is not kept."""
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]
