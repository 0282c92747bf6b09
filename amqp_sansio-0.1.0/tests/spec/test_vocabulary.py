"""The generated vocabulary: plain values in the specification's words."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.strategies import BY_NAME, things

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import codes, connection, execution, message, queue, session
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.rules import RULES
from amqp_sansio.spec.values import Array, Map, TextArray
from amqp_sansio.wire.layouts.fields import FIELDS, REQUIRED, SHAPES, STRUCTS

EVERYTHING = list(BY_NAME.values())


@pytest.mark.parametrize("kind", EVERYTHING)
@settings(max_examples=10)
@given(data=st.data())
def test_equal_hashed_and_pickled_by_value(kind: type[Any], data: st.DataObject) -> None:
    """A copy through pickle is equal and has the same hash; repr shows the class and does not raise."""
    thing = data.draw(things(kind))
    again = pickle.loads(pickle.dumps(thing))
    assert again == thing
    assert hash(again) == hash(thing)
    assert repr(thing).startswith(kind.__name__ + "(")
    assert kind(*thing.values()) == thing


@pytest.mark.parametrize("kind", EVERYTHING)
def test_shape(kind: type[Any]) -> None:
    """Slots are the fields; every field is optional, bits are False; the fields table has those that 0-10 has, first."""
    assert kind.__slots__ == kind.FIELDS
    assert [name for name in kind.FIELDS if name not in kind.ELSEWHERE] == [name for name, _ in FIELDS[kind]]
    thing = kind()
    for name, wire in FIELDS[kind]:
        assert getattr(thing, name) is (False if wire == "bit" else None)
    assert not hasattr(thing, "__dict__")
    assert kind.__doc__
    assert issubclass(kind, Control | Command | Struct)
    assert list(inspect.signature(kind).parameters) == list(kind.FIELDS)
    assert set(REQUIRED.get(kind, ())) <= set(kind.FIELDS)


def test_what_is_given_is_kept_as_plain_values() -> None:
    """Mappings become maps, lists of texts tuples, iterables of structs arrays of struct32."""
    start = connection.Start({"a": 1}, ["PLAIN"], iter(["en_US"]))
    assert type(start.server_properties) is Map
    assert (start.mechanisms, start.locales) == (("PLAIN",), ("en_US",))
    own = TextArray(0x85, ["x"])
    assert connection.Open("/", own).capabilities is own
    mapped = Map({"k": 1})
    assert queue.Declare("q", arguments=mapped).arguments is mapped
    source = {"k": 1}
    properties = message.MessageProperties(application_headers=source)
    source["k"] = 2
    assert properties.application_headers == {"k": 1}
    assert session.Expected(RangeSet(), ()).fragments == Array(0xAB)


def test_secrets_do_not_show() -> None:
    """Challenges and responses show as a length."""
    for thing in (
        connection.StartOk(response=b"swordfish"),
        connection.Secure(b"swordfish"),
        connection.SecureOk(b"swordfish"),
    ):
        assert "swordfish" not in repr(thing)
        assert "<9 octets>" in repr(thing)


def test_results() -> None:
    """Commands name the struct that answers them."""
    for kind in EVERYTHING:
        if issubclass(kind, Command) and kind.RESULT:
            assert issubclass(BY_NAME[kind.RESULT], Struct)
    assert message.Acquire.RESULT == "message.acquired"
    assert execution.Sync.RESULT == ""


def test_codes() -> None:
    """The numbers of some names, and that error codes are all there."""
    assert int(codes.ErrorCode.NOT_FOUND) == 404
    assert len(codes.ErrorCode) == 13
    assert int(codes.CloseCode.FRAMING_ERROR) == 501
    assert int(codes.DetachCode.UNKNOWN_IDS) == 4
    assert int(codes.TypeCode.STR16) == 0x95
    assert codes.MIN_MAX_FRAME_SIZE == 4096


def test_rules() -> None:
    """146 rules and 78 exceptions, by path; their bare names are fewer."""
    rules = [rule for rule in RULES.values() if rule.error is None]
    assert (len(rules), len(RULES) - len(rules)) == (146, 78)
    assert len({rule.path.rpartition(".")[2] for rule in rules}) == 120
    assert all(path == rule.path and rule.text for path, rule in RULES.items())
    assert RULES["message.transfer.destination.nonexistent-exchange"].error == 404


def test_tables_of_structs() -> None:
    """Two structs are fields; 14 have codes."""
    assert set(SHAPES) == {"message.reply-to", "dtx.xid"}
    assert len(STRUCTS) == 14
