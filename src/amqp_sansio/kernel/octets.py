"""Octets given by callers."""

from __future__ import annotations

from amqp_sansio.errors import EncodeError


def octets_of(data: object, what: str = "body") -> bytes:
    """Converts bytes, a bytearray or a memoryview to bytes.  Raises EncodeError for anything else, such as a number."""
    if type(data) is bytes:
        return data
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise EncodeError(what, f"takes octets, not {type(data).__name__}")
    return bytes(data)
