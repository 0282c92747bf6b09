"""Names, codes and segments of a layout."""

from __future__ import annotations

import pytest
from tests.wire.strategies import CODED, COMMANDS, CONTROLS

from amqp_sansio.spec import connection, dtx, message
from amqp_sansio.spec.base import Command, Control, Struct
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
