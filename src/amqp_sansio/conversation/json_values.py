"""Converts decoded values to plain ones, which `json.dumps` takes, for programs that read headers and bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from typing import TypeAlias
from uuid import UUID

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.values import OpaqueValue

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def plain(value: object, octets: Callable[[bytes], str] | None = None) -> Json:
    """Converts a value; octets are converted by `octets`, by default to text where they are UTF-8 (many clients send text so),
    else to hex digits.

    A number that is not finite, a UUID and a decimal become text; a struct becomes a dict of its fields; a set of ids a list of
    [low, high]; a value of an unassigned type its octets, as hex digits unless `octets` is given.
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
        return (octets or _text)(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each, octets) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each, octets) for each in value]
    if isinstance(value, RangeSet):
        return [[low, high] for low, high in value.ranges]
    if isinstance(value, Struct):
        return {name.rstrip("_"): plain(getattr(value, name), octets) for name in value.FIELDS}
    if isinstance(value, OpaqueValue):
        return (octets or bytes.hex)(value.octets)
    assert isinstance(value, UUID | Decimal), value
    return str(value)


def _text(octets: bytes) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.hex()
