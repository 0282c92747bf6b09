"""Opening a capture file."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.source import no_capture, open_capture


def test_a_file_is_read_from_its_start(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abcdef")
    with open_capture(str(tmp_path / "a")) as stream:
        assert (stream.read(2), stream.read(9)) == (b"ab", b"cdef")


def test_what_is_missing_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot be opened: No such file"):
        open_capture(str(tmp_path / "missing"))


@pytest.mark.parametrize(("magic", "word"), [(b"", "empty"), (b"BZh9", "bunzip2"), (b"abcd", "it starts with 61626364")])
def test_a_reason_is_given_for_what_is_no_capture(magic: bytes, word: str) -> None:
    assert word in no_capture(magic)
