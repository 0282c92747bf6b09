"""Converts decoded values to plain JSON, which every reader of JSON takes, and serialises it.

- bool, int, text and null stay what they are;
- octets become a string of hex digits;
- a float that is not finite becomes the string "NaN", "Infinity" or "-Infinity";
- a decimal and a UUID become text;
- a set of ids becomes a list of [low, high], ends included;
- maps become objects, lists and arrays become lists;
- a struct becomes an object with its name as "struct", one of unknown type with "class.code" as "struct" and its octets;
- a value of unknown type becomes {"type": "0xNN", "octets": hex}.

`plain`, `struct` and `fields` convert, `compact` serialises; `fields_text` and `struct_text` do both in one step, because a
capture may have millions of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite
from typing import TypeAlias
from uuid import UUID

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.values import OpaqueValue, UnknownStruct

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def plain(value: object) -> Json:
    """Converts a decoded value to JSON."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value  # type: ignore[return-value]  # narrowed by `is`, which mypy does not follow
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return str.__str__(value)  # of a subclass: the text itself
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        number = float(value)
        if isfinite(number):
            return number
        return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
    if isinstance(value, RangeSet):
        return [[low, high] for low, high in value.ranges]
    if isinstance(value, Struct):
        return struct(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, OpaqueValue):
        return {"type": f"0x{value.code:02x}", "octets": value.octets.hex()}
    if isinstance(value, UUID | Decimal):
        return str(value)
    return repr(value)  # no decoder returns anything else: a row must not fail for it


def compact(value: Json) -> str:
    """Serialises JSON without spaces, text unescaped: for small values several times as fast as the standard library."""
    kind = type(value)
    if kind is int:
        return str(value)
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{encode_basestring(key)}:{compact(each)}" for key, each in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([compact(each) for each in value]) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return float.__repr__(value) if isinstance(value, float) else str(int(value))


def struct(value: Struct) -> dict[str, Json]:
    """Converts a struct to an object: its name, then the fields that `fields` returns."""
    if isinstance(value, UnknownStruct):
        return {"struct": f"{value.class_code}.{value.code}", "octets": value.octets.hex()}
    return {"struct": value.NAME, **fields(value)}


def fields(value: ValueObject, secrets: bool = True) -> dict[str, Json]:
    """Returns the fields that are set, by the specification's names: absent fields and bits that are 0 are left out.

    Without `secrets`, secret fields (passwords) become their length in octets.
    """
    found: dict[str, Json] = {}
    hidden: frozenset[str] = frozenset() if secrets else value.SECRETS
    for name in value.FIELDS:
        each = getattr(value, name)
        if each is None or each is False:
            continue
        if hidden and name in hidden:
            found[name.rstrip("_")] = len(each)
        else:
            found[name.rstrip("_")] = plain(each)
    return found
