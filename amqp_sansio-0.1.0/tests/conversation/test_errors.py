"""What users are told: one sentence each, and by value."""

from __future__ import annotations

import pickle
import ssl

import pytest

from amqp_sansio.conversation.errors import (
    BranchFailed,
    ConnectFailed,
    ConnectionLost,
    MessageReturned,
    SessionFailed,
    SessionLost,
    TransactionFailed,
    cause_of,
    failure_of,
    reason_of,
)
from amqp_sansio.events import ConnectionClosed, ExceptionReceived, Origin, Violation
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.codes import XaStatus

EACH = [
    ConnectFailed("h:1", "refused"),
    ConnectionLost("gone"),
    SessionFailed(b"s", 404, "no queue", "queue.delete"),
    SessionLost(b"s", "gone", RangeSet.of(1, 2)),
    MessageReturned(1, "no queue"),
    TransactionFailed("unknown", "lost"),
    BranchFailed("dtx.commit", XaStatus.XA_RBTIMEOUT),
    BranchFailed("dtx.commit", None),
]


@pytest.mark.parametrize("error", EACH, ids=lambda error: type(error).__name__)
def test_an_error_is_pickled_by_value(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (EACH[2], "session b's': the other side answers 404 to queue.delete: no queue"),
        (EACH[3], "session b's' is lost: gone; in doubt: {1-2}"),
        (EACH[4], "unroutable: no queue"),
        (MessageReturned(2, ""), "nobody could take it at once"),
        (EACH[5], "the transaction is unknown: lost"),
        (EACH[6], "dtx.commit: XA_RBTIMEOUT"),
        (EACH[7], "dtx.commit: no answer: the outcome is unknown"),
    ],
)
def test_the_sentence(error: Exception, text: str) -> None:
    assert str(error) == text


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


def test_an_exception_of_the_other_side() -> None:
    event = ExceptionReceived(b"s", 404, 7, None, None, None, "no queue", {})  # type: ignore[arg-type]
    assert failure_of(b"s", event, "").code == 404


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
