"""The codec interface: what a connection needs of any dialect to encode and decode methods."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.wire.framing import Assembly
from amqp_sansio.wire.reading import DEFAULT_READING, Reading


class Codec:
    """The words of one dialect.  A base class: 0-10 has a `Layout`.

    The words of class connection are those of `spec.connection` for every dialect, for 0-10 has the most fields in them: a
    dialect with others translates.  A heartbeat may be a payload without octets.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def read_control(self, unit: Assembly, reading: Reading) -> Control:
        """The control of a unit.  DecodeError."""
        raise NotImplementedError

    def write_control(self, control: Control) -> bytes:
        """The payload of a control.  EncodeError."""
        raise NotImplementedError

    def read_unit(self, unit: Assembly, reading: Reading = DEFAULT_READING) -> tuple[Value, bool]:
        """The control, command or method of a unit, and whether it asks for completion at once (`sync`).  DecodeError."""
        raise NotImplementedError

    def said_in(self, unit: Assembly) -> str:
        """What a unit says, by its name or its numbers."""
        raise NotImplementedError

    def numbers_of(self, verb: str) -> tuple[int, int] | None:
        """Class and method of what connection.close blames; None where it is nothing, or close names none."""
        return None

    def verb_at(self, class_code: int, code: int) -> str:
        """The name of what a connection.close blames; "" for nothing."""
        return ""

    def code_of(self, error: DecodeError) -> int:
        """The code of connection.close for a control that cannot be read."""
        return CloseCode.FRAMING_ERROR

    def carries(self, class_code: int, code: int) -> bool:
        """Whether what has these numbers may be followed by a content."""
        raise NotImplementedError
