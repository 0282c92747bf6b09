"""A fast path for field tables of texts, integers and booleans, which most are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct, error
from typing import Final

from amqp_sansio.limits import TABLE_ENTRIES, TABLE_OCTETS
from amqp_sansio.spec.fields import FieldTable
from amqp_sansio.spec.values import Value
from amqp_sansio.wire.primitives import OCTET, blank, put_i32, put_u32, u32
from amqp_sansio.wire.shapes import NAMES, Shapes

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
        self, integers: Mapping[int, Struct], letters: str, int32: str, write_value: Callable[[object, int], bytes]
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
        if len(self._heads) >= NAMES:
            self._heads.clear()
        heads = self._heads[name] = octets + _TEXT_HEAD, octets + self._int32
        return heads
