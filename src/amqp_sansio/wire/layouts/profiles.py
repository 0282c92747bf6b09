"""The meaning of the type codes in field tables, in each specification and at RabbitMQ."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from amqp_sansio.spec.values import Datetime
from amqp_sansio.wire.field_tables import TableProfile

_PRINTED: Final = {"S": "text", "I": "int32", "D": "decimal", "T": "timestamp", "F": "table"}
_PRINTED_WRITTEN: Final[dict[type, str]] = {
    Datetime: "T", int: "I", str: "S", bytes: "S", Decimal: "D", Mapping: "F",
}  # fmt: skip

PROFILES: Final = {
    profile.name: profile
    for profile in (
        TableProfile("0-8", _PRINTED, _PRINTED_WRITTEN),
        TableProfile("0-9", _PRINTED, _PRINTED_WRITTEN),
        TableProfile(
            "0-9-1",
            {
                "t": "boolean", "b": "int8", "B": "uint8", "U": "int16", "u": "uint16", "I": "int32", "i": "uint32",
                "L": "int64", "l": "uint64", "f": "float", "d": "double", "D": "decimal", "s": "short-text", "S": "text",
                "A": "array", "T": "timestamp", "F": "table", "V": "void",
            },
            {
                bool: "t", Datetime: "T", int: "ILl", float: "d", Decimal: "D", str: "S", bytes: "S",
                Mapping: "F", list: "A", tuple: "A", type(None): "V",
            },
        ),
        TableProfile(
            "rabbitmq",
            {
                "t": "boolean", "b": "int8", "B": "uint8", "s": "int16", "u": "uint16", "I": "int32", "i": "uint32",
                "l": "int64", "L": "int64", "f": "float", "d": "double", "D": "decimal", "S": "text", "A": "array",
                "T": "timestamp", "F": "table", "V": "void", "x": "octets",
            },
            {
                bool: "t", Datetime: "T", int: "Il", float: "d", Decimal: "D", str: "S", bytes: "x",
                Mapping: "F", list: "A", tuple: "A", type(None): "V",
            },
        ),
    )
}  # fmt: skip
"""As the specifications print them (0-8, 0-9, 0-9-1), and as RabbitMQ uses them in all three versions."""
