"""The layout of a version of AMQP 0-10: encodes and decodes controls, commands and structs, and header segments of structs.

A header segment is consecutive structs, without a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError, EncodeError, HeaderError
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.spec.values import NullStruct, UnknownStruct
from amqp_sansio.wire.codec import DEFAULT_READING, Codec, FieldTypes, InnerStructs, Reading
from amqp_sansio.wire.encoding import UNWRITABLE, encode_struct32, unwritable, write_fields
from amqp_sansio.wire.framing import COMMAND, Assembly
from amqp_sansio.wire.layouts.structs import (
    DECODERS,
    WRITERS,
    read_message_delivery_properties,
    read_message_message_properties,
)
from amqp_sansio.wire.primitives import command_head, control_head, put_command_head, put_control_head, struct_head, u16, u32
from amqp_sansio.wire.types import BAD, decode_struct32, read_fields

ControlReader: TypeAlias = Callable[[bytes, int, int, int, Reading, int], Control]
CommandReader: TypeAlias = Callable[[bytes, int, int, int, Reading, int], Command]
"""(octets, offset of the first field, end, flags, reading, depth) -> the control or command."""
ControlWriter: TypeAlias = Callable[..., bytes]
CommandWriter: TypeAlias = Callable[..., bytes]
Codes: TypeAlias = dict[type[Control | Command | Struct], tuple[int, int]]

_UNREADABLE: Final = (*BAD, DecodeError)

T = TypeVar("T")


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

    The readers and writers given are straight-line code; verbs without are read and written from the table of their fields.
    """

    __slots__ = (
        "_codes", "_command_keys", "_command_readers", "_command_writers", "_commands", "_control_keys", "_control_readers",
        "_control_writers", "_controls", "_fields", "_names", "_shapes", "decode_headers", "segments", "walk_headers",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        control_readers: dict[int, ControlReader],
        command_readers: dict[int, CommandReader],
        control_writers: dict[type[Control], ControlWriter],
        command_writers: dict[type[Command], CommandWriter],
        fields: dict[type, FieldTypes],
        shapes: InnerStructs,
        codes: Codes,
        classes: dict[int, str],
        segments: frozenset[str],
    ) -> None:
        super().__init__(name)
        self.walk_headers: Final = walk_headers  # attributes, because a method would be one more call for each message
        self.decode_headers: Final = decode_headers
        self.segments: Final = segments
        self._control_readers: Final = control_readers
        self._command_readers: Final = command_readers
        self._control_writers: Final = control_writers
        self._command_writers: Final = command_writers
        self._fields: Final = fields
        self._shapes: Final = shapes
        self._codes: Final = codes
        self._names: Final = {("class", code, 0): class_name for code, class_name in classes.items()}
        self._controls: Final[dict[int, type[Control]]] = {}
        """By class and code as one number, like `_commands`."""
        self._commands: Final[dict[int, type[Command]]] = {}
        for kind, (high, low) in codes.items():
            if issubclass(kind, Struct):
                self._names["struct", high, low] = kind.NAME
            elif issubclass(kind, Control):
                self._names["control", high, low] = kind.VERB
                self._controls[high << 8 | low] = kind
            else:
                self._names["command", high, low] = kind.VERB
                self._commands[high << 8 | low] = kind
        self._control_keys: Final[dict[type, int]] = {kind: key for key, kind in self._controls.items()}
        self._command_keys: Final[dict[type, int]] = {kind: key for key, kind in self._commands.items()}

    def decode_control(self, b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING) -> Control:
        """See the class."""
        try:
            key, flags = control_head(b, start)
            read = self._control_readers.get(key)
            if read is not None:
                return read(b, start + 4, end, flags, reading, 0)
        except _UNREADABLE:
            pass  # what follows finds the reason
        if end - start < 4:
            raise DecodeError("control", start, f"class, code and flags take 4 octets, {end - start} came", 501)
        key, flags = control_head(b, start)
        kind = self._controls.get(key)
        if kind is None:
            raise DecodeError(f"control {key >> 8}.{key & 0xFF}", start, "no control has this class and code", 501)
        try:
            made: Control = read_fields(
                kind, kind.VERB, self._fields[kind], self._shapes, b, start + 4, end, flags, reading, False
            )
        except DecodeError as why:
            raise DecodeError(why.what, why.octet, why.rule, 501) from None
        return made

    def decode_command(self, b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING) -> tuple[Command, bool]:
        """See the class."""
        try:
            key, size, sync, flags = command_head(b, start)
            if size == 1:
                read = self._command_readers.get(key)
                if read is not None:
                    return read(b, start + 6, end, flags, reading, 0), sync & 1 == 1
        except _UNREADABLE:
            pass
        return self._decode_slowly(b, start, end, reading)

    def _decode_slowly(self, b: bytes, start: int, end: int, reading: Reading) -> tuple[Command, bool]:
        """Decodes any command, whose session header may have any size, or finds the reason why not."""
        if end - start < 3:
            raise DecodeError("command", start, f"class, code and session header take 3 octets, {end - start} came")
        key = u16(b, start)[0]
        p = start + 3 + b[start + 2]
        if p > end:
            raise DecodeError("session.header", start + 2, f"its size, {b[start + 2]}, goes beyond the command")
        kind = self._commands.get(key)
        if kind is None:
            raise DecodeError(f"command {key >> 8}.{key & 0xFF}", start, "no command has this class and code", 540)
        if p + 2 > end:
            raise DecodeError(kind.VERB, p, f"flags take 2 octets, {end - p} are left")
        flags, sync = u16(b, p)[0], b[start + 2] > 0 and bool(b[start + 3] & 1)
        made: Command = read_fields(kind, kind.VERB, self._fields[kind], self._shapes, b, p + 2, end, flags, reading, False)
        return made, sync

    def decode_struct32(self, b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING) -> Struct:
        """See the class."""
        return decode_struct32(b, start, end, 0, reading)[0]

    def encode_control(self, control: Control) -> bytes:
        """See the class."""
        try:
            write = self._control_writers.get(type(control))
            if write is not None:
                return write(control)
            key = self._control_keys[type(control)]
            flags, content = write_fields(control, self._fields[type(control)], self._shapes)
            return put_control_head(key, flags) + content
        except UNWRITABLE as why:
            kind = type(control)
            if kind not in self._control_keys:
                raise EncodeError(kind.__name__, "is not a control of this layout") from None
            raise unwritable(kind.VERB, control, self._fields[kind], self._shapes, why) from None

    def encode_command(self, command: Command, sync: bool) -> bytes:
        """See the class."""
        try:
            write = self._command_writers.get(type(command))
            if write is not None:
                return write(command, sync)
            key = self._command_keys[type(command)]
            flags, content = write_fields(command, self._fields[type(command)], self._shapes)
            return put_command_head(key, 1, sync, flags) + content
        except UNWRITABLE as why:
            kind = type(command)
            if kind not in self._command_keys:
                raise EncodeError(kind.__name__, "is not a command of this layout") from None
            raise unwritable(kind.VERB, command, self._fields[kind], self._shapes, why) from None

    def encode_struct32(self, struct: Struct) -> bytes:
        """See the class."""
        if type(struct) in self._codes or isinstance(struct, UnknownStruct | NullStruct):
            return encode_struct32(struct)
        raise EncodeError(type(struct).__name__, "has no code in this layout and cannot stand alone")

    def read_control(self, unit: Assembly, reading: Reading) -> Control:
        return self.decode_control(unit.payload, 0, len(unit.payload), reading)

    def write_control(self, control: Control) -> bytes:
        return self.encode_control(control)

    def read_unit(self, unit: Assembly, reading: Reading = DEFAULT_READING) -> tuple[ValueObject, bool]:
        if unit.kind == COMMAND:
            return self.decode_command(unit.payload, 0, len(unit.payload), reading)
        return self.read_control(unit, reading), False

    def verb_in(self, unit: Assembly) -> str:
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


HEADER_WRITERS: Final[dict[type, Callable[..., bytes]]] = {
    kind: WRITERS[kind] for kind in (DeliveryProperties, MessageProperties)
}
"""Fast writers for what a message nearly always carries; they raise one of `encoding.UNWRITABLE`."""


def walk_headers(b: bytes, start: int, end: int, limits: Limits) -> None:
    """Checks that b[start:end] is a sequence of structs with valid sizes and codes; does not look inside them.

    Raises DecodeError: 503 with the index of the struct, from 0, or 506 for the limit `header_octets` or `header_structs`.
    """
    p = start
    count = 0
    while p < end:
        if end - p < 4:
            raise DecodeError(f"header struct {count}", p, f"its size takes 4 octets, {end - p} are left")
        size = u32(b, p)[0]
        if size == 1:
            raise DecodeError(f"header struct {count}", p, "a struct of any size but 0 begins with its class and code")
        p += 4 + size
        if p > end:
            raise DecodeError(f"header struct {count}", p - 4 - size, f"its size, {size}, goes beyond the segment")
        count += 1
    if count > limits.header_structs:
        raise DecodeError("header segment", start, f"limit header_structs is {limits.header_structs}; {count} came", 506)
    if end - start > limits.header_octets:
        raise DecodeError("header segment", start, f"limit header_octets is {limits.header_octets}; {end - start} came", 506)


def decode_headers(b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING) -> tuple[Struct, ...]:
    """Decodes the structs of a header segment in order, including unknown and repeated ones.

    Raises HeaderError (503) for an unreadable field, and for what `walk_headers` would have refused.
    """
    try:  # nearly always one or two known structs, whose readers refuse sizes that are too small
        size, key, flags = struct_head(b, start)
        middle = start + 4 + size
        if middle == end:
            return (DECODERS[key](b, start + 8, end, flags, reading, 0),)
        size, second, more = struct_head(b, middle)
        if middle + 4 + size == end:
            if key == _DELIVERY and second == _MESSAGE:  # skips the table lookup
                delivery = read_message_delivery_properties(b, start + 8, middle, flags, reading, 0)
                return delivery, read_message_message_properties(b, middle + 8, end, more, reading, 0)
            decode = DECODERS[second]
            return DECODERS[key](b, start + 8, middle, flags, reading, 0), decode(b, middle + 8, end, more, reading, 0)
    except (KeyError, *BAD, DecodeError):
        pass  # the slow path decodes it, or reports the exact error
    return _slowly(b, start, end, reading)


def _slowly(b: bytes, start: int, end: int, reading: Reading) -> tuple[Struct, ...]:
    structs: list[Struct] = []
    p = start
    try:
        while p < end:
            struct, p = decode_struct32(b, p, end, 0, reading)
            structs.append(struct)
        return tuple(structs)
    except DecodeError as why:
        raise HeaderError(why.what, why.octet, why.rule, 503) from None


_DELIVERY: Final = next(key for key, decode in DECODERS.items() if decode is read_message_delivery_properties)
_MESSAGE: Final = next(key for key, decode in DECODERS.items() if decode is read_message_message_properties)
# The fields that differ between messages have fixed widths and precede those of variable width.
_PRIORITY, _MODE, _TTL, _TIMESTAMP, _EXPIRATION = 0x0800, 0x1000, 0x2000, 0x4000, 0x8000
_LENGTH, _ID = 0x0100, 0x0200


def masked(header: bytes) -> tuple[bytes, bytes | None, int, int]:
    """Returns a walked header segment without what differs between similar messages, its message-id, and two offsets.

    Leaves out timestamp and expiration of delivery properties that come first, and content-length and message-id of message
    properties that come first or second.  The message-id is None when it is not left out.  If two headers are equal without
    these, either both can be decoded or neither.  The offsets are those of the first octet left out and of the message-id; 0, 0
    when there is no message-id, or something before it is left out as well.
    """
    size, key, flags = struct_head(header, 0)
    at = 4 + size
    start, rest = b"", 0
    if key == _DELIVERY and at <= len(header):
        if flags & (_TIMESTAMP | _EXPIRATION):
            low = 8 + (flags & _PRIORITY and 1) + (flags & _MODE and 1) + (flags & _TTL and 8)
            high = low + (flags & _TIMESTAMP and 8) + (flags & _EXPIRATION and 8)
            if high > at:
                return header, None, 0, 0
            start, rest = header[:low], high
        if at + 8 > len(header):
            return (start + header[rest:] if rest else header), None, 0, 0
        size, key, flags = struct_head(header, at)
    elif at < len(header) and struct_head(header, at)[1] != _DELIVERY:
        return header, None, 0, 0
    else:
        at = 0
    if key != _MESSAGE or not flags & _ID:
        return (start + header[rest:] if rest else header), None, 0, 0
    low = at + (16 if flags & _LENGTH else 8)
    high = low + 16
    if high > at + 4 + size:
        return header, None, 0, 0
    begin = 0 if rest else at + 8
    return start + header[rest : at + 8] + header[high:], header[low:high], begin, low if begin else 0


def encode_headers(structs: Iterable[Struct]) -> bytes:
    """Encodes a header segment of these structs.  Raises EncodeError."""
    return b"".join([encode_struct32(struct) for struct in structs])


REMEMBERED: Final = 1024
"""How many headers are remembered by what they share with others."""
REMEMBERED_OCTETS: Final = 512
"""The largest header, in octets, that is remembered."""


Sift: TypeAlias = Callable[[tuple[Struct, ...]], tuple[T, bytes | None]]
"""Extracts what the caller wants from the structs of a header, and the message-id; must ignore times and lengths."""


class HeaderDecoder(Generic[T]):
    """Decodes headers; those that only differ in message-id, times and content-length are decoded once."""

    __slots__ = ("_last", "_reading", "_remembered", "sift")

    def __init__(self, reading: Reading, sift: Sift[T]) -> None:
        self._reading: Final = reading
        self.sift: Final = sift
        self._remembered: dict[bytes, tuple[T, bytes | None]] = {}
        self._last: tuple[int, int, bytes, int, bytes, T] | None = None
        """The last header decoded.

        Its size, where the variable part begins, what precedes it, where its message-id is, what follows that, and the result.
        """

    def read(self, header: bytes) -> tuple[T, bytes | None] | None:
        """Returns what `sift` extracts from a header, and its message-id; None when it cannot be decoded."""
        last = self._last
        if last is not None:  # nearly always, the previous one differs in nothing else
            size, begin, before, low, behind, said = last
            if len(header) == size and header[:begin] == before and header[low + 16 :] == behind:
                return said, header[low : low + 16]
        key, id, begin, low = masked(header)
        found = self._remembered.get(key)
        if found is None:
            try:
                found = self.sift(decode_headers(header, 0, len(header), self._reading))
            except DecodeError:
                return None
            if len(key) <= REMEMBERED_OCTETS:
                if len(self._remembered) >= REMEMBERED:
                    self._remembered.clear()
                self._remembered[key] = found
        if id is None:
            return found
        if begin:
            self._last = len(header), begin, header[:begin], low, header[low + 16 :], found[0]
        return found[0], id
