"""Explains why a value cannot be encoded, or which field of a struct cannot be decoded, after a fast path has given up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.value import Value as Fields
from amqp_sansio.spec.base import BodyContent, Struct
from amqp_sansio.spec.values import Array
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.encoding import encode_array, encode_map, encode_struct32, encode_texts
from amqp_sansio.wire.interpreter import FieldTable, Shapes, read_fields
from amqp_sansio.wire.primitives import struct_head
from amqp_sansio.wire.scalars import WRITERS
from amqp_sansio.wire.sets import encode_byte_ranges, encode_set
from amqp_sansio.wire.types import BAD, decode_error

UNWRITABLE: Final = (*BAD, UnicodeEncodeError, AttributeError, TypeError, ValueError, KeyError, ArithmeticError, RecursionError)
"""What the fast writers may raise for a value that its type cannot hold."""

_SCALARS: Final = {
    "uint8": 0x02,
    "uint16": 0x12,
    "uint32": 0x22,
    "uint64": 0x32,
    "sequence-no": 0x22,
    "datetime": 0x38,
    "str8": 0x85,
    "str16": 0x95,
    "vbin8": 0x80,
    "vbin16": 0x90,
    "vbin32": 0xA0,
    "uuid": 0x48,
    "map": 0xA8,
}


def _integer(low: int, high: int) -> Callable[[object], None]:
    def check(value: object) -> None:
        if not isinstance(value, int):
            raise EncodeError("", f"takes an int, not {type(value).__name__}")
        if not low <= value <= high:
            raise EncodeError("", f"{value} is not within {low} to {high}")

    return check


def _of(kind: type, write: Callable[..., bytes]) -> Callable[[object], None]:
    def check(value: object) -> None:
        if not isinstance(value, kind):
            raise EncodeError("", f"takes {kind.__name__}, not {type(value).__name__}")
        write(value)

    return check


_CHECK: Final[dict[str, Callable[[object], None]]] = {
    "sequence-no": _integer(0, (1 << 32) - 1),
    **{name: _of(object, WRITERS[code]) for name, code in _SCALARS.items() if name not in {"sequence-no", "map"}},
    "map": _of(Mapping, encode_map),
    "array": _of(Array, encode_array),
    "fragments": _of(Array, encode_array),
    "texts": _of(tuple, encode_texts),
    "struct32": _of(Struct, encode_struct32),
    "sequence-set": _of(RangeSet, encode_set),
    "byte-ranges": _of(tuple, encode_byte_ranges),
    "words8": _of(tuple, lambda value: WRITERS[0x85](" ".join(value))),
    "hosts8": _of(tuple, lambda value: WRITERS[0x85](",".join(value))),
    "words32": _of(tuple, lambda value: WRITERS[0x95](" ".join(value))),
    "content": _of(BodyContent, lambda value: WRITERS[0xA0](value.octets)),
}


def unwritable(what: str, thing: Fields, fields: FieldTable, shapes: Shapes, why: Exception) -> EncodeError:
    """Returns why the fast writer gave up on a control, command or struct.

    Costs as much as writing it, at any depth: a value that `why` already explains is not written again.
    """
    found = _unwritable(what, thing, fields, shapes, why)
    if found is not None:
        return found
    return why if isinstance(why, EncodeError) else EncodeError(what, f"cannot be written: {why}")


def _unwritable(what: str, thing: Fields, fields: FieldTable, shapes: Shapes, why: Exception) -> EncodeError | None:
    """Returns the error of the first field that cannot be written; None when all can."""
    told = why if isinstance(why, EncodeError) else None
    for name, kind in fields:
        value = getattr(thing, name)
        if kind == "bit" or kind == "table" or value is None:  # writers of field tables report their own errors
            continue
        full = f"{what}.{name}"
        if kind in shapes:
            if not isinstance(value, shapes[kind][0]):
                return EncodeError(full, f"takes a struct {kind}, not {type(value).__name__}")
            inner = _unwritable(full, value, shapes[kind][1], shapes, why)
            if inner is not None:
                return inner
            continue
        if told is not None and told._inside is value:
            return EncodeError(f"{full}: {told.what}", told.rule)
        try:
            _CHECK[kind](value)
        except EncodeError as error:
            return EncodeError(f"{full}: {error.what}" if error.what and error.what != kind else full, error.rule)
        except RecursionError:
            return EncodeError(full, "values are nested too deep")
        except (TypeError, ValueError, AttributeError) as error:
            return EncodeError(full, f"cannot be written: {error}")
    return None


def read_struct_slowly(why: Exception, b: bytes, p: int, end: int, reading: Reading) -> tuple[Struct, int]:
    """Decodes a coded struct on which the fast path gave up because of `why`.  Raises DecodeError."""
    from amqp_sansio.wire.layouts import fields

    if p + 8 <= end:
        size, key, flags = struct_head(b, p)
        kind = fields.STRUCTS.get(key)
        if kind is not None and 4 <= size <= end - p - 4:
            stop = p + 4 + size
            table, shapes = fields.FIELDS[kind], fields.SHAPES
            return read_fields(kind, kind.NAME, table, shapes, b, p + 8, stop, flags, reading, True), stop
    raise why if isinstance(why, DecodeError) else decode_error(why, "struct32", p)


def unwritable_struct(struct: Struct, why: Exception) -> EncodeError:
    """Returns why a coded struct cannot be written."""
    from amqp_sansio.wire.layouts import fields

    return unwritable(struct.NAME, struct, fields.FIELDS[type(struct)], fields.SHAPES, why)
