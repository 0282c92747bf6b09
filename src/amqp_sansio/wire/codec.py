"""The codec interface: what a connection needs of any dialect to encode and decode methods, and the options of decoding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, TypeAlias, final

from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Control, Struct
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.wire.framing import Assembly

FieldTypes: TypeAlias = tuple[tuple[str, str], ...]
"""Name and wire type of each field, in flag order."""
InnerStruct: TypeAlias = tuple[type[Struct], FieldTypes, int, int | None]
InnerStructs: TypeAlias = Mapping[str, InnerStruct]
"""Structs that are fields: class, fields, width of the size before them, and class and code as one number if they have them."""
ArgumentTable: TypeAlias = tuple[tuple[str, str, object], ...]
"""Name and wire type of each argument of a method, in order; and the value to send for a reserved one, else None."""


@final  # so that a type check is as good as isinstance, and faster
class Reading(ValueObject):
    """What decoding a value may cost, and what it tolerates.  The first three are the limits of the same name.

    Not an attrs class: compiled code does not see an `__eq__` that is made at run time, and would compare by identity.
    """

    __slots__ = ("canonical", "nesting", "ranges", "text", "zero_width_elements")
    FIELDS: ClassVar[tuple[str, ...]] = ("nesting", "zero_width_elements", "ranges", "text", "canonical")

    def __init__(
        self,
        nesting: int = DEFAULT_LIMITS.nesting,
        zero_width_elements: int = DEFAULT_LIMITS.zero_width_elements,
        ranges: int = DEFAULT_LIMITS.ranges,
        text: str = "strict",
        canonical: bool = False,
    ) -> None:
        self.nesting: Final = nesting
        self.zero_width_elements: Final = zero_width_elements
        self.ranges: Final = ranges
        self.text: Final = text
        """How to treat text that is not UTF-8.

        "strict" makes it an error (531); "surrogateescape" keeps each invalid octet as one surrogate, as Python does for file
        names (such text cannot be encoded again).
        """
        self.canonical: Final = canonical
        """Whether a repeated key of a map, and ranges of ids that descend, overlap or touch, are errors.

        Otherwise the last value of the key counts, and the ranges are joined.
        """

    @classmethod
    def of(cls, limits: Limits, canonical: bool = False) -> Reading:
        """Returns the options for these limits."""
        return cls(limits.nesting, limits.zero_width_elements, limits.ranges, canonical=canonical)


DEFAULT_READING: Final = Reading()


class Codec:
    """Encodes and decodes the methods of one dialect.  A base class: of `Layout` for 0-10, of `MethodCodec` for the others.

    All dialects use the controls of `spec.connection`, which follow 0-10 because it has the most fields; other dialects
    translate.  A unit with an empty payload may be a heartbeat.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def read_control(self, unit: Assembly, reading: Reading) -> Control:
        """Decodes the control of a unit.  Raises DecodeError."""
        raise NotImplementedError

    def write_control(self, control: Control) -> bytes:
        """Encodes a control as a payload.  Raises EncodeError."""
        raise NotImplementedError

    def read_unit(self, unit: Assembly, reading: Reading = DEFAULT_READING) -> tuple[ValueObject, bool]:
        """Decodes the control, command or method of a unit, and whether it asks for completion at once (`sync`).

        Raises DecodeError.
        """
        raise NotImplementedError

    def verb_in(self, unit: Assembly) -> str:
        """Returns the name of the control, command or method of a unit, or the numbers of an unknown one."""
        raise NotImplementedError

    def numbers_of(self, verb: str) -> tuple[int, int] | None:
        """Returns class and method number of `verb` for connection.close; None if it has none, or close has no such fields."""
        return None

    def verb_at(self, class_code: int, code: int) -> str:
        """Returns the name of the method with these numbers, which a connection.close blames; "" for none."""
        return ""

    def code_of(self, error: DecodeError) -> int:
        """Returns the code of connection.close for a control that cannot be decoded."""
        return CloseCode.FRAMING_ERROR

    def carries(self, class_code: int, code: int) -> bool:
        """Returns whether a unit with these numbers may carry a content."""
        raise NotImplementedError
