"""The primitives."""

from __future__ import annotations

import struct
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.wire import octets as o


@given(st.binary(min_size=16, max_size=16))
def test_uuid_of(raw: bytes) -> None:
    """A quick UUID is the UUID of its octets in every respect."""
    made = o.uuid_of(raw)
    assert made == uuid.UUID(bytes=raw)
    assert (made.bytes, made.int, made.is_safe, str(made)) == (
        raw,
        uuid.UUID(bytes=raw).int,
        uuid.SafeUUID.unknown,
        str(uuid.UUID(bytes=raw)),
    )
    with pytest.raises(TypeError):
        made.int = 5  # type: ignore[misc]


def test_tables() -> None:
    """The tables of short lengths say what packing says; what is no octet is refused."""
    for n in range(256):
        assert o.OCTET[n] == o.OCTET_OF[n] == bytes([n])
        assert o.LENGTH16[n] == o.put_u16(n)
        assert o.STR16[n] == o.put_tag16(0x95, n)
    with pytest.raises(IndexError):
        o.OCTET[256]
    for n in (-1, 256):
        with pytest.raises(KeyError):
            o.OCTET_OF[n]


def test_octets_that_are_missing() -> None:
    """Readers raise struct.error where the octets end too early."""
    with pytest.raises(struct.error):
        o.u32(b"abc", 0)
    assert o.frame_header(o.put_frame_header(0x0F, 1, 16, 0, 1, 7, 0), 0) == (0x0F, 1, 16, 0, 1, 7, 0)
