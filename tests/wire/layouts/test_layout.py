"""Names, codes and segments of a layout."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builds import wrong_type
from tests.wire.strategies import CODED, COMMANDS, CONTROLS, scalars, structs

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.errors import DecodeError, EncodeError, HeaderError
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import connection, dtx, message
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.codes import DeliveryMode
from amqp_sansio.spec.connection import Heartbeat, Tune
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties, MessageProperties, Transfer
from amqp_sansio.spec.values import NullStruct, UnknownStruct
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.layouts.layout import HeaderDecoder, decode_headers, encode_headers, masked, walk_headers
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import SegmentReader, frame_command


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


@given(st.lists(structs(scalars()), max_size=4))
def test_round_trip(headers: list[Struct]) -> None:
    """Any structs in any order, unknown and double ones too, pass the walk and are read back."""
    octets = b"--" + encode_headers(headers) + b"--"
    walk_headers(octets, 2, len(octets) - 2, DEFAULT_LIMITS)
    assert decode_headers(octets, 2, len(octets) - 2) == tuple(headers)


@given(st.binary(max_size=80))
def test_what_the_walk_passes_is_a_row_of_structs(octets: bytes) -> None:
    """Only DecodeError comes out of the walk, only HeaderError out of decoding; what the walk refuses, decoding refuses."""
    try:
        walk_headers(octets, 0, len(octets), DEFAULT_LIMITS)
        walked = 0
    except DecodeError as why:
        walked = why.code
    assert walked in (0, 503)
    try:
        decode_headers(octets, 0, len(octets))
        read = 0
    except HeaderError as why:
        read = why.code
    assert read in (walked, 503)


@given(st.lists(structs(scalars()), min_size=1, max_size=2), st.data())
def test_a_segment_cut_short(headers: list[Struct], data: st.DataObject) -> None:
    """A segment that ends inside a struct is refused by the walk, with and without octets behind the end."""
    octets = encode_headers(headers)
    starts = {0}
    p = 0
    while p < len(octets):
        p += 4 + struct.unpack_from(">I", octets, p)[0]
        starts.add(p)
    end = data.draw(st.integers(0, len(octets)).filter(lambda n: n not in starts))
    for sample in (octets, octets[:end]):
        with pytest.raises(DecodeError, match="header struct"):
            walk_headers(sample, 0, end, DEFAULT_LIMITS)
        with pytest.raises(HeaderError):
            decode_headers(sample, 0, end)


def test_limits() -> None:
    """header_structs and header_octets: one less and just as many pass, one more names the limit."""
    one = encode_headers([DeliveryProperties()])
    limits = Limits(header_structs=3, header_octets=4 * len(one))
    for count in (0, 2, 3):
        walk_headers(one * count, 0, len(one) * count, limits)
    with pytest.raises(DecodeError, match="limit header_structs is 3; 4 came"):
        walk_headers(one * 4, 0, len(one) * 4, limits)
    for octets in (31, 32):
        walk_headers(_long(octets), 0, octets, Limits(header_octets=32))
    with pytest.raises(DecodeError, match="limit header_octets is 32; 33 came"):
        walk_headers(_long(33), 0, 33, Limits(header_octets=32))


def _long(octets: int) -> bytes:
    return encode_headers([UnknownStruct(0x7F, 1, bytes(octets - 6))])


def test_header_error_names_struct_and_field() -> None:
    """What the walk could not see is a HeaderError with struct, field and octet."""
    good = encode_headers([DeliveryProperties(delivery_mode=2), MessageProperties(content_type="text/plain")])
    bad = good.replace(b"\x0atext", b"\xfatext")
    walk_headers(bad, 0, len(bad), DEFAULT_LIMITS)
    with pytest.raises(HeaderError) as caught:
        decode_headers(bad, 0, len(bad))
    assert caught.value.what == "message.message-properties.content_type"
    assert bad[caught.value.octet] == 0xFA
    with pytest.raises(HeaderError, match="content_type"):
        decode_headers(good.replace(b"text/", b"\xffext/"), 0, len(good))


def test_lossy_reading() -> None:
    """The lossy reading gives back a struct whose text is no UTF-8."""
    octets = encode_headers([MessageProperties(content_type="text/plain")]).replace(b"text/", b"\xffext/")
    (got,) = decode_headers(octets, 0, len(octets), Reading(text="surrogateescape"))
    assert got == MessageProperties(content_type="\udcffext/plain")


def test_odd_structs() -> None:
    """Size 0 is a NullStruct; a known struct without flags is refused; unknown ones keep their octets."""
    octets = bytes(4) + encode_headers([UnknownStruct(1, 2, b""), FragmentProperties(True, True, 9)])
    assert decode_headers(octets, 0, len(octets)) == (NullStruct(), UnknownStruct(1, 2, b""), FragmentProperties(True, True, 9))
    for short in ("000000020401", "00000003040100"):
        b = bytes.fromhex(short)
        walk_headers(b, 0, len(b), DEFAULT_LIMITS)
        with pytest.raises(HeaderError, match="no room for its flags"):
            decode_headers(b, 0, len(b))
    with pytest.raises(DecodeError, match="class and code"):
        walk_headers(b"\0\0\0\1\4", 0, 5, DEFAULT_LIMITS)


TRANSFER = Transfer("in", 0, 0)
PAYLOAD = AMQP_0_10.codec.encode_command(TRANSFER, False)

deliveries = st.builds(
    DeliveryProperties,
    priority=st.none() | st.integers(0, 9),
    delivery_mode=st.none() | st.just(2),
    ttl=st.none() | st.integers(0, 9),
    timestamp=st.none() | st.integers(0, 1 << 40),
    expiration=st.none() | st.integers(0, 1 << 40),
    exchange=st.none() | st.just("amq.direct"),
    routing_key=st.none() | st.sampled_from(["a", "b"]),
)
properties = st.builds(
    MessageProperties,
    content_length=st.none() | st.integers(0, 1 << 40),
    message_id=st.none() | st.uuids(),
    correlation_id=st.none() | st.just(b"c"),
    content_type=st.none() | st.just("text/plain"),
)
headers = st.lists(deliveries | properties, min_size=1, max_size=2).map(encode_headers)


def wanted(structs: tuple[Struct, ...]) -> tuple[list[object], bytes | None]:
    """What must not depend on what is left out, and the id that the last properties have."""
    said: list[object] = []
    id: UUID | None = None
    for each in structs:
        if isinstance(each, DeliveryProperties):
            said += ["delivery", each.priority, each.delivery_mode, each.ttl, each.exchange, each.routing_key]
        elif isinstance(each, MessageProperties):
            said += ["message", each.correlation_id, each.content_type]
            id = each.message_id
    return said, None if id is None else id.bytes


@given(st.lists(headers, min_size=1, max_size=12))
def test_headers_read_by_what_they_share_are_read_as_alone(seen: list[bytes]) -> None:
    reader = HeaderDecoder(DEFAULT_READING, wanted)
    for header in seen:
        assert reader.read(header) == wanted(decode_headers(header, 0, len(header)))


def test_messages_that_differ_in_id_and_times_only_are_read_once() -> None:
    def header(number: int) -> bytes:
        message = MessageProperties(message_id=UUID(int=number), content_length=number)
        return encode_headers([DeliveryProperties(timestamp=number, expiration=number + 1, routing_key="k"), message])

    assert masked(header(1))[0] == masked(header(2))[0]
    assert masked(header(3))[1] == UUID(int=3).bytes


@pytest.mark.parametrize("priority", [None, 7])
@pytest.mark.parametrize("mode", [None, DeliveryMode.PERSISTENT])
@pytest.mark.parametrize("ttl", [None, 1 << 60])
@pytest.mark.parametrize("times", [("timestamp",), ("expiration",), ("timestamp", "expiration")])
def test_times_are_left_out_wherever_they_stand_and_nothing_else_is(
    priority: int | None, mode: DeliveryMode | None, ttl: int | None, times: tuple[str, ...]
) -> None:
    def key(time: int, exchange: str) -> bytes:
        timestamp, expiration = [time << 56 | time if name in times else None for name in ("timestamp", "expiration")]
        delivery = DeliveryProperties(False, False, False, priority, mode, ttl, timestamp, expiration, exchange)
        return masked(encode_headers([delivery]))[0]

    assert key(1, "e") == key(0x7F, "e") != key(1, "f") != key(1, "f" * 200)


def test_a_header_is_like_the_one_before_only_where_nothing_but_the_id_and_the_length_differ() -> None:
    """Of the same size, with another word before the message-id or behind it: each says its own."""
    reader = HeaderDecoder(DEFAULT_READING, wanted)
    for length in (None, 5, 6):
        for key, kind in (("a", "x"), ("a", "x"), ("b", "x"), ("b", "y"), ("a", "y"), ("aa", "y"), ("a", "yy")):
            message = MessageProperties(message_id=UUID(int=ord(key[0])), content_length=length, content_type=kind)
            header = encode_headers([DeliveryProperties(routing_key=key), message])
            assert reader.read(header) == wanted(decode_headers(header, 0, len(header)))


def test_what_cannot_be_read_is_left_to_others() -> None:
    good = encode_headers([DeliveryProperties(exchange="amq.direct")])
    broken = good[:8] + b"\xff" + good[9:]
    assert HeaderDecoder(DEFAULT_READING, wanted).read(broken) is None


def octets(bodies: list[bytes | None], channel: int = 1, more: bytes = b"") -> bytes:
    header = encode_headers([DeliveryProperties(routing_key="k")]) + more
    return b"".join([b"".join(frame_command(channel, PAYLOAD, header, body)) for body in bodies])


def reader(data: bytes) -> SegmentReader:
    made = SegmentReader(DEFAULT_LIMITS, tolerant=True)
    made.learn(1, PAYLOAD, TRANSFER, False)
    made.receive(data)
    return made


def test_a_body_segment_of_no_octets_is_left_to_the_slow_way() -> None:
    """Which tells it from no body segment."""
    one, many = reader(octets([b"x", b"", None])), reader(octets([b"x", b"", None]))
    assert one.cut_ahead() is not None
    assert len(many.cut_run(0)) == 1
    for each in (one, many):
        assert (each.cut_ahead(), each.cut_run(0)) == (None, [])
        found = [each.next(), each.next()]
        assert [getattr(assembly, "body", "?") for assembly in found] == [b"", None]


@given(st.lists(st.none() | st.binary(min_size=1, max_size=40), min_size=1, max_size=8), st.integers(0, 30))
def test_a_run_is_what_is_cut_one_by_one(bodies: list[bytes | None], missing: int) -> None:
    whole = octets(bodies)
    data = whole[: len(whole) - missing]
    one, many = reader(data), reader(data)
    expected = []
    while (found := one.cut_ahead()) is not None:
        known, header, _, body, start, end = found
        expected.append((known.payload, header, body, start, end))
    run = many.cut_run(100)
    assert [(known.payload, header, head, start, end) for known, header, _, head, start, end in run] == expected
    assert [cut[2] for cut in run] == [None if each is None else len(each) for each in bodies][: len(run)]
    assert (many.offset, many.frames) == (one.offset, one.frames)
    assert many.next() is None  # which sees what is needed
    many.receive(whole[len(data) :])
    assert len(run) + (len(many.cut_run(0)) if many.ready() else 0) == len(bodies)


def cut_by_itself(data: bytes, head: int) -> tuple[list[object], int, int, bool]:
    """What is cut where each message is looked at by itself, and where that leaves the reader."""
    one = reader(data)
    found: list[object] = []
    while cut := one.cut_run(head, 1):
        found += [each[1:] for each in cut]
    return found, one.offset, one.frames, one.ready()


def cut_together(data: bytes, head: int) -> tuple[list[object], int, int, bool]:
    one = reader(data)
    run = one.cut_run(head)
    return [each[1:] for each in run], one.offset, one.frames, one.ready()


def message_of(key: str, length: int | None, body: int | None) -> bytes:
    structs: list[Struct] = [DeliveryProperties(routing_key=key)]
    if length is not None:
        structs.append(MessageProperties(content_length=length))
    return b"".join(frame_command(1, PAYLOAD, encode_headers(structs), None if body is None else b"x" * body))


alike = st.lists(st.tuples(st.sampled_from(["k", "kk"]), st.sampled_from([None, 7]), st.sampled_from([None, 3, 9])), max_size=6)
"""Messages by their routing key, content-length and octets of body: of few sizes, as messages of one kind are."""


@given(alike, st.integers(0, 40), st.integers(0, 10))
def test_messages_of_few_sizes_are_cut_as_each_by_itself(
    said: list[tuple[str, int | None, int | None]], missing: int, head: int
) -> None:
    data = b"".join([message_of(*each) for each in said])
    data = data[: max(0, len(data) - missing)]
    assert cut_together(data, head) == cut_by_itself(data, head)


@pytest.mark.parametrize("length", [None, 7])
def test_messages_of_one_size_are_cut_with_every_check(length: int | None) -> None:
    """Whatever octet of one of them is another."""
    like = message_of("k", length, 3)
    for at in range(len(like)):
        for change in (1, 4, 0x10, 0xFF):
            data = bytearray(like * 4)
            data[2 * len(like) + at] ^= change
            assert cut_together(bytes(data), 9) == cut_by_itself(bytes(data), 9), (at, change)


@pytest.mark.parametrize("size", [0, 2, 3, 4, 5, 20])
def test_a_second_struct_is_cut_as_well_when_it_can_be_one(size: int) -> None:
    """A header of two structs is read at once, down to a second one without any field; less than its codes is none."""
    more = size.to_bytes(4) + bytes.fromhex("0403") + bytes(size)
    data = octets([b"x"], more=more[: 4 + size])
    one, many = reader(data).cut_ahead(), reader(data).cut_run(0)
    assert (one is not None, len(many)) == ((True, 1) if size >= 4 else (False, 0))


@given(st.lists(st.tuples(st.integers(0, 12), st.none() | st.integers(0, 3)), min_size=1, max_size=4))
def test_nothing_waits_for_octets_that_are_not_its_own(sizes: list[tuple[int, int | None]]) -> None:
    """Fed one octet at a time, whatever the sizes of header and body: it comes with its last octet, as without runs."""
    fast, slow = reader(b""), reader(b"")
    for header, body in sizes:
        for octet in b"".join(frame_command(1, PAYLOAD, bytes(header), None if body is None else bytes(body))):
            for each in (fast, slow):
                each.receive(bytes([octet]))
            cut = None if fast.cut_ahead() is None else (fast.offset, fast.frames)
            while fast.next() is not None:
                cut = fast.offset, fast.frames
            assert cut == (None if slow.next() is None else (slow.offset, slow.frames))


@pytest.mark.parametrize("left", [0, 1, 2])
def test_what_is_put_back_comes_again(left: int) -> None:
    data = octets([b"one", None, b"three"])
    one = reader(data)
    run = one.cut_run(0)
    one.put_back(run[left:])
    assert one.cut_run(0) == run[left:]
    assert one.frames == 8


def test_transfers_of_another_channel_end_a_run() -> None:
    one = reader(octets([b"x"]) + octets([b"y"], 2))
    one.learn(2, PAYLOAD, TRANSFER, False)
    assert [cut[0].channel for cut in one.cut_run(0)] == [1]
    assert [cut[0].channel for cut in one.cut_run(0)] == [2]
