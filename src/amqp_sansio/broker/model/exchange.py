"""Exchanges with their bindings: one class per type, which examines only bindings that may match."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, TypeVar, cast
from uuid import UUID

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.encoding import DEEPER
from amqp_sansio.errors import DecodeError
from amqp_sansio.errors.core import many
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec.values import Boolean, Map, Value
from amqp_sansio.wire.encoding import encode_map

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.selectors.parser import Selector
    from amqp_sansio.broker.selectors.properties import Selectable


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

    def __init__(self, exchange: Exchange, queue: Queue, key: str, arguments: Map, filter: BindingFilter | None = None) -> None:
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
        asked: list[tuple[Queue, BindingFilter]] = []
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

    def bind(
        self, queue: Queue, key: str, arguments: Map = NO_ARGUMENTS, filter: BindingFilter | None = None
    ) -> Binding | None:
        """Binds the queue; returns None when a binding with that key exists, whatever its arguments, which do not change.

        Raises Refused when the arguments are invalid.
        """
        if (queue, key) in self._bindings:
            return None
        self.check(key, arguments)
        binding = Binding(self, queue, key, arguments, filter)
        self._bindings[queue, key] = binding
        more(self._by_key, key)
        more(self._by_queue, queue)
        for alike in _alike(binding):
            more(self._alike, alike)
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


def more(counts: dict[T, int], key: T) -> None:
    """Increments the count of `key`."""
    counts[key] = counts.get(key, 0) + 1


def less(counts: dict[T, int], key: T) -> None:
    """Decrements the count of `key`, and removes it at 0."""
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]


# --- filters of bindings --------------------------------------------------------------------------------------------------

SELECTORS: Final = ("x-apache-selector", "x-filter-jms-selector")
"""The selector argument of a subscription or binding, by its names in qpidd and Broker-J."""
NO_LOCAL: Final = "x-qpid-no-local"
"""The argument that excludes what the connection of a subscription or binding published; Broker-J's name."""
FILTERS: Final = (*SELECTORS, NO_LOCAL)
"""The arguments of exchange.bind that make a filter, for every type of exchange."""
STEP: Final = 64
"""Characters of a selector that count as one step of routing."""


class BindingFilter:
    """The filter of one binding: the queue gets only messages that match its selector.

    With `no_local`, the queue, it gets none that the connection of the queue's user published.
    """

    __slots__ = ("_no_local", "_selectable", "_selector", "steps")

    def __init__(self, selector: Selector | None, selectable: Selectable, no_local: Queue | None = None) -> None:
        self._selector: Final = selector
        self._selectable: Final = selectable
        self._no_local: Final = no_local
        self.steps: Final = 1 + (0 if selector is None else len(selector.text) // STEP)
        """The share of `BrokerLimits.routing_steps` that evaluating it once costs."""

    def passes(self, message: Message) -> bool:
        """Returns whether the queue may get the message by this binding."""
        if self._no_local is not None and self._no_local.local(message):
            return False
        selector = self._selector
        return selector is None or selector.selects(self._selectable.properties(message, message.envelope.redelivered).get)


# --- the types ------------------------------------------------------------------------------------------------------------


class Direct(Exchange):
    """A direct exchange: the key of the binding equals that of the message."""

    __slots__ = ("_targets",)
    TYPE: ClassVar[str] = "direct"

    def _begin(self) -> None:
        self._targets: dict[str, dict[Target, None]] = {}

    def matches(self, message: Message, most: int) -> Sequence[Target]:
        found = self._targets.get(message.envelope.routing_key)
        return tuple(found) if found is not None else ()

    def added(self, binding: Binding) -> None:
        self._targets.setdefault(binding.key, {})[binding.target] = None

    def removed(self, binding: Binding) -> None:
        targets = self._targets[binding.key]
        del targets[binding.target]
        if not targets:
            del self._targets[binding.key]


class Fanout(Exchange):
    """A fanout exchange: every bound queue gets every message, whatever the keys."""

    __slots__ = ("_targets",)
    TYPE: ClassVar[str] = "fanout"

    def _begin(self) -> None:
        self._targets: dict[Target, int] = {}  # with the number of bindings of each

    def matches(self, message: Message, most: int) -> Sequence[Target]:
        return tuple(self._targets)

    def added(self, binding: Binding) -> None:
        more(self._targets, binding.target)

    def removed(self, binding: Binding) -> None:
        less(self._targets, binding.target)


ONE: Final = "*"
"""The wildcard for one word."""
MANY: Final = "#"
"""The wildcard for any number of words, including none."""


class Node:
    """A node of a trie: `targets` are those whose pattern ends here, with the number of such patterns of each."""

    __slots__ = ("many", "many_words", "one", "targets", "words")

    def __init__(self, many_words: bool = False) -> None:
        self.words: Final[dict[str, Node]] = {}
        self.one: Node | None = None
        self.many: Node | None = None
        self.many_words: Final = many_words
        """Whether "#" leads to it, so that it may skip further words."""
        self.targets: Final[dict[Target, int]] = {}

    @property
    def empty(self) -> bool:
        """Whether no pattern ends or continues here."""
        return not (self.words or self.targets or self.one or self.many)


def plain_words(pattern: str) -> list[str]:
    """Returns the words of a pattern, with each run of wildcards normalised: its `*`s, then one `#` if it had any.

    So no two nodes that a key can reach are equivalent, and the number that a short key reaches does not grow with the
    patterns.
    """
    words: list[str] = []
    many = False
    for word in pattern.split("."):
        if word == MANY:
            many = True
            continue
        if many and word != ONE:
            words.append(MANY)
            many = False
        words.append(word)
    if many:
        words.append(MANY)
    return words


class Trie:
    """Patterns by their words.  A lookup only costs the nodes that the words of the key reach."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: Final = Node()

    def add(self, pattern: str, target: Target) -> None:
        """Adds a pattern of a target."""
        node = self._root
        for word in plain_words(pattern):
            child = self._child(node, word)
            if child is None:
                child = Node(word == MANY)
                if word == ONE:
                    node.one = child
                elif word == MANY:
                    node.many = child
                else:
                    node.words[word] = child
            node = child
        more(node.targets, target)

    def remove(self, pattern: str, target: Target) -> None:
        """Removes a pattern of a target that `add` added."""
        path: list[tuple[Node, str, Node]] = []
        node = self._root
        for word in plain_words(pattern):
            child = self._child(node, word)
            assert child is not None
            path.append((node, word, child))
            node = child
        less(node.targets, target)
        for parent, word, child in reversed(path):
            if not child.empty:
                break
            if word == ONE:
                parent.one = None
            elif word == MANY:
                parent.many = None
            else:
                del parent.words[word]

    def find(self, key: str, most: int) -> Sequence[Target] | None:
        """Returns the targets with a pattern that matches the key, each once.

        Returns None when that takes more than `most` steps besides one for each target: a step is a node that a word of the key
        reaches, or a pattern of a target found already.
        """
        nodes = _with_none([self._root])
        for word in key.split("."):
            reached: list[Node] = []
            for node in nodes:
                child = node.words.get(word)
                if child is not None:
                    reached.append(child)
                if node.one is not None:
                    reached.append(node.one)
                if node.many_words:
                    reached.append(node)
            if not reached:
                return ()
            nodes = _with_none(reached)
            most -= len(nodes)
            if most < 0:
                return None
        found: dict[Target, None] = {}
        for node in nodes:
            if node.targets:
                found.update(dict.fromkeys(node.targets))
                most -= len(node.targets)
                if most + len(found) < 0:
                    return None
        return tuple(found)

    @staticmethod
    def _child(node: Node, word: str) -> Node | None:
        if word == ONE:
            return node.one
        return node.many if word == MANY else node.words.get(word)


def _with_none(nodes: list[Node]) -> dict[Node, None]:
    """Returns the nodes, and those that "#" reaches from them without any word."""
    return dict.fromkeys(nodes + [node.many for node in nodes if node.many is not None])


class Topic(Exchange):
    """A topic exchange: keys are words separated by dots; in a binding's key `*` matches one word and `#` any number of words.

    A key without a dot, even an empty one, is a single word.
    """

    __slots__ = ("_trie",)
    TYPE: ClassVar[str] = "topic"

    def _begin(self) -> None:
        self._trie = Trie()

    def words(self, key: str, arguments: Map) -> int:
        return key.count(".") + 1

    def matches(self, message: Message, most: int) -> Sequence[Target]:
        found = self._trie.find(message.envelope.routing_key, most)
        if found is None:
            raise too_long(message, most)
        return found

    def added(self, binding: Binding) -> None:
        self._trie.add(binding.key, binding.target)

    def removed(self, binding: Binding) -> None:
        self._trie.remove(binding.key, binding.target)


X_MATCH: Final = "x-match"
_NO_TESTS: Final = frozenset((X_MATCH, *FILTERS))
Test: TypeAlias = tuple[str, ...] | tuple[str, bytes]
"""What a binding requires of one header: its name, which must be present, and its value, unless the binding has a void there.
A value other than text is its `likeness`: octets that are equal for equal values."""


def _has(name: str) -> Test:
    return (name,)


def _is(name: str, value: Value) -> Test:
    return (name, value) if isinstance(value, str) else (name, likeness(value))


class BindingGroup:
    """Bindings with the same tests: `targets` holds their targets, with the number of bindings of each."""

    __slots__ = ("indexed_by", "targets", "tests")

    def __init__(self, tests: frozenset[Test], indexed_by: Iterable[Test]) -> None:
        self.tests: Final = tests
        self.indexed_by: Final = tuple(indexed_by)
        """The tests by which it is indexed."""
        self.targets: Final[dict[Target, int]] = {}


def x_match(arguments: Map) -> str | None:
    """Returns "all" or "any", None when the arguments have neither.  Octets count as text, since old clients send them."""
    value = arguments.get(X_MATCH)
    word = value.decode("latin-1") if isinstance(value, bytes) else value
    return word if isinstance(word, str) and word in ("all", "any") else None


def tests_met_by(headers: Map) -> Iterator[Test]:
    """Yields every test that a message with these headers passes."""
    for name, value in headers.items():
        yield _has(name)
        yield _is(name, value)


class HeadersExchange(Exchange):
    """A headers exchange: a binding's arguments are headers that a message must have, all or any of them (`x-match`).

    Arguments that make a filter (`FILTERS`) are not tests.  A void argument only requires the header to be present.  Without
    tests, "all" matches every message and "any" none.  Bindings with the same tests form a group.  A group with "any" is
    indexed by each of its tests, one with "all" by the test that indexes the fewest groups.  Only groups indexed by a test that
    the message passes are examined.
    """

    __slots__ = ("_all", "_always", "_any", "_groups")
    TYPE: ClassVar[str] = "headers"
    KNOWN: ClassVar[bool] = True

    def _begin(self) -> None:
        self._any: dict[Test, dict[BindingGroup, None]] = {}
        self._all: dict[Test, dict[BindingGroup, None]] = {}
        self._always = BindingGroup(frozenset(), ())
        self._groups: dict[tuple[bool, bytes], BindingGroup] = {}

    def words(self, key: str, arguments: Map) -> int:
        return len(arguments.keys() - _NO_TESTS)

    def check(self, key: str, arguments: Map) -> None:
        if x_match(arguments) is None:
            given = f", not {arguments[X_MATCH]!r}" if X_MATCH in arguments else ""
            raise Refused(conditions.BIND_NO_X_MATCH, given=given)

    def added(self, binding: Binding) -> None:
        which, among = self._which(binding)
        group = self._groups.get(which)
        if group is None:
            group = self._groups[which] = self._grouped(binding, among)
            for test in group.indexed_by:
                among.setdefault(test, {})[group] = None
        more(group.targets, binding.target)

    def removed(self, binding: Binding) -> None:
        which, among = self._which(binding)
        group = self._groups[which]
        less(group.targets, binding.target)
        if not group.targets:
            del self._groups[which]
            for test in group.indexed_by:
                del among[test][group]
                if not among[test]:
                    del among[test]

    def matches(self, message: Message, most: int) -> Sequence[Target]:
        found: dict[Target, None] = dict.fromkeys(self._always.targets)
        if not self._any and not self._all:
            return tuple(found)
        try:
            met = dict.fromkeys(tests_met_by(message.application_headers))
        except DecodeError as why:
            raise Refused(conditions.TRANSFER_HEADER, why=str(why)) from None
        left = most  # `left + len(found)` steps are left: the first binding to a target costs none, see `routing_steps`
        for test in met:
            for group in self._any.get(test, ()):
                found.update(dict.fromkeys(group.targets))
                left -= len(group.targets)
                if left + len(found) < 0:
                    raise too_long(message, most)
            for group in self._all.get(test, ()):
                if group.tests <= met.keys():
                    found.update(dict.fromkeys(group.targets))
                    left -= len(group.targets)
                else:
                    left -= len(group.tests)
                if left + len(found) < 0:
                    raise too_long(message, most)
        return tuple(found)

    def _which(self, binding: Binding) -> tuple[tuple[bool, bytes], dict[Test, dict[BindingGroup, None]]]:
        """Returns what identifies the group of a binding, and the index to which the group belongs."""
        any_ = x_match(binding.arguments) == "any"
        tests = Map({name: value for name, value in binding.arguments.items() if name not in _NO_TESTS})
        return (any_, likeness(tests)), self._any if any_ else self._all

    def _grouped(self, binding: Binding, among: dict[Test, dict[BindingGroup, None]]) -> BindingGroup:
        arguments = binding.arguments.items()
        tests = [_has(name) if value is None else _is(name, value) for name, value in arguments if name not in _NO_TESTS]
        if among is self._any:
            return BindingGroup(frozenset(tests), tests)
        if not tests:
            return self._always
        return BindingGroup(frozenset(tests), [min(tests, key=lambda test: len(among.get(test, ())))])


TYPES: Final[dict[str, type[Exchange]]] = {kind.TYPE: kind for kind in (Direct, Fanout, Topic, HeadersExchange)}
"""The types of exchanges, by the word of exchange.declare."""

PREDECLARED: Final = {
    "amq.direct": Direct,
    "amq.fanout": Fanout,
    "amq.topic": Topic,
    "amq.match": HeadersExchange,
}
"""The predeclared exchanges."""


def likeness(value: Value) -> bytes:
    """Returns equal octets for values that count as equal, whatever their wire types, and different octets for others.

    Numbers are compared by value, texts and octets by kind and content, maps regardless of order.  A boolean is not a number.

    The hash of octets and of text is salted; that of numbers, of UUIDs and of tuples of them is not: a peer could choose values
    with the same hash (such as -1 and -2), and make every lookup in a dict as slow as a search.
    """
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, bool | Boolean):
        return b"t" if value else b"f"
    if isinstance(value, int):
        return b"n%x/1" % value
    if (isinstance(value, float) and math.isfinite(value)) or (isinstance(value, Decimal) and value.is_finite()):
        return b"n%x/%x" % value.as_integer_ratio()
    if isinstance(value, UUID):
        return b"u" + value.bytes
    if isinstance(value, Map):
        return b"m" + b"".join([_sized(likeness(key)) + _sized(likeness(value[key])) for key in sorted(value)])
    if isinstance(value, tuple):
        return b"l" + b"".join([_sized(likeness(item)) for item in value])
    return b"o" + encode_map({"": value}, -DEEPER)


def _sized(octets: bytes) -> bytes:
    return b"%x:" % len(octets) + octets
