"""Encodes and decodes one older dialect: its methods with their contents, and controls for those of class connection.

Methods on hot paths have straight-line code in their layout, which fails without a reason; all others use the interpreter.
What repeats between messages is encoded or decoded once: see `RepeatedDeliveries`, `RepeatedProperties` and `Publishing`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.errors.core import many
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Control, Method, Struct
from amqp_sansio.spec.connection import Heartbeat
from amqp_sansio.spec.methods import basic
from amqp_sansio.spec.methods.basic import Deliver, Properties, Publish
from amqp_sansio.wire.codec import DEFAULT_READING, ArgumentTable, Codec, FieldTypes, Reading
from amqp_sansio.wire.encoding import EMPTY_ARGUMENTS, FIELD_WRITERS, UNWRITABLE, put_short, unwritable
from amqp_sansio.wire.field_tables import FlatReader, TableProfile, TableReader
from amqp_sansio.wire.framing import Assembly
from amqp_sansio.wire.layouts.basic_properties import Beginning, read_basic_properties, write_basic_properties
from amqp_sansio.wire.method_frames import (
    CONTENT_BODY,
    CONTENT_HEADER,
    FRAME_END,
    HEADER_HEAD,
    OVERHEAD,
    frame_method,
    put_frame,
)
from amqp_sansio.wire.primitives import OCTET, put_u16, put_u32, put_u64, u16, u32, u64
from amqp_sansio.wire.types import (
    BAD,
    FIELD_READERS,
    FieldReader,
    FieldWriter,
    decode_error,
    missing,
)

ReadMethod: TypeAlias = Callable[[bytes, int, int, Reading], Method | None]
WriteMethod: TypeAlias = Callable[..., bytes]


def read_arguments(
    kind: Callable[..., T],
    what: str,
    arguments: ArgumentTable,
    b: bytes,
    p: int,
    end: int,
    reading: Reading,
    read_table: FieldReader | None = None,
) -> T:
    """Decodes a method whose arguments begin at `p` and end exactly at `end`.

    Consecutive bits share an octet, the first in its lowest bit, reserved ones included.  Unused bits and the values of
    reserved arguments are ignored.  `read_table` decodes field tables, which differ between dialects.  Raises DecodeError,
    which names the argument: 502, or 506 for one of our limits.
    """
    values: dict[str, object] = {}
    bit = 0  # the index of the next bit in the octet before `p`; 0 where a new octet begins
    for name, of, send in arguments:
        value: object
        if of == "bit":
            if bit == 0:
                if p >= end:
                    raise missing(f"{what}.{name}", p, end, code=502)
                p += 1
            value = b[p - 1] >> bit & 1 == 1
            bit = (bit + 1) % 8
        else:
            bit = 0
            try:
                if of == "table" and read_table is not None:
                    value, stop = read_table(b, p, end, reading, 0)
                else:
                    value, stop = FIELD_READERS[of](b, p, end, reading, 0)
            except DecodeError as why:
                entry = why.what.removeprefix("table") if of == "table" else ""
                raise DecodeError(
                    f"{what}.{name}{entry}", min(why.octet, end), why.rule, 506 if why.code == 506 else 502
                ) from None
            except BAD as why:
                if isinstance(why, UnicodeDecodeError):
                    raise DecodeError(f"{what}.{name}", p, decode_error(why, name, p).rule, 502) from None
                raise missing(f"{what}.{name}", p, end, code=502) from None
            if stop > end:
                raise missing(f"{what}.{name}", p, end, stop, 502)
            p = stop
        if send is None:
            values[name] = value
    if p < end:
        raise DecodeError(what, p, f"{many(end - p, 'octet stands', 'octets stand')} behind its last argument", 502)
    return kind(**values)


def write_arguments(what: str, thing: ValueObject, arguments: ArgumentTable, write_table: FieldWriter | None = None) -> bytes:
    """Encodes all arguments of a method.

    None (an argument that was not given, or that the version lacks) is sent as 0 or empty.  Raises one of
    `encoding.UNWRITABLE` for a value that its type cannot hold.
    """
    parts: list[bytes] = []
    bits = bit = 0
    for name, of, send in arguments:
        value = getattr(thing, name) if send is None else send
        if of == "bit":
            if value:
                bits |= 1 << bit
            bit += 1
            if bit == 8:
                parts.append(OCTET[bits])
                bits = bit = 0
            continue
        if bit:
            parts.append(OCTET[bits])
            bits = bit = 0
        if value is None:
            value = EMPTY_ARGUMENTS.get(of, 0)
        if of != "table" or write_table is None:
            parts.append(FIELD_WRITERS[of](value))
            continue
        try:
            parts.append(write_table(value))
        except EncodeError as why:
            raise EncodeError(f"{what}.{name}{why.what.removeprefix('table')}", why.rule) from None
    if bit:
        parts.append(OCTET[bits])
    return b"".join(parts)


def _no_flat(b: bytes, p: int, end: int) -> None:
    """The reader of flat tables where none may be read."""


T = TypeVar("T")

PER_WORD: Final = 15
"""Properties per word of flags, the first in its highest bit; the lowest bit says that another word follows."""


def read_properties(
    kind: Callable[..., T],
    what: str,
    properties: FieldTypes,
    b: bytes,
    p: int,
    end: int,
    reading: Reading = DEFAULT_READING,
    read_table: FieldReader | None = None,
) -> T:
    """Decodes the properties whose flags begin at `p` and that end exactly at `end`; an absent one is None.

    Raises DecodeError, which names the property: 502, also for undefined flags, or 506 for one of our limits.
    """
    there: list[tuple[str, str, object]] = []
    first, more = 0, True
    while more:
        if p + 2 > end:
            raise DecodeError(what, p, f"a word of flags takes 2 octets, {max(0, end - p)} are left", 502)
        flags = u16(b, p)[0]
        more = flags & 1 == 1
        for place in range(PER_WORD):
            if flags & 0x8000 >> place:
                if first + place >= len(properties):
                    raise DecodeError(what, p, f"flag {first + place} belongs to none of its {len(properties)} properties", 502)
                there.append((*properties[first + place], None))
        first += PER_WORD
        p += 2
        if more and first >= len(properties):
            raise DecodeError(what, p, f"its {len(properties)} properties have no further word of flags", 502)
    found = read_arguments(dict[str, object], what, tuple(there), b, p, end, reading, read_table)
    return kind(*[found.get(name) for name, _ in properties])


def write_properties(what: str, thing: ValueObject, properties: FieldTypes, write_table: FieldWriter | None = None) -> bytes:
    """Encodes all properties that are not None, after as many words of flags as they need, at least one.

    Raises one of `encoding.UNWRITABLE` for a value that its type cannot hold.
    """
    there: ArgumentTable = tuple([(name, of, None) for name, of in properties if getattr(thing, name) is not None])
    names = {name for name, _, _ in there}
    words = [0]
    for index, (name, _) in enumerate(properties):
        if name in names:
            while len(words) <= index // PER_WORD:
                words[-1] |= 1
                words.append(0)
            words[-1] |= 0x8000 >> index % PER_WORD
    return b"".join([put_u16(word) for word in words]) + write_arguments(what, thing, there, write_table)


PROPERTIES_AT: Final = HEADER_HEAD - 2
"""Where the flags of the properties begin in a content header."""

_LONGEST: Final = 16
"""The most characters of a method's name that contains numbers: "connection.65535"."""

PropertyTypes: TypeAlias = "Mapping[int, tuple[type[Struct], FieldTypes]]"
"""The properties of contents by class: the struct, and its names and types in order."""


class MethodCodec(Codec):
    """The codec of one dialect.

    `codes` maps each method, including those of class connection, to class and method number as one number of four octets,
    `arguments` to its arguments in order; `carrying` names the verbs that carry a content, and `classes` the classes, for
    unknown method numbers.  `profile` defines the letters of field tables.  Methods of class connection are controls, the same
    in all families.  `readers` and `writers` are straight-line code, possibly for methods that a variant lacks.
    """

    __slots__ = (
        "_carrying", "_classes", "_codes", "_numbers", "_readers", "_verbs", "_writers", "arguments", "basic", "carrying",
        "contents", "extended", "kinds", "profile", "read_table", "verbs", "write_flat", "write_table",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        codes: dict[type[Method] | type[Control], int],
        arguments: dict[type[Method] | type[Control], ArgumentTable],
        carrying: frozenset[str],
        contents: PropertyTypes,
        classes: Mapping[int, str],
        profile: TableProfile,
        readers: Mapping[int, ReadMethod] | None = None,
        writers: Mapping[type[Method] | type[Control], WriteMethod] | None = None,
    ) -> None:
        super().__init__(name)
        self.carrying: Final = carrying
        self.contents: Final = dict(contents)
        self.profile: Final = profile
        self.read_table: Final[TableReader] = profile.read
        """Decodes a field table by the dialect's profile; see `TableProfile.read`."""
        self.write_table: Final[Callable[[object], bytes]] = profile.write
        """Encodes a field table; see `TableProfile.write`."""
        self.write_flat: Final = profile.write_flat
        """Encodes a dict as a field table on the fast path; see `TableProfile.write_flat`."""
        self._codes: Final = codes
        self.arguments: Final = arguments
        self.kinds: Final[dict[int, type[Method] | type[Control]]] = {code: kind for kind, code in codes.items()}
        """The methods by class and method number, as one number of four octets."""
        self._readers: Final = {code: quick for code, quick in (readers or {}).items() if code in self.kinds}
        self._writers: Final = {kind: quick for kind, quick in (writers or {}).items() if kind in codes}
        self.basic: Final = next((put_u16(code) for code, (kind, _) in contents.items() if kind is basic.Properties), b"none")
        """The octets of the class whose properties have straight-line code."""
        self._classes: Final = dict(classes)
        self._verbs: Final = {code: kind.VERB for code, kind in self.kinds.items()}
        self.extended: Final = basic.Nack in arguments
        """Whether the dialect has RabbitMQ's extensions."""
        self._numbers: Final = {verb: (code >> 16, code & 0xFFFF) for code, verb in self._verbs.items()}
        self.verbs: Final = frozenset(self._verbs.values())
        """The methods of the dialect."""
        self._carrying: Final = frozenset([code for code, verb in self._verbs.items() if verb in carrying])

    def read_flat(self, reading: Reading) -> FlatReader:
        """Returns the reader of flat field tables; see `FlatTables.read`."""
        return _no_flat if reading.nesting < 1 else self.profile.read_flat

    def carries(self, class_code: int, code: int) -> bool:
        return class_code << 16 | code in self._carrying

    def numbers_of(self, verb: str) -> tuple[int, int] | None:
        """See `Codec.numbers_of`; also accepts a name from `verb_of` that contains numbers."""
        return self._numbers.get(verb) or self._unknown(verb)

    def _unknown(self, verb: str) -> tuple[int, int] | None:
        name, _, number = verb.partition(".")
        if not (number.isdecimal() and len(verb) <= _LONGEST):
            return None
        code = next((code for code, known in self._classes.items() if known == name), int(name) if name.isdecimal() else -1)
        return (code, int(number)) if code >= 0 else None

    def verb_at(self, class_code: int, code: int) -> str:
        return self.verb_of(put_u16(class_code) + put_u16(code)) if class_code or code else ""

    def code_of(self, error: DecodeError) -> int:
        return error.code

    def verb_in(self, unit: Assembly) -> str:
        return self.verb_of(unit.payload)

    def verb_of(self, payload: bytes) -> str:
        """Returns the name or numbers of a method: "basic.publish", "basic.9", "99.1"; an empty payload is a heartbeat."""
        if not payload:
            return Heartbeat.VERB
        if len(payload) < 4:
            return "?"
        code: int = u32(payload, 0)[0]
        name = self._verbs.get(code)
        return name or f"{self._classes.get(code >> 16, code >> 16)}.{code & 0xFFFF}"

    def read(self, payload: bytes, reading: Reading = DEFAULT_READING) -> Method | Control:
        """Decodes a method, or a control for one of class connection.

        Raises DecodeError, which names verb, argument and offset: 502 for arguments, 503 for an unknown class or method, 506
        for one of our limits.
        """
        end = len(payload)
        if end < 4:
            raise DecodeError("method", 0, f"class and method take 4 octets, {end} came", 502)
        code = u32(payload, 0)[0]
        quick = self._readers.get(code)
        if quick is not None:
            try:
                method = quick(payload, 4, end, reading)
            except BAD:
                method = None
            if method is not None:
                return method
        kind = self.kinds.get(code)
        if kind is None:
            raise DecodeError(f"method {code >> 16}.{code & 0xFFFF}", 0, "no method has this class and number", 503)
        made: ValueObject = read_arguments(kind, kind.VERB, self.arguments[kind], payload, 4, end, reading, self.read_table)
        assert isinstance(made, Method | Control)
        return made

    def encode(self, method: Method | Control) -> bytes:
        """Encodes a method with class and method number.  Raises EncodeError, which names the argument."""
        kind = type(method)
        quick = self._writers.get(kind)
        if quick is not None:
            try:
                return quick(method)
            except UNWRITABLE:
                pass  # the interpreter names the cause
        code = self._codes.get(kind)
        if code is None:
            raise EncodeError(kind.VERB or kind.__name__, f"is not a method of {self.name}")
        arguments = self.arguments[kind]
        try:
            return put_u32(code) + write_arguments(kind.VERB, method, arguments, self.write_table)
        except UNWRITABLE as why:
            said = tuple([(name, of) for name, of, send in arguments if send is None])
            raise unwritable(kind.VERB, method, said, {}, why) from None

    def read_properties(self, header: bytes, reading: Reading = DEFAULT_READING) -> Struct | None:
        """Decodes the properties in a content header; None for a class without contents, or too few octets for a class.

        Raises DecodeError.  `RepeatedProperties` is faster for a series of headers.
        """
        if header[:2] == self.basic:
            try:
                begin = Beginning(header, PROPERTIES_AT)
                properties = read_basic_properties(
                    header, begin, len(header), reading, self.read_table, self.read_flat(reading)
                )
                if properties is not None:
                    return properties
            except (DecodeError, *BAD):
                pass  # the interpreter names the cause
        held = self.contents.get(u16(header, 0)[0]) if len(header) > 1 else None
        if held is None:
            return None
        kind, fields = held
        return read_properties(kind, "header", fields, header, PROPERTIES_AT, len(header), reading, self.read_table)

    def write_header(self, class_code: int, size: int, properties: ValueObject) -> bytes:
        """Encodes the content header for a body of `size` octets.  Raises EncodeError, which names the property."""
        return put_u16(class_code) + b"\0\0" + put_u64(size) + self.write_properties(class_code, properties)

    def write_properties(self, class_code: int, properties: ValueObject) -> bytes:
        """Encodes the flags and properties of a content header.  Raises EncodeError as `write_header` does."""
        kind, fields = self.contents.get(class_code, (None, ()))
        if kind is not type(properties):
            raise EncodeError("content header", f"class {class_code} has no {type(properties).__name__}")
        try:
            return self._write_properties(properties, fields)
        except UNWRITABLE as why:
            raise unwritable("header", properties, fields, {}, why) from None

    def check_properties(self, class_code: int, octets: bytes, reading: Reading = DEFAULT_READING) -> None:
        """Raises EncodeError unless these are the flags and properties of a content of this class."""
        try:
            self.read_properties(put_u16(class_code) + bytes(PROPERTIES_AT - 2) + octets, reading)
        except DecodeError as error:
            rule = f"{error.rule}; `property_octets` of an event are right, its `header` has the class and the size, too"
            raise EncodeError(error.what, rule) from None

    def has_argument(self, kind: type[Method], name: str) -> bool:
        """Returns whether a method has an argument of this name in the dialect."""
        return any(each == name for each, _, _ in self.arguments[kind])

    @property
    def version(self) -> str:
        """The version that the dialect is an edition of."""
        return self.name.partition(" ")[0]

    def _write_properties(self, properties: ValueObject, fields: FieldTypes) -> bytes:
        if type(properties) is basic.Properties:
            try:
                return write_basic_properties(properties, self.write_table)
            except UNWRITABLE:
                pass  # the interpreter names the cause
        return write_properties("header", properties, fields, self.write_table)

    def read_control(self, unit: Assembly, reading: Reading = DEFAULT_READING) -> Control:
        """See `Codec`."""
        if not unit.payload:
            return Heartbeat()
        control = self.read(unit.payload, reading)
        if not isinstance(control, Control):
            raise DecodeError(control.VERB, 0, "is no method of class connection", 503)
        return control

    def read_unit(self, unit: Assembly, reading: Reading = DEFAULT_READING) -> tuple[ValueObject, bool]:
        """See `Codec`."""
        return (self.read(unit.payload, reading) if unit.payload else Heartbeat()), False

    def write_control(self, control: Control) -> bytes:
        """See `Codec`."""
        return b"" if isinstance(control, Heartbeat) else self.encode(control)


_DELIVER: Final = b"\x00\x3c\x00\x3c"
_TAG: Final = 5
"""Where the delivery tag is in a basic.deliver with an empty consumer tag."""


class RepeatedDeliveries:
    """Decodes methods as its codec does, but does not decode a basic.deliver again that only differs in its tag.

    Remembers `limits.cached_commands` of them; when there are more, it forgets all and starts over.
    """

    __slots__ = ("_known", "_limits", "_reading", "codec")

    def __init__(self, codec: MethodCodec, reading: Reading, limits: Limits) -> None:
        self.codec: Final = codec
        self._reading: Final = reading
        self._limits: Final = limits
        self._known: Final[dict[bytes, tuple[str, bool, str, str]]] = {}
        """Consumer tag, redelivered, exchange and routing key, by the octets without the tag."""

    @property
    def remembered(self) -> int:
        """The number of remembered deliveries."""
        return len(self._known)

    def read(self, payload: bytes) -> Method | Control:
        """Decodes a method with class and method number. Raises DecodeError as `MethodCodec.read` does."""
        if payload[:4] != _DELIVER or len(payload) < _TAG:
            return self.codec.read(payload, self._reading)
        at = _TAG + payload[4]
        key = payload[:at] + payload[at + 8 :]
        known = self._known.get(key)
        if known is not None:
            tag: int = u64(payload, at)[0]
            return Deliver(known[0], tag, known[1], known[2], known[3])
        method = self.codec.read(payload, self._reading)
        if isinstance(method, Deliver):
            if len(self._known) >= self._limits.cached_commands:
                self._known.clear()
            self._known[key] = method.consumer_tag, method.redelivered, method.exchange, method.routing_key
        return method


_MOST: Final = 256
"""The most beginnings remembered; when there are more, it forgets all and starts over."""


class RepeatedProperties:
    """Decodes the properties of content headers as its codec does.

    Keeps the properties of the last header, which are immutable, and, for each kind of message, the flags and the first
    properties, which tend to repeat.
    """

    __slots__ = ("_basic", "_begin", "_beginnings", "_codec", "_header", "_last", "_read_flat", "_read_table", "_reading")

    def __init__(self, codec: MethodCodec, reading: Reading) -> None:
        self._codec: Final = codec
        self._basic: Final = codec.basic
        self._reading: Final = reading
        self._read_table: Final = codec.read_table
        self._read_flat: Final = codec.read_flat(reading)
        self._header = b""
        self._last: Struct | None = None
        self._begin = Beginning(bytes(PROPERTIES_AT + 2), PROPERTIES_AT)
        """The first properties of the last header: nearly always, the next ones begin the same way."""
        self._beginnings: Final[dict[bytes, Beginning]] = {}
        """By the flags and the octet after them."""

    @property
    def remembered(self) -> int:
        """The number of remembered beginnings."""
        return len(self._beginnings)

    def read(self, header: bytes) -> Struct | None:
        """Does the same as `MethodCodec.read_properties`, including DecodeError."""
        if header == self._header:
            return self._last
        properties: Struct | None = None
        if header.startswith(self._basic):
            try:
                begin = self._begin
                if header[PROPERTIES_AT : begin.end] != begin.octets:
                    begin = self._another(header)
                properties = read_basic_properties(header, begin, len(header), self._reading, self._read_table, self._read_flat)
            except (DecodeError, *BAD):
                pass  # the codec names the cause
        if properties is None:
            properties = self._codec.read_properties(header, self._reading)
        self._header, self._last = header, properties
        return properties

    def _another(self, header: bytes) -> Beginning:
        """Returns the first properties of this header.  Raises one of `types.BAD` when the codec has to decode it."""
        key = header[PROPERTIES_AT : PROPERTIES_AT + 3]
        begin = self._beginnings.get(key)
        if begin is None or header[PROPERTIES_AT : begin.end] != begin.octets:
            begin = Beginning(header, PROPERTIES_AT)
            if len(self._beginnings) >= _MOST:
                self._beginnings.clear()
            self._beginnings[key] = begin
        self._begin = begin
        return begin


_CLASS: Final = 60
CLASS_AND_WEIGHT: Final = _CLASS << 16
_begin_header: Final = struct.Struct(">BH").pack
put_header: Final = struct.Struct(">IIQH").pack
"""The frame of a content header after its channel: size, class and weight, body size, flags."""
_put_header: Final = struct.Struct(">IIQ").pack
"""The same without the flags."""
_put_body: Final = struct.Struct(">BBH").pack
"""The end of that frame, and the head of a body frame up to its size."""
NO_PROPERTIES: Final = b"\0\0"
"""Flags without properties."""
END: Final = bytes([FRAME_END])


class Publishing:
    """Encodes publishes on a channel in frames of at most `max_frame` octets.

    Encodes the method's frame, and the header's up to its size, once for each exchange, key and flags, and keeps
    `limits.cached_commands` of them; encodes properties once for consecutive messages with the same (immutable) object.
    """

    __slots__ = (
        "_channel", "_codec", "_last", "_limits", "_max_frame", "_octets", "beginnings", "body_begins", "heads", "most",
        "write_flat", "write_table",
    )  # fmt: skip

    def __init__(self, codec: MethodCodec, channel: int, max_frame: int, limits: Limits) -> None:
        self._codec: Final = codec
        self._channel: Final = channel
        self._max_frame: Final = max_frame
        self.most: Final = max_frame - OVERHEAD
        """Payload octets of a frame."""
        self.body_begins: Final = _put_body(FRAME_END, CONTENT_BODY, channel)
        """The octets between the properties and the next frame's size."""
        self._limits: Final = limits
        self.heads: Final[dict[tuple[str, str, bool, bool, int], bytes]] = {}
        """What was encoded so far, by exchange, key, mandatory, immediate and ticket; `write` adds to it."""
        self.beginnings: Final[dict[tuple[str | None, str | None], tuple[int, bytes]]] = {}
        """What `begin` encoded so far, by content type and encoding, which come again with every message of a kind."""
        self._last: Properties | None = None
        self._octets = b""  # of the last properties
        self.write_table: Final = codec.write_table
        """Encodes a field table; see `TableProfile.write`."""
        self.write_flat: Final = codec.write_flat
        """Encodes a dict as a field table on the fast path; see `TableProfile.write_flat`."""

    @property
    def remembered(self) -> int:
        """The number of cached heads."""
        return len(self.heads)

    def begin(self, content_type: str | None, content_encoding: str | None) -> tuple[int, bytes]:
        """Returns the flags of the first two properties, and encodes them.  Raises one of `encoding.UNWRITABLE`."""
        flags, octets = 0, b""
        if content_type is not None:
            flags, octets = 0x8000, put_short(content_type)
        if content_encoding is not None:
            flags, octets = flags | 0x4000, octets + put_short(content_encoding)
        if len(self.beginnings) >= self._limits.cached_commands:
            self.beginnings.clear()
        self.beginnings[content_type, content_encoding] = flags, octets
        return flags, octets

    def flags_of(self, properties: Properties) -> bytes:
        """Encodes the flags and properties.  Raises EncodeError as `MethodCodec.write_properties` does."""
        if properties is not self._last:
            self._octets = self._codec.write_properties(_CLASS, properties)
            self._last = properties
        return self._octets

    def write(
        self,
        exchange: str,
        routing_key: str,
        flags: bytes,
        body: bytes,
        mandatory: bool = False,
        immediate: bool = False,
        ticket: int = 0,
    ) -> bytes:
        """Encodes a message; `flags` are the encoded properties.

        Raises EncodeError, which names what cannot be encoded or does not fit into a frame.
        """
        method = self.heads.get((exchange, routing_key, mandatory, immediate, ticket))
        if method is None:
            method = self._remember(exchange, routing_key, mandatory, immediate, ticket)
        size, header, most = len(body), PROPERTIES_AT + len(flags), self.most
        if header > most:
            raise EncodeError("header", f"a frame of at most {self._max_frame} octets, not {header + OVERHEAD}")
        head = _put_header(header, CLASS_AND_WEIGHT, size)
        if not size:
            return b"".join((method, head, flags, END))
        if size <= most:
            return b"".join((method, head, flags, self.body_begins, put_u32(size), body, END))
        frames = [put_frame(CONTENT_BODY, self._channel, body[at : at + most]) for at in range(0, size, most)]
        return b"".join([method, head, flags, END, *frames])

    def _remember(self, exchange: str, routing_key: str, mandatory: bool, immediate: bool, ticket: int) -> bytes:
        publish = Publish(exchange, routing_key, mandatory, immediate, ticket)
        method = frame_method(self._channel, self._codec.encode(publish), self._max_frame)
        method += _begin_header(CONTENT_HEADER, self._channel)
        if len(self.heads) >= self._limits.cached_commands:
            self.heads.clear()
        self.heads[exchange, routing_key, mandatory, immediate, ticket] = method
        return method
