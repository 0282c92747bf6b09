"""A value of a field table of the older dialects that keeps its letter."""

from __future__ import annotations

from typing import ClassVar, Final

from amqp_sansio.kernel.value import Value


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
