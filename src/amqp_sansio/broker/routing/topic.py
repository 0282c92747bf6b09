"""Exchanges that look at the words of the key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from amqp_sansio.broker.routing.exchange import NO_ARGUMENTS, Binding, Exchange
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue

ONE: Final = "*"
"""Stands for one word."""
MANY: Final = "#"
"""Stands for any number of words, none included."""


class Node:
    """What the words of a pattern lead to: `queues` are those whose pattern ends here."""

    __slots__ = ("many", "many_words", "one", "queues", "words")

    def __init__(self, many_words: bool = False) -> None:
        self.words: Final[dict[str, Node]] = {}
        self.one: Node | None = None
        self.many: Node | None = None
        self.many_words: Final = many_words
        """Whether it is what "#" leads to, where further words may be passed over."""
        self.queues: Final[dict[Queue, None]] = {}

    @property
    def empty(self) -> bool:
        """Whether no pattern goes on or ends here."""
        return not (self.words or self.queues or self.one or self.many)


class Trie:
    """Patterns by their words.  Looking costs what the words of the key meet, whatever else there is."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: Final = Node()

    def add(self, pattern: str, queue: Queue) -> None:
        """Lets the queue have what the pattern matches."""
        node = self._root
        for word in pattern.split("."):
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
        node.queues[queue] = None

    def remove(self, pattern: str, queue: Queue) -> None:
        """Takes back what `add` did."""
        path: list[tuple[Node, str, Node]] = []
        node = self._root
        for word in pattern.split("."):
            child = self._child(node, word)
            assert child is not None
            path.append((node, word, child))
            node = child
        del node.queues[queue]
        for parent, word, child in reversed(path):
            if not child.empty:
                break
            if word == ONE:
                parent.one = None
            elif word == MANY:
                parent.many = None
            else:
                del parent.words[word]

    def find(self, key: str) -> Sequence[Queue]:
        """The queues that have a pattern which matches the key, each once."""
        nodes = _with_none(dict.fromkeys([self._root]))
        for word in key.split("."):
            reached: dict[Node, None] = {}
            for node in nodes:
                child = node.words.get(word)
                if child is not None:
                    reached[child] = None
                if node.one is not None:
                    reached[node.one] = None
                if node.many_words:
                    reached[node] = None
            if not reached:
                return ()
            nodes = _with_none(reached)
        found: dict[Queue, None] = {}
        for node in nodes:
            if node.queues:
                found.update(node.queues)
        return tuple(found)

    @staticmethod
    def _child(node: Node, word: str) -> Node | None:
        if word == ONE:
            return node.one
        return node.many if word == MANY else node.words.get(word)


def _with_none(nodes: dict[Node, None]) -> dict[Node, None]:
    """And what "#" leads to without any word."""
    waiting: Iterable[Node] = nodes
    while True:
        more = [node.many for node in waiting if node.many is not None and node.many not in nodes]
        if not more:
            return nodes
        nodes.update(dict.fromkeys(more))
        waiting = more


class Topic(Exchange):
    """Keys are words with dots between them; in that of a binding `*` stands for one and `#` for any number of words.

    A key without a dot is one word, the empty one too.
    """

    __slots__ = ("_trie",)
    TYPE: ClassVar[str] = "topic"

    def __init__(
        self,
        name: str,
        durable: bool = False,
        auto_delete: bool = False,
        alternate: Exchange | None = None,
        arguments: Map = NO_ARGUMENTS,
    ) -> None:
        super().__init__(name, durable, auto_delete, alternate, arguments)
        self._trie: Final = Trie()

    def words(self, key: str, arguments: Map) -> int:
        return key.count(".") + 1

    def route(self, message: Message) -> Sequence[Queue]:
        return self._trie.find(message.envelope.routing_key)

    def added(self, binding: Binding) -> None:
        self._trie.add(binding.key, binding.queue)

    def removed(self, binding: Binding) -> None:
        self._trie.remove(binding.key, binding.queue)
