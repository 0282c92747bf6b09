"""Reads names with texts, integers and booleans by the shape of what came before.

Messages of one kind have headers of one shape: the same names in the same order, with the same type codes. The shape is
compared with the octets, so no name is decoded, no type code looked up, and no list built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct, error
from typing import Final, TypeAlias

from amqp_sansio.spec.values import Value
from amqp_sansio.wire.primitives import OCTET, u16, u32

WIDEST: Final = 32
"""The most entries of a shape."""
NAMES: Final = 1024
"""The most names that are remembered."""
_PATIENCE: Final = 16
"""After this number of maps that begin like a shape but continue differently, another shape replaces it."""

Unpack: TypeAlias = "Callable[[bytes, int], tuple[Value, ...]]"
"""Not of `int`: compiled code would turn a boolean into an integer."""

_BOOLEANS: Final = {b"\0": (False,), b"\1": (True,)}


def read_boolean(b: bytes, p: int) -> tuple[Value, ...]:
    """Like `Struct.unpack_from`. Raises struct.error for an octet other than 0 and 1, which must be preserved, and for none."""
    found = _BOOLEANS.get(b[p : p + 1])
    if found is None:
        raise error
    return found


def _boolean_behind(octets: int) -> Unpack:
    """Returns a reader of this number of octets, followed by a boolean as in `read_boolean`."""

    def read(b: bytes, p: int) -> tuple[Value, ...]:
        return b[p : p + octets], *read_boolean(b, p + octets)

    return read


Entry: TypeAlias = "tuple[bytes, int, str, Unpack | None, bytes, str]"
"""What is known in advance of an entry, or of a number and the text after it.

* Its head: the size of the name, the name and the type code; for a text also the octets of the size but the last one.
* The number of octets of the head and, unless it is a text, of the value; where a text follows, up to the end of its size.
* Its name.
* The reader of head and value, and of the head of the text that follows; None for a text.
* Head and name of that text; empty if there is none.

A plain tuple, because unpacking a named one takes longer than everything else.
"""


class Shape:
    """A sequence of entries without a repeated name. An empty one stands for an unknown shape."""

    __slots__ = ("entries", "letters", "missed", "size")

    def __init__(self, entries: tuple[Entry, ...] = (), letters: bytes = b"") -> None:
        self.entries: Final = entries
        self.letters: Final = letters
        self.size: Final = len(letters)
        self.missed = 0 if entries else _PATIENCE
        """How many maps began like it but continued differently."""


class Shapes:
    """Reads entries of one encoding, and remembers their shapes.

    `text_head` is the type code of a text and the octets of its size, all 0, but the last one; `forms` has the other values by
    type code; `boolean` is the type code of a boolean, None if the encoding has none.
    """

    __slots__ = ("_boolean", "_names", "_shapes", "_size", "_text", "_text_head", "_text_width", "_widths")

    def __init__(self, text_head: bytes, forms: Mapping[int, Struct], boolean: int | None) -> None:
        self._text_head: Final = text_head
        self._text: Final = text_head[0]
        self._text_width: Final = len(text_head)
        self._size: Final = u16 if len(text_head) == 2 else u32
        self._boolean: Final = boolean
        self._widths: Final[dict[int, tuple[Unpack, int, str]]] = {
            letter: (form.unpack_from, form.size, form.format.lstrip(">")) for letter, form in forms.items()
        }
        if boolean is not None:
            self._widths[boolean] = read_boolean, 1, ""
        self._names: Final[set[str]] = set()
        self._shapes: Final = [Shape()] * 256
        """By the size of the first name."""

    def read(self, b: bytes, at: int, stop: int, entries: dict[str, Value]) -> tuple[int, bytes]:
        """Adds the entries from `at` to `stop`, or to the first of another type; returns its offset and the type codes.

        There are more type codes than entries if a name repeats. Raises one of `types.BAD` for an entry that goes past `stop`.
        """
        first = at
        shape = self._shapes[b[at] if at < stop else 0]
        # Entries are not checked against the end: each one advances, so if the last one ends there, all were inside.
        try:
            for head, octets, name, unpack, text_head, text in shape.entries:
                if unpack is None:
                    behind = at + octets
                    if b[at:behind] != head:
                        break
                    at = b[behind]
                    behind += 1
                    at += behind
                    entries[name] = b[behind:at].decode()
                elif text_head:
                    found, value, second = unpack(b, at)
                    if found != head or second != text_head:
                        break
                    entries[name] = value
                    behind = at + octets
                    at = b[behind - 1] + behind
                    entries[text] = b[behind:at].decode()
                else:
                    found, value = unpack(b, at)
                    if found != head:
                        break
                    entries[name] = value
                    at += octets
        except error:
            pass  # too short, or it continues differently
        if at != stop or len(entries) != shape.size:
            letters = shape.letters[: len(entries)]
            at, rest = self._read_on(b, at, stop, entries)
            letters += rest
            if at == stop and len(entries) == len(letters) and entries:
                self._learn(shape, b[first], entries, letters)
            return at, letters
        return at, shape.letters

    def _read_on(self, b: bytes, at: int, stop: int, entries: dict[str, Value]) -> tuple[int, bytes]:
        """Like `read`, without a shape."""
        letters: list[int] = []
        widths = self._widths
        while at < stop:
            behind = at + 1 + b[at]
            name = b[at + 1 : behind].decode()
            letter = b[behind]
            behind += 1
            if letter == self._text:
                size: int = self._size(b, behind)[0]
                behind += self._text_width
                at = behind + size
                entries[name] = b[behind:at].decode()
            elif letter in widths:
                unpack, width, _ = widths[letter]
                try:
                    entries[name] = unpack(b, behind)[0]
                except error:
                    break
                at = behind + width
            else:
                break
            letters.append(letter)
        if at > stop:
            raise IndexError
        return at, bytes(letters)

    def _learn(self, before: Shape, size: int, names: Mapping[str, object], letters: bytes) -> None:
        """Records entries of unknown shape; `before` is the shape for the size of the first name."""
        before.missed += 1
        if before.missed < _PATIENCE or len(letters) > WIDEST:
            return
        if not self._names.issuperset(names):  # names that never recur make no shape
            if len(self._names) >= NAMES:
                self._names.clear()
            self._names.update(names)
            return
        made: list[Entry] = []
        number = ""  # the form of the entry before, if it is a number
        for name, letter in zip(names, letters, strict=True):
            head = name.encode()
            head = OCTET[len(head)] + head + (self._text_head if letter == self._text else OCTET[letter])
            octets, form = len(head), ""
            if letter == self._boolean:
                made.append((head, octets + 1, name, _boolean_behind(octets), b"", ""))
            elif letter != self._text:
                form = f">{octets}s{self._widths[letter][2]}"
                made.append((head, octets + self._widths[letter][1], name, Struct(form).unpack_from, b"", ""))
            elif number:
                first, width, of_number, *_ = made.pop()
                both = Struct(f"{number}{octets}s").unpack_from
                made.append((first, width + octets + 1, of_number, both, head, name))
            else:
                made.append((head, octets, name, None, b"", ""))
            number = form
        self._shapes[size] = Shape(tuple(made), letters)
