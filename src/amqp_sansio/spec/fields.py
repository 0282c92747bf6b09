"""What field tables of the older dialects hold: values that keep their letter, in maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.values import Map, as_map


class Field(Value):
    """A value under a letter: `Field("B", 5)`.

    A table holds one where the letter is not the one under which its profile writes such a value, so that what was read is
    written again to the same octets.
    """

    __slots__ = ("letter", "value")
    FIELDS: ClassVar[tuple[str, ...]] = ("letter", "value")
    __match_args__ = ("letter", "value")

    def __init__(self, letter: str, value: object) -> None:
        self.letter: Final = letter
        self.value: Final = value


def as_fields(value: Mapping[str, object] | None) -> Map | None:
    """The `Map` that an argument keeps whose type is a field table, made from any mapping.  EncodeError."""
    return as_map(value)  # type: ignore[arg-type]  # what 0-10 has, and fields besides
