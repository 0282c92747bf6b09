"""Samples of everything: each control, command and struct of AMQP 0-10 with all its fields, with each alone, and with none."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, execution, message, session, values
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.values import Array, List, Map, NullMap, OpaqueValue, Value
from amqp_sansio.wire.layouts.fields import FIELDS
from amqp_sansio.wire.layouts.properties import write_properties
from amqp_sansio.wire.segments import frame_command, frame_control

LAYOUT: Final = AMQP_0_10.codec
CHANNEL: Final = 3
MAPPED: Final[tuple[Value, ...]] = (
    None,
    True,
    False,
    values.Int8(-3),
    values.Uint8(200),
    values.Int16(-300),
    values.Uint16(60_000),
    values.Int32(-70_000),
    values.Uint32(4_000_000_000),
    -(2**40),
    values.Uint64(2**63),
    values.Datetime(1_700_000_000),
    values.Float(2.5),
    1.5,
    values.Dec32("1.5"),
    Decimal("-1.25"),
    values.Char("x"),
    values.CharUtf32("€"),
    values.Bin8(b"b"),
    values.Bin16(b"b" * 2),
    values.Bin32(b"b" * 4),
    values.Bin64(b"b" * 8),
    values.Bin128(b"b" * 16),
    values.Bin40(b"b" * 5),
    values.Bin72(b"b" * 9),
    uuid.UUID(int=7),
    values.Str8("eight"),
    "sixteen",
    values.Str8Latin("latin"),
    values.Vbin8(b"octets"),
    b"octets",
    values.Vbin32(b"octets"),
    Map({"deep": Map({"deeper": "deepest"})}),
    NullMap(),
    List((1, "two")),
    Array(0x31, (1, 2)),
    dtx.XaResult(XaStatus.XA_OK),
)
"""Values for maps: one of each type."""
COMMANDS: Final = RangeSet.of(1, 2, 3, 7)
SAMPLES: Final[dict[str, Any]] = {
    "bit": True,
    "uint8": 1,
    "uint16": 2,
    "uint32": 70_003,
    "uint64": 2**40,
    "sequence-no": 5,
    "datetime": 1_700_000_000,
    "str8": "a short text",
    "str16": "a text",
    "vbin8": b"octets",
    "vbin16": b"name",
    "vbin32": b"more octets",
    "uuid": uuid.UUID(int=9),
    "map": {"key": "value", "yes": True},
    "texts": ("one", "two"),
    "array": Array(0xAB, (dtx.Xid(7, b"global", b"branch"),)),
    "sequence-set": COMMANDS,
    "byte-ranges": ((0, 5), (9, 12)),
    "struct32": dtx.XaResult(XaStatus.XA_RBTIMEOUT),
    "dtx.xid": dtx.Xid(7, b"global", b"branch"),
    "message.reply-to": message.ReplyTo("an exchange", "a key"),
}
"""A value of each type of field."""
UNCODED: Final = (message.ReplyTo, session.CommandFragment)
"""Structs that only occur as fields of others."""
NOT_SAID: Final = {"fragments"}
"""Types without a defined encoding."""


def frames() -> Iterator[bytes]:
    """Yields all of it, as the frames of one side."""
    for kind, fields in FIELDS.items():
        for chosen in _choices(fields):
            if issubclass(kind, Control):
                yield frame_control(CHANNEL, LAYOUT.encode_control(kind(*chosen)))
            elif issubclass(kind, Command):
                for sync in (False, True):
                    yield b"".join(frame_command(CHANNEL, LAYOUT.encode_command(kind(*chosen), sync)))
            elif issubclass(kind, Struct) and kind.NAME.endswith("-properties"):
                yield _transfer(LAYOUT.encode_struct32(kind(*chosen)))
            elif issubclass(kind, Struct) and kind not in UNCODED:
                result = execution.Result(5, kind(*chosen))
                yield b"".join(frame_command(CHANNEL, LAYOUT.encode_command(result, False)))
    for value in MAPPED:
        if not isinstance(value, OpaqueValue):
            yield _transfer(write_properties(application_headers={"key": value, "after": "it"}))


def _choices(fields: tuple[tuple[str, str], ...]) -> Iterator[list[Any]]:
    sampled = [None if kind in NOT_SAID else SAMPLES[kind] for _, kind in fields]
    yield sampled
    if fields:
        empty = [False if kind == "bit" else None for _, kind in fields]
        yield empty
        for index, value in enumerate(sampled):
            yield [*empty[:index], value, *empty[index + 1 :]]


def _transfer(header: bytes) -> bytes:
    command = LAYOUT.encode_command(message.Transfer("a queue", 0, 0), False)
    return b"".join(frame_command(CHANNEL, command, header, b"body"))
