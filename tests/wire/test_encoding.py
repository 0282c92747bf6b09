"""Writing values: as which type each goes out, and that whatever a type cannot hold is refused by name."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from tests.builds import wrong_type
from tests.steps import assert_linear

from amqp_sansio.errors import EncodeError
from amqp_sansio.spec import values as v
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, ReplyTo
from amqp_sansio.spec.values import Array, List, Map, Value
from amqp_sansio.wire.encoding import (
    SHORT,
    encode_array,
    encode_list,
    encode_map,
    encode_struct32,
    encode_value,
    put_opaque,
)
from amqp_sansio.wire.types import decode_map, decode_value


def test_default_mapping() -> None:
    """Natives are encoded as the documentation of spec.values says."""
    table: list[tuple[Value, int]] = [
        (True, 0x08),
        (-1, 0x31),
        ((1 << 63) - 1, 0x31),
        (1 << 63, 0x32),
        (1.5, 0x33),
        ("x", 0x95),
        (b"x", 0x90),
        (b"x" * 65535, 0x90),
        (b"x" * 65536, 0xA0),
        (uuid.UUID(int=1), 0x48),
        (None, 0xF0),
        (Decimal("1.5"), 0xD8),
        (Map({"a": 1}), 0xA8),
        (List([1]), 0xA9),
        (DeliveryProperties(), 0xAB),
    ]
    for value, code in table:
        assert encode_value(value)[0] == code
    assert encode_value({"a": 1}) == encode_value(Map({"a": 1}))  # type: ignore[arg-type]  # plain dicts are taken, too
    assert encode_value([1, "a"]) == encode_value(List([1, "a"]))  # type: ignore[arg-type]
    assert encode_value((1, "a")) == encode_value(List([1, "a"]))  # type: ignore[arg-type]


def test_any_mapping_is_written_as_a_map() -> None:
    """A mapping of a class that is neither dict nor Map is written as a dict of its entries is."""
    every: list[dict[str, Value]] = [{}, {"a": 1, "b": "text"}, {"c": v.Uint8(7)}]
    for entries in every:
        assert encode_map(MappingProxyType(entries)) == encode_map(entries)


class Name(str):
    __slots__ = ()


class Price(Decimal):
    __slots__ = ()


class Key(uuid.UUID):
    __slots__ = ()


class Weight(float):
    __slots__ = ()


class Month(IntEnum):
    MAY = 5


class Row(NamedTuple):
    first: int


@pytest.mark.parametrize(
    ("own", "plain"),
    [
        (Name("n"), "n"), (Price("1.5"), Decimal("1.5")), (Key(int=5), uuid.UUID(int=5)), (Weight(1.5), 1.5), (Month(5), 5),
        (Row(7), (7,)), (OrderedDict(a=1), {"a": 1}),
    ],
)  # fmt: skip
def test_a_value_of_a_callers_own_class_is_written_as_one_of_the_class_that_it_extends(own: Any, plain: Any) -> None:
    assert encode_value(own) == encode_value(plain)
    assert encode_map({"k": own}) == encode_map({"k": plain})
    assert encode_list([own]) == encode_list([plain])


def test_the_encoder_remembers_no_more_than_1024_short_texts() -> None:
    """Each name that a peer or an application makes up would take memory for good."""
    for number in range(3000):
        name = f"name {number}"
        assert encode_map({name: None}).endswith(bytes([len(name)]) + name.encode() + b"\xf0")
        assert len(SHORT) <= 1024


@pytest.mark.parametrize("code", [-1, 256, 0x10F, 0xB0, 0xE0])
def test_an_opaque_value_has_the_code_of_a_type_whose_width_is_known(code: int) -> None:
    with pytest.raises(EncodeError, match="no type has such a code"):
        put_opaque(v.OpaqueValue(code, b""))


REFUSED: list[tuple[Value, str, str]] = [
    (1 << 64, "uint64", "not within"),
    (-(1 << 63) - 1, "int64", "not within"),
    (v.Int8(128), "int8", "-128 to 127"),
    (v.Int8(-129), "int8", "-128 to 127"),
    (v.Uint8(256), "uint8", "0 to 255"),
    (v.Uint8(-1), "uint8", "0 to 255"),
    (v.Int16(1 << 15), "int16", "not within"),
    (v.Uint16(1 << 16), "uint16", "not within"),
    (v.Int32(1 << 31), "int32", "not within"),
    (v.Uint32(1 << 32), "uint32", "not within"),
    (v.Uint32(-1), "uint32", "not within"),
    (v.Uint64(-1), "uint64", "not within"),
    (v.Datetime(1 << 64), "datetime", "not within"),
    (v.Boolean(256), "boolean", "0 to 255"),
    (v.Float(1e300), "float", "beyond its range"),
    (v.Char("ab"), "char", "one character"),
    (v.Char("\U0001f600"), "char", "8859-15"),
    (v.CharUtf32("ab"), "char-utf32", "one character"),
    (v.CharUtf32("\ud800"), "char-utf32", "scalar"),
    (v.Str8("x" * 256), "str8", "at most 255"),
    ("x" * 65536, "str16", "at most 65535"),
    ("\ud800", "str16", "utf-8"),
    (v.Str8Latin("\U0001f600"), "str8-latin", "8859-15"),
    (v.Str16Latin("x" * 65536), "str16-latin", "at most 65535"),
    (v.Str8Utf16("x" * 128), "str8-utf16", "at most 255"),
    (v.Str16Utf16("\ud800"), "str16-utf16", "utf-16"),
    (v.Bin8(b""), "bin8", "1 octets"),
    (v.Bin1024(b"x"), "bin1024", "128 octets"),
    (v.Bin40(b"x"), "bin40", "5 octets"),
    (v.Vbin8(bytes(256)), "vbin8", "at most 255"),
    (v.Vbin16(bytes(65536)), "vbin16", "at most 65535"),
    (v.Dec32(1 << 31), "dec32", "32 bits"),
    (Decimal(1 << 63), "dec64", "64 bits"),
    (Decimal("1E30"), "dec64", "64 bits"),
    (Decimal("1E999999999"), "dec64", "64 bits"),
    (Decimal("1E-256"), "dec64", "decimal places"),
    (Decimal("NaN"), "dec64", "not a number"),
    (Decimal("Infinity"), "dec64", "not a number"),
    (Array(0x22, [-1]), "array[0]: uint32", "not within"),
    (Array(0x22, [1, "a"]), "array[1]: uint32", "takes an int"),
    (Array(0x300), "array", "octet"),
    (List([1, v.Uint8(256)]), "list[1]: uint8", "0 to 255"),
    (Map({"k": v.Uint8(256)}), "map['k']: uint8", "0 to 255"),
    (Map({"k": List([Map({"j": 1 << 70})])}), "map['k']: list[0]: map['j']: uint64", "not within"),
    (Map({"k" * 256: 1}), "map key", "at most 255"),
    (ReplyTo("a", "b"), "message.reply-to", "no code"),
    (v.UnknownStruct(300, 1, b""), "unknown struct", "octets"),
    (MessageProperties(user_id=bytes(65536)), "message.message-properties.user_id", "at most 65535"),
    (DeliveryProperties(priority=256), "message.delivery-properties.priority", "0 to 255"),
    (DeliveryProperties(exchange="x" * 256), "message.delivery-properties.exchange", "at most 255"),
    (MessageProperties(reply_to=ReplyTo("x" * 256)), "message.message-properties.reply_to.exchange", "at most 255"),
    (Xid(global_id=bytes(256)), "dtx.xid.global_id", "at most 255"),
]


@pytest.mark.parametrize(("value", "what", "rule"), REFUSED, ids=[what for _, what, _ in REFUSED])
def test_encode_error_names_what_and_rule(value: Value, what: str, rule: str) -> None:
    """A value that its type cannot hold is refused by an error that names the type or field and what would be right."""
    with pytest.raises(EncodeError) as caught:
        encode_value(value)
    assert caught.value.what.startswith(what)
    assert rule in caught.value.rule


def test_what_has_no_type() -> None:
    """Objects of other classes, keys that are no text and cycles are refused."""
    for value in (object(), bytearray(b"x"), {1}, 1j):
        with pytest.raises(EncodeError):
            encode_value(value)  # type: ignore[arg-type]
    for mapping in ({1: 2}, {b"a": 1}):
        with wrong_type():
            encode_value(mapping)  # type: ignore[arg-type]
    endless: list[Value] = []
    endless.append(endless)  # type: ignore[arg-type]
    with pytest.raises(EncodeError):
        encode_list(endless)
    with pytest.raises(EncodeError):
        encode_struct32(MessageProperties(application_headers={"a": List([{"b": endless}])}))  # type: ignore[list-item]


def test_elements_are_written_as_the_type_of_their_array() -> None:
    """Any native that a type can hold may be written as that type."""
    taken: list[tuple[int, Value, bytes]] = [
        (0x22, 7, b"\0\0\0\7"),
        (0x85, "a", b"\1a"),
        (0xA0, b"a", b"\0\0\0\1a"),
        (0xD8, v.Dec32("1E3"), b"\0" + (1000).to_bytes(8, "big")),
    ]
    for code, value, octets in taken:
        assert encode_value(Array(code, [value]))[1].endswith(octets)
    refused: list[tuple[int, Value]] = [
        (0x22, "a"),
        (0x85, 1),
        (0xA0, "a"),
        (0xA8, 1),
        (0xAB, 1),
        (0x48, 1),
        (0x33, "x"),
        (0x08, "x"),
        (0xB0, 1),
        (0x22, v.OpaqueValue(0x2F, b"abcd")),
    ]
    for code, value in refused:
        with pytest.raises(EncodeError):
            encode_value(Array(code, [value]))


@pytest.mark.parametrize(("code", "good"), [(-1, False), (0, True), (255, True), (256, False)])
def test_the_code_of_elements_is_an_octet(code: int, good: bool) -> None:
    """Every octet may be the code of an empty array, and nothing else may."""
    if good:
        assert encode_array(Array(code)) == bytes([0, 0, 0, 5, code, 0, 0, 0, 0])
    else:
        with pytest.raises(EncodeError, match="an element code is an octet"):
            encode_array(Array(code))


def test_maps_in_maps_with_large_numbers_cost_what_they_are() -> None:
    """Each was written twice when a number without sign followed: what a peer sent in 32 of them could not be written again."""

    def prepared(size: int) -> Callable[[], object]:
        value: Value = True
        for _ in range(size):
            value = Map({"a": value, "z": 1 << 63})
        assert isinstance(value, Map)
        whole = value
        return lambda: encode_map(whole)

    assert_linear(prepared, 5)


NEST: list[Callable[[Any], Any]] = [
    lambda x: (x,),
    lambda x: [x],
    lambda x: List([x]),
    lambda x: {"k": x},
    lambda x: (None, [x]),
]


@pytest.mark.parametrize("nest", NEST, ids=["tuple", "list", "List", "dict", "tuple and list"])
def test_as_many_values_are_nested_in_one_another_as_a_peer_reads(nest: Callable[[Any], Any]) -> None:
    """A value of 32 levels comes back as it was; one level more is refused, in whatever it is nested."""
    levels = 2 if nest is NEST[-1] else 1
    value: Any = ()
    for _ in range((32 - 2) // levels):
        value = nest(value)
    octets = encode_list([value])
    assert encode_list([decode_value(0xA9, octets, 0, len(octets))[0][0]]) == octets  # type: ignore[index]
    with pytest.raises(EncodeError, match="at most 32 values are nested in one another"):
        encode_list([nest(value)])


def test_an_error_names_the_place_in_a_list_in_a_list_whatever_class_the_inner_one_has() -> None:
    for inner in ((1, v.Uint8(256)), [1, v.Uint8(256)], List([1, v.Uint8(256)])):
        with pytest.raises(EncodeError) as caught:
            encode_list([None, None, inner])  # type: ignore[list-item]
        assert caught.value.what == "list[2]: list[1]: uint8"


def structs_in_maps(count: int) -> dict[str, Value]:
    made: Value = "x"
    for _ in range(count):
        made = Map({"a": MessageProperties(application_headers={"b": made})})
    return {"c": made}


@pytest.mark.parametrize("count", [11, 100, 2000, 100_000])
def test_a_struct_in_a_map_in_a_struct_counts_as_nested(count: int) -> None:
    with pytest.raises(EncodeError, match="at most 32 values are nested in one another"):
        encode_map(structs_in_maps(count))


def test_freeing_a_nested_struct_leaves_its_neighbours_whole() -> None:
    """In the compiled build CPython's trashcan overwrote what stands before a struct that it freed inside fifty lists."""
    structs = [MessageProperties(application_headers=Map({"n": number})) for number in range(1000)]
    for number in range(0, len(structs), 2):
        nested: list[object] = [structs[number]]
        structs[number] = structs[number + 1]
        for _ in range(number % 120):
            nested = [nested]
        del nested
    assert [struct.application_headers for struct in structs[1::2]] == [{"n": number} for number in range(1, len(structs), 2)]


def test_as_many_structs_in_maps_are_written_as_are_read() -> None:
    octets = encode_map(structs_in_maps(10))
    assert decode_map(octets, 0, len(octets))[0] == structs_in_maps(10)
    with pytest.raises(EncodeError, match="nested"):
        encode_map({"a": List([Map(structs_in_maps(10))])})
