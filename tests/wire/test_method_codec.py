"""Words of an older dialect: by name, with their contents, and class connection as all families know it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.families.channels import EIGHT, FAMILY, ONE, content, frame, payload

from amqp_sansio.dialects import Dialect
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import (
    Blocked,
    Close,
    CloseOk,
    Heartbeat,
    Open,
    OpenOk,
    Redirect,
    Secure,
    SecureOk,
    Start,
    StartOk,
    Tune,
    TuneOk,
)
from amqp_sansio.spec.methods import basic
from amqp_sansio.wire.framing import CONTROL, Assembly
from amqp_sansio.wire.method_codec import MethodCodec, read_properties, write_properties


def _properties(count: int) -> tuple[tuple[str, str], ...]:
    return tuple([(f"p{n}", ("uint8", "str8", "uint64")[n % 3]) for n in range(count)])


def _listed(*values: object) -> list[object]:
    return list(values)


class Made(Value):
    """Properties p0, p1 and so on."""

    def __init__(self, values: list[object]) -> None:
        vars(self).update({f"p{n}": value for n, value in enumerate(values)})


def _write(values: list[object]) -> bytes:
    return write_properties("made", Made(values), _properties(len(values)))


@given(st.data(), st.integers(0, 40))
def test_what_is_written_is_read(data: st.DataObject, count: int) -> None:
    """Absent is None; no prefix is read, nor with more behind it."""
    kinds = [st.integers(0, 255), st.text(st.characters(codec="utf-8"), max_size=5), st.integers(0, (1 << 64) - 1)]
    values = [data.draw(st.none() | kinds[n % 3]) for n in range(count)]
    b = _write(values)
    assert read_properties(_listed, "made", _properties(count), b"xy" + b + b"z", 2, 2 + len(b)) == values
    for wrong in [*[b[:cut] for cut in range(len(b))], b + b"\0"]:
        with pytest.raises(DecodeError) as raised:
            read_properties(_listed, "made", _properties(count), wrong, 0, len(wrong))
        assert raised.value.code == 502


def test_flags_go_from_the_highest_bit_and_the_lowest_says_that_more_follow() -> None:
    assert _write([1, None, None]) == b"\x80\x00\x01"
    assert _write([None] * 14 + [7 << 56]) == b"\x00\x02\x07" + bytes(7)
    assert _write([None] * 15 + [9]) == b"\x00\x01\x80\x00\x09"
    assert _write([None] * 30 + [9]) == b"\x00\x01\x00\x01\x80\x00\x09"
    assert _write([]) == b"\0\0"


@pytest.mark.parametrize(
    ("octets", "rule"),
    [(b"\x10\x00\x01", "flag 3 belongs to none of its 3"), (b"\0\1\0\0", "no further word"), (b"\0\1" * 9, "no further word")],
)
def test_flags_of_no_property_are_refused(octets: bytes, rule: str) -> None:
    with pytest.raises(DecodeError, match=rule):
        read_properties(_listed, "made", _properties(3), octets, 0, len(octets))


def test_fifteen_properties_take_one_word() -> None:
    """Behind a word that holds them all no other one may come, not even an empty one."""
    with pytest.raises(DecodeError, match="15 properties have no further word of flags"):
        read_properties(_listed, "made", _properties(15), b"\0\1\0\0", 0, 4)
    assert read_properties(_listed, "made", _properties(16), b"\0\1\0\0", 0, 4) == [None] * 16


FAMILIES = pytest.mark.parametrize("dialect", FAMILY, ids=lambda dialect: dialect.name)


def unit(octets: bytes) -> Assembly:
    return Assembly(0, 0, CONTROL, octets, None, None, 0, len(octets))


@FAMILIES
def test_class_connection_is_shared(dialect: Dialect[MethodCodec]) -> None:
    said: dict[Control, dict[str, object]] = {
        Start({"a": 1}, ("PLAIN", "X"), ("en_US",), 0, 9): {
            "server_properties": {"a": 1},
            "mechanisms": ("PLAIN", "X"),
            "locales": ("en_US",),
            "version_major": 0,
            "version_minor": 9,
        },
        StartOk({}, "PLAIN", b"r", "en_US"): {"mechanism": "PLAIN", "response": b"r", "locale": "en_US"},
        Secure(b"c"): {"challenge": b"c"},
        SecureOk(b"r"): {"response": b"r"},
        Tune(7, 8, None, 9): {"channel_max": 7, "max_frame_size": 8, "heartbeat_max": 9},
        TuneOk(7, 8, 9): {"channel_max": 7, "max_frame_size": 8, "heartbeat": 9},
        Close(200, "bye", 60, 40): {"reply_code": 200, "reply_text": "bye", "class_id": 60, "method_id": 40},
        CloseOk(): {},
    }
    for control, fields in said.items():
        assert dialect.codec.read_control(unit(payload(dialect, control.VERB, **fields))) == control
        assert dialect.codec.write_control(control) == payload(dialect, control.VERB, **fields)
    assert dialect.codec.read_control(unit(b"")) == Heartbeat()


def test_hosts_and_capabilities_are_lists() -> None:
    """0-8 and 0-9 have known hosts, between commas, and capabilities, between blanks; in 0-9-1 their places are reserved."""
    opened, ok = Open("/", ("a", "b"), True), OpenOk(("one:1", "two:2"))
    for control in (opened, ok, Redirect("three:3", ("one:1",))):
        assert EIGHT.codec.read_control(unit(EIGHT.codec.write_control(control))) == control
    assert EIGHT.codec.write_control(ok).endswith(b"\x0bone:1,two:2")
    assert ONE.codec.read_control(unit(ONE.codec.write_control(opened))) == Open("/")
    assert ONE.codec.read_control(unit(ONE.codec.write_control(ok))) == OpenOk()


def test_what_only_this_family_has() -> None:
    """Controls, too; secrets do not show."""
    assert ONE.codec.read_control(unit(payload(ONE, "connection.blocked", reason="r"))) == Blocked("r")
    update = ONE.codec.read_control(unit(payload(ONE, "connection.update-secret", new_secret=b"hush-hush", reason="r")))
    assert "hush" not in repr(update)
    with pytest.raises(DecodeError, match="no method of class connection"):
        ONE.codec.read_control(unit(payload(ONE, "basic.qos")))


def test_a_header_is_written_and_read() -> None:
    properties = basic.Properties(content_type="text", headers={"a": [1, {"b": None}]}, timestamp=7)
    header = ONE.codec.write_header(60, 5, properties)
    assert header[:12] == b"\0\x3c\0\0" + (5).to_bytes(8, "big")
    assert ONE.codec.read_properties(header) == properties
    with pytest.raises(EncodeError, match=r"header\.priority"):
        ONE.codec.write_header(60, 5, basic.Properties(priority=256))
    with pytest.raises(EncodeError, match="class 60 has no Qos"):
        ONE.codec.write_header(60, 5, basic.Qos())


@pytest.mark.parametrize(
    ("octets", "verb"),
    [
        (b"\0\x3c\0\x28", "basic.publish"),
        (b"\0\x3c\3\xe7", "basic.999"),
        (b"\0\x63\0\1", "99.1"),
        (b"\0", "?"),
        (b"", "connection.heartbeat"),
    ],
)
def test_verbs_by_name_or_numbers(octets: bytes, verb: str) -> None:
    assert ONE.codec.verb_of(octets) == ONE.codec.said_in(unit(octets)) == verb


def test_numbers_of_a_name() -> None:
    numbers = ONE.codec.numbers_of
    assert [numbers(name) for name in ("basic.ack", "basic.999", "99.1", "connection.65535")] == [
        (60, 80), (60, 999), (99, 1), (10, 65535)
    ]  # fmt: skip
    assert [numbers(name) for name in ("", "ack", "basic.", "nobody.1", "basic." + "9" * 5000, "9" * 5000 + ".1")] == [None] * 6


def test_one_number_means_another_method_in_another_version() -> None:
    assert [each.codec.verb_of(b"\0\x0a\0\x3c") for each in (EIGHT, ONE)] == ["connection.close", "connection.blocked"]


@FAMILIES
def test_what_carries_a_content(dialect: Dialect[MethodCodec]) -> None:
    assert dialect.codec.carries(60, 40)
    assert not dialect.codec.carries(60, 80)
    assert not dialect.codec.carries(99, 1)


def test_properties() -> None:
    head = content(properties=b"\x80\0\4text")[7:-1]
    assert getattr(ONE.codec.read_properties(head), "content_type", "") == "text"
    assert ONE.codec.read_properties(content(of=10)[7:-1]) is None
    with pytest.raises(DecodeError):
        ONE.codec.read_properties(content(properties=b"\x80\0\5text")[7:-1])
    assert frame(ONE, "basic.qos")[-1] == 0xCE
