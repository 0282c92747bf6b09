"""What quick code gives up on is explained: the field is named.  All verbs and values: see test_interpreter."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.steps import assert_linear

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.spec.message import MessageProperties, ReplyTo
from amqp_sansio.spec.values import Array, Value
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.encoding import encode_struct32
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.types import _read_struct_slowly


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


def test_the_field_is_named_behind_a_struct_that_can_be_written() -> None:
    """A struct without a code stands before the field, and has no part in what is wrong."""
    unknown: Value = object()  # type: ignore[assignment]  # what no type of AMQP can hold
    with pytest.raises(EncodeError, match=r"^message\.message-properties\.application_headers: map\['k'\]: object: no type"):
        encode_struct32(MessageProperties(reply_to=ReplyTo("e", "k"), application_headers={"k": unknown}))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda struct: {"k": struct},
        lambda struct: {"k": [struct]},
        lambda struct: {"k": {"k": struct}},
        lambda struct: {"k": Array(0xAB, [struct])},
    ],
    ids=["map", "list", "map in map", "array"],
)
def test_what_cannot_be_written_is_explained_once_however_deep_it_lies(wrap: Callable[[Value], dict[str, Value]]) -> None:
    def prepared(depth: int) -> Callable[[], object]:
        value: Value = object()  # type: ignore[assignment]  # what no type of AMQP can hold
        for _ in range(depth):
            value = MessageProperties(application_headers=wrap(value))
        assert isinstance(value, MessageProperties)
        whole = value

        def work() -> None:
            with pytest.raises(EncodeError) as refused:
                encode_struct32(whole)
            assert refused.value.what.count("application_headers") == depth

        return work

    assert_linear(prepared, 5)


def test_a_struct_without_fields_is_read_slowly_too() -> None:
    octets = encode_struct32(MessageProperties())
    why = DecodeError("quick", 0, "it gave up")
    assert _read_struct_slowly(why, octets, 0, len(octets), Reading()) == (MessageProperties(), len(octets))
    with pytest.raises(DecodeError, match="gave up"):
        _read_struct_slowly(why, octets[:-1], 0, len(octets) - 1, Reading())
