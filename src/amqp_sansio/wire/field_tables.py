"""The field tables of the older dialects (0-9-1, section 4.2.5.5): names and values, each value after a letter for its type.

A table is its size in octets (4) and then, for each entry, the name (a short string), the letter and the value.  The set of
letters and their meaning differ between specifications and brokers: a `TableProfile` describes one.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Final, Protocol, TypeAlias, TypeGuard

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.errors.core import many, too_large
from amqp_sansio.limits import TABLE_ENTRIES, TABLE_OCTETS
from amqp_sansio.spec.fields import DEEPEST, Field, FieldTable
from amqp_sansio.spec.values import Datetime, Map, Value
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.encoding import UNWRITABLE
from amqp_sansio.wire.primitives import OCTET, blank, put_i32, put_u32, u32
from amqp_sansio.wire.types import BAD, NAMES, Shapes

TableReader: TypeAlias = Callable[[bytes, int, int, Reading, int], tuple[Map, int]]
"""(octets, offset, end, reading, depth) -> the field table at that offset, and its end."""
FlatReader: TypeAlias = Callable[[bytes, int, int], tuple[Map, int] | None]
"""The same for a flat table; returns None, or raises one of `types.BAD`, for others."""

_BOOLEAN: Final = ord("t")
"""The letter that means the same in each profile that has it."""
_TEXT_HEAD: Final = b"S\0\0\0"
"""The letter of a text, and the first octets of its size, which are 0 below 256."""


class FlatTables:
    """Reads and writes the flat tables of one profile: no value contains others.

    `integers`: the format of each integer letter; `letters`: all letters; `int32`: the letter for most integers; `write_value`
    encodes any other value with its letter.
    """

    __slots__ = ("_heads", "_int32", "_shapes", "_write_value")

    def __init__(
        self, integers: Mapping[int, struct.Struct], letters: str, int32: str, write_value: Callable[[object, int], bytes]
    ) -> None:
        self._shapes: Final = Shapes(_TEXT_HEAD, integers, _BOOLEAN if "t" in letters else None)
        self._int32: Final = int32.encode()
        self._write_value: Final = write_value
        self._heads: Final[dict[str, tuple[bytes, bytes]]] = {}
        """The first octets of entries with names that were written before."""

    def read(self, b: bytes, p: int, end: int) -> tuple[FieldTable, int] | None:
        """Decodes the table whose size is at `p`; returns it and its end.

        Returns None, or raises one of `types.BAD`, for a table that is not flat and needs the general path.
        """
        at = p + 4
        stop: int = at + u32(b, p)[0]
        if stop > end or stop - at > TABLE_OCTETS:
            return None
        entries: dict[str, Value] = {}
        at, letters = self._shapes.read(b, at, stop, entries)
        if at != stop or not 0 < len(entries) == len(letters) <= TABLE_ENTRIES:
            return None
        made: FieldTable = blank(FieldTable)  # `FieldTable.flat` inlined
        made._entries = entries
        made._fields = None
        made._letters = letters
        return made, stop

    def write(self, table: Mapping[str, object]) -> bytes:
        """Encodes a table without explicit letters, with its size.

        Raises EncodeError, or one of `encoding.UNWRITABLE`, for what cannot be written.
        """
        parts: list[bytes] = []
        heads = self._heads
        for name, value in table.items():
            try:
                text, number = heads[name]
            except KeyError:
                text, number = self._begin(name)
            if type(value) is str:
                octets = value.encode()
                size = len(octets)
                if size < 256:
                    parts.append(text)
                    parts.append(OCTET[size])
                else:
                    parts.append(text[:-3])
                    parts.append(put_u32(size))
                parts.append(octets)
                continue
            if type(value) is int:
                try:
                    octets = put_i32(value)
                    parts.append(number)
                    parts.append(octets)
                    continue
                except struct.error:
                    pass  # more than 32 bits
            parts.append(text[:-4])
            parts.append(self._write_value(value, 0))
        content = b"".join(parts)
        return put_u32(len(content)) + content

    def _begin(self, name: str) -> tuple[bytes, bytes]:
        """Returns the first octets of an entry of this name: for a text below 256 octets, and for most integers."""
        octets = name.encode()
        octets = OCTET[len(octets)] + octets
        if len(self._heads) >= NAMES:
            self._heads.clear()
        heads = self._heads[name] = octets + _TEXT_HEAD, octets + self._int32
        return heads


FORMS: Final = {
    "boolean": struct.Struct(">B"),
    "int8": struct.Struct(">b"),
    "uint8": struct.Struct(">B"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "uint32": struct.Struct(">I"),
    "int64": struct.Struct(">q"),
    "uint64": struct.Struct(">Q"),
    "float": struct.Struct(">f"),
    "double": struct.Struct(">d"),
    "decimal": struct.Struct(">BI"),
    "timestamp": struct.Struct(">Q"),
}
"""The types of fixed width; a decimal is a scale and an unsigned number."""

RANGES: Final = {
    f"{sign}int{bits}": (0, (1 << bits) - 1) if sign else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
"""The lowest and the highest value of each integer type."""


_HINTS: Final = {
    "decimal": ", which is a Decimal from 0 up, of at most 32 bits and 255 decimal places",
    "timestamp": ", which is a datetime with a time zone, from 1970 on, or seconds since then",
}
"""What the values of types are that hold only a part of Python's, for error texts."""


class TableProfile:
    """The meaning of a table's letters, by one specification or broker.

    `letters` maps each letter to a type: one of `FORMS`, or "text" and "octets" (after a size of 4 octets), "short-text" (after
    1 octet), "table", "array", "void".  `written` lists, for a Python type, the letters under which its values are written: the
    first one that can hold the value.
    """

    __slots__ = ("_flat", "_short", "letters", "name", "read_flat", "write_flat", "written")

    def __init__(self, name: str, letters: Mapping[str, str], written: Mapping[type, str]) -> None:
        self.name: Final = name
        self.letters: Final = dict(letters)
        self.written: Final = dict(written)
        integers = {ord(letter): FORMS[kind] for letter, kind in letters.items() if kind in RANGES}
        self._flat: Final = FlatTables(integers, "".join(letters), written[int][0], self._value)
        self._short: Final = letters["S"] == "text" and written[str] == "S" and letters[written[int][0]] == "int32"
        """Whether texts and most integers are written as in all built-in profiles."""
        self.read_flat: Final = self._flat.read
        """Like `read`, for flat tables; see `FlatTables.read`."""
        self.write_flat: Final[Callable[[Mapping[str, object]], bytes]] = self._flat.write if self._short else self.write
        """Like `write`, for a dict; but a value that it cannot write may raise one of `UNWRITABLE` instead."""

    def read(self, b: bytes, p: int, end: int, reading: Reading = DEFAULT_READING, depth: int = 0) -> tuple[FieldTable, int]:
        """Decodes the table whose size is at `p`; returns it and its end.  `depth`, a parameter of all readers, is 0 here.

        Raises DecodeError, which names the entry: 502, or 506 for one of our limits (limits.nesting, TABLE_ENTRIES,
        TABLE_OCTETS).
        """
        if reading.nesting > 0:
            try:
                flat = self._flat.read(b, p, end)
            except BAD:
                flat = None
            if flat is not None:
                return flat
        try:
            start, stop = _span(b, p, end)
            if stop - start > TABLE_OCTETS:
                raise DecodeError("", p, f"limit TABLE_OCTETS is {TABLE_OCTETS}", 506)
            return _Tables(self, b, reading).table(start, stop, 1), stop
        except DecodeError as why:
            raise DecodeError(f"table{why.what}", why.octet, why.rule, why.code) from None

    def write(self, table: object) -> bytes:
        """Encodes any mapping as a table, with its size.  Raises EncodeError, which names the entry."""
        plain: Mapping[str, object] | None = None
        if type(table) is dict:  # isinstance is slow with an abstract base class
            plain = table
        elif type(table) is FieldTable:
            plain = table if table.chosen else None
        elif not isinstance(table, Mapping):
            raise EncodeError("table", f"takes a mapping, not {type(table).__name__}")
        if plain is not None and self._short:
            try:
                return self._flat.write(plain)
            except (EncodeError, *UNWRITABLE):
                pass  # the slow path below names the cause
        try:
            return self._table(table, 0)
        except EncodeError as why:
            raise EncodeError(f"table{why.what}", why.rule) from None

    # --- writing ----------------------------------------------------------------------------------------------------------

    def _letter_of(self, value: object) -> str | None:
        """Returns the letter under which a value is written unless a `Field` gives another one; None when it has none."""
        kind = type(value)
        letters = self.written.get(kind)
        if letters is None:
            if kind is bool:
                return None
            natural = Datetime if _is_moment(value) else kind
            letters = next((under for of, under in self.written.items() if issubclass(natural, of)), "")
        for letter in letters:
            if not isinstance(value, int) or self.letters[letter] not in RANGES:
                return letter
            low, high = RANGES[self.letters[letter]]
            if low <= value <= high:
                return letter
        return None

    def _table(self, table: Mapping[str, object], depth: int) -> bytes:
        entries: Iterable[tuple[object, object]] = table.fields if isinstance(table, FieldTable) else table.items()
        if depth > DEEPEST:
            raise EncodeError("", "values are nested too deep")
        parts: list[bytes] = []
        for name, value in entries:
            try:
                octets = name.encode() if isinstance(name, str) else None
                if octets is None or len(octets) > 255:
                    raise EncodeError("", f"a name is text of at most 255 octets, not {name!r:.40}")
                parts += (OCTET[len(octets)], octets, self._value(value, depth))
            except UnicodeEncodeError:
                raise EncodeError("", f"a name is not UTF-8: {name!r:.40}") from None
            except EncodeError as why:
                raise EncodeError(f"[{name!a}]{why.what}", why.rule) from None
        content = b"".join(parts)
        return put_u32(len(content)) + content

    def _array(self, items: Sequence[object], depth: int) -> bytes:
        if depth > DEEPEST:
            raise EncodeError("", "values are nested too deep")
        parts: list[bytes] = []
        for item in items:
            try:
                parts.append(self._value(item, depth))
            except EncodeError as why:
                raise EncodeError(f"[{len(parts)}]{why.what}", why.rule) from None
        content = b"".join(parts)
        return put_u32(len(content)) + content

    def _value(self, value: object, depth: int) -> bytes:
        """Encodes a value with its letter."""
        given, value = (value, value.value) if isinstance(value, Field) else (None, value)
        letter = self._letter_of(value) if given is None or not given.letter else given.letter
        if letter is None:
            raise EncodeError("", f"tables of {self.name} have no letter for {type(value).__name__} {value!r:.40}")
        kind = self.letters.get(letter)
        if kind is None:
            raise EncodeError("", f"tables of {self.name} have no letter {letter!a:.10}")
        if given is not None and given.octets is not None and kind in FORMS and len(given.octets) == FORMS[kind].size:
            return letter.encode() + given.octets
        if kind == "table" and isinstance(value, Mapping):
            return letter.encode() + self._table(value, depth + 1)
        if kind == "array" and isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return letter.encode() + self._array(value, depth + 1)
        try:
            return letter.encode() + _write_plain(kind, value)
        except (struct.error, TypeError, ValueError, AttributeError, OverflowError, IndexError):
            raise EncodeError("", f"{value!r:.40} is not a value of type {kind}{_HINTS.get(kind, '')}") from None

    def __repr__(self) -> str:
        return f"<TableProfile {self.name}>"


class _Tables:
    """Decodes one table and those inside it, and counts their entries."""

    __slots__ = ("_b", "_entries", "_profile", "_reading")

    def __init__(self, profile: TableProfile, b: bytes, reading: Reading) -> None:
        self._profile: Final = profile
        self._b: Final = b
        self._reading: Final = reading
        self._entries = 0

    def table(self, start: int, stop: int, depth: int) -> FieldTable:
        """Decodes the entries between `start` and `stop`, which exclude the size."""
        self._enter(start, depth)
        b, at = self._b, start
        fields: list[tuple[str, Field]] = []
        while at < stop:
            name_end = at + 1 + b[at]
            if name_end >= stop:
                raise DecodeError("", at, f"a name of {many(b[at], 'octet')} and a letter go beyond the end", 502)
            try:
                name = b[at + 1 : name_end].decode("utf-8", self._reading.text)
            except UnicodeDecodeError:
                raise DecodeError("", at + 1, "a name is no UTF-8", 502) from None
            try:
                field, at = self._field(name_end, stop, depth)
            except DecodeError as why:  # the path to the error is built on the way out, so valid tables pay nothing
                raise DecodeError(f"[{name!a}]{why.what}", why.octet, why.rule, why.code) from None
            fields.append((name, field))
        made = FieldTable(fields)
        if self._reading.canonical and len(made) < len(fields):
            raise DecodeError("", start - 4, "a name comes twice", 502)
        return made

    def _array(self, start: int, stop: int, depth: int) -> tuple[Field, ...]:
        self._enter(start, depth)
        items: list[Field] = []
        at = start
        while at < stop:
            try:
                item, at = self._field(at, stop, depth)
            except DecodeError as why:
                raise DecodeError(f"[{len(items)}]{why.what}", why.octet, why.rule, why.code) from None
            items.append(item)
        return tuple(items)

    def _enter(self, start: int, depth: int) -> None:
        if depth > self._reading.nesting:
            raise DecodeError("", start - 4, f"limit nesting is {self._reading.nesting}", 506)

    def _field(self, p: int, end: int, depth: int) -> tuple[Field, int]:
        """Decodes the value whose letter is at `p`, before `end`."""
        self._entries += 1
        if self._entries > TABLE_ENTRIES:
            raise DecodeError("", p, f"limit TABLE_ENTRIES is {TABLE_ENTRIES}", 506)
        b, at, letter = self._b, p + 1, chr(self._b[p])
        kind = self._profile.letters.get(letter)
        if kind is None:
            raise DecodeError("", p, f"tables of {self._profile.name} have no letter {letter!a}", 502)
        if kind in FORMS:
            return _read_form(kind, letter, b, at, end)
        if kind == "void":
            return Field(letter, None), at
        start, stop = _short_span(b, at, end) if kind == "short-text" else _span(b, at, end)
        if kind == "table":
            return Field(letter, self.table(start, stop, depth + 1)), stop
        if kind == "array":
            return Field(letter, self._array(start, stop, depth + 1)), stop
        value: str | bytes = b[start:stop]
        if kind != "octets":
            with suppress(UnicodeDecodeError):  # otherwise the octets themselves
                value = b[start:stop].decode()
        return Field(letter, value), stop


def _read_form(kind: str, letter: str, b: bytes, at: int, end: int) -> tuple[Field, int]:
    """Decodes a value of fixed width."""
    form = FORMS[kind]
    stop = at + form.size
    if stop > end:
        raise DecodeError("", at, f"needs {many(form.size, 'octet')}, {end - at} are left", 502)
    parts = form.unpack_from(b, at)
    value: object = parts[0]
    if kind == "decimal":
        return Field(letter, Decimal((0, tuple([int(digit) for digit in str(parts[1])]), -parts[0]))), stop
    if kind == "boolean":
        return Field(letter, value != 0, None if value in (0, 1) else b[at:stop]), stop
    if kind == "timestamp":
        return Field(letter, Datetime(parts[0])), stop
    # Only the octets tell which "not a number" it was.
    return Field(letter, value, None if value == value else b[at:stop]), stop


def _write_plain(kind: str, value: object) -> bytes:
    """Encodes a scalar value.  Raises ValueError, TypeError and the like for what the type cannot hold."""
    if kind == "void" and value is None:
        return b""
    if kind == "decimal" and isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        if sign or not isinstance(exponent, int):
            raise ValueError
        return FORMS[kind].pack(-exponent, int("".join([str(digit) for digit in digits])))
    if kind == "timestamp" and _is_moment(value):
        if value.tzinfo is None:
            raise ValueError
        value = math.floor(value.timestamp())
    if kind in FORMS and kind != "decimal":
        packed: bytes = FORMS[kind].pack(value)
        return packed
    octets = value.encode() if isinstance(value, str) else value
    if kind in ("text", "octets", "short-text") and isinstance(octets, bytes):
        return (OCTET[len(octets)] if kind == "short-text" else put_u32(len(octets))) + octets
    raise TypeError


def _is_moment(value: object) -> TypeGuard[_Moment]:
    """Returns whether it is a `datetime.datetime`.  This module must not import `datetime`, which reads a clock."""
    return hasattr(value, "timestamp") and hasattr(value, "tzinfo")


class _Moment(Protocol):
    tzinfo: object

    def timestamp(self) -> float: ...


def _span(b: bytes, p: int, end: int) -> tuple[int, int]:
    if p + 4 > end:
        raise DecodeError("", p, f"its size takes 4 octets, {max(0, end - p)} are left", 502)
    size = u32(b, p)[0]
    if size > end - p - 4:
        raise DecodeError("", p, too_large(size, end - p - 4), 502)
    return p + 4, p + 4 + size


def _short_span(b: bytes, p: int, end: int) -> tuple[int, int]:
    if p >= end:
        raise DecodeError("", p, "its size takes 1 octet, 0 are left", 502)
    if b[p] > end - p - 1:
        raise DecodeError("", p, too_large(b[p], end - p - 1), 502)
    return p + 1, p + 1 + b[p]
