"""The interface of a layout: the functions and tables that encode and decode one version of AMQP 0-10."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.value import Value
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.values import NullStruct, UnknownStruct
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.encoding import encode_struct32
from amqp_sansio.wire.field_interpreter import UNWRITABLE, unwritable
from amqp_sansio.wire.framing import COMMAND, Assembly
from amqp_sansio.wire.interpreter import FieldTable, Shapes, read_fields, write_fields
from amqp_sansio.wire.primitives import command_head, control_head, put_command_head, put_control_head, u16
from amqp_sansio.wire.reading import DEFAULT_READING, Reading
from amqp_sansio.wire.types import BAD, decode_struct32


class DecodeControl(Protocol):
    """Decodes a control; `reading` sets how tolerantly."""

    def __call__(self, b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING, /) -> Control: ...


class DecodeCommand(Protocol):
    """Decodes a command, and its sync bit; `reading` sets how tolerantly."""

    def __call__(self, b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING, /) -> tuple[Command, bool]: ...


class DecodeStruct(Protocol):
    """Decodes a whole struct32; `reading` sets how tolerantly."""

    def __call__(self, b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING, /) -> Struct: ...


class DecodeHeaders(Protocol):
    """Decodes the structs of a header segment; `reading` sets how tolerantly."""

    def __call__(self, b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING, /) -> tuple[Struct, ...]: ...


WalkHeaders: TypeAlias = Callable[[bytes, int, int, Limits], None]
EncodeControl: TypeAlias = Callable[[Control], bytes]
EncodeCommand: TypeAlias = Callable[[Command, bool], bytes]
EncodeStruct: TypeAlias = Callable[[Struct], bytes]


class Layout(Codec):
    """One encoding of AMQP 0-10.

    All decoders take the octets, the offset of the first octet and the offset after the last, and read nothing else; offsets in
    errors refer to the octets given.

    * `decode_control(b, start, end)`: from the class octet on.  DecodeError 501.
    * `decode_command(b, start, end)`: from the class octet on, with session.header; the bool is its sync bit.  DecodeError 503
      for what cannot be decoded, 531 for a value outside its type (text that is not UTF-8, a reversed range), 540 for an
      unknown command.
    * `decode_struct32(b, start, end)`: the whole struct, with its size.  `UnknownStruct` for unknown codes, `NullStruct` for
      size 0.
    * `walk_headers(b, start, end, limits)`: only sizes and codes of a header segment.  DecodeError 503.
    * `decode_headers(b, start, end)`: the structs of a header segment.  HeaderError for an invalid field.
    * `encode_control`, `encode_command(command, sync)`, `encode_struct32`: the reverse.  EncodeError.
    * `verb_of(kind, class_code, code)`: "message.transfer", or numbers for what has no name: "119.1", "connection.99".  The
      `kind` is "control", "command" or "struct".
    * `codes_of(thing)`: class code and code of a control, command or coded struct, or of its class.
    * `segments`: verbs whose commands may carry header and body segments.

    Decoding is tolerant: it does not enforce `required`, leaves undefined enumeration values as numbers, and ignores what has
    no meaning.  To detect that, a strict observer encodes the result again and compares: everything else comes back octet for
    octet.  Ignored are: octets after the last field of a control or command, or of a sized struct; undefined flags of a sized
    struct; a session.header of another size than 1, and its spare bits; the size 0 of a reply-to or xid field, which is decoded
    as one without fields; ranges of ids that are out of order, adjacent or overlapping; text decoded leniently.

    All decoders take a `Reading` as the last argument, with the limits and the tolerance: `Reading.of(limits)`.
    """

    __slots__ = (
        "_codes",
        "_names",
        "decode_command",
        "decode_control",
        "decode_headers",
        "decode_struct32",
        "encode_command",
        "encode_control",
        "encode_struct32",
        "segments",
        "walk_headers",
    )

    def __init__(
        self,
        name: str,
        decode_control: DecodeControl,
        decode_command: DecodeCommand,
        decode_struct32: DecodeStruct,
        walk_headers: WalkHeaders,
        decode_headers: DecodeHeaders,
        encode_control: EncodeControl,
        encode_command: EncodeCommand,
        encode_struct32: EncodeStruct,
        codes: dict[type[Control | Command | Struct], tuple[int, int]],
        classes: dict[int, str],
        segments: frozenset[str],
    ) -> None:
        super().__init__(name)
        self.decode_control: Final = decode_control
        self.decode_command: Final = decode_command
        self.decode_struct32: Final = decode_struct32
        self.walk_headers: Final = walk_headers
        self.decode_headers: Final = decode_headers
        self.encode_control: Final = encode_control
        self.encode_command: Final = encode_command
        self.encode_struct32: Final = encode_struct32
        self.segments: Final = segments
        self._codes: Final = codes
        self._names: Final = {("class", code, 0): class_name for code, class_name in classes.items()}
        for cls, (class_code, code) in codes.items():
            if issubclass(cls, Struct):
                self._names["struct", class_code, code] = cls.NAME
            else:
                self._names["control" if issubclass(cls, Control) else "command", class_code, code] = cls.VERB

    def read_control(self, unit: Assembly, reading: Reading) -> Control:
        return self.decode_control(unit.payload, 0, len(unit.payload), reading)

    def write_control(self, control: Control) -> bytes:
        return self.encode_control(control)

    def read_unit(self, unit: Assembly, reading: Reading = DEFAULT_READING) -> tuple[Value, bool]:
        if unit.kind == COMMAND:
            return self.decode_command(unit.payload, 0, len(unit.payload), reading)
        return self.read_control(unit, reading), False

    def said_in(self, unit: Assembly) -> str:
        kind, payload = "command" if unit.kind == COMMAND else "control", unit.payload
        return self.verb_of(kind, payload[0], payload[1]) if len(payload) > 1 else f"an empty {kind}"

    def carries(self, class_code: int, code: int) -> bool:
        return self.verb_of("command", class_code, code) in self.segments

    def verb_of(self, kind: str, class_code: int, code: int) -> str:
        """Returns the name of a control, command or struct, or numbers for an unknown one."""
        name = self._names.get((kind, class_code, code))
        return name if name is not None else f"{self._names.get(('class', class_code, 0), class_code)}.{code}"

    def codes_of(self, thing: Control | Command | Struct | type[Control | Command | Struct]) -> tuple[int, int]:
        """Returns class code and code.  Raises KeyError for a struct without a code (reply-to)."""
        return self._codes[thing if isinstance(thing, type) else type(thing)]

    def __repr__(self) -> str:
        return f"Layout({self.name!r})"


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
    """Builds `Layout.decode_control`, with the straight-line readers that exist."""
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
    """Builds `Layout.decode_command`, with the straight-line readers that exist."""
    names = {high << 8 | low: kind for kind, (high, low) in codes.items() if issubclass(kind, Command)}
    readers = {key: straight.get(key) or _interpreted(kind, kind.VERB, fields[kind], shapes) for key, kind in names.items()}

    def locate(b: bytes, start: int, end: int) -> tuple[int, int, int, bool]:
        """Returns class and code, flags, the offset of the first field, and sync, for session headers of any size."""
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
    """See `Layout.decode_struct32`."""
    return decode_struct32(b, start, end, 0, reading)[0]


def control_encoder(
    straight: dict[type[Control], ControlWriter], codes: Codes, fields: Fields, shapes: Shapes
) -> EncodeControl:
    """Builds `Layout.encode_control`, with the straight-line writers that exist."""
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
                raise EncodeError(kind.__name__, "is not a control of this layout") from None
            raise unwritable(kind.VERB, control, fields[kind], shapes, why) from None

    return encode_control


def command_encoder(
    straight: dict[type[Command], CommandWriter], codes: Codes, fields: Fields, shapes: Shapes
) -> EncodeCommand:
    """Builds `Layout.encode_command`, with the straight-line writers that exist."""
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
                raise EncodeError(kind.__name__, "is not a command of this layout") from None
            raise unwritable(kind.VERB, command, fields[kind], shapes, why) from None

    return encode_command


def struct_encoder(writers: dict[type[Struct], Callable[..., bytes]]) -> EncodeStruct:
    """Builds `Layout.encode_struct32` from a table of writers."""

    def encode(struct: Struct) -> bytes:
        if type(struct) in writers or isinstance(struct, UnknownStruct | NullStruct):
            return encode_struct32(struct)
        raise EncodeError(type(struct).__name__, "has no code in this layout and cannot stand alone")

    return encode
