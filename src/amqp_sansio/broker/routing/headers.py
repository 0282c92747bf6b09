"""Exchanges that look at the application headers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.routing.exchange import NO_ARGUMENTS, Binding, Exchange
from amqp_sansio.errors import HeaderError
from amqp_sansio.spec.values import Map, Value

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue

X_MATCH: Final = "x-match"
Test: TypeAlias = tuple[object, ...]
"""A header by name that must be there, and with its value unless the binding has void for it."""


def _has(name: str) -> Test:
    return (name,)


def _is(name: str, value: Value) -> Test:
    return (name, isinstance(value, bool), value)  # in Python 1 is True; in AMQP it is not


def x_match(arguments: Map) -> str | None:
    """ "all" or "any"; None when the arguments say neither.  Octets are taken for text: old clients send them."""
    value = arguments.get(X_MATCH)
    word = value.decode("latin-1") if isinstance(value, bytes) else value
    return word if isinstance(word, str) and word in ("all", "any") else None


def tests_of(arguments: Map) -> list[Test]:
    """What a binding looks at."""
    return [_has(name) if value is None else _is(name, value) for name, value in arguments.items() if name != X_MATCH]


def tests_met_by(headers: Map) -> Iterator[Test]:
    """Every test that a message with these headers passes."""
    for name, value in headers.items():
        yield _has(name)
        yield _is(name, value)


class Headers(Exchange):
    """The arguments of a binding are headers that a message must have: all of them or any of them, as `x-match` says.

    A void argument asks only whether there is such a header.  All of none is true of every message, any of none of no message.
    A binding that wants any is known by each of its tests; one that wants all by the test that fewest others are known by.
    Only bindings that are known by a test which the message passes are looked at.
    """

    __slots__ = ("_all", "_always", "_any", "_wanted")
    TYPE: ClassVar[str] = "headers"
    KNOWN: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        durable: bool = False,
        auto_delete: bool = False,
        alternate: Exchange | None = None,
        arguments: Map = NO_ARGUMENTS,
    ) -> None:
        super().__init__(name, durable, auto_delete, alternate, arguments)
        self._any: Final[dict[Test, dict[Binding, None]]] = {}
        self._all: Final[dict[Test, dict[Binding, None]]] = {}
        self._always: Final[dict[Binding, None]] = {}
        self._wanted: Final[dict[Binding, tuple[Test, frozenset[Test]]]] = {}

    def words(self, key: str, arguments: Map) -> int:
        return len(arguments) - (X_MATCH in arguments)

    def check(self, key: str, arguments: Map) -> None:
        if x_match(arguments) is None:
            given = f", not {arguments[X_MATCH]!r}" if X_MATCH in arguments else ""
            raise Refused(conditions.BIND_NO_X_MATCH, f'the argument x-match is "all" or "any"{given}')

    def added(self, binding: Binding) -> None:
        tests = tests_of(binding.arguments)
        if x_match(binding.arguments) == "any":
            for test in tests:
                self._any.setdefault(test, {})[binding] = None
        elif tests:
            rarest = min(tests, key=lambda test: len(self._all.get(test, ())))
            self._all.setdefault(rarest, {})[binding] = None
            self._wanted[binding] = rarest, frozenset(tests)
        else:
            self._always[binding] = None

    def removed(self, binding: Binding) -> None:
        self._always.pop(binding, None)
        wanted = self._wanted.pop(binding, None)
        if wanted is not None:
            _forget(self._all, wanted[0], binding)
        elif x_match(binding.arguments) == "any":
            for test in tests_of(binding.arguments):
                _forget(self._any, test, binding)

    def route(self, message: Message) -> Sequence[Queue]:
        found = {binding.queue: None for binding in self._always}
        if self._any or self._all:
            try:
                met = dict.fromkeys(tests_met_by(message.application_headers))
            except HeaderError as why:
                raise Refused(conditions.TRANSFER_HEADER, str(why)) from None
            for test in met:
                for binding in self._any.get(test, ()):
                    found[binding.queue] = None
                for binding in self._all.get(test, ()):
                    if self._wanted[binding][1] <= met.keys():
                        found[binding.queue] = None
        return tuple(found)


def _forget(known: dict[Test, dict[Binding, None]], test: Test, binding: Binding) -> None:
    bindings = known[test]
    del bindings[binding]
    if not bindings:
        del known[test]
