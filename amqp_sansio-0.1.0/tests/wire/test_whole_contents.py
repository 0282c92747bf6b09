"""Tests of amqp_sansio.wire.whole_contents."""

from __future__ import annotations

import pytest

from amqp_sansio.wire.method_frames import frame_content
from amqp_sansio.wire.whole_contents import cut_content

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
