"""The errata layout: golden frames, all classes both ways, and the edges of flags, sizes and session headers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builds import wrong_type
from tests.wire.strategies import CODED, COMMANDS, CONTROLS, things

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import connection, dtx, exchange, execution, message, queue, session
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.values import Array, Map, NullArray, NullMap, NullStruct, RawArray, TextArray, UnknownStruct
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.layouts.v0_10 import LAYOUT

FEW = max(1, min(settings().max_examples // 6, 30))
"""Examples of each of a hundred kinds: ten, or thirty in `make soak`."""
GOLDEN_FILE = Path(__file__).parents[1] / "golden.txt"
FRAMES = [bytes.fromhex(line.split("\t")[1]) for line in GOLDEN_FILE.read_text().splitlines() if not line.startswith("#")]
DELIVERY = message.DeliveryProperties(delivery_mode=2, routing_key="q")
MESSAGE = message.MessageProperties(
    content_length=5,
    reply_to=message.ReplyTo("amq.direct", "r"),
    content_type="text/plain",
    application_headers=Map({"k": 1}),
)
MEANT: list[object] = [
    connection.Heartbeat(),
    connection.Close(200, "OK"),
    connection.Tune(65534, 65535, 0, 120),
    connection.TuneOk(65534, 65535, 0),
    connection.Open("/"),
    connection.Start({}, ["ANONYMOUS", "PLAIN"], ["en_US"]),
    connection.StartOk({}, "ANONYMOUS", b"", "en_US"),
    session.Attach(b"s"),
    session.Detached(b"s", 0),
    session.CommandPoint(0, 0),
    session.Completed(RangeSet([(0, 2), (5, 6), (15, 15)]), True),
    session.Flush(True, True, True),
    (execution.Sync(), True),
    (execution.Exception_(404, 7, 8, 4, 0, "nf"), False),
    (execution.Result(3, queue.QueueQueryResult(queue="q", message_count=2, subscriber_count=1)), False),
    (message.Subscribe("q", "d", 0, 0), False),
    (message.Flow("d", 0, 0xFFFFFFFF), False),
    (message.Transfer("", 1, 0), False),
    (DELIVERY, MESSAGE),
    b"hello",
    (dtx.Start(dtx.Xid(0, b"g", b"b")), True),
]


def decode(segment_type: int, b: bytes, start: int, end: int) -> object:
    """What the payload of a segment means."""
    if segment_type == 0:
        return LAYOUT.decode_control(b, start, end)
    if segment_type == 1:
        return LAYOUT.decode_command(b, start, end)
    if segment_type == 2:
        return LAYOUT.decode_headers(b, start, end)
    return b[start:end]


def encode(segment_type: int, thing: Any) -> bytes:
    """The payload of a segment."""
    if segment_type == 0:
        return LAYOUT.encode_control(thing)
    if segment_type == 1:
        return LAYOUT.encode_command(*thing)
    if segment_type == 2:
        return b"".join(map(LAYOUT.encode_struct32, thing))
    return bytes(thing)


@pytest.mark.parametrize(("frame", "thing"), list(zip(FRAMES, MEANT, strict=True)))
def test_golden_frames_both_directions(frame: bytes, thing: object) -> None:
    """What an independent codec wrote means what it meant, and we write the same octets."""
    assert decode(frame[1], frame, 12, len(frame)) == thing
    assert encode(frame[1], thing) == frame[12:]
    assert encode(frame[1], decode(frame[1], frame, 12, len(frame))) == frame[12:]


@pytest.mark.parametrize("frame", [f for f in FRAMES if f[1] != 3])
def test_every_prefix_of_a_golden_payload_fails(frame: bytes) -> None:
    """A payload cut short is a DecodeError, whether the octets behind the cut are there or not; its offset is inside."""
    for end in range(12, len(frame)):
        for octets in (frame, frame[:end], frame + frame):
            if frame[1] == 2 and end in (12, 12 + 11):
                continue  # no struct at all, and the first struct alone
            with pytest.raises(DecodeError) as caught:
                decode(frame[1], octets, 12, end)
            assert 12 <= caught.value.octet <= end + 2
            assert caught.value.code == (501 if frame[1] == 0 else 503)


@pytest.mark.parametrize("kind", CONTROLS)
@settings(max_examples=FEW)
@given(data=st.data())
def test_controls_round_trip(kind: type[Control], data: st.DataObject) -> None:
    """Any control decodes from its octets to an equal control, and from nothing shorter when its fields fill it."""
    control = data.draw(things(kind))
    octets = LAYOUT.encode_control(control)
    again = LAYOUT.decode_control(b"??" + octets + b"??", 2, 2 + len(octets))
    assert again == control
    assert type(again) is kind
    assert LAYOUT.encode_control(again) == octets
    for end in range(len(octets)):
        with pytest.raises(DecodeError) as caught:
            LAYOUT.decode_control(octets, 0, end)
        assert caught.value.code == 501


@pytest.mark.parametrize("kind", COMMANDS)
@settings(max_examples=FEW)
@given(data=st.data(), sync=st.booleans())
def test_commands_round_trip(kind: type[Command], data: st.DataObject, sync: bool) -> None:
    """Any command decodes from its octets to an equal command and the same sync bit, and from nothing shorter."""
    command = data.draw(things(kind))
    octets = LAYOUT.encode_command(command, sync)
    assert LAYOUT.decode_command(b"??" + octets + b"??", 2, 2 + len(octets)) == (command, sync)
    assert LAYOUT.encode_command(*LAYOUT.decode_command(octets, 0, len(octets))) == octets
    for end in range(len(octets)):
        with pytest.raises(DecodeError) as caught:
            LAYOUT.decode_command(octets, 0, end)
        assert caught.value.code in (503, 531)


@pytest.mark.parametrize("kind", CODED)
@settings(max_examples=FEW)
@given(data=st.data())
def test_structs_round_trip(kind: type[Struct], data: st.DataObject) -> None:
    """Any coded struct decodes from its octets to an equal struct, alone and in a header segment."""
    struct = data.draw(things(kind))
    octets = LAYOUT.encode_struct32(struct)
    assert LAYOUT.decode_struct32(b"??" + octets + b"??", 2, 2 + len(octets)) == struct
    assert LAYOUT.decode_headers(octets + octets, 0, 2 * len(octets)) == (struct, struct)
    for end in range(len(octets)):
        with pytest.raises(DecodeError):
            LAYOUT.decode_struct32(octets, 0, end)


@given(st.binary(max_size=120), st.sampled_from([0, 1, 2]), st.integers(0, 11), st.integers(0, 14))
def test_nothing_but_decode_error(octets: bytes, segment_type: int, class_code: int, code: int) -> None:
    """Whatever octets come, with or without a code that means something, a value or a DecodeError comes out."""
    codes: set[int] = set()
    head = bytes([class_code, code]) + (b"\x01" if segment_type == 1 else b"")
    for data in (octets, head + octets, len(head + octets).to_bytes(4, "big") + head + octets):
        for end in {len(data), len(data) // 2}:
            try:
                decode(segment_type, data, 0, end)
            except DecodeError as why:
                codes.add(why.code)
    assert codes <= {501, 503, 506, 531, 540}


@given(st.sampled_from([f for f in FRAMES if f[1] != 3]), st.data())
def test_mutated_golden_frames(frame: bytes, data: st.DataObject) -> None:
    """Any three octets changed: a value or a DecodeError."""
    changed = bytearray(frame)
    for _ in range(3):
        changed[data.draw(st.integers(12, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        thing = decode(frame[1], bytes(changed), 12, len(frame))
    except DecodeError:
        return
    encode(frame[1], thing)


def test_flags_without_a_field() -> None:
    """Fields of controls and commands cannot be passed over, so an unknown flag makes them undecodable."""
    for payload, code in [("010a0001", 501), ("010b040000c8024f4b", 501), ("030101000080", 503), ("040101000800", 503)]:
        b = bytes.fromhex(payload)
        with pytest.raises(DecodeError, match="belong to no field") as caught:
            LAYOUT.decode_control(b, 0, len(b)) if code == 501 else LAYOUT.decode_command(b, 0, len(b))
        assert caught.value.code == code


def test_unknown_codes() -> None:
    """A command that nobody knows is 540, a control 501; both say the numbers."""
    with pytest.raises(DecodeError, match=r"command 119\.1") as command:
        LAYOUT.decode_command(bytes.fromhex("770101000000"), 0, 6)
    assert command.value.code == 540
    with pytest.raises(DecodeError, match=r"control 1\.99") as control:
        LAYOUT.decode_control(bytes.fromhex("01630000"), 0, 4)
    assert control.value.code == 501
    with pytest.raises(DecodeError) as short:
        LAYOUT.decode_command(bytes.fromhex("7701"), 0, 2)
    assert short.value.code == 503


@pytest.mark.parametrize(
    ("payload", "sync"),
    [
        ("0301000000", False),
        ("030101010000", True),
        ("030101fe0000", False),
        ("03010201000000", True),
        ("03010501aabbccdd0000", True),
    ],
)
def test_session_header_of_any_size(payload: str, sync: bool) -> None:
    """The size of session.header is honoured; the first bit of its first octet, when there is one, is sync."""
    b = bytes.fromhex(payload)
    assert LAYOUT.decode_command(b, 0, len(b)) == (execution.Sync(), sync)


def test_session_header_beyond_the_command() -> None:
    """A session.header that is longer than the command is an error that says so."""
    with pytest.raises(DecodeError, match=r"session\.header"):
        LAYOUT.decode_command(bytes.fromhex("0301ff010000"), 0, 6)


def test_octets_behind_the_last_field_pass() -> None:
    """Octets behind the last field of a control or command are passed over, as the deployed brokers do."""
    assert LAYOUT.decode_control(bytes.fromhex("010a0000ffff"), 0, 6) == connection.Heartbeat()
    assert LAYOUT.decode_command(bytes.fromhex("030101000000ff"), 0, 7) == (execution.Sync(), False)


def test_required_is_not_enforced() -> None:
    """Fields that the specification requires may be absent; unknown numbers of enumerations stay numbers."""
    assert LAYOUT.decode_control(bytes.fromhex("01020000"), 0, 4) == connection.StartOk()
    assert LAYOUT.decode_control(bytes.fromhex("010b0100ffff"), 0, 6) == connection.Close(65535)


def test_flag_octets_are_emitted_lowest_field_first() -> None:
    """Field 0 is the lowest bit of the first flag octet, field 8 the lowest of the second."""
    assert LAYOUT.encode_struct32(message.DeliveryProperties(discard_unroutable=True))[6:] == b"\x01\x00"
    assert LAYOUT.encode_struct32(message.MessageProperties(application_headers={}))[6:8] == b"\x00\x01"
    assert LAYOUT.encode_struct32(message.MessageProperties(app_id=b""))[6:8] == b"\x80\x00"


def test_null_structs() -> None:
    """A struct of size 0 is a NullStruct; a field of that kind reads as one without fields."""
    assert LAYOUT.decode_struct32(bytes(4), 0, 4) == NullStruct()
    assert LAYOUT.encode_struct32(NullStruct()) == bytes(4)
    assert LAYOUT.decode_headers(bytes(8), 0, 8) == (NullStruct(), NullStruct())
    b = bytes.fromhex("00000006040308000000")
    assert LAYOUT.decode_struct32(b, 0, len(b)) == message.MessageProperties(reply_to=message.ReplyTo())
    xid = bytes.fromhex("06020100010000000000")
    assert LAYOUT.decode_command(xid, 0, len(xid)) == (dtx.Start(dtx.Xid()), False)


@pytest.mark.parametrize(
    "xid", ["0000000106", "00000003060407", "0000000406030000", "0000000c060507000000000001670162", "000000ff06040000"]
)
def test_xid_of_the_wrong_shape(xid: str) -> None:
    """An xid field says its size and its code; anything else is undecodable and named."""
    b = bytes.fromhex("060201000100" + xid)
    with pytest.raises(DecodeError, match=r"dtx\.start\.xid") as caught:
        LAYOUT.decode_command(b, 0, len(b))
    assert caught.value.code == 503


def test_nested_lengths_do_not_leave_their_struct() -> None:
    """A length inside a sized struct is bounded by the struct, though more octets follow."""
    good = LAYOUT.encode_struct32(message.MessageProperties(reply_to=message.ReplyTo("aaaa", "b"), content_type="text"))
    for at in (8, 9, 12):  # the size of reply-to, and the length of its exchange behind the flags
        bad = bytearray(good + bytes(300))
        bad[at] = 0xF0
        with pytest.raises(DecodeError, match=r"message\.message-properties\."):
            LAYOUT.decode_struct32(bytes(bad), 0, len(bad))


def test_texts_in_arrays() -> None:
    """str16 arrays are tuples; arrays of other texts keep their element code; arrays of numbers are refused."""

    def locales(array: str) -> Any:
        b = bytes.fromhex("01010400" + array)
        control = LAYOUT.decode_control(b, 0, len(b))
        assert LAYOUT.encode_control(control) == b
        assert isinstance(control, connection.Start)
        return control.locales

    assert locales("000000089500000001000161") == ("a",)
    assert type(locales("000000089500000001000161")) is tuple
    for array, code in [("0000000785000000010161", 0x85), ("000000089000000001000161", 0x90), ("0000000784000000010161", 0x84)]:
        got = locales(array)
        assert got == ("a",)
        assert isinstance(got, TextArray)
        assert got.code == code
    for empty, null in [("00000005f000000000", False), ("00000000", True)]:
        got = locales(empty)
        assert isinstance(got, TextArray)
        assert (got, got.null) == ((), null)
    with pytest.raises(DecodeError, match="are no text"):
        locales("00000009220000000100000001")


def test_command_fragments_are_kept() -> None:
    """An array of command fragments that is not empty has no defined encoding, so it is kept and written as it came."""
    cases: list[tuple[str, type[object]]] = [
        ("00000005f000000000", Array),
        ("00000000", NullArray),
        ("000000079900000009abcd", RawArray),
        ("000000059900000009", RawArray),
    ]
    for array, kind in cases:
        b = bytes.fromhex("020803000000" + array)
        control = LAYOUT.decode_control(b, 0, len(b))
        assert isinstance(control, session.Expected)
        assert control.fragments.__class__ is kind
        assert LAYOUT.encode_control(control) == b


def test_null_maps_and_absent_maps_differ() -> None:
    """No map, an empty map and a map of size 0 are three things."""
    for arguments, content in [
        (None, "070601000000"),
        (Map(), "0706010008000000000400000000"),
        (NullMap(), "07060100080000000000"),
    ]:
        b = bytes.fromhex(content)
        command, _ = LAYOUT.decode_command(b, 0, len(b))
        assert isinstance(command, exchange.Bound)
        assert type(command.arguments) is type(arguments)
        assert LAYOUT.encode_command(command, False) == b


def test_bad_values_in_commands_are_illegal_arguments() -> None:
    """Text that is no UTF-8 and ranges turned round are 531 in a command, and name the field."""
    for payload, what in [
        ("04010100010001ff", "message.transfer.destination"),
        ("04020100010000080000000500000004", "message.accept.transfers"),
    ]:
        b = bytes.fromhex(payload)
        with pytest.raises(DecodeError) as caught:
            LAYOUT.decode_command(b, 0, len(b))
        assert caught.value.code == 531
        assert caught.value.what.startswith(what)


def test_limits_reach_the_fields() -> None:
    """The ranges of a set and the nesting of maps in fields are limited by the reading that is given."""
    ids = RangeSet([(0, 0), (2, 2), (4, 4)])
    b = LAYOUT.encode_control(session.Completed(ids))
    assert LAYOUT.decode_control(b, 0, len(b), Reading(ranges=3)) == session.Completed(ids)
    with pytest.raises(DecodeError, match="limit ranges is 2"):
        LAYOUT.decode_control(b, 0, len(b), Reading(ranges=2))
    b = LAYOUT.encode_command(queue.Declare("q", arguments={"a": Map({"b": Map()})}), False)
    assert LAYOUT.decode_command(b, 0, len(b), Reading(nesting=3))
    with pytest.raises(DecodeError, match="limit nesting is 2"):
        LAYOUT.decode_command(b, 0, len(b), Reading(nesting=2))


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: connection.Close(65536), "connection.close.reply_code"),
        (lambda: connection.Close(-1), "connection.close.reply_code"),
        (lambda: connection.Close(200, "x" * 256), "connection.close.reply_text"),
        (lambda: connection.Close(200, "\ud800"), "connection.close.reply_text"),
        (lambda: connection.Start(locales=["x" * 65536]), "connection.start.locales"),
        (lambda: connection.Start(server_properties={"k": object()}), "connection.start.server_properties"),  # type: ignore[dict-item]
        (lambda: session.CommandPoint(1 << 32, 0), "session.command-point.command_id"),
        (lambda: session.Attach(bytes(65536)), "session.attach.name"),
        (lambda: session.Completed(RangeSet([(n * 2, n * 2) for n in range(8192)])), "session.completed.commands"),
        (lambda: message.Transfer("d", 256), "message.transfer.accept_mode"),
        (lambda: message.Transfer("d", -1), "message.transfer.accept_mode"),
        (lambda: message.Transfer("x" * 256), "message.transfer.destination"),
        (lambda: message.Flow("d", 0, -1), "message.flow.value"),
        (lambda: dtx.Start(dtx.Xid(1 << 32)), "dtx.start.xid.format_"),
        (lambda: execution.Result(1, message.ReplyTo()), "execution.result.value"),
        (lambda: queue.Declare("q", arguments={"a": 1 << 65}), "queue.declare.arguments"),
    ],
)
def test_encode_errors_name_the_field(make: Callable[[], Control | Command], what: str) -> None:
    """A field that its type cannot hold is refused, and named."""
    thing = make()
    with pytest.raises(EncodeError) as caught:
        LAYOUT.encode_control(thing) if isinstance(thing, Control) else LAYOUT.encode_command(thing, False)
    assert caught.value.what.startswith(what)
    assert caught.value.rule


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: connection.Close("200"), "connection.close.reply_code"),  # type: ignore[arg-type]
        (lambda: connection.Close(200, b"x"), "connection.close.reply_text"),  # type: ignore[arg-type]
        (lambda: connection.Secure("x"), "connection.secure.challenge"),  # type: ignore[arg-type]
        (lambda: session.Attach("x"), "session.attach.name"),  # type: ignore[arg-type]
        (lambda: session.Completed([1]), "session.completed.commands"),  # type: ignore[arg-type]
        (lambda: dtx.Start(message.ReplyTo()), "dtx.start.xid"),  # type: ignore[arg-type]
        (lambda: execution.Result(1, 5), "execution.result.value"),  # type: ignore[arg-type]
    ],
)
def test_a_field_of_a_wrong_type_is_named(make: Callable[[], Control | Command], what: str) -> None:
    with wrong_type(what):
        thing = make()
        LAYOUT.encode_control(thing) if isinstance(thing, Control) else LAYOUT.encode_command(thing, False)


def test_what_the_layout_does_not_have() -> None:
    """A control is no command, a reply-to cannot stand alone, an unknown struct can."""
    with wrong_type():
        LAYOUT.encode_command(connection.Heartbeat(), False)  # type: ignore[arg-type]
    with wrong_type():
        LAYOUT.encode_control(execution.Sync())  # type: ignore[arg-type]
    with pytest.raises(EncodeError):
        LAYOUT.encode_struct32(message.ReplyTo())
    assert LAYOUT.encode_struct32(UnknownStruct(0x7F, 1, b"ab")) == bytes.fromhex("000000047f016162")


def test_sequence_numbers_and_full_sets() -> None:
    """8191 ranges are what a set can hold, and are read back."""
    ids = RangeSet([(n * 2, n * 2) for n in range(8191)])
    b = LAYOUT.encode_control(session.Completed(ids))
    assert LAYOUT.decode_control(b, 0, len(b)) == session.Completed(ids)
