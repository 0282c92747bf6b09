"""The final layout differs from the errata in dtx.xid only."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.strategies import COMMANDS, CONTROLS, things

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.spec import dtx, message
from amqp_sansio.spec.base import Command
from amqp_sansio.wire.layouts import v0_10
from amqp_sansio.wire.layouts.fields import FIELDS
from amqp_sansio.wire.layouts.v0_10_final import LAYOUT

WITH_XID = [kind for kind in COMMANDS if any(wire == "dtx.xid" for _, wire in FIELDS[kind])]


def test_xid_has_no_code_and_a_size_of_two_octets() -> None:
    """dtx.start of xid 0/"g"/"b": size 10, flags, fields."""
    octets = bytes.fromhex("060201010100000a07000000000001670162")
    command = dtx.Start(dtx.Xid(0, b"g", b"b"))
    assert LAYOUT.encode_command(command, True) == octets
    assert LAYOUT.decode_command(octets, 0, len(octets)) == (command, True)
    for end in range(len(octets)):
        with pytest.raises(DecodeError):
            LAYOUT.decode_command(octets, 0, end)


@pytest.mark.parametrize("kind", WITH_XID)
@settings(max_examples=20)
@given(data=st.data())
def test_commands_with_an_xid_round_trip(kind: type[Command], data: st.DataObject) -> None:
    """A command with an xid decodes to an equal one; the errata layout writes it in six octets more."""
    command = data.draw(things(kind))
    octets = LAYOUT.encode_command(command, False)
    assert LAYOUT.decode_command(octets, 0, len(octets)) == (command, False)
    other = v0_10.LAYOUT.encode_command(command, False)
    assert len(other) == len(octets) + (4 if command.values()[0] is not None else 0)


def test_xid_cannot_stand_alone() -> None:
    """Without a code an xid is no struct32, and has no codes."""
    with pytest.raises(EncodeError):
        LAYOUT.encode_struct32(dtx.Xid(0, b"g", b"b"))
    with pytest.raises(KeyError):
        LAYOUT.codes_of(dtx.Xid)
    assert LAYOUT.encode_struct32(dtx.XaResult(1)) == v0_10.LAYOUT.encode_struct32(dtx.XaResult(1))


def test_errors_name_the_field() -> None:
    """The errors know the other shape of the xid, too."""
    with pytest.raises(EncodeError) as caught:
        LAYOUT.encode_command(dtx.Start(dtx.Xid(-1)), False)
    assert caught.value.what == "dtx.start.xid.format_"
    b = bytes.fromhex("0602010101000003070000")
    with pytest.raises(DecodeError, match=r"dtx\.start\.xid"):
        LAYOUT.decode_command(b, 0, len(b))


@pytest.mark.parametrize("kind", [k for k in [*CONTROLS, *COMMANDS] if k not in WITH_XID])
def test_everything_else_is_the_same(kind: Any) -> None:
    """What has no xid is written as in the errata layout."""
    thing = kind()
    if kind in CONTROLS:
        assert LAYOUT.encode_control(thing) == v0_10.LAYOUT.encode_control(thing)
    else:
        assert LAYOUT.encode_command(thing, True) == v0_10.LAYOUT.encode_command(thing, True)
    assert LAYOUT.codes_of(kind) == v0_10.LAYOUT.codes_of(kind)


def test_names() -> None:
    """The layouts say who they are."""
    assert (LAYOUT.name, v0_10.LAYOUT.name) == ("0-10 final", "0-10 errata")
    assert LAYOUT.segments == v0_10.LAYOUT.segments
    assert len(WITH_XID) == 8
    assert message.Transfer.VERB in LAYOUT.segments
