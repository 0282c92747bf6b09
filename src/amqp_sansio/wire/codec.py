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
    """Encodes and decodes the methods of one dialect.  A base class: 0-10 has a `Layout`.

    All dialects use the controls of `spec.connection`, which follow 0-10 because it has the most fields; other dialects
    translate.  The payload of a heartbeat may be empty.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def read_control(self, unit: Assembly, reading: Reading) -> Control:
        """Decodes the control of a unit.  Raises DecodeError."""
        raise NotImplementedError

    def write_control(self, control: Control) -> bytes:
        """Encodes a control as a payload.  Raises EncodeError."""
        raise NotImplementedError

    def read_unit(self, unit: Assembly, reading: Reading = DEFAULT_READING) -> tuple[Value, bool]:
        """Decodes the control, command or method of a unit, and whether it asks for completion at once (`sync`).

        DecodeError.
        """
        raise NotImplementedError

    def said_in(self, unit: Assembly) -> str:
        """Returns the name of a unit's method, or its numbers."""
        raise NotImplementedError

    def numbers_of(self, verb: str) -> tuple[int, int] | None:
        """Returns class and method number for connection.close; None where there is none, or close does not carry them."""
        return None

    def verb_at(self, class_code: int, code: int) -> str:
        """Returns the name of the method at fault in a connection.close; "" for none."""
        return ""

    def code_of(self, error: DecodeError) -> int:
        """Returns the code of connection.close for a control that cannot be decoded."""
        return CloseCode.FRAMING_ERROR

    def carries(self, class_code: int, code: int) -> bool:
        """Returns whether a unit with these numbers may carry a content."""
        raise NotImplementedError
