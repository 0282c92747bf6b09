"""Tests of amqp_sansio.wire.method_reader."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps import assert_linear

from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.wire.framing import AHEAD, COMMAND, CONTROL, Assembly, Malformed
from amqp_sansio.wire.method_frames import FRAME_MAX_SIZE, GUESSED, frame_content, frame_method, put_frame
from amqp_sansio.wire.method_reader import DeliveryConsumers, MethodReader, Reads, cut_content, cut_deliveries, wanted

PUBLISH = bytes.fromhex("003c0028") + b"\0\0\0\0\0"
ACK = bytes.fromhex("003c0050") + bytes(9)
CLOSE = bytes.fromhex("000a0032")
HEARTBEAT = put_frame(8, 0, b"")


def carries(class_code: int, code: int) -> bool:
    return (class_code, code) == (60, 40)


def reader(limits: Limits = DEFAULT_LIMITS, *, tolerant: bool = False, opening: bool = False, most: int = 4096) -> MethodReader:
    return MethodReader(limits, most, tolerant, carries, offset=8, opening=opening)


def units(read: MethodReader) -> list[Assembly | Malformed]:
    found = []
    while (unit := read.next()) is not None:
        found.append(unit)
    return found


def heard(octets: bytes, piece: int = 1 << 20, **how: bool) -> list[Assembly | Malformed]:
    read = reader(**how)  # type: ignore[arg-type]  # each is a bool
    found = []
    for at in range(0, len(octets), piece):
        read.receive(octets[at : at + piece])
        found += units(read)
    return found


said = st.one_of(
    st.tuples(st.just("method"), st.integers(0, 3), st.just(b"")),
    st.tuples(st.just("beat"), st.just(0), st.just(b"")),
    st.tuples(st.just("content"), st.integers(1, 3), st.binary(max_size=90)),
)


@given(st.lists(said, max_size=8), st.sampled_from([1, 3, 8, 30, 1 << 20]), st.randoms(use_true_random=False))
def test_methods_are_read_however_they_are_cut_and_mixed(
    words: list[tuple[str, int, bytes]], piece: int, chance: Random
) -> None:
    """Contents of different channels interleave; each unit comes whole, those of one channel in their order."""
    lines: dict[int, list[bytes]] = {}
    expected: dict[int, list[tuple[int, bytes, bytes | None, bytes | None]]] = {}
    for what, channel, body in words:
        if what == "method":
            payload = ACK if channel else CLOSE
            lines.setdefault(channel, []).append(frame_method(channel, payload))
            expected.setdefault(channel, []).append((COMMAND if channel else CONTROL, payload, None, None))
        elif what == "beat":
            lines.setdefault(0, []).append(HEARTBEAT)
            expected.setdefault(0, []).append((CONTROL, b"", None, None))
        else:
            header = b"\0\x3c\0\0" + len(body).to_bytes(8, "big") + b"\x80\0\x01x"
            lines.setdefault(channel, []).extend(frame_content(channel, PUBLISH, 60, b"\x80\0\x01x", body, 38))
            expected.setdefault(channel, []).append((COMMAND, PUBLISH, header, body or None))
    octets = b""
    while lines:
        channel = chance.choice(sorted(lines))
        octets += lines[channel].pop(0)
        if not lines[channel]:
            del lines[channel]
    found: dict[int, list[tuple[int, bytes, bytes | None, bytes | None]]] = {}
    for unit in heard(octets, piece):
        assert isinstance(unit, Assembly)
        assert 8 <= unit.start < unit.end <= 8 + len(octets)
        found.setdefault(unit.channel, []).append((unit.kind, unit.payload, unit.header, unit.body))
    assert found == expected


BODY = put_frame(3, 1, b"abc")
HEADER = put_frame(2, 1, b"\0\x3c\0\0" + (3).to_bytes(8, "big") + b"\0\0")
CONTENT = frame_content(1, PUBLISH, 60, b"\0\0", b"abc")
WRONG = [
    (frame_method(1, ACK)[:-1] + b"\xcd", "frame.end", 501, True),
    (put_frame(9, 1, b"x"), "frame.type", 501, False),
    (put_frame(0, 1, b"x"), "frame.type", 501, False),
    (b"GET / HTTP/1.1\r\n", "frame.type", 501, True),
    (put_frame(4, 1, b"x"), "frame.type", 501, False),
    (put_frame(8, 1, b""), "frame.heartbeat", 501, False),
    (put_frame(8, 0, b"x"), "frame.heartbeat", 501, False),
    (put_frame(1, 1, b"\0\x3c\0"), "frame.method", 501, False),
    (put_frame(1, 1, bytes(4089)), "connection.tune-ok.frame-max", 501, True),
    (HEADER, "content.header-unexpected", 505, False),
    (BODY, "content.body-unexpected", 505, False),
    (CONTENT[0] + BODY, "content.body-unexpected", 505, False),
    (CONTENT[0] + HEADER + HEADER, "content.header-unexpected", 505, False),
    (CONTENT[0] + frame_method(1, ACK), "content.interrupted", 505, False),
    (CONTENT[0] + put_frame(2, 1, b"\0\x3d" + bytes(12)), "content.class", 505, False),
    (CONTENT[0] + put_frame(2, 1, b"\0\x3c" + bytes(11)), "content.header", 501, False),
    (CONTENT[0] + put_frame(2, 1, b""), "content.header", 501, False),
    (CONTENT[0] + HEADER + put_frame(3, 1, b"abcd"), "content.size", 501, False),
    (CONTENT[0] + HEADER + put_frame(3, 1, b"") * 17, "limits.empty_frames", 506, False),
]


@pytest.mark.parametrize("tolerant", [False, True])
@pytest.mark.parametrize(("octets", "rule", "code", "fatal"), WRONG)
def test_what_is_wrong_is_named_and_what_follows_is_read(
    octets: bytes, rule: str, code: int, fatal: bool, tolerant: bool
) -> None:
    """Once, at its octet, unless the frame could not be cut; what is left of a refused content is passed over."""
    found = heard(octets + BODY * (code == 506) + frame_method(2, ACK), tolerant=tolerant)
    (wrong,) = [unit for unit in found if isinstance(unit, Malformed)]
    assert (wrong.rule, wrong.code, wrong.fatal) == (rule, code, fatal)
    assert 8 <= wrong.offset < 8 + len(octets)
    assert wrong.said
    assert wrong.legal
    whole = [unit for unit in found if isinstance(unit, Assembly) and unit.complete]
    assert ([unit.channel for unit in whole][-1:] == [2]) is not fatal
    broken = [unit for unit in found if isinstance(unit, Assembly) and not unit.complete]
    assert len(broken) == (tolerant and octets.startswith(CONTENT[0]))


def test_before_the_connection_is_open_there_are_small_methods_of_it_and_no_more() -> None:
    most = DEFAULT_LIMITS.handshake_octets
    for octets, rule in (
        (frame_method(1, ACK), "connection.handshake"),
        (frame_method(0, PUBLISH), "connection.handshake"),
        (frame_method(0, CLOSE + bytes(most - 3))[:20], "limits.handshake_octets"),
    ):
        read = reader(opening=True, most=1 << 20)
        read.receive(octets)
        (wrong,) = units(read)
        assert isinstance(wrong, Malformed)
        assert wrong.rule == rule
    read = reader(opening=True, most=1 << 20)
    for size in (most - 5, most - 4):
        read.receive(frame_method(0, CLOSE + bytes(size)))
        assert isinstance(read.next(), Assembly)
    read.opened()
    read.receive(frame_method(1, ACK))
    assert isinstance(read.next(), Assembly)


@pytest.mark.parametrize("piece", [1, 1 << 20])
@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("limit", ["assembly_octets", "header_octets", "buffered_octets"])
def test_a_content_costs_as_much_as_the_limits_say(limit: str, more: int, piece: int) -> None:
    """As much as the limit passes, one octet more does not."""
    held = len(PUBLISH) + 14 + 3
    value = {"assembly_octets": held, "header_octets": 14, "buffered_octets": held}[limit] - more
    read = reader(attrs.evolve(DEFAULT_LIMITS, **{limit: value}))
    octets = b"".join(CONTENT) + frame_method(2, b"\0\x3c\0\x50")
    found: list[Assembly | Malformed] = []
    for at in range(0, len(octets), piece):
        read.receive(octets[at : at + piece])
        found += units(read)
    wrong = [unit.rule for unit in found if isinstance(unit, Malformed)]
    assert wrong == ([f"limits.{limit}"] if more > 0 else [])
    assert [unit.channel for unit in found if isinstance(unit, Assembly)] == ([2] if more > 0 else [1, 2])


@pytest.mark.parametrize("body", [b"", b"abc" * 9])
def test_a_content_is_refused_once_whichever_of_its_frames_goes_beyond_the_octets_that_may_be_held(body: bytes) -> None:
    """What is left of it is passed over, and what comes behind it is read."""
    content = frame_content(1, PUBLISH, 60, b"\0\0", body, 22)
    octets = b"".join(content) + frame_method(2, ACK)
    for held in range(len(PUBLISH), len(PUBLISH) + 14 + len(body)):
        read = reader(attrs.evolve(DEFAULT_LIMITS, buffered_octets=held))
        found: list[Assembly | Malformed] = []
        for at in range(len(octets)):
            read.receive(octets[at : at + 1])
            found += units(read)
        assert [unit.rule if isinstance(unit, Malformed) else unit.channel for unit in found] == ["limits.buffered_octets", 2]
        assert read.held == 0


def test_each_frame_of_a_content_that_no_method_announced_is_named() -> None:
    found = heard(HEADER + BODY + BODY + frame_method(1, ACK) + BODY)
    assert [unit.rule if isinstance(unit, Malformed) else unit.kind for unit in found] == [
        *("content.header-unexpected", "content.body-unexpected", "content.body-unexpected", COMMAND, "content.body-unexpected")
    ]


@pytest.mark.parametrize("size", [4095, 4096, 4097])
def test_a_frame_is_as_large_as_was_agreed(size: int) -> None:
    """All of it counts; one that is larger is refused before its octets are waited for."""
    read = reader()
    octets = put_frame(1, 1, ACK + bytes(size - 8 - len(ACK)))
    read.receive(octets[:20])
    first = units(read)
    assert [unit.rule for unit in first if isinstance(unit, Malformed)] == ["connection.tune-ok.frame-max"] * (size > 4096)
    read.receive(octets[20:])
    assert len(units(read)) == (size <= 4096)


@pytest.mark.parametrize("empty", [15, 16, 17])
def test_so_many_bodies_without_octets_may_come(empty: int) -> None:
    read = reader()
    read.receive(CONTENT[0] + CONTENT[1] + put_frame(3, 1, b"") * empty + CONTENT[2])
    found = [unit.rule if isinstance(unit, Malformed) else unit.body for unit in units(read)]
    assert found == (["limits.empty_frames"] if empty > DEFAULT_LIMITS.empty_frames else [b"abc"])


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_as_many_contents_are_under_way_as_channels_are_agreed_to(channels: int) -> None:
    read = reader(Limits(channels=channels))
    read.receive(frame_method(1, PUBLISH) + frame_method(2, PUBLISH))
    assert [unit.rule for unit in units(read) if isinstance(unit, Malformed)] == (["limits.channels"] if channels == 1 else [])


def test_what_is_forgotten_is_passed_over_and_counted() -> None:
    read = reader()
    read.receive(CONTENT[0] + CONTENT[1])
    assert read.next() is None
    assert read.unfinished == 8 + len(CONTENT[0] + CONTENT[1])
    read.forget(1)
    read.receive(CONTENT[2] + frame_method(1, ACK))
    assert [type(unit) for unit in units(read)] == [Assembly]
    assert read.take_passed() == {1: len(CONTENT[2])}
    assert read.passed == {}


def test_reading_goes_on_behind_lost_octets() -> None:
    """To an observer what was under way is incomplete."""
    read = reader(tolerant=True)
    read.receive(CONTENT[0] + CONTENT[1] + CONTENT[2][:4])
    read.lost(50)
    read.receive(b"\x03\0abc\xce" + frame_method(2, ACK) + HEARTBEAT)
    read.finish()
    found = units(read)
    assert [(unit.channel, unit.complete) for unit in found if isinstance(unit, Assembly)] == [(1, False), (2, True), (0, True)]
    assert read.skipped == 4 + 6
    assert read.received == read.offset


def test_nobody_waits_behind_lost_octets_for_a_frame_that_is_a_guess_and_very_large() -> None:
    """Each such guess would want some octets more than the one before it, and have all of them joined again."""
    read = reader(tolerant=True, most=FRAME_MAX_SIZE)
    read.lost(50)
    read.receive(b"\x01\x09\x09" + GUESSED.to_bytes(4, "big") + ACK + frame_method(1, ACK) + frame_method(2, ACK))
    assert [each.channel for each in units(read)] == [1, 2]


@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_what_is_left_of_a_content_behind_lost_octets_is_passed_over(piece: int) -> None:
    """Until a method comes on its channel: then each frame of a content must have its place again."""
    tail, whole = CONTENT[1] + CONTENT[2] + BODY, b"".join(CONTENT)
    other = put_frame(3, 2, b"abc")
    read = reader(tolerant=True)
    read.lost(100)
    found: list[Assembly | Malformed] = []
    octets = tail + frame_method(3, ACK) + tail + whole + other + BODY
    for at in range(0, len(octets), piece):
        read.receive(octets[at : at + piece])
        found += units(read)
    assert [(unit.channel, unit.rule if isinstance(unit, Malformed) else unit.complete) for unit in found] == [
        (3, True),
        (1, True),
        (1, "content.body-unexpected"),
    ]
    assert read.passed == {1: 2 * len(tail), 2: len(other)}


@given(st.binary(max_size=80), st.integers(1, 9), st.booleans())
def test_any_octets_are_units_or_named(octets: bytes, piece: int, tolerant: bool) -> None:
    """Whatever comes behind a good frame, however cut: it is read or named, and nothing is raised."""
    found = heard(frame_method(1, ACK) + octets, piece, tolerant=tolerant)
    assert isinstance(found[0], Assembly)
    assert found == heard(frame_method(1, ACK) + octets, 1 << 20, tolerant=tolerant)


@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_the_cost_is_linear(piece: int) -> None:
    """Twice the frames cost twice the steps, however they are cut: whole contents, and small bodies of one."""

    def read(size: int) -> Callable[[], object]:
        octets = b"".join(CONTENT) * size + b"".join(frame_content(1, PUBLISH, 60, b"\0\0", bytes(size), 23))
        return lambda: heard(octets, piece)

    assert_linear(read, 60)


@pytest.mark.parametrize("tolerant", [False, True])
@pytest.mark.parametrize("body", [b"", b"body"])
def test_a_content_that_lies_there_whole_is_read_as_it_is_in_pieces(body: bytes, tolerant: bool) -> None:
    """Whatever octet of it is another one."""
    octets = b"".join([*frame_content(1, PUBLISH, 60, b"\x80\0\x01x", body, 4096), frame_method(1, ACK)])
    for at in range(len(octets)):
        for other in (0, 1, 2, 3, 8, 0xFF, 0xCE):
            damaged = octets[:at] + bytes([other]) + octets[at + 1 :]
            assert heard(damaged, tolerant=tolerant) == heard(damaged, 1, tolerant=tolerant), (at, other)


@pytest.mark.parametrize("body", [b"", b"body"])
def test_a_content_that_lies_there_whole_is_read_in_one_step(body: bytes) -> None:
    read, slow = reader(), reader()
    read.trace, slow.trace = [], []
    octets = b"".join(frame_content(1, PUBLISH, 60, b"\x80\0\x01x", body, 4096))
    read.receive(octets)
    unit = read._at_once(1, 8, b"nothing")
    assert unit is None
    method = 8 + len(PUBLISH)
    read.position = method
    unit = read._at_once(1, 8, PUBLISH)
    assert unit == Assembly(1, 0, COMMAND, PUBLISH, octets[method + 7 : method + 23], body or None, 8, 8 + len(octets))
    found = []
    for octet in octets:
        slow.receive(bytes([octet]))
        found += units(slow)
    assert found == [unit]
    assert slow.trace[1:] == read.trace
    assert slow.frames == read.frames + 1


def unread(payload: bytes) -> None:
    """Nobody reads other deliveries to the same consumer."""


def test_deliveries_that_were_learned_are_cut_at_once_and_all_others_are_not() -> None:
    """What is cut ahead is a method with the octets that were learned, but for its tag; its content lies whole behind it."""
    payload = b"\0\x3c\0\x3c\1t" + (7).to_bytes(8, "big") + b"\0\1x\1k"
    header = b"\0\x3c\0\0" + (3).to_bytes(8, "big") + b"\0\0"

    def octets(tag: int, body: bytes = b"abc", channel: int = 1, key: bytes = b"k") -> bytes:
        method = payload[:6] + tag.to_bytes(8, "big") + b"\0\1x\1" + key
        return put_frame(1, channel, method) + put_frame(2, channel, header) + put_frame(3, channel, body)

    whole = octets(8)
    for said, found in (
        (whole, True), (whole[:-1], False), (whole[:30], False), (octets(8, b"ab"), False), (octets(8, channel=2), False),
        (octets(8, key=b"l"), False), (whole.replace(b"\xce", b"\xcf", 1), False), (put_frame(8, 0, b""), False),
    ):  # fmt: skip
        reader = MethodReader(Limits(), 4096, False, lambda *_: True)
        reader.learn(1, payload, "deliver", "account", unread)
        reader.receive(said)
        cut = reader.cut_ahead()
        assert (cut is not None) is found
        if cut is not None:
            assert (cut[0].command, cut[0].account, *cut[1:]) == ("deliver", "account", header, 8, b"abc", 0, len(whole))
            assert reader.offset == len(whole)
            reader.unlearn()
            reader.receive(said)
            assert reader.cut_ahead() is None
        else:
            assert reader.offset == 0


@pytest.mark.parametrize(("count", "known"), [(2, 2), (3, 3), (4, 1)])
def test_so_many_deliveries_are_learned(count: int, known: int) -> None:
    reader = MethodReader(Limits(cached_commands=3), 4096, False, lambda *_: True)
    for number in range(count):
        reader.learn(number, b"\0\x3c\0\x3c\1t" + bytes(8) + b"\0\1x\1k", "deliver", None, unread)
    assert len(reader.known) == known


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_the_answer_to_a_close_is_found_among_whatever_else_comes(piece: int) -> None:
    """Contents that do not end, methods of channels and heartbeats are passed over."""
    answer = frame_method(0, b"\0\n\0\x33")
    octets = (
        frame_method(1, PUBLISH) + HEARTBEAT + frame_method(0, PUBLISH) + answer + HEARTBEAT + frame_method(0, CLOSE) + answer
    )
    end = 8 + len(octets) - len(answer)
    for until, expected in ((end, [(b"\0\n\0\x33", 8 + octets.index(answer)), (b"\0\n\0\x33", end)]), (end - 1, None)):
        read = reader(opening=True)
        found: list[tuple[bytes, int]] = []
        for at in range(0, len(octets), piece):
            read.receive(octets[at : at + piece])
            while (unit := read.next_answer((b"\0\n\0\x33", b"\0\n\0\x3c"), until)) is not None:
                assert isinstance(unit, Assembly)
                assert unit.end == unit.start + len(answer)
                found.append((unit.payload, unit.start))
        assert found == (expected or found[:1])
        assert read.offset == (end + len(answer) if expected else end)


@pytest.mark.parametrize("octets", [b"\1\0\0\0\0\0\4\0\n\0\x33\xcf", b"\x09\0\0\xff\xff\xff\xff"])
def test_behind_a_frame_that_cannot_be_cut_no_answer_is_found(octets: bytes) -> None:
    read = reader()
    read.receive(frame_method(1, ACK) + octets)
    unit = read.next_answer((b"\0\n\0\x33",), 1 << 20)
    assert isinstance(unit, Malformed)
    assert unit.fatal
    assert read.next_answer((b"\0\n\0\x33",), 1 << 20) is None


def test_what_was_cut_ahead_is_read_again_when_it_is_unlearned_whatever_came_since() -> None:
    """Also where all that was at hand had been cut, so that nothing was left to join what comes next to."""
    payload = b"\0\x3c\0\x3c\1t" + bytes(8) + b"\0\1x\1k"
    octets = b"".join(frame_content(1, payload, 60, b"\0\0", b"abc"))
    read = MethodReader(Limits(), 4096, False, lambda *_: True)
    read.learn(1, payload, "deliver", "account", unread)
    read.receive(3 * octets)
    assert read.cut_ahead() is not None
    assert (read.offset, len(read.ahead), read.frames) == (len(octets), 2, 9)
    read.receive(octets)
    assert not read.waits
    read.unlearn()
    assert (read.offset, read.frames) == (len(octets), 3)
    assert [(unit.start, unit.end) for unit in units(read) if isinstance(unit, Assembly)] == [
        (at * len(octets), (at + 1) * len(octets)) for at in (1, 2, 3)
    ]


def test_the_answer_to_a_close_is_found_among_deliveries_that_were_cut_ahead() -> None:
    payload = b"\0\x3c\0\x3c\1t" + bytes(8) + b"\0\1x\1k"
    octets = b"".join(frame_content(1, payload, 60, b"\0\0", b"abc"))
    answer = frame_method(0, b"\0\n\0\x33")
    read = MethodReader(Limits(), 4096, False, lambda *_: True)
    read.learn(1, payload, "deliver", "account", unread)
    read.receive(3 * octets + answer)
    assert read.cut_ahead() is not None
    assert len(read.ahead) == 2
    unit = read.next_answer((b"\0\n\0\x33",), 1 << 20)
    assert isinstance(unit, Assembly)
    assert unit.start == 3 * len(octets)
    assert read.cut_ahead() is None


CLASS = b"\0\x3c"


def content(body: bytes, channel: int = 1) -> bytes:
    """Header and body frames."""
    _, *frames = frame_content(channel, CLASS + b"\0\x28", 60, b"\0\0", body, 4096, len(body))
    return b"".join(frames)


@pytest.mark.parametrize("body", [b"", b"a", b"abc" * 100])
def test_a_content_is_cut_once_it_is_whole(body: bytes) -> None:
    octets = b"before" + content(body)
    for end in range(len(octets)):
        assert cut_content(octets[:end], 6, 1, CLASS, 4096, 4096) is None
    header, found, end = cut_content(octets + b"behind", 6, 1, CLASS, 4096, 4096) or (b"", b"", 0)
    assert (header, found, end) == (CLASS + b"\0\0" + len(body).to_bytes(8, "big") + b"\0\0", body or None, len(octets))


@pytest.mark.parametrize(
    ("channel", "of_class", "largest", "header_octets"),
    [(2, CLASS, 4096, 4096), (1, b"\0\x46", 4096, 4096), (1, CLASS, 21, 4096), (1, CLASS, 107, 4096), (1, CLASS, 4096, 13)],
)
def test_what_frames_would_be_refused_for_is_left_to_them(
    channel: int, of_class: bytes, largest: int, header_octets: int
) -> None:
    octets = content(b"m" * 100)
    assert cut_content(octets, 0, 1, CLASS, 108, 14) is not None
    assert cut_content(octets, 0, channel, of_class, largest, header_octets) is None


def test_no_octet_of_the_frames_may_be_another() -> None:
    """But for the property flags and the body, which are whatever they are."""
    octets = content(b"m" * 100)
    free = {*range(19, 21), *range(29, 129)}
    for at in range(len(octets)):
        spoilt = octets[:at] + bytes([octets[at] ^ 1]) + octets[at + 1 :]
        assert (cut_content(spoilt, 0, 1, CLASS, 4096, 4096) is not None) is (at in free), at


def test_a_body_in_two_frames_is_left_to_them() -> None:
    _, *frames = frame_content(1, CLASS + b"\0\x28", 60, b"\0\0", b"m" * 100, 58, 100)
    assert len(frames) == 3
    assert cut_content(b"".join(frames), 0, 1, CLASS, 4096, 4096) is None


def delivery(tag: int, body: bytes = b"abc", channel: int = 1) -> bytes:
    """basic.deliver for the consumer t, with its content."""
    return put_frame(1, channel, PAYLOAD[:6] + tag.to_bytes(8, "big") + PAYLOAD[14:]) + content(body, channel)


PAYLOAD = b"\0\x3c\0\x3c\1t" + bytes(8) + b"\0\1x\1k"


def known(channel: int = 1, read: Reads = lambda payload: None) -> DeliveryConsumers:
    consumers = DeliveryConsumers({}, 3)
    consumers.learn(channel, PAYLOAD, "deliver", "account", read)
    return consumers


def test_a_run_of_deliveries_is_cut_up_to_what_is_not_whole() -> None:
    octets = delivery(1) + delivery(2, b"") + delivery(3, b"x")
    ends = [len(delivery(1)), len(delivery(1) + delivery(2, b"")), len(octets)]
    for size in range(len(octets) + 1):
        cuts, frames = cut_deliveries(octets[:size], 0, 100, known(), (), 4096, 4096, 4096)
        found = [(cut[2], cut[3], cut[5] - 100) for cut in cuts]
        assert found == [(1, b"abc", ends[0]), (2, b"", ends[1]), (3, b"x", ends[2])][: sum(end <= size for end in ends)]
        assert frames == sum([3 if cut[3] else 2 for cut in cuts])


def test_a_run_goes_on_where_the_size_of_a_delivery_changes() -> None:
    def read(payload: bytes) -> object:
        return payload

    consumers = known(read=read)
    longer = b"\0\x3c\0\x3c\1t" + bytes(8) + b"\0\1x\5" + b"longer"[:5]
    octets = delivery(1) + put_frame(1, 1, longer) + content(b"two") + delivery(3)
    cuts, frames = cut_deliveries(octets, 0, 0, consumers, (), 4096, 4096, 4096)
    assert [(cut[2], cut[3]) for cut in cuts] == [(1, b"abc"), (0, b"two"), (3, b"abc")]
    assert frames == 9
    assert cuts[1][0].command == longer
    # It may be one that is not whole, though a longer one like that before it would not be either.
    octets = put_frame(1, 1, longer) + content(b"two") + delivery(3, b"")
    for size in range(len(octets)):
        assert len(cut_deliveries(octets[:size], 0, 0, consumers, (), 4096, 4096, 4096)[0]) == (
            size >= len(octets) - len(delivery(3, b""))
        )


def test_a_run_ends_after_so_many() -> None:
    cuts, _ = cut_deliveries(b"".join([delivery(n) for n in range(AHEAD + 5)]), 0, 0, known(), (), 4096, 4096, 4096)
    assert [cut[2] for cut in cuts] == list(range(AHEAD))


def test_what_is_not_as_plain_is_not_cut() -> None:
    """Octets of a body and of properties may be any, and the tag; no other may be another."""
    octets = delivery(7, b"m" * 20)
    tag, flags, body = range(13, 21), range(46, 48), range(56, 76)
    for at in range(len(octets)):
        spoilt = octets[:at] + bytes([octets[at] ^ 1]) + octets[at + 1 :]
        cuts, _ = cut_deliveries(spoilt, 0, 0, known(), (), 4096, 4096, 4096)
        assert bool(cuts) is (at in (*tag, *flags, *body)), at
    for under_way, largest, header_octets, most in (
        ((1,), 28, 14, 53), ((), 26, 14, 53), ((), 27, 14, 53), ((), 28, 13, 53), ((), 28, 14, 52),
    ):  # fmt: skip
        assert cut_deliveries(octets, 0, 0, known(), under_way, largest, header_octets, most) == ([], 0)
    assert cut_deliveries(octets, 0, 0, known(), (), 28, 14, 53)[0]


def test_no_more_is_waited_for_than_is_certain_to_come() -> None:
    """Where a frame's head is not there, that alone: a smaller frame of somebody else may come."""
    octets = b"before" + delivery(1, b"m" * 20)
    method, header = 6 + 8 + len(PAYLOAD), 6 + 16 + len(PAYLOAD) + 14
    for size in range(6, len(octets)):
        needed = wanted(octets[:size], 6, known(), 4096)
        if size < method:
            assert needed == 0, "a frame that is not whole is waited for by others"
        else:
            ends = [end for end in (method + 7, header, header + 7, len(octets)) if end > size]
            assert needed == ends[0] - 6
    assert wanted(octets, 6, known(), 4096) == 0
    assert wanted(octets[:-1], 6, known(), 60) == 0
    assert wanted(octets[:method] + put_frame(8, 0, b""), 6, known(), 4096) == 0
    assert wanted(octets[:method] + put_frame(2, 2, bytes(20))[:9], 6, known(), 4096) == 0
    assert wanted(octets[:header] + put_frame(1, 1, bytes(20))[:9], 6, known(), 4096) == 0
    assert wanted(delivery(1, b"")[:-1], 0, DeliveryConsumers({}, 1), 4096) == 0


def test_deliveries_to_the_same_consumer_are_read_where_they_can_be_and_so_many_are_remembered() -> None:
    read: list[bytes] = []

    def reads(payload: bytes) -> object:
        read.append(payload)
        return None if payload.endswith(b"?") else payload

    def other(key: bytes) -> bytes:
        return put_frame(1, 1, PAYLOAD[:14] + b"\0\1x" + bytes([len(key)]) + key) + content(b"abc")

    consumers = known(read=reads)
    octets = other(b"k") + other(b"l") + other(b"long") + other(b"l") + other(b"m") + other(b"l") + other(b"m")
    cuts, _ = cut_deliveries(octets + other(b"?"), 0, 0, consumers, (), 4096, 4096, 4096)
    behind = [payload[14:] for payload in read]
    assert behind == [b"\0\1x\1l", b"\0\1x\4long", b"\0\1x\1m", b"\0\1x\1l", b"\0\1x\1?"], "three are remembered"
    assert [cut[0].command for cut in cuts] == ["deliver", read[0], read[1], read[0], read[2], read[3], read[2]]
    assert cuts[-1][5] == len(octets)
    assert [wanted(other(key)[:-1], 0, consumers, 4096) > 0 for key in (b"n", b"?")] == [True, False]
    assert sum([len(each.likes) for each in consumers.known.values()]) <= 3


@pytest.mark.parametrize(("count", "remembered"), [(2, 2), (3, 3), (4, 1)])
def test_so_many_consumers_are_known(count: int, remembered: int) -> None:
    consumers = DeliveryConsumers({}, 3)
    for channel in [*range(count), count - 1]:
        consumers.learn(channel, PAYLOAD, "deliver", "account", lambda payload: None)
    assert len(consumers.known) == remembered
