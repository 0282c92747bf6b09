"""Values of field tables in the older dialects: plain values to read, with their original type codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final, TypeAlias

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.values import List, Map, Value

Fields: TypeAlias = "tuple[tuple[str, Field], ...]"
"""The entries of a table in order: name, and value with its letter."""


_FLAT: Final = frozenset([str, int, bool, float, bytes, type(None)])
"""Types of scalar values."""

_blank: Final = object.__new__

DEEPEST: Final = 100
"""The deepest nesting of tables and arrays that a caller may give; no reader allows more."""


class Field(ValueObject):
    """A value with its type letter: `Field("B", 5)`.  With the letter "" the dialect's profile chooses one.

    `octets` are the original ones after the letter, where the value alone would not reproduce them: a boolean that is neither 0
    nor 1, or a NaN.
    """

    __slots__ = ("letter", "octets", "value")
    FIELDS: ClassVar[tuple[str, ...]] = ("letter", "value", "octets")
    __match_args__ = ("letter", "value")

    def __init__(self, letter: str, value: object, octets: bytes | None = None) -> None:
        self.letter: Final = letter
        self.value: Final = value
        self.octets: Final = octets


class FieldTable(Map):
    """A table: a read-only map of plain values (an array is a `List`); equal to any mapping with the same values.

    `fields` keeps what the map lacks: letters, order, and each entry of a repeated name (the last one counts).  With them, a
    decoded table is encoded again to the same octets.
    """

    __slots__ = ("_fields", "_letters")

    def __init__(self, fields: Iterable[tuple[str, Field]]) -> None:
        kept = tuple(fields)
        super().__init__({name: _plain(field.value) for name, field in kept}, True)
        self._fields: Fields | None = kept
        self._letters: bytes | None = None

    @staticmethod
    def flat(entries: dict[str, Value], letters: bytes | None) -> FieldTable:
        """For codecs: makes a table of scalar values that need no original octets; takes over the dict.

        `letters`: one for each entry, in order; None where the profile chooses all of them.
        """
        made: FieldTable = _blank(FieldTable)  # skips the constructor of the abstract base class
        made._entries = entries
        made._fields = None  # made on demand, which is rare
        made._letters = letters
        return made

    @property
    def chosen(self) -> bool:
        """Whether all values are scalars whose letters the profile chooses."""
        return self._fields is None and self._letters is None

    @property
    def fields(self) -> Fields:
        """Its entries, each value with its letter."""
        if self._fields is None:
            letters = [""] * len(self._entries) if self._letters is None else self._letters.decode()
            each = zip(self._entries.items(), letters, strict=True)
            self._fields = tuple([(name, Field(letter, value)) for (name, value), letter in each])
        return self._fields

    def __repr__(self) -> str:
        return f"FieldTable({self._entries!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return FieldTable, (self.fields,)


def _plain(value: object) -> Value:
    """Returns the value of a field without letters."""
    if type(value) is tuple:
        return List([_plain(item.value) for item in value])
    return value  # type: ignore[return-value]  # what the kinds of a profile are read as


def as_fields(value: Mapping[str, object] | None) -> Map | None:
    """Converts any mapping to the table of an argument; a `Field` sets the letter of its value.

    Raises EncodeError for anything but a mapping, or for one nested more than `DEEPEST` deep.
    """
    if value is None or type(value) is FieldTable:  # isinstance is slow with an abstract base class
        return value
    if type(value) is dict and _FLAT.issuperset(map(type, value.values())):
        return FieldTable.flat(value.copy(), None)
    if isinstance(value, Map):
        return value
    if not isinstance(value, Mapping):
        raise EncodeError("field", f"takes a mapping, not {type(value).__name__}")
    return _table(value, 0)


def _table(value: Mapping[str, object], depth: int) -> FieldTable:
    if depth > DEEPEST:
        raise EncodeError("table", "values are nested too deep")
    return FieldTable([(name, _field(item, depth)) for name, item in value.items()])


def _field(value: object, depth: int) -> Field:
    letter, octets = "", None
    if isinstance(value, Field):
        letter, octets, value = value.letter, value.octets, value.value
    if isinstance(value, Mapping) and not isinstance(value, Map):
        value = _table(value, depth + 1)
    elif isinstance(value, list | tuple):
        if depth >= DEEPEST:
            raise EncodeError("table", "values are nested too deep")
        value = tuple([_field(item, depth + 1) for item in value])
    return Field(letter, value, octets)


def as_table(value: Mapping[str, object] | None) -> Map:
    """Returns what `as_fields` does, for a required argument: None becomes an empty table.  Raises EncodeError."""
    table = as_fields(value)
    return EMPTY if table is None else table


EMPTY: Final = FieldTable(())
