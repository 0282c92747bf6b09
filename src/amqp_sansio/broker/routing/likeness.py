"""Comparison of argument and header values as octets, which a peer cannot make collide in a dict.

The hash of octets and of text is salted; that of numbers, of UUIDs and of tuples of them is not: a peer could choose values
with the same hash (such as -1 and -2), and make every lookup as slow as a search.
"""

from __future__ import annotations

import math
from decimal import Decimal
from uuid import UUID

from amqp_sansio.broker.encoding import DEEPER
from amqp_sansio.spec.values import Boolean, Map, Value
from amqp_sansio.wire.encoding import encode_map


def likeness(value: Value) -> bytes:
    """Returns equal octets for values that count as equal, whatever their wire types, and different octets for others.

    Numbers are compared by value, texts and octets by kind and content, maps regardless of order.  A boolean is not a number.
    """
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, bool | Boolean):
        return b"t" if value else b"f"
    if isinstance(value, int):
        return b"n%x/1" % value
    if (isinstance(value, float) and math.isfinite(value)) or (isinstance(value, Decimal) and value.is_finite()):
        return b"n%x/%x" % value.as_integer_ratio()
    if isinstance(value, UUID):
        return b"u" + value.bytes
    if isinstance(value, Map):
        return b"m" + b"".join([_sized(likeness(key)) + _sized(likeness(value[key])) for key in sorted(value)])
    if isinstance(value, tuple):
        return b"l" + b"".join([_sized(likeness(item)) for item in value])
    return b"o" + encode_map({"": value}, -DEEPER)


def _sized(octets: bytes) -> bytes:
    return b"%x:" % len(octets) + octets
