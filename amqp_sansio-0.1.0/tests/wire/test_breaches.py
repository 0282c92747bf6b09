"""What a frame header may not say, and frames in words."""

from __future__ import annotations

import pytest

from amqp_sansio.wire.breaches import check_header, describe, uncuttable


def test_frames_in_words() -> None:
    assert describe(0x0F, 0) == "B E b e control"
    assert describe(0x06, 3) == "E b body"
    assert describe(0x00, 1) == "command"


def test_every_frame_header_check_lists_what_would_be_legal() -> None:
    for breach in (
        check_header(0x0F, 0, 5000, 0, 0, 1, 4096, 9),
        check_header(0x1F, 0, 16, 0, 0, 1, 4096, 9),
        check_header(0x0F, 7, 16, 0, 1, 1, 4096, 9),
        check_header(0x0F, 0, 16, 0, 1, 1, 4096, 9),
        uncuttable(0x4F, 16, 1, 9),
        uncuttable(0x0F, 3, 1, 9),
    ):
        assert breach is not None
        assert breach.legal
        assert breach.said
        assert (breach.code, breach.channel, breach.offset, breach.ends_connection) == (501, 1, 9, True)


@pytest.mark.parametrize(("kind", "track"), [(0, 0), (1, 1), (2, 1), (3, 1)])
def test_a_good_header(kind: int, track: int) -> None:
    assert check_header(0x0F, kind, 4096, 0, track, 65535, 4096, 0) is None
