"""Topic exchanges, which match the words of the key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from amqp_sansio.broker.routing.exchange import Binding, Exchange, Target, less, too_long
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message

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
        node.targets[target] = node.targets.get(target, 0) + 1

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
