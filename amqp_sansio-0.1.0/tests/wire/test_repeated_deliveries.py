"""Deliveries that are alike: read at once, they are what they are one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.families.channels import FAMILY

from amqp_sansio.errors import DecodeError
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods.basic import Deliver, GetEmpty
from amqp_sansio.wire.method_codec import MethodCodec
from amqp_sansio.wire.reading import DEFAULT_READING
from amqp_sansio.wire.repeated_deliveries import RepeatedDeliveries

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
