"""A fast path for field tables of texts, integers and booleans, which most are.

Messages of one kind have tables of one shape: the same names, in the same order, with the same type codes.  The shape is
compared where it is expected: no name is decoded, no type code looked up, and no list of them made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct, error
from typing import Final, TypeAlias

from amqp_sansio.limits import TABLE_ENTRIES, TABLE_OCTETS
from amqp_sansio.spec.fields import FieldTable
from amqp_sansio.spec.values import Value
from amqp_sansio.wire.primitives import OCTET, blank, put_i32, put_u32, u32

WIDEST: Final = 32
"""Entries of a shape."""
_NAMES: Final = 1024
"""Names that are known to come again; likewise."""
_PATIENCE: Final = 16
"""Tables that begin like a shape and go on otherwise, after which another takes its place."""

_TEXT: Final = ord("S")
_BOOLEAN: Final = ord("t")
"""The letters that mean the same in each profile that has them."""
_BOOLEANS: Final = ((False,), (True,))
_TEXT_HEAD: Final = b"S\0\0\0"
"""The letter of a text, and the first octets of its size, which are 0 below 256."""

Unpack: TypeAlias = "Callable[[bytes, int], tuple[Value, ...]]"
"""Not of `int`: compiled code would make a plain integer of a boolean."""


def read_boolean(b: bytes, p: int) -> tuple[Value, ...]:
    """As `Struct.unpack_from`; IndexError for an octet that is neither 0 nor 1, which is to be kept."""
    return _BOOLEANS[b[p]]


def _boolean_behind(octets: int) -> Unpack:
    """What reads so many octets, and a boolean behind them as `read_boolean`."""

    def read(b: bytes, p: int) -> tuple[Value, ...]:
        return b[p : p + octets], *read_boolean(b, p + octets)

    return read


Entry: TypeAlias = "tuple[bytes, int, str, Unpack | None]"
"""What is known of an entry before it is read: its head, which is its name behind its size and the letter, or `_TEXT_HEAD`; how
many octets that is, those of the value included unless it is a text; its name; what reads head and value, None for a text, of
which one octet of size and the text itself follow.  A plain tuple: one with names is taken apart item by item, which takes
longer than all else."""


class Shape:
    """Entries one after the other; no name comes twice.  Without any it stands for none that is known."""

    __slots__ = ("entries", "letters", "missed")

    def __init__(self, entries: tuple[Entry, ...] = (), letters: bytes = b"") -> None:
        self.entries: Final = entries
        self.letters: Final = letters
        self.missed = 0 if entries else _PATIENCE
        """Tables that began like it, and went on otherwise."""


class FlatTables:
    """Reads and writes the tables of one profile in which no value holds others.

    `integers`: how values are read, by the octet that is their letter; `letters`: all that there are;
    `int32`: the one under which most integers are written; `write_value` writes all others behind their letter.
    """

    __slots__ = ("_formats", "_heads", "_int32", "_names", "_shapes", "_widths", "_write_value")

    def __init__(
        self, integers: Mapping[int, Struct], letters: str, int32: str, write_value: Callable[[object, int], bytes]
    ) -> None:
        self._formats: Final = {letter: form.format.lstrip(">") for letter, form in integers.items()}
        self._widths: Final[dict[int, tuple[Unpack, int]]] = {
            **{letter: (form.unpack_from, form.size) for letter, form in integers.items()},
            **({_BOOLEAN: (read_boolean, 1)} if "t" in letters else {}),
        }
        self._int32: Final = int32.encode()
        self._write_value: Final = write_value
        self._names: Final[set[str]] = set()
        self._heads: Final[dict[str, tuple[bytes, bytes]]] = {}
        """How entries with names that were written before begin."""
        self._shapes: Final = [Shape()] * 256
        """One for each size of the first name."""

    def read(self, b: bytes, p: int, end: int) -> tuple[FieldTable, int] | None:
        """The table whose size lies at `p`, and where it ends.  None, or what `types.BAD` holds, for what is not as plain as
        that, which is to be read with every check."""
        at = p + 4
        stop: int = at + u32(b, p)[0]
        if stop > end or stop - at > TABLE_OCTETS:
            return None
        entries: dict[str, Value] = {}
        shape = self._shapes[b[at] if at < stop else 0]
        # No entry is held against the end of the table: each moves on, so when the last one ends there, all lay within.
        try:
            for head, octets, name, unpack in shape.entries:
                if unpack is None:
                    behind = at + octets
                    if b[at:behind] != head:
                        break
                    at = b[behind]
                    behind += 1
                    at += behind
                    entries[name] = b[behind:at].decode()
                else:
                    found, value = unpack(b, at)
                    if found != head:
                        break
                    entries[name] = value
                    at += octets
        except error:
            pass  # it ends before, or goes on otherwise
        letters = shape.letters
        if at != stop or len(entries) != len(letters):
            letters = letters[: len(entries)] + self._read_on(b, at, stop, entries)
            if len(entries) != len(letters) or not 0 < len(letters) <= TABLE_ENTRIES:
                return None
            self._learn(shape, b[p + 4], entries, letters)
        made: FieldTable = blank(FieldTable)  # as `FieldTable.flat`, without the call
        made._entries = entries
        made._fields = None
        made._letters = letters
        return made, stop

    def _read_on(self, b: bytes, at: int, stop: int, entries: dict[str, Value]) -> bytes:
        """Adds the entries from `at` on: their letters, of which there are more than entries where a name comes twice.  What
        `types.BAD` holds for what is not plain."""
        letters: list[int] = []
        widths = self._widths
        while at < stop:
            behind = at + 1 + b[at]
            name = b[at + 1 : behind].decode()
            letter = b[behind]
            if letter == _TEXT:
                at = behind + 5 + u32(b, behind + 1)[0]
                entries[name] = b[behind + 5 : at].decode()
            elif letter in widths:
                unpack, width = widths[letter]
                entries[name] = unpack(b, behind + 1)[0]
                at = behind + 1 + width
            else:
                break
            letters.append(letter)
        if at != stop:
            raise IndexError
        return bytes(letters)

    def _learn(self, before: Shape, size: int, names: Mapping[str, object], letters: bytes) -> None:
        """A table came that is of no shape which is known; `before` is the one to which the size of its first name belongs."""
        before.missed += 1
        if before.missed < _PATIENCE:
            return
        if not self._names.issuperset(names):  # those that never come again make no shape
            if len(self._names) >= _NAMES:
                self._names.clear()
            self._names.update(names)
            return
        if len(letters) > WIDEST:
            return
        made: list[Entry] = []
        for name, letter in zip(names, letters, strict=True):
            head = name.encode()
            head = OCTET[len(head)] + head + (_TEXT_HEAD if letter == _TEXT else OCTET[letter])
            octets, unpack = len(head), None
            if letter == _BOOLEAN:
                unpack = _boolean_behind(octets)
            elif letter != _TEXT:
                unpack = Struct(f">{octets}s{self._formats[letter]}").unpack_from
            made.append((head, octets + self._widths[letter][1] if unpack else octets, name, unpack))
        self._shapes[size] = Shape(tuple(made), letters)

    def write(self, table: Mapping[str, object]) -> bytes:
        """The octets of a table without letters of its own, its size included.  EncodeError, or what
        `field_interpreter.UNWRITABLE` holds, for what cannot be written."""
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
                except error:
                    pass  # it has more than 32 bits
            parts.append(text[:-4])
            parts.append(self._write_value(value, 0))
        content = b"".join(parts)
        return put_u32(len(content)) + content

    def _begin(self, name: str) -> tuple[bytes, bytes]:
        """How an entry of this name begins, for a text of less than 256 octets and for most integers."""
        octets = name.encode()
        octets = OCTET[len(octets)] + octets
        if len(self._heads) >= _NAMES:
            self._heads.clear()
        heads = self._heads[name] = octets + _TEXT_HEAD, octets + self._int32
        return heads
