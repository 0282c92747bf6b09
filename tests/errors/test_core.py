"""Every exception says what, where and which rule, and travels between processes."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio.errors import (
    AmqpError,
    CapabilityMissing,
    ChannelClosedError,
    ConnectionClosedError,
    DecodeError,
    EncodeError,
    FlowStopped,
    HeaderError,
    LimitError,
    LocalProtocolError,
    NoCredit,
    RestoreError,
    SessionDetachedError,
    SessionFailed,
    StaleDelivery,
    core,
)
from amqp_sansio.errors.core import many

SAMPLES: list[tuple[AmqpError, tuple[str, ...]]] = [
    (EncodeError("str8", "at most 255 octets"), ("str8", "at most 255 octets")),
    (DecodeError("message.transfer", 12, "too short", 503), ("message.transfer", "octet 12", "too short", "503")),
    (HeaderError("delivery-properties.ttl", 4, "too short"), ("delivery-properties.ttl", "octet 4")),
    (LocalProtocolError("attach", "attached", ("client:detach",), "session.attach"), ("attach", "client:detach")),
    (NoCredit("q", "message", 1, 0), ("'q'", "message", "1 needed", "0 available")),
    (LimitError("channels", 3, 4), ("channels", "3", "4")),
    (ConnectionClosedError("publish", "peer said 320"), ("publish", "peer said 320")),
    (SessionDetachedError("publish", b"s", "eof"), ("publish", "session 's'", "eof")),
    (RestoreError("journal entry 12", "version 1, not 2"), ("journal entry 12", "version 1, not 2")),
    (ChannelClosedError("publish", 7, "peer said 404"), ("publish", "channel 7", "peer said 404")),
    (StaleDelivery("ack", 7, "peer said 404"), ("ack", "channel 7", "peer said 404")),
    (FlowStopped("publish", None), ("publish", "the connection is blocked")),
    (CapabilityMissing("nack", "basic.nack"), ("nack", "basic.nack")),
]


@pytest.mark.parametrize(("error", "words"), SAMPLES, ids=lambda value: type(value).__name__)
def test_an_error_says_what_it_knows(error: AmqpError, words: tuple[str, ...]) -> None:
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize("error", [error for error, _ in SAMPLES], ids=lambda value: type(value).__name__)
def test_an_error_survives_pickling(error: AmqpError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_all_errors_have_one_base_and_a_sample_above() -> None:
    defined = {thing for thing in vars(core).values() if isinstance(thing, type) and issubclass(thing, AmqpError)} - {AmqpError}
    assert defined == {type(error) for error, _ in SAMPLES}


def test_nothing_legal_has_words_of_its_own() -> None:
    assert "nothing is legal now" in str(LocalProtocolError("open", "closed"))


def test_a_header_error_is_a_decode_error() -> None:
    assert issubclass(HeaderError, DecodeError)
    assert issubclass(DecodeError, ValueError)
    assert issubclass(EncodeError, ValueError)


def test_what_a_peer_says_writes_to_no_terminal_and_forges_no_line() -> None:
    error = SessionFailed(b"s", 404, "no\n2026-01-01 all is well\x1b[2J\u202e\x9b")
    assert str(error).isprintable()
    assert r"no\n2026-01-01 all is well\x1b[2J\u202e\x9b" in str(error)
    assert error.text == "no\n2026-01-01 all is well\x1b[2J\u202e\x9b"
    assert str(ConnectionClosedError("x", "smørrebrød")).endswith("smørrebrød")


def test_a_number_stands_with_its_noun() -> None:
    assert (many(1, "thing"), many(0, "thing"), many(2000, "thing")) == ("1 thing", "0 things", "2,000 things")
    assert (many(1, "delivery", "deliveries"), many(2, "delivery", "deliveries")) == ("1 delivery", "2 deliveries")
