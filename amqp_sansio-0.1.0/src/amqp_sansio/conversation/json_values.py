"""Decoded values as plain ones, which `json.dumps` takes, for programs that read headers and bodies."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import TypeAlias
from uuid import UUID

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.values import OpaqueValue

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"


def plain(value: object) -> Plain:
    """Octets are their text where they are UTF-8 (many clients send text so), else hex digits.

    A number that is not finite, a UUID and a decimal are their text; a struct is a dict of its fields; a set of ids a list of
    [low, high]; a value of a type that
    nobody has assigned is its octets.
    """
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        number = float(value)
        return number if isfinite(number) else str(number)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, RangeSet):
        return [[low, high] for low, high in value.ranges]
    if isinstance(value, Struct):
        return {name.rstrip("_"): plain(getattr(value, name)) for name in value.FIELDS}
    if isinstance(value, OpaqueValue):
        return value.octets.hex()
    assert isinstance(value, UUID | Decimal), value
    return str(value)
