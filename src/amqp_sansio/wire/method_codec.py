"""Encodes and decodes one older dialect: methods with their contents, and controls for those of class connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.base import Control, Method, Struct
from amqp_sansio.spec.connection import Heartbeat
from amqp_sansio.spec.methods import basic
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.field_interpreter import UNWRITABLE, unwritable
from amqp_sansio.wire.framing import Assembly
from amqp_sansio.wire.interpreter import ArgumentTable, FieldReader, FieldTable, FieldWriter, read_arguments, write_arguments
from amqp_sansio.wire.layouts.basic_properties import Beginning, read_basic_properties, write_basic_properties
from amqp_sansio.wire.layouts.methods import Methods
from amqp_sansio.wire.method_frames import HEADER_HEAD
from amqp_sansio.wire.primitives import put_u16, put_u64, u16, u32
from amqp_sansio.wire.reading import DEFAULT_READING, Reading
from amqp_sansio.wire.types import BAD

T = TypeVar("T")

PER_WORD: Final = 15
"""Properties per word of flags, the first in its highest bit; the lowest bit says that another word follows."""


def read_properties(
    kind: Callable[..., T],
    what: str,
    properties: FieldTable,
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


def write_properties(what: str, thing: Value, properties: FieldTable, write_table: FieldWriter | None = None) -> bytes:
    """Encodes all properties that are not None, after as many words of flags as they need, at least one.

    Raises one of `field_interpreter.UNWRITABLE` for a value that its type cannot hold.
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

Contents: TypeAlias = "Mapping[int, tuple[type[Struct], FieldTable]]"
"""The properties of contents by class: the struct, and its names and types in order."""


class MethodCodec(Codec):
    """The codec of one dialect.

    `methods` has all its methods, including those of class connection; `classes` names its classes, for unknown method numbers.
    """

    __slots__ = ("_carrying", "_classes", "_numbers", "_verbs", "basic", "contents", "extended", "methods", "verbs")

    def __init__(self, name: str, methods: Methods, contents: Contents, classes: Mapping[int, str]) -> None:
        super().__init__(name)
        self.methods: Final = methods
        self.contents: Final = dict(contents)
        self.basic: Final = next((put_u16(code) for code, (kind, _) in contents.items() if kind is basic.Properties), b"none")
        """The octets of the class whose properties have straight-line code."""
        self._classes: Final = dict(classes)
        self._verbs: Final = {code: kind.VERB for code, kind in methods.kinds.items()}
        self.extended: Final = basic.Nack in methods.arguments
        """Whether the dialect has RabbitMQ's extensions."""
        self._numbers: Final = {verb: (code >> 16, code & 0xFFFF) for code, verb in self._verbs.items()}
        self.verbs: Final = frozenset(self._verbs.values())
        """The methods of the dialect."""
        self._carrying: Final = frozenset([code for code, verb in self._verbs.items() if verb in methods.contents])

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

    def said_in(self, unit: Assembly) -> str:
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

        Raises DecodeError: 502 for arguments, 503 for an unknown method, 506 for one of our limits.
        """
        return self.methods.decode(payload, 0, len(payload), reading)

    def read_properties(self, header: bytes, reading: Reading = DEFAULT_READING) -> Struct | None:
        """Decodes the properties in a content header; None for a class without contents, or too few octets for a class.

        Raises DecodeError.  `RepeatedProperties` is faster for a series of headers.
        """
        if header[:2] == self.basic:
            try:
                begin = Beginning(header, PROPERTIES_AT)
                properties = read_basic_properties(
                    header, begin, len(header), reading, self.methods.read_table, self.methods.read_flat(reading)
                )
                if properties is not None:
                    return properties
            except (DecodeError, *BAD):
                pass  # the interpreter names the cause
        held = self.contents.get(u16(header, 0)[0]) if len(header) > 1 else None
        if held is None:
            return None
        kind, fields = held
        return read_properties(kind, "header", fields, header, PROPERTIES_AT, len(header), reading, self.methods.read_table)

    def write_header(self, class_code: int, size: int, properties: Value) -> bytes:
        """Encodes the content header for a body of `size` octets.  Raises EncodeError, which names the property."""
        return put_u16(class_code) + b"\0\0" + put_u64(size) + self.write_properties(class_code, properties)

    def write_properties(self, class_code: int, properties: Value) -> bytes:
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
            raise EncodeError(error.what, error.rule) from None

    def has_argument(self, kind: type[Method], name: str) -> bool:
        """Returns whether a method has an argument of this name in the dialect."""
        return any(each == name for each, _, _ in self.methods.arguments[kind])

    @property
    def version(self) -> str:
        """The version that the dialect is an edition of."""
        return self.name.partition(" ")[0]

    def _write_properties(self, properties: Value, fields: FieldTable) -> bytes:
        if type(properties) is basic.Properties:
            try:
                return write_basic_properties(properties, self.methods.write_table)
            except UNWRITABLE:
                pass  # the interpreter names the cause
        return write_properties("header", properties, fields, self.methods.write_table)

    def read_control(self, unit: Assembly, reading: Reading = DEFAULT_READING) -> Control:
        """See `Codec`."""
        if not unit.payload:
            return Heartbeat()
        control = self.read(unit.payload, reading)
        if not isinstance(control, Control):
            raise DecodeError(control.VERB, 0, "is no method of class connection", 503)
        return control

    def read_unit(self, unit: Assembly, reading: Reading = DEFAULT_READING) -> tuple[Value, bool]:
        """See `Codec`."""
        return (self.read(unit.payload, reading) if unit.payload else Heartbeat()), False

    def write_control(self, control: Control) -> bytes:
        """See `Codec`."""
        return b"" if isinstance(control, Heartbeat) else self.methods.encode(control)
