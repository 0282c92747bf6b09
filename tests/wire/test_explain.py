"""Reading field by field: agrees with the generated code, and names what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.strategies import CODED, COMMANDS, things

from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.message import MessageProperties
from amqp_sansio.wire.explain import mask, read_slowly
from amqp_sansio.wire.layouts.fields import FIELDS, SHAPES
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.octets import u16
from amqp_sansio.wire.reading import DEFAULT_READING, Reading


@pytest.mark.parametrize("kind", COMMANDS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_second_witness_of_commands(kind: type[Command], data: st.DataObject) -> None:
    """Read from tables, a command is what the generated reader makes of the same octets."""
    command = data.draw(things(kind))
    b = LAYOUT.encode_command(command, False)
    slow = read_slowly(kind, kind.VERB, FIELDS[kind], SHAPES, b, 6, len(b), u16(b, 4)[0], DEFAULT_READING, False)
    assert slow == LAYOUT.decode_command(b, 0, len(b))[0] == command


@pytest.mark.parametrize("kind", CODED)
@settings(max_examples=15)
@given(data=st.data(), octets=st.binary(max_size=60))
def test_a_second_witness_of_structs(kind: type[Any], data: st.DataObject, octets: bytes) -> None:
    """On any octets, tables and generated code read the same struct, or both refuse."""
    head = LAYOUT.encode_struct32(data.draw(things(kind)))
    cut = data.draw(st.integers(8, len(head)))
    b = head[:cut] + octets
    b = (len(b) - 4).to_bytes(4, "big") + b[4:]
    try:
        slow = read_slowly(kind, kind.NAME, FIELDS[kind], SHAPES, b, 8, len(b), u16(b, 6)[0], DEFAULT_READING, True)
    except DecodeError:
        with pytest.raises(DecodeError):
            LAYOUT.decode_struct32(b, 0, len(b))
    else:
        assert repr(LAYOUT.decode_struct32(b, 0, len(b))) == repr(slow)


def test_masks() -> None:
    """Field 0 is 0x0100, field 7 0x8000, field 8 0x0001."""
    assert [mask(index) for index in (0, 7, 8, 15)] == [0x0100, 0x8000, 0x0001, 0x0080]


def test_lossy_commands() -> None:
    """The lossy reading gives a command whose text is no UTF-8; the strict one names the field."""
    b = bytes.fromhex("0401010001000261ff")
    command, _ = LAYOUT.decode_command(b, 0, len(b), Reading(text="surrogateescape"))
    assert command.values()[0] == "a\udcff"
    with pytest.raises(DecodeError, match=r"message\.transfer\.destination"):
        LAYOUT.decode_command(b, 0, len(b))


def test_octets_behind_the_struct() -> None:
    """Octets past the end of a nested struct are not read into it."""
    b = LAYOUT.encode_struct32(MessageProperties(content_type="abc"))
    with pytest.raises(DecodeError, match="content_type"):
        LAYOUT.decode_struct32(b[:3] + bytes([b[3] - 1]) + b[4:], 0, len(b) - 1)
