"""The properties of a content header in the older dialects: words of flags, then the properties that are present."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.value import Value
from amqp_sansio.wire.interpreter import ArgumentTable, FieldReader, FieldTable, FieldWriter, read_arguments, write_arguments
from amqp_sansio.wire.primitives import put_u16, u16
from amqp_sansio.wire.reading import DEFAULT_READING, Reading

T = TypeVar("T")

PER_WORD: Final = 15
"""Properties per word of flags, the first in its highest bit; the lowest bit says that another word follows."""


def read_properties(
    kind: Callable[..., T],
    what: str,
    properties: FieldTable,
    b: bytes,
    p: int,
    end: int,
    reading: Reading = DEFAULT_READING,
    read_table: FieldReader | None = None,
) -> T:
    """Decodes the properties whose flags begin at `p` and that end exactly at `end`; an absent one is None.

    Raises DecodeError, which names the property: 502, also for undefined flags, or 506 for one of our limits.
    """
    there: list[tuple[str, str, object]] = []
    first, more = 0, True
    while more:
        if p + 2 > end:
            raise DecodeError(what, p, f"a word of flags takes 2 octets, {max(0, end - p)} are left", 502)
        flags = u16(b, p)[0]
        more = flags & 1 == 1
        for place in range(PER_WORD):
            if flags & 0x8000 >> place:
                if first + place >= len(properties):
                    raise DecodeError(what, p, f"flag {first + place} belongs to none of its {len(properties)} properties", 502)
                there.append((*properties[first + place], None))
        first += PER_WORD
        p += 2
        if more and first >= len(properties):
            raise DecodeError(what, p, f"its {len(properties)} properties have no further word of flags", 502)
    found = read_arguments(dict[str, object], what, tuple(there), b, p, end, reading, read_table)
    return kind(*[found.get(name) for name, _ in properties])


def write_properties(what: str, thing: Value, properties: FieldTable, write_table: FieldWriter | None = None) -> bytes:
    """Encodes all properties that are not None, after as many words of flags as they need, at least one.

    Raises one of `field_interpreter.UNWRITABLE` for a value that its type cannot hold.
    """
    there: ArgumentTable = tuple([(name, of, None) for name, of in properties if getattr(thing, name) is not None])
    names = {name for name, _, _ in there}
    words = [0]
    for index, (name, _) in enumerate(properties):
        if name in names:
            while len(words) <= index // PER_WORD:
                words[-1] |= 1
                words.append(0)
            words[-1] |= 0x8000 >> index % PER_WORD
    return b"".join([put_u16(word) for word in words]) + write_arguments(what, thing, there, write_table)
