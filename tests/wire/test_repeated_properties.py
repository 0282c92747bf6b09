"""A header like the last one is not read again, and gives what it gave."""

from __future__ import annotations

import pytest
from tests.families.channels import FAMILY

from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.methods.basic import Properties
from amqp_sansio.wire.reading import DEFAULT_READING
from amqp_sansio.wire.repeated_properties import RepeatedProperties


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
