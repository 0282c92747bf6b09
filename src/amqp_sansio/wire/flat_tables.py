"""A fast path for field tables of texts, integers and booleans, which most are.

Messages of one kind have tables of one shape: the same names in the same order, with the same type codes. The shape is compared
with the octets, so no name is decoded, no type code looked up, and no list built.
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
"""The most entries of a shape."""
_NAMES: Final = 1024
"""The most names known to recur, and of entry heads kept for writing."""
_PATIENCE: Final = 16
"""After this number of tables that begin like a shape but continue differently, another shape replaces it."""

_TEXT: Final = ord("S")
_BOOLEAN: Final = ord("t")
"""The letters with the same meaning in each profile that has them."""
_BOOLEANS: Final = ((False,), (True,))
_TEXT_HEAD: Final = b"S\0\0\0"
"""The letter of a text, and the first octets of its size, which are 0 below 256."""

Unpack: TypeAlias = "Callable[[bytes, int], tuple[Value, ...]]"
"""Not of `int`: compiled code would turn a boolean into an integer."""


def read_boolean(b: bytes, p: int) -> tuple[Value, ...]:
    """Like `Struct.unpack_from`. Raises IndexError for an octet other than 0 and 1, which must be preserved."""
    return _BOOLEANS[b[p]]


def _boolean_behind(octets: int) -> Unpack:
    """Returns a reader of this number of octets, followed by a boolean as in `read_boolean`."""

    def read(b: bytes, p: int) -> tuple[Value, ...]:
        return b[p : p + octets], *read_boolean(b, p + octets)

    return read


Entry: TypeAlias = "tuple[bytes, int, str, Unpack | None]"
"""What is known of an entry in advance.

* Its head (its name with its size, and the letter), or `_TEXT_HEAD`.
* The octets of the head, with those of the value unless it is a text.
* Its name.
* The reader of head and value; None for a text, where one octet of size and the text follow.

A plain tuple: unpacking a NamedTuple would take longer than all the rest.
"""


class Shape:
    """Consecutive entries with distinct names. Without entries, it stands for no known shape."""

    __slots__ = ("entries", "letters", "missed")

    def __init__(self, entries: tuple[Entry, ...] = (), letters: bytes = b"") -> None:
        self.entries: Final = entries
        self.letters: Final = letters
        self.missed = 0 if entries else _PATIENCE
        """The number of tables that began like it, and continued differently."""


class FlatTables:
    """Reads and writes the flat tables of one profile: no value contains others.

    `integers`: the format of each integer letter; `letters`: all letters; `int32`: the letter for most integers; `write_value`
    encodes any other value with its letter.
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
        """The first octets of entries, by names written before."""
        self._shapes: Final = [Shape()] * 256
        """The shapes by the size of the first name."""

    def read(self, b: bytes, p: int, end: int) -> tuple[FieldTable, int] | None:
        """Decodes the table whose size is at `p`; returns it and its end.

        Returns None, or raises one of `types.BAD`, for a table that is not flat and needs the general path.
        """
        at = p + 4
        stop: int = at + u32(b, p)[0]
        if stop > end or stop - at > TABLE_OCTETS:
            return None
        entries: dict[str, Value] = {}
        shape = self._shapes[b[at] if at < stop else 0]
        # Entries are not checked against the table's end: each one advances, so if the last one ends there, all were inside.
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
            pass  # too short, or it continues differently
        letters = shape.letters
        if at != stop or len(entries) != len(letters):
            letters = letters[: len(entries)] + self._read_on(b, at, stop, entries)
            if len(entries) != len(letters) or not 0 < len(letters) <= TABLE_ENTRIES:
                return None
            self._learn(shape, b[p + 4], entries, letters)
        made: FieldTable = blank(FieldTable)  # `FieldTable.flat` inlined
        made._entries = entries
        made._fields = None
        made._letters = letters
        return made, stop

    def _read_on(self, b: bytes, at: int, stop: int, entries: dict[str, Value]) -> bytes:
        """Adds the entries from `at` on and returns their letters; there are more letters than entries if a name repeats.

        Raises one of `types.BAD` for an entry that is not flat.
        """
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
        """Records a table of unknown shape; `before` is the shape for the size of its first name."""
        before.missed += 1
        if before.missed < _PATIENCE:
            return
        if not self._names.issuperset(names):  # names that never recur make no shape
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
        """Encodes a table without explicit letters, with its size.

        Raises EncodeError, or one of `field_interpreter.UNWRITABLE`, for what cannot be written.
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
                except error:
                    pass  # more than 32 bits
            parts.append(text[:-4])
            parts.append(self._write_value(value, 0))
        content = b"".join(parts)
        return put_u32(len(content)) + content

    def _begin(self, name: str) -> tuple[bytes, bytes]:
        """Returns the first octets of an entry of this name: for a text below 256 octets, and for most integers."""
        octets = name.encode()
        octets = OCTET[len(octets)] + octets
        if len(self._heads) >= _NAMES:
            self._heads.clear()
        heads = self._heads[name] = octets + _TEXT_HEAD, octets + self._int32
        return heads
