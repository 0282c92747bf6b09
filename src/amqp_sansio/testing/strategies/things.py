"""Strategies of controls, commands and structs, from the tables of the generated code.

Every field may be present or absent, so that all combinations occur.
"""

from __future__ import annotations

import uuid
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from amqp_sansio.spec import values as v
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.file import FileProperties
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties, MessageProperties
from amqp_sansio.spec.stream import StreamProperties
from amqp_sansio.spec.values import Value
from amqp_sansio.testing.strategies.values import TEXT, U8, U16, U32, U64, maps, range_sets, scalars, signed
from amqp_sansio.wire.layouts.fields import FIELDS

_TEXTS = st.lists(TEXT, max_size=4).map(tuple)
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "uint8": U8,
    "uint16": U16,
    "uint32": U32,
    "uint64": U64,
    "sequence-no": U32,
    "datetime": signed(64),
    "str8": TEXT,
    "str16": st.one_of(TEXT, st.integers(256, 300).map(lambda n: "x" * n)),
    "vbin8": st.binary(max_size=255),
    "vbin16": st.one_of(st.binary(max_size=40), st.integers(256, 300).map(bytes)),
    "vbin32": st.binary(max_size=300),
    "uuid": st.uuids().map(lambda u: uuid.UUID(int=u.int)),
    "sequence-set": range_sets(),
    "texts": st.one_of(_TEXTS, st.builds(v.TextArray, st.sampled_from([0x84, 0x85, 0x90]), st.just(("a", "b")))),
    "fragments": st.sampled_from([v.Array(0xF0), v.NullArray(), v.RawArray(0x22, b"\x22\0\0\0\x01abcd")]),
}


def things(kind: type[Any], inner: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[Any]:
    """Generates controls, commands or structs of a class, each field present or absent; `inner` draws the values in maps."""
    parts: list[st.SearchStrategy[Any]] = []
    for _, wire in FIELDS[kind]:
        if wire == "bit":
            parts.append(st.booleans())
            continue
        if wire == "map":
            strategy: st.SearchStrategy[Any] = maps(inner if inner is not None else scalars())
        elif wire == "array":
            strategy = st.lists(U32.map(v.Uint32), max_size=3).map(lambda items: v.Array(0x22, items))
        elif wire == "struct32":
            strategy = structs(st.none())
        elif "." in wire:
            strategy = things(BY_NAME[wire])
        else:
            strategy = _FIELDS[wire]
        parts.append(st.none() | strategy)
    return st.builds(kind, *parts)


BY_NAME: Final[dict[str, type[Any]]] = {
    getattr(kind, "NAME" if issubclass(kind, Struct) else "VERB"): kind for kind in FIELDS if kind.__name__ != "CommandFragment"
}
"""Every control, command and struct by its name."""
_T = TypeVar("_T")


def classes(base: type[_T]) -> list[type[_T]]:
    """Returns all classes of the vocabulary below `base`."""
    return [kind for kind in BY_NAME.values() if issubclass(kind, base)]


CODED: Final = [kind for kind in classes(Struct) if kind.__name__ != "ReplyTo"]
CONTROLS: Final = classes(Control)
COMMANDS: Final = classes(Command)
_UNKNOWN: Final = st.builds(v.UnknownStruct, st.integers(0x70, 0x7F), U8, st.binary(max_size=20))
_HEADERS: Final = (DeliveryProperties, FragmentProperties, MessageProperties, FileProperties, StreamProperties)


def controls() -> st.SearchStrategy[Control]:
    """Generates every control with every combination of fields."""
    return st.one_of([things(kind) for kind in CONTROLS])


def commands() -> st.SearchStrategy[Command]:
    """Generates every command with every combination of fields."""
    return st.one_of([things(kind) for kind in COMMANDS])


def header_structs() -> st.SearchStrategy[Struct]:
    """Generates structs that a header segment may hold, known or unknown."""
    return st.one_of(*[things(kind) for kind in _HEADERS], _UNKNOWN)


def headers(max_size: int = 3) -> st.SearchStrategy[tuple[Struct, ...]]:
    """Generates header segments of at most `max_size` structs, each kind once."""
    return st.lists(header_structs(), max_size=max_size, unique_by=type).map(tuple)


def structs(inner: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[Struct]:
    """Generates coded structs, known and unknown."""
    known = st.one_of([st.deferred(lambda kind=kind: things(kind, inner)) for kind in CODED])  # type: ignore[misc]
    return st.one_of(known, _UNKNOWN)


def values(inside: st.SearchStrategy[Struct] | None = None) -> st.SearchStrategy[Value]:
    """Generates values of every type that a map may hold; `inside` draws the structs among them (default: all)."""
    if inside is None:
        inside = structs(st.none())
    return st.recursive(
        st.one_of(scalars(), inside),
        lambda inner: st.one_of(
            maps(inner),
            st.lists(inner, max_size=4).map(v.List),
            st.lists(TEXT.map(v.Str8), max_size=4).map(lambda items: v.Array(0x85, items)),
            st.lists(maps(inner), max_size=3).map(lambda items: v.Array(0xA8, items)),
            st.lists(inside, max_size=2).map(lambda items: v.Array(0xAB, items)),
            st.sampled_from([v.NullMap(), v.NullList(), v.NullArray(), v.NullStruct()]),
        ),
        max_leaves=6,
    )
