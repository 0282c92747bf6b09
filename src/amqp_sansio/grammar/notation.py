"""Reads grammars in the notation of the specifications.

A rule is `name = alternatives`, separated by `/`; an alternative is a sequence of items.  `C:class.method` is a word of the
client, `S:class.method` one of the server; `+` separates a qualifier from the word's name (`C:queue.declare+nowait` is the word
"client:queue.declare nowait").  `( )` groups, `[ ]` is optional, `*` precedes what may come any number of times, any other item
is the name of a rule.  `content` comes from the speaker of the word before it.  `{mark}` at the beginning of an alternative
names who added it to the specification.  A line that begins with a space continues the previous one.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

from amqp_sansio.grammar.algebra import NOTHING, one_of, optional, repeated, sequence, word
from amqp_sansio.grammar.automaton import Automaton, Word

SPEAKERS: Final = {"C": "client", "S": "server"}
CONTENT: Final = "content"

_ITEM: Final = re.compile(r"\{(?P<mark>[^}]*)\}|(?P<sign>[()\[\]/*])|(?P<word>[CS]:[^\s()\[\]/*]+)|(?P<rule>[a-z][a-z0-9-]*)")


class Question(NamedTuple):
    """A method, and the methods of the other side that answer it; none: it has no answer."""

    word: Word
    answers: tuple[Word, ...]
    mark: str = ""
    """Who added it to the specification; "" when it is the specification's own."""


class Grammar:
    """The rules of one text."""

    __slots__ = ("_rules", "any_time")

    def __init__(self, text: str, any_time: str = "") -> None:
        """Raises ValueError when the text is not a grammar."""
        self.any_time: Final = frozenset(any_time.split())
        """Methods with an answer that are not synchronous: the answer may come at any time."""
        self._rules: Final[dict[str, tuple[str, ...]]] = {}
        for line in re.sub(r"\n[ \t]+", " ", text.strip()).splitlines():
            name, equals, body = line.partition("=")
            if not equals or name.strip() in self._rules:
                raise ValueError(f"no rule, or a duplicate: {line!r}")
            self._rules[name.strip()] = _items(body)

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules, in the order of the text."""
        return tuple(self._rules)

    def language(self, rule: str, *marks: str) -> Automaton:
        """Returns the conversations of a rule, with additions only if they bear one of `marks`; without contents.

        Raises ValueError for an unknown rule.
        """
        if rule not in self._rules:
            raise ValueError(f"there is no rule {rule!r}")
        found, rest = self._alternatives(self._rules[rule], marks)
        if rest:
            raise ValueError(f"rule {rule!r} ends before {' '.join(rest)!r}")
        return found

    def questions(self, *rules: str) -> tuple[Question, ...]:
        """Returns the requests in these rules, in order of the text, and follows the names of other rules.

        Each alternative is one word, and the words that may answer it.
        """
        found: list[Question] = []
        for rule in rules:
            for mark, alternative in _divided(self._rules[rule]):
                said = [each for each in alternative if each not in "()/" and each != CONTENT]
                inner = [each for each in said if each in self._rules]
                if inner:
                    found += self.questions(*inner)
                else:
                    first, *answers = [_word(each) for each in said]
                    found.append(Question(first, tuple(answers), mark))
        return tuple(found)

    def contents(self, *rules: str) -> tuple[Word, ...]:
        """Returns the words in these rules that a content follows."""
        items = [item for rule in rules for item in self._rules[rule]]
        return tuple([_word(said) for said, behind in pairwise(items) if behind == CONTENT])

    def _alternatives(self, items: tuple[str, ...], marks: tuple[str, ...]) -> tuple[Automaton, tuple[str, ...]]:
        found = NOTHING
        while True:
            taken = True
            if items and items[0].startswith("{"):
                taken = items[0][1:-1] in marks
                items = items[1:]
            part, items = self._sequence(items, marks)
            found = one_of(found, part) if taken else found
            if not items or items[0] != "/":
                return found, items
            items = items[1:]

    def _sequence(self, items: tuple[str, ...], marks: tuple[str, ...]) -> tuple[Automaton, tuple[str, ...]]:
        parts: list[Automaton] = []
        while items and items[0] not in ("/", ")", "]"):
            part, items = self._item(items, marks)
            parts.append(part)
        return sequence(*parts), items

    def _item(self, items: tuple[str, ...], marks: tuple[str, ...]) -> tuple[Automaton, tuple[str, ...]]:
        first, rest = items[0], items[1:]
        if first == "*":
            part, rest = self._item(rest, marks)
            return repeated(part), rest
        if first in ("(", "["):
            part, rest = self._alternatives(rest, marks)
            if not rest or rest[0] != {"(": ")", "[": "]"}[first]:
                raise ValueError(f"{first!r} is not closed")
            return (optional(part) if first == "[" else part), rest[1:]
        if first == CONTENT:
            return sequence(), rest
        return (word(_word(first)) if ":" in first else self.language(first, *marks)), rest


def _items(body: str) -> tuple[str, ...]:
    found = tuple([each.group(0) for each in _ITEM.finditer(body)])
    if "".join(found) != re.sub(r"(?<!\{)\s+", "", body):
        raise ValueError(f"not a rule: {body!r}")
    return found


def _divided(items: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Splits a rule into its alternatives, each with its mark."""
    found: list[tuple[str, list[str]]] = [("", [])]
    depth = 0
    for item in items:
        depth += (item == "(") - (item == ")")
        if item == "/" and not depth:
            found.append(("", []))
        elif item.startswith("{"):
            found[-1] = (item[1:-1], [])
        else:
            found[-1][1].append(item)
    return found


def _word(item: str) -> Word:
    speaker, _, said = item.partition(":")
    return f"{SPEAKERS[speaker]}:{said.replace('+', ' ')}"
