"""Encodes journal entries and snapshots: an envelope around one map of AMQP 0-10.

The envelope is the kind (4 octets), the version (2), the length of the encoded map (8) and a checksum of all that and the map
(CRC-32, 4).  So the reader recognises truncated, misplaced or damaged data, and other versions.  It never unpickles anything.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, get_args, get_origin, get_type_hints

from amqp_sansio.broker.journal import OPERATIONS, BranchPrepared, Entry, MessageStored, Operation
from amqp_sansio.errors import AmqpError, RestoreError
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.spec.values import List, Map, Value
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.encoding import encode_map
from amqp_sansio.wire.types import decode_map

VERSION: Final = 3
"""The version of the format of entries and snapshots.  Any change of the format gets a new one."""
FORMER_VERSIONS: Final = (1, 2)
"""Earlier versions that can be read.

Version 1 lacks the `form` of a stored message, then `journal.FIRST_FORM`; both lack the identity that began a prepared branch.
"""
ENTRY: Final = b"ENTR"
SNAPSHOT: Final = b"SNAP"

_HEAD: Final = struct.Struct(">4sHQ")
_SUM: Final = struct.Struct(">I")
DEEPER: Final = 64
"""Extra levels of nesting: our own around clients' values, and those of a broker whose limit exceeds the default."""
READING: Final = Reading(nesting=DEFAULT_READING.nesting + DEEPER, ranges=1 << 32)


def pack(kind: bytes, value: Mapping[str, Value]) -> bytes:
    """Encodes a map of plain values in its envelope.  Raises EncodeError for what no wire type can carry."""
    octets = encode_map(value, -DEEPER)  # depth counts from here, so that DEEPER more levels are allowed
    head = _HEAD.pack(kind, VERSION, len(octets))
    return head + _SUM.pack(zlib.crc32(octets, zlib.crc32(head))) + octets


def unpack(kind: bytes, what: str, octets: bytes) -> Map:
    """Decodes the map in an envelope of this kind.  Raises RestoreError, which names `what`, for anything else."""
    if not isinstance(octets, bytes):
        raise RestoreError(what, f"it must be bytes, not {type(octets).__name__}")
    start = _HEAD.size + _SUM.size
    if len(octets) < start:
        raise RestoreError(what, f"its envelope has {start} octets; there are only {len(octets)} octets in all")
    found, version, length = _HEAD.unpack_from(octets)
    if found != kind:
        raise RestoreError(what, f"it must begin with {kind!r}, not {found!r}")
    refuse_version(what, version)
    if len(octets) != start + length:
        raise RestoreError(what, f"it must have {start + length} octets, not {len(octets)}")
    if _SUM.unpack_from(octets, _HEAD.size)[0] != zlib.crc32(octets[start:], zlib.crc32(octets[: _HEAD.size])):
        raise RestoreError(what, "its checksum is wrong: it is damaged")
    try:
        value, end = decode_map(octets, start, len(octets), reading=READING)
    except AmqpError as why:
        raise RestoreError(what, f"its map cannot be decoded: {why}") from None
    if end != len(octets):
        raise RestoreError(what, f"its map ends {len(octets) - end} octets early")
    return value


def refuse_version(what: str, version: object) -> None:
    """Raises RestoreError for a version that this library cannot read."""
    if version not in (*FORMER_VERSIONS, VERSION):
        raise RestoreError(what, f"this library reads versions {FORMER_VERSIONS[0]} to {VERSION}, not {version!r}")


# --- operations -----------------------------------------------------------------------------------------------------------

_Reader: TypeAlias = Callable[[Value], object]


def _items(value: Value) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise TypeError(f"{type(value).__name__} where a list belongs")
    return value


def _map(value: Value) -> Map:
    if not isinstance(value, Map):
        raise TypeError(f"{type(value).__name__} where a map belongs")
    return value


def _reader(kind: Any) -> _Reader:  # Any: a type, or a union or tuple of types
    """Returns the function that reads a value of that type; it raises TypeError or ValueError for any other value."""
    inner = get_args(kind)
    if kind is Map:
        return _map
    if get_origin(kind) is not tuple:
        kinds = (*inner, int) if float in inner else inner or (kind,)  # an int is a float, as in annotations
        return lambda value: typed(value, *kinds)
    if inner[-1] is ...:
        each = _reader(inner[0])
        return lambda value: tuple([each(item) for item in _items(value)])
    parts = [_reader(part) for part in inner]

    def read(value: Value) -> object:
        items = _items(value)
        if len(items) != len(parts):
            raise ValueError(f"{len(items)} values where {len(parts)} belong")
        return tuple([part(item) for part, item in zip(parts, items, strict=True)])

    return read


def _readers(kind: type[Operation]) -> list[_Reader]:
    hints = get_type_hints(kind)
    return [_reader(hints[name]) for name in kind.FIELDS]


_READERS: Final = {kind: _readers(kind) for kind in OPERATIONS}
"""The readers of the fields of each operation, in order."""
_EXTENDED: Final = (MessageStored, BranchPrepared)
"""Operations whose last field earlier versions lack; it then has its default."""
_CODES: Final = {kind: code for code, kind in enumerate(OPERATIONS)}


def plain(operation: Operation) -> List:
    """Returns an operation as a list: its code and its fields."""
    return List((_CODES[type(operation)], *[_plain(value) for value in operation.values()]))


def _plain(value: object) -> Value:
    if isinstance(value, tuple) and not isinstance(value, List):
        return List([_plain(item) for item in value])
    return value  # type: ignore[return-value]  # the fields of operations are plain


def operation_of(value: Value) -> Operation:
    """Returns the operation in a list that `plain` made.  Raises TypeError, ValueError or IndexError for any other value."""
    code, *values = _items(value)
    if type(code) is not int or not 0 <= code < len(OPERATIONS):
        raise ValueError(f"no operation has code {code!r}")
    kind = OPERATIONS[code]
    readers = _READERS[kind]
    if not len(readers) - (kind in _EXTENDED) <= len(values) <= len(readers):
        raise ValueError(f"{kind.__name__} has {len(readers)} fields, not {len(values)}")
    return kind(*[read(field) for read, field in zip(readers, values, strict=False)])  # type: ignore[arg-type]


def encode_entry(entry: Entry) -> bytes:
    """Encodes a journal entry for an adapter to store.  Raises EncodeError for what no wire type can carry."""
    return pack(ENTRY, {"number": entry.number, "operations": List([plain(each) for each in entry.operations])})


def decode_entry(octets: bytes) -> Entry:
    """Decodes an entry.  Raises RestoreError for octets that are not an entry of a supported version."""
    value = unpack(ENTRY, "journal entry", octets)
    try:
        number = value["number"]
        if type(number) is not int or number < 1:
            raise ValueError(f"{number!r} is not the number of an entry")
        return Entry(number, [operation_of(each) for each in _items(value["operations"])])
    except (TypeError, ValueError, KeyError) as why:
        raise RestoreError("journal entry", f"{type(why).__name__} {why}") from None
