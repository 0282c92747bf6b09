"""The edge around readers and writers: straight-line code where a verb has some, else the interpreter of its fields.

The interpreter also says what is wrong where straight-line code gives up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.values import NullStruct, UnknownStruct
from amqp_sansio.wire.encoding import encode_struct32
from amqp_sansio.wire.explain import UNWRITABLE, unwritable
from amqp_sansio.wire.interpreter import FieldTable, Shapes, read_fields, write_fields
from amqp_sansio.wire.layouts.layout import (
    DecodeCommand,
    DecodeControl,
    EncodeCommand,
    EncodeControl,
    EncodeStruct,
)
from amqp_sansio.wire.octets import command_head, control_head, put_command_head, put_control_head, u16
from amqp_sansio.wire.reading import DEFAULT_READING, Reading
from amqp_sansio.wire.types import BAD, decode_struct32

ControlReader: TypeAlias = Callable[[bytes, int, int, int, Reading, int], Control]
CommandReader: TypeAlias = Callable[[bytes, int, int, int, Reading, int], Command]
"""(octets, offset of the first field, end, flags, reading, depth) -> the control or command."""
ControlWriter: TypeAlias = Callable[..., bytes]
CommandWriter: TypeAlias = Callable[..., bytes]
Fields: TypeAlias = dict[type, FieldTable]
Codes: TypeAlias = dict[type[Control | Command | Struct], tuple[int, int]]

_UNREADABLE: Final = (*BAD, DecodeError)

T = TypeVar("T")


def _interpreted(kind: Callable[..., T], verb: str, fields: FieldTable, shapes: Shapes) -> Callable[..., T]:
    def read(b: bytes, p: int, end: int, flags: int, reading: Reading, depth: int) -> T:
        return read_fields(kind, verb, fields, shapes, b, p, end, flags, reading, False)

    return read


def _control_writer(key: int, fields: FieldTable, shapes: Shapes) -> ControlWriter:
    def write(control: Control) -> bytes:
        flags, content = write_fields(control, fields, shapes)
        return put_control_head(key, flags) + content

    return write


def _command_writer(key: int, fields: FieldTable, shapes: Shapes) -> CommandWriter:
    def write(command: Command, sync: bool) -> bytes:
        flags, content = write_fields(command, fields, shapes)
        return put_command_head(key, 1, sync, flags) + content

    return write


def control_decoder(straight: dict[int, ControlReader], codes: Codes, fields: Fields, shapes: Shapes) -> DecodeControl:
    """`Layout.decode_control`: by straight-line readers where there are some."""
    names = {high << 8 | low: kind for kind, (high, low) in codes.items() if issubclass(kind, Control)}
    readers = {key: straight.get(key) or _interpreted(kind, kind.VERB, fields[kind], shapes) for key, kind in names.items()}

    def slowly(b: bytes, start: int, end: int, reading: Reading) -> Control:
        if end - start < 4:
            raise DecodeError("control", start, f"class, code and flags take 4 octets, {end - start} came", 501)
        key, flags = control_head(b, start)
        if key not in readers:
            raise DecodeError(f"control {key >> 8}.{key & 0xFF}", start, "no control has this class and code", 501)
        kind = names[key]
        try:
            return read_fields(kind, kind.VERB, fields[kind], shapes, b, start + 4, end, flags, reading, False)
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


def command_decoder(straight: dict[int, CommandReader], codes: Codes, fields: Fields, shapes: Shapes) -> DecodeCommand:
    """`Layout.decode_command`: by straight-line readers where there are some."""
    names = {high << 8 | low: kind for kind, (high, low) in codes.items() if issubclass(kind, Command)}
    readers = {key: straight.get(key) or _interpreted(kind, kind.VERB, fields[kind], shapes) for key, kind in names.items()}

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
            return read_fields(kind, kind.VERB, fields[kind], shapes, b, p, end, flags, reading, False), sync

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


def control_encoder(
    straight: dict[type[Control], ControlWriter], codes: Codes, fields: Fields, shapes: Shapes
) -> EncodeControl:
    """`Layout.encode_control`: by straight-line writers where there are some."""
    writers = {
        kind: straight.get(kind) or _control_writer(high << 8 | low, fields[kind], shapes)
        for kind, (high, low) in codes.items()
        if issubclass(kind, Control)
    }

    def encode_control(control: Control) -> bytes:
        try:
            return writers[type(control)](control)
        except UNWRITABLE as why:
            kind = type(control)
            if kind not in writers:
                raise EncodeError(kind.__name__, "is no control of this layout") from None
            raise unwritable(kind.VERB, control, fields[kind], shapes, why) from None

    return encode_control


def command_encoder(
    straight: dict[type[Command], CommandWriter], codes: Codes, fields: Fields, shapes: Shapes
) -> EncodeCommand:
    """`Layout.encode_command`: by straight-line writers where there are some."""
    writers = {
        kind: straight.get(kind) or _command_writer(high << 8 | low, fields[kind], shapes)
        for kind, (high, low) in codes.items()
        if issubclass(kind, Command)
    }

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
