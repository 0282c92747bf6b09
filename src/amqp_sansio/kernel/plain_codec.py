"""Serialises plain values: None, bool, int, float, str, bytes and tuples of them, each after a tag.

Canonical: equal values of equal types give equal octets.  Knows no AMQP.
"""

from __future__ import annotations

import struct
from typing import Final

NESTING: Final = 200
"""The most nested tuples."""

_FLOAT: Final = struct.Struct(">d")
_NONE, _FALSE, _TRUE, _INT, _NEGATIVE, _FLOATS, _TEXT, _OCTETS, _TUPLE, _AGAIN = range(10)


def _number(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def pack(value: object) -> bytes:
    """Serialises a value.  Raises TypeError for what is not plain.  A repeated text is written as its number."""
    out = bytearray()
    known: dict[str, int] = {}
    _pack(out, value, known)
    return bytes(out)


def _pack(out: bytearray, value: object, known: dict[str, int]) -> None:
    kind = type(value)
    if kind is str:
        assert isinstance(value, str)
        number = known.get(value)
        if number is not None:
            out.append(_AGAIN)
            _number(out, number)
            return
        known[value] = len(known)
        octets = value.encode("utf-8", "surrogatepass")
        out.append(_TEXT)
        _number(out, len(octets))
        out += octets
    elif kind is int:
        assert isinstance(value, int)
        out.append(_INT if value >= 0 else _NEGATIVE)
        _number(out, value if value >= 0 else -1 - value)
    elif kind is tuple:
        assert isinstance(value, tuple)
        out.append(_TUPLE)
        _number(out, len(value))
        for item in value:
            _pack(out, item, known)
    elif value is None:
        out.append(_NONE)
    elif kind is bool:
        out.append(_TRUE if value else _FALSE)
    elif kind is bytes:
        assert isinstance(value, bytes)
        out.append(_OCTETS)
        _number(out, len(value))
        out += value
    elif kind is float:
        out.append(_FLOATS)
        out += _FLOAT.pack(value)
    else:
        raise TypeError(f"{kind.__name__} is not a plain value")


class _Reader:
    """Reads octets from start to end."""

    def __init__(self, octets: bytes) -> None:
        self.octets: Final = octets
        self.at = 0
        self.known: list[str] = []

    def number(self) -> int:
        value = shift = 0
        while True:
            octet = self.octets[self.at]
            self.at += 1
            value |= (octet & 127) << shift
            if octet < 128:
                return value
            shift += 7
            if shift > 350:
                raise ValueError("a number without end")

    def take(self) -> bytes:
        count = self.number()
        start, self.at = self.at, self.at + count
        return self.octets[start : self.at]  # shorter at a truncated end, which `unpack` detects

    def value(self, depth: int) -> object:
        tag = self.octets[self.at]
        self.at += 1
        if tag == _TUPLE:
            count = self.number()
            if count > len(self.octets) - self.at or depth >= NESTING:
                raise ValueError("a tuple with more items than octets, or nested too deep")
            return tuple([self.value(depth + 1) for _ in range(count)])
        if tag == _AGAIN:
            return self.known[self.number()]
        if tag == _TEXT:
            text = self.take().decode("utf-8", "surrogatepass")
            self.known.append(text)
            return text
        if tag == _INT:
            return self.number()
        if tag == _NEGATIVE:
            return -1 - self.number()
        if tag == _OCTETS:
            return self.take()
        if tag == _FLOATS:
            self.at += 8
            return _FLOAT.unpack_from(self.octets, self.at - 8)[0]
        return {_NONE: None, _FALSE: False, _TRUE: True}[tag]


def unpack(octets: bytes) -> object:
    """Restores a value.  Raises ValueError for octets that `pack` has not written."""
    reader = _Reader(octets)
    try:
        value = reader.value(0)
    except (IndexError, KeyError, UnicodeDecodeError, struct.error) as error:
        raise ValueError(f"not plain values: {error!r}") from error
    if reader.at != len(octets):
        raise ValueError("octets follow the value" if reader.at < len(octets) else "cut off")
    return value
