"""Names, codes and segments of a layout."""

from __future__ import annotations

import pytest
from tests.builds import wrong_type
from tests.wire.strategies import CODED, COMMANDS, CONTROLS

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.spec import connection, dtx, message
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.connection import Heartbeat, Tune
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import DeliveryProperties, Transfer
from amqp_sansio.spec.values import UnknownStruct
from amqp_sansio.wire.layouts.v0_10 import LAYOUT


def test_counts() -> None:
    """25 controls, 59 commands; 14 of the 17 structs have a code."""
    assert (len(CONTROLS), len(COMMANDS), len(CODED)) == (25, 59, 14)


def test_names_and_codes_are_each_other() -> None:
    """The name of the codes of a class is the name of the class."""
    for kind in [*CONTROLS, *COMMANDS, *CODED]:
        assert issubclass(kind, Control | Command | Struct)
        word = "control" if issubclass(kind, Control) else "command" if issubclass(kind, Command) else "struct"
        name = kind.NAME if issubclass(kind, Struct) else kind.VERB
        assert LAYOUT.verb_of(word, *LAYOUT.codes_of(kind)) == name
        assert LAYOUT.codes_of(kind()) == LAYOUT.codes_of(kind)


def test_what_has_no_name_is_named_by_number() -> None:
    """Known classes by name, unknown ones by number."""
    assert LAYOUT.verb_of("command", 119, 1) == "119.1"
    assert LAYOUT.verb_of("control", 1, 99) == "connection.99"
    assert LAYOUT.verb_of("command", 4, 1) == "message.transfer"
    assert LAYOUT.verb_of("control", 4, 1) == "message.1"
    assert LAYOUT.verb_of("struct", 6, 4) == "dtx.xid"


def test_codes() -> None:
    """Instances and classes are looked up alike; what has no code is a KeyError."""
    assert LAYOUT.codes_of(message.Transfer()) == (4, 1)
    assert LAYOUT.codes_of(connection.CloseOk) == (1, 12)
    assert LAYOUT.codes_of(dtx.Xid) == (6, 4)
    with pytest.raises(KeyError):
        LAYOUT.codes_of(message.ReplyTo)


def test_segments() -> None:
    """Exactly the commands that carry content."""
    assert LAYOUT.segments == {
        "message.transfer",
        "file.stage",
        "file.return",
        "stream.publish",
        "stream.return",
        "stream.deliver",
    }
    assert repr(LAYOUT) == "Layout('0-10 errata')"


SYNC = bytes.fromhex("0301 01 00 0000")


@pytest.mark.parametrize(
    ("octets", "command", "sync"),
    [
        ("0301 01 00 0000", Sync(), False),
        ("0301 01 01 0000", Sync(), True),
        ("0301 01 ff 0000", Sync(), True),
        ("0301 00 0000", Sync(), False),  # a session header without flags
        ("0301 03 01aabb 0000", Sync(), True),  # of three octets: bit 0 of the first is sync
        ("0401 01 00 0100 0178", Transfer("x"), False),
    ],
)
def test_the_session_header_may_have_any_size(octets: str, command: Command, sync: bool) -> None:
    raw = bytes.fromhex(octets)
    for before in (b"", b"xyz"):
        assert LAYOUT.decode_command(before + raw, len(before), len(before) + len(raw)) == (command, sync)


@pytest.mark.parametrize(
    ("octets", "code", "octet"),
    [
        ("", 503, 0),
        ("0301", 503, 0),
        ("0301 09 00", 503, 2),
        ("0399 01 00 0000", 540, 0),
        ("7701 01 00 0000", 540, 0),
        ("0301 01 00 00", 503, 4),
        ("0301 01 00 0100", 503, 4),  # a flag of no field
        ("0401 01 00 0100 05 78", 503, 6),  # the text goes beyond the command
    ],
)
def test_a_command_that_cannot_be_read_names_its_code_and_octet(octets: str, code: int, octet: int) -> None:
    raw = b"??" + bytes.fromhex(octets)
    with pytest.raises(DecodeError) as raised:
        LAYOUT.decode_command(raw, 2, len(raw))
    assert raised.value.code == code
    assert raised.value.octet - 2 in range(octet, octet + 2)


@pytest.mark.parametrize("octets", ["", "010a", "010a00", "0199 0000", "0301 0000", "0105 0100 ff", "010a 0100"])
def test_a_control_that_cannot_be_read_is_always_501(octets: str) -> None:
    raw = bytes.fromhex(octets)
    with pytest.raises(DecodeError) as raised:
        LAYOUT.decode_control(raw, 0, len(raw))
    assert raised.value.code == 501


def test_octets_behind_the_end_are_not_read() -> None:
    raw = LAYOUT.encode_control(Tune(5))
    with pytest.raises(DecodeError):
        LAYOUT.decode_control(raw + b"more", 0, len(raw) - 1)
    assert LAYOUT.decode_control(raw + b"more", 0, len(raw)) == Tune(5)


class Unknown(Control):
    VERB = "connection.unknown"


class UnknownCommand(Command):
    VERB = "execution.unknown"


class UnknownKind(Struct):
    NAME = "message.unknown"


def test_classes_that_the_layout_does_not_have() -> None:
    with pytest.raises(EncodeError, match="not a control of this layout"):
        LAYOUT.encode_control(Unknown())
    with pytest.raises(EncodeError, match="not a command of this layout"):
        LAYOUT.encode_command(UnknownCommand(), False)
    with pytest.raises(EncodeError):
        LAYOUT.encode_struct32(UnknownKind())


@pytest.mark.parametrize("value", [-1, 65536])
def test_a_value_that_no_field_can_hold_is_named(value: int) -> None:
    with pytest.raises(EncodeError, match=r"connection\.tune") as raised:
        LAYOUT.encode_control(Tune(value))
    assert "channel" in str(raised.value)
    with pytest.raises(EncodeError, match="accept"):
        LAYOUT.encode_command(Transfer("x", 256), False)


def test_a_value_of_a_wrong_type_is_named() -> None:
    with wrong_type(r"connection\.tune.*channel"):
        LAYOUT.encode_control(Tune("x"))  # type: ignore[arg-type]


def test_verbs() -> None:
    assert LAYOUT.encode_control(Heartbeat()) == b"\x01\x0a\0\0"
    assert LAYOUT.verb_of("control", 1, 10) == "connection.heartbeat"
    assert LAYOUT.verb_of("control", 1, 99) == "connection.99"
    assert LAYOUT.verb_of("command", 119, 1) == "119.1"
    assert "message.transfer" in LAYOUT.segments


def test_a_struct_of_an_unknown_code_is_kept_as_it_is() -> None:
    raw = bytes.fromhex("00000004 0499 abcd")
    found = LAYOUT.decode_struct32(raw, 0, len(raw))
    assert found == UnknownStruct(4, 0x99, b"\xab\xcd")
    assert LAYOUT.encode_struct32(found) == raw
    known = DeliveryProperties(routing_key="k")
    assert LAYOUT.decode_struct32(LAYOUT.encode_struct32(known), 0, len(LAYOUT.encode_struct32(known))) == known
