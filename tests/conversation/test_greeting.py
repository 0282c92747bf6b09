"""What somebody said who never came to open a connection."""

from __future__ import annotations

import pytest

from amqp_sansio.conversation.greeting import of_text, quoted, when_ended, when_silent

OURS = b"AMQP\x01\x01\x00\x0a\x0f\x00\x00\x20"


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"+OK ready\r\nmore", '"+OK ready"'),
        (b"\x15\x03\x03\0\x02\x02F", "15 03 03 00 02 02 46"),
        (b"\n", "0a"),
        (bytes(range(20)), "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f ..."),
    ],
)
def test_text_is_quoted_and_all_else_is_hex(octets: bytes, text: str) -> None:
    assert quoted(octets) == text


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"", "the other side said nothing"),
        (b"+OK\r\n", 'the other side said only "+OK"'),
        (b"SSH-", 'the other side said only "SSH-", which is SSH'),
        (OURS, "the other side stopped in the middle of the opening"),
    ],
)
def test_the_error_for_a_broker_that_fell_silent(octets: bytes, text: str) -> None:
    assert when_silent(octets) == text


@pytest.mark.parametrize(
    ("octets", "tls", "text"),
    [
        (b"", True, ", and did not say why"),
        (b"", False, ", and did not say why (a port for amqps:// does that to amqp://)"),
        (b"\x15\x03\x03\0\x02\x02F", False, ": it said 15 03 03 00 02 02 46, which is TLS: amqps:// may be meant"),
        (b"-ERR", False, ': it said "-ERR"'),
        (OURS, False, ", in the middle of the opening, and did not say why"),
    ],
)
def test_the_error_for_a_broker_that_went_away(octets: bytes, tls: bool, text: str) -> None:
    assert when_ended(octets, tls) == f"the other side ended the connection before it was open{text}"


def test_of_another_protocol() -> None:
    assert of_text(b"HTTP/1.1 400 Bad Request\r\n\r\n") == ', and said "HTTP/1.1 400 Bad Request"'
    assert of_text(b"AMQP\0\0\x09\x01") == ""
