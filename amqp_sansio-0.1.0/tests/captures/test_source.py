"""A source is read forward only and knows where it is."""

from __future__ import annotations

import io

import pytest

from amqp_sansio.captures import source as captures_source
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.source import Source


class Broken(io.BytesIO):
    """A file on a disk that fails."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise OSError(5, "Input/output error")


def test_octets_are_taken_in_order_and_counted() -> None:
    source = Source("a.pcap", io.BytesIO(b"abcdef"))
    assert (source.take(2), source.offset) == (b"ab", 2)
    assert (source.take(3), source.offset) == (b"cde", 5)
    assert (source.take(9), source.offset) == (b"f", 6)
    assert source.take(1) == b""


def test_it_tells_how_far_it_is_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captures_source, "TELL_OCTETS", 4)
    said: list[tuple[str, int]] = []
    source = Source("a.pcap", io.BytesIO(bytes(14)), lambda name, octets: said.append((name, octets)))
    for octets in (1, 2, 1, 3, 6):
        source.take(octets)
    assert said == [("a.pcap", 4), ("a.pcap", 13)]


def test_an_error_names_the_place() -> None:
    source = Source("a.pcap", io.BytesIO(b"abcdef"))
    source.take(4)
    source.packet = 2
    assert str(source.error("odd")) == "a.pcap: packet 2, octet 4: odd"
    assert str(source.error("odd", 1)) == "a.pcap: packet 2, octet 1: odd"


def test_a_file_that_cannot_be_read_is_an_error_of_the_capture() -> None:
    with pytest.raises(CaptureError, match="cannot be read: Input/output error"):
        Source("a.pcap", Broken()).take(1)
