"""Plain values: the base of their slotted classes, which are compared, hashed, pickled and shown by their fields.

attrs.frozen makes creation four times as expensive, too much for the hot path; attributes are `Final`, so that the type checker
enforces what attrs would at run time.
"""

from __future__ import annotations

from typing import ClassVar, Self

from amqp_sansio.errors import EncodeError


class ValueObject:
    """Base of plain values.  A subclass names its FIELDS in the order of its positional constructor."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()
    SECRETS: ClassVar[frozenset[str]] = frozenset()
    """Fields that a repr shows only by their length."""
    ELSEWHERE: ClassVar[frozenset[str]] = frozenset()
    """Fields that only some families of dialects have: a repr shows them where they are not None."""

    def values(self) -> tuple[object, ...]:
        """The values of all fields, in the order of the constructor."""
        return tuple([getattr(self, name) for name in self.FIELDS])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.values() == other.values()

    def __hash__(self) -> int:
        return hash((type(self), self.values()))

    def __repr__(self) -> str:
        elsewhere = self.ELSEWHERE
        names = [name for name in self.FIELDS if name not in elsewhere or getattr(self, name) is not None]
        return f"{type(self).__qualname__}({', '.join([f'{name}={self._show(name)}' for name in names])})"

    def _show(self, name: str) -> str:
        value = getattr(self, name, None)
        if name in self.SECRETS and value is not None:
            return f"<{len(value)} octets>" if isinstance(value, bytes) else "<a secret>"
        return repr(value)

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), self.values()


def frozen(value: object) -> object:
    """Returns a hashable substitute for a value that may be or contain a dict or a list; equal for equal values."""
    if isinstance(value, dict):
        return frozenset([(key, frozen(item)) for key, item in value.items()])
    return tuple([frozen(item) for item in value]) if isinstance(value, list) else value


def octets_of(data: object, what: str = "body") -> bytes:
    """Converts bytes, a bytearray or a memoryview to bytes.  Raises EncodeError for anything else, such as a number."""
    if type(data) is bytes:
        return data
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise EncodeError(what, f"takes octets, not {type(data).__name__}")
    return bytes(data)
