"""Why a connection ended, in one sentence."""

from __future__ import annotations

import ssl

import pytest

from amqp_sansio.conversation.causes import cause_of, of_text, quoted, reason_of, when_ended, when_silent
from amqp_sansio.events import ConnectionClosed, Origin, Violation


@pytest.mark.parametrize(
    ("closed", "text"),
    [
        (ConnectionClosed(Origin.PEER, 320, "no"), "the other side closed it (320): no"),
        (ConnectionClosed(Origin.LOCAL, 200, ""), "it was closed here (200)"),
        (ConnectionClosed(Origin.EOF, None, "x"), "the other side ended the connection without a close"),
        (ConnectionClosed(Origin.TIMEOUT, None, "nothing heard for 4 s"), "time ran out: nothing heard for 4 s"),
    ],
)
def test_how_a_connection_ended(closed: ConnectionClosed, text: str) -> None:
    assert cause_of(closed) == text


def test_the_error_of_a_violation_has_its_words() -> None:
    violation = Violation("server", "a.rule", "said", ("legal",), 501, 0, 0, "what it was")
    assert cause_of(ConnectionClosed(Origin.VIOLATION, 501, "", violation)) == (
        "the other side broke the protocol (501): a.rule: what it was"
    )


def test_the_error_of_another_protocol_quotes_it() -> None:
    text = "version mismatch: this side speaks AMQP 1, the other one HTTP (48)"
    violation = Violation("server", "connection.start.client-support", "x", ("y",), 0, None, 0, text)
    assert cause_of(ConnectionClosed(Origin.VIOLATION, None, "", violation)) == (
        "the other side speaks another protocol: this side speaks AMQP 1, the other one HTTP (48)"
    )


def test_what_the_system_says_is_one_sentence() -> None:
    assert reason_of(ConnectionRefusedError(111, "x")) == "connection refused: nobody listens there"
    assert reason_of(ConnectionResetError(104, "x")) == "the connection was reset"
    assert reason_of(OSError(113, "No route to host")) == "No route to host"
    assert reason_of(TimeoutError("no answer")) == "no answer"
    assert reason_of(ValueError()) == "ValueError"
    wrapped = OSError("all attempts failed")
    wrapped.__cause__ = ConnectionRefusedError(111, "x")
    assert reason_of(wrapped) == "connection refused: nobody listens there"
    several = OSError("all attempts failed")
    several.__cause__ = ExceptionGroup("", [ConnectionRefusedError(111, "x"), OSError(101, "Network is unreachable")])
    assert reason_of(several) == "connection refused: nobody listens there; Network is unreachable"


def test_what_tls_says_is_one_sentence() -> None:
    untrusted = ssl.SSLCertVerificationError(1, "certificate verify failed")
    untrusted.verify_message = "self-signed certificate"
    assert reason_of(untrusted) == "its certificate is not accepted: self-signed certificate"
    plain = ssl.SSLError(1, "x")
    plain.reason = "WRONG_VERSION_NUMBER"
    assert reason_of(plain) == "TLS failed: wrong version number: the other side does not seem to speak TLS"


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
