"""Tests of amqp_sansio.wire.whole_contents."""

from __future__ import annotations

import pytest

from amqp_sansio.wire.method_frames import frame_content, put_frame
from amqp_sansio.wire.whole_contents import AHEAD, Consumers, Reads, cut_content, cut_deliveries, wanted

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


def known(channel: int = 1, read: Reads = lambda payload: None) -> Consumers:
    consumers = Consumers({}, 3)
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
    assert wanted(delivery(1, b"")[:-1], 0, Consumers({}, 1), 4096) == 0


def test_deliveries_to_the_same_consumer_are_read_where_they_can_be_and_so_many_are_remembered() -> None:
    read: list[bytes] = []

    def reads(payload: bytes) -> object:
        read.append(payload)
        return None if payload.endswith(b"?") else payload

    def other(key: bytes) -> bytes:
        return put_frame(1, 1, PAYLOAD[:14] + b"\0\1x" + bytes([len(key)]) + key) + content(b"abc")

    consumers = known(read=reads)
    octets = other(b"k") + other(b"l") + other(b"long") + other(b"l") + other(b"m") + other(b"l")
    cuts, _ = cut_deliveries(octets + other(b"?"), 0, 0, consumers, (), 4096, 4096, 4096)
    behind = [payload[14:] for payload in read]
    assert behind == [b"\0\1x\1l", b"\0\1x\4long", b"\0\1x\1m", b"\0\1x\1l", b"\0\1x\1?"], "three are remembered"
    assert [cut[0].command for cut in cuts] == ["deliver", read[0], read[1], read[0], read[2], read[3]]
    assert cuts[-1][5] == len(octets)
    assert [wanted(other(key)[:-1], 0, consumers, 4096) > 0 for key in (b"n", b"?")] == [True, False]
    assert sum([len(each.likes) for each in consumers.known.values()]) <= 3


@pytest.mark.parametrize(("count", "remembered"), [(2, 2), (3, 3), (4, 1)])
def test_so_many_consumers_are_known(count: int, remembered: int) -> None:
    consumers = Consumers({}, 3)
    for channel in [*range(count), count - 1]:
        consumers.learn(channel, PAYLOAD, "deliver", "account", lambda payload: None)
    assert len(consumers.known) == remembered
