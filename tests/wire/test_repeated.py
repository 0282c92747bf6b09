"""A header like the last one is not read again, and gives what it gave."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.families.channels import FAMILY

from amqp_sansio.errors import DecodeError
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods.basic import Deliver, GetEmpty, Properties
from amqp_sansio.wire.method_codec import MethodCodec
from amqp_sansio.wire.reading import DEFAULT_READING, Reading
from amqp_sansio.wire.repeated import RepeatedDeliveries, RepeatedProperties

NAMES = st.sampled_from(["", "a", "ctag", "é" * 100])
DELIVERIES = st.builds(Deliver, NAMES, st.integers(0, (1 << 64) - 1), st.booleans(), NAMES, NAMES)


def plainly(codec: MethodCodec, payload: bytes) -> object:
    try:
        return codec.read(payload, DEFAULT_READING)
    except DecodeError as error:
        return str(error)


def repeatedly(reader: RepeatedDeliveries, payload: bytes) -> object:
    try:
        return reader.read(payload)
    except DecodeError as error:
        return str(error)


# Whatever came before, a method is read as if nothing had come before, damaged ones too.
@given(
    st.sampled_from(FAMILY), st.lists(st.tuples(DELIVERIES, st.integers(0, 60), st.integers(0, 255)), max_size=20),
    st.sampled_from([1, 2, 256]),
)  # fmt: skip
def test_a_delivery_that_repeats_is_read_as_it_is(dialect, said, most) -> None:  # type: ignore[no-untyped-def]
    codec = dialect.codec
    reader = RepeatedDeliveries(codec, DEFAULT_READING, Limits(cached_commands=most))
    for deliver, at, octet in said:
        whole = codec.methods.encode(deliver)
        damaged = whole[:at] + bytes([octet]) + whole[at + 1 :]
        for payload in (whole, damaged, whole[:at], whole):
            assert repeatedly(reader, payload) == plainly(codec, payload)


@pytest.mark.parametrize(("keys", "kept"), [(1, 1), (2, 2), (3, 1)])
def test_deliveries_that_are_remembered(keys: int, kept: int) -> None:
    codec = FAMILY[0].codec
    reader = RepeatedDeliveries(codec, DEFAULT_READING, Limits(cached_commands=2))
    for number in range(keys):
        for tag in range(1, 4):
            reader.read(codec.methods.encode(Deliver(str(number), tag)))
    assert reader.remembered == kept
    assert reader.read(codec.methods.encode(GetEmpty())) == GetEmpty()
    assert reader.remembered == kept


def test_text_is_decoded_once() -> None:
    codec = FAMILY[0].codec
    reader = RepeatedDeliveries(codec, DEFAULT_READING, Limits())
    first, second = [reader.read(codec.methods.encode(Deliver("t", tag, False, "e", "key"))) for tag in (1, 2)]
    assert isinstance(first, Deliver)
    assert isinstance(second, Deliver)
    assert first.routing_key is second.routing_key
    assert (first.delivery_tag, second.delivery_tag) == (1, 2)


def test_the_last_header_is_read_once_and_others_each() -> None:
    codec = FAMILY[0].codec
    how = RepeatedProperties(codec, DEFAULT_READING)
    first, second = (codec.write_header(60, 1, Properties(priority=each)) for each in (1, 2))
    once = how.read(first)
    assert once == Properties(priority=1)
    assert how.read(bytes(bytearray(first))) is once
    assert how.read(second) == Properties(priority=2)
    assert how.read(first) == once


@pytest.mark.parametrize("octets", [b"", b"\0", b"\0\x0a" + bytes(12)])
def test_what_is_no_header_of_a_content_has_no_properties(octets: bytes) -> None:
    assert RepeatedProperties(FAMILY[0].codec, DEFAULT_READING).read(octets) is None


def test_a_header_that_cannot_be_read_is_not_kept() -> None:
    how = RepeatedProperties(FAMILY[0].codec, DEFAULT_READING)
    for _ in range(2):
        with pytest.raises(DecodeError):
            how.read(b"\0\x3c" + bytes(10) + b"\x80\0")


def test_properties_that_begin_otherwise_are_read_for_what_they_are() -> None:
    """What they begin with is remembered, so much of it at most."""
    codec = FAMILY[0].codec
    how = RepeatedProperties(codec, DEFAULT_READING)
    for number in range(300):
        same = "x" * (number % 256)
        for content_type in ("text", "tex", None, f"type {number}", same):
            said = Properties(content_type, "gzip" if number % 2 else None, priority=number % 256)
            header = codec.write_header(60, 1, said)
            assert how.read(header) == said
            for wrong in (header[:-1], header + b"\0"):
                with pytest.raises(DecodeError):
                    how.read(wrong)
        assert how.remembered <= 256
    assert how.remembered > 1


@pytest.mark.parametrize("nesting", [0, 1, 2])
def test_a_table_that_is_not_plain_is_read_all_the_same(nesting: int) -> None:
    codec = FAMILY[0].codec
    how = RepeatedProperties(codec, Reading(nesting=nesting))
    for table in ({"a": 1}, {"a": {"b": 1}}, {"a": None}):
        header = codec.write_header(60, 1, Properties("text", headers=table, app_id="app"))
        found: list[object] = []
        for read in (how.read, lambda header: codec.read_properties(header, Reading(nesting=nesting))):
            try:
                found.append(read(header))
            except DecodeError as error:
                found.append(str(error))
        assert found[0] == found[1]
        assert (found[0] == Properties("text", headers=table, app_id="app")) is (nesting > isinstance(table["a"], dict))
