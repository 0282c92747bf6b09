"""A header like the last one is not read again, and gives what it gave."""

from __future__ import annotations

import pytest
from tests.families.channels import FAMILY

from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.methods.basic import Properties
from amqp_sansio.wire.reading import DEFAULT_READING, Reading
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
