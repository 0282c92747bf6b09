"""Headers exchanges, which match the application headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.routing.exchange import Binding, Exchange, Target, less, too_long
from amqp_sansio.broker.routing.filters import FILTERS
from amqp_sansio.broker.routing.likeness import likeness
from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.values import Map, Value

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message

X_MATCH: Final = "x-match"
_NO_TESTS: Final = frozenset((X_MATCH, *FILTERS))
Test: TypeAlias = tuple[str, ...] | tuple[str, bytes]
"""What a binding requires of one header: its name, which must be present, and its value, unless the binding has a void there.
A value other than text is its `likeness`: octets that are equal for equal values."""


def _has(name: str) -> Test:
    return (name,)


def _is(name: str, value: Value) -> Test:
    return (name, value) if isinstance(value, str) else (name, likeness(value))


class Group:
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


class Headers(Exchange):
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
        self._any: dict[Test, dict[Group, None]] = {}
        self._all: dict[Test, dict[Group, None]] = {}
        self._always = Group(frozenset(), ())
        self._groups: dict[tuple[bool, bytes], Group] = {}

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
        group.targets[binding.target] = group.targets.get(binding.target, 0) + 1

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

    def _which(self, binding: Binding) -> tuple[tuple[bool, bytes], dict[Test, dict[Group, None]]]:
        """Returns what identifies the group of a binding, and the index to which the group belongs."""
        any_ = x_match(binding.arguments) == "any"
        tests = Map({name: value for name, value in binding.arguments.items() if name not in _NO_TESTS})
        return (any_, likeness(tests)), self._any if any_ else self._all

    def _grouped(self, binding: Binding, among: dict[Test, dict[Group, None]]) -> Group:
        arguments = binding.arguments.items()
        tests = [_has(name) if value is None else _is(name, value) for name, value in arguments if name not in _NO_TESTS]
        if among is self._any:
            return Group(frozenset(tests), tests)
        if not tests:
            return self._always
        return Group(frozenset(tests), [min(tests, key=lambda test: len(among.get(test, ())))])
