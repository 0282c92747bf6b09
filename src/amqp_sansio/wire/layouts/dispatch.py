"""The edge around generated readers and writers: finds the right one and says what is wrong when it gives up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.values import NullStruct, UnknownStruct
from amqp_sansio.wire.encoding import encode_struct32
from amqp_sansio.wire.explain import UNWRITABLE, FieldTable, Shapes, read_slowly, unwritable
from amqp_sansio.wire.layouts.layout import (
    DecodeCommand,
    DecodeControl,
    EncodeCommand,
    EncodeControl,
    EncodeStruct,
)
from amqp_sansio.wire.octets import command_head, control_head, u16
from amqp_sansio.wire.reading import DEFAULT_READING, Reading
from amqp_sansio.wire.types import BAD, decode_struct32

ControlReader: TypeAlias = Callable[[bytes, int, int, int, Reading, int], Control]
CommandReader: TypeAlias = Callable[[bytes, int, int, int, Reading, int], Command]
"""(octets, offset of the first field, end, flags, reading, depth) -> the control or command."""
ControlWriter: TypeAlias = Callable[..., bytes]
CommandWriter: TypeAlias = Callable[..., bytes]
Fields: TypeAlias = dict[type, FieldTable]

_UNREADABLE: Final = (*BAD, DecodeError)


def control_decoder(
    readers: dict[int, ControlReader], names: dict[int, type[Control]], fields: Fields, shapes: Shapes
) -> DecodeControl:
    """`Layout.decode_control` over a table of readers."""

    def slowly(b: bytes, start: int, end: int, reading: Reading) -> Control:
        if end - start < 4:
            raise DecodeError("control", start, f"class, code and flags take 4 octets, {end - start} came", 501)
        key, flags = control_head(b, start)
        if key not in readers:
            raise DecodeError(f"control {key >> 8}.{key & 0xFF}", start, "no control has this class and code", 501)
        kind = names[key]
        try:
            return read_slowly(kind, kind.VERB, fields[kind], shapes, b, start + 4, end, flags, reading, False)
        except DecodeError as why:
            raise DecodeError(why.what, why.octet, why.rule, 501) from None

    def decode_control(b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING) -> Control:
        try:
            key, flags = control_head(b, start)
            read = readers.get(key)
            if read is not None:
                return read(b, start + 4, end, flags, reading, 0)
        except _UNREADABLE:
            pass
        return slowly(b, start, end, reading)

    return decode_control


def command_decoder(
    readers: dict[int, CommandReader], names: dict[int, type[Command]], fields: Fields, shapes: Shapes
) -> DecodeCommand:
    """`Layout.decode_command` over a table of readers."""

    def locate(b: bytes, start: int, end: int) -> tuple[int, int, int, bool]:
        """Class and code, flags, the offset of the first field, sync; for session headers of any size."""
        if end - start < 3:
            raise DecodeError("command", start, f"class, code and session header take 3 octets, {end - start} came")
        key = u16(b, start)[0]
        p = start + 3 + b[start + 2]
        if p > end:
            raise DecodeError("session.header", start + 2, f"its size, {b[start + 2]}, goes beyond the command")
        if key not in readers:
            raise DecodeError(f"command {key >> 8}.{key & 0xFF}", start, "no command has this class and code", 540)
        if p + 2 > end:
            raise DecodeError(names[key].VERB, p, f"flags take 2 octets, {end - p} are left")
        return key, u16(b, p)[0], p + 2, b[start + 2] > 0 and bool(b[start + 3] & 1)

    def slowly(b: bytes, start: int, end: int, reading: Reading) -> tuple[Command, bool]:
        key, flags, p, sync = locate(b, start, end)
        try:
            return readers[key](b, p, end, flags, reading, 0), sync
        except _UNREADABLE:
            kind = names[key]
            return read_slowly(kind, kind.VERB, fields[kind], shapes, b, p, end, flags, reading, False), sync

    def decode_command(b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING) -> tuple[Command, bool]:
        try:
            key, size, sync, flags = command_head(b, start)
            if size == 1:
                read = readers.get(key)
                if read is not None:
                    return read(b, start + 6, end, flags, reading, 0), sync & 1 == 1
        except _UNREADABLE:
            pass
        return slowly(b, start, end, reading)

    return decode_command


def decode_one_struct(b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING) -> Struct:
    """`Layout.decode_struct32`."""
    return decode_struct32(b, start, end, 0, reading)[0]


def control_encoder(writers: dict[type[Control], ControlWriter], fields: Fields, shapes: Shapes) -> EncodeControl:
    """`Layout.encode_control` over a table of writers."""

    def encode_control(control: Control) -> bytes:
        try:
            return writers[type(control)](control)
        except UNWRITABLE as why:
            kind = type(control)
            if kind not in writers:
                raise EncodeError(kind.__name__, "is no control of this layout") from None
            raise unwritable(kind.VERB, control, fields[kind], shapes, why) from None

    return encode_control


def command_encoder(writers: dict[type[Command], CommandWriter], fields: Fields, shapes: Shapes) -> EncodeCommand:
    """`Layout.encode_command` over a table of writers."""

    def encode_command(command: Command, sync: bool) -> bytes:
        try:
            return writers[type(command)](command, sync)
        except UNWRITABLE as why:
            kind = type(command)
            if kind not in writers:
                raise EncodeError(kind.__name__, "is no command of this layout") from None
            raise unwritable(kind.VERB, command, fields[kind], shapes, why) from None

    return encode_command


def struct_encoder(writers: dict[type[Struct], Callable[..., bytes]]) -> EncodeStruct:
    """`Layout.encode_struct32` over a table of writers."""

    def encode(struct: Struct) -> bytes:
        if type(struct) in writers or isinstance(struct, UnknownStruct | NullStruct):
            return encode_struct32(struct)
        raise EncodeError(type(struct).__name__, "has no code in this layout and cannot stand alone")

    return encode
