"""What quick code gives up on is explained: the field is named.  All verbs and values: see test_interpreter."""

from __future__ import annotations

import pytest

from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.message import MessageProperties
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.reading import Reading


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
