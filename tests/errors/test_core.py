"""Every exception says what, where and which rule, in one sentence, travels between processes, and is explained on its page."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from amqp_sansio import errors
from amqp_sansio.adapters import asyncio, sync, trio
from amqp_sansio.errors import (
    AddressError,
    AmqpError,
    BranchFailed,
    CapabilityMissing,
    ChannelClosed,
    ChannelClosedError,
    ConnectFailed,
    ConnectionClosedError,
    ConnectionLost,
    DecodeError,
    EncodeError,
    FlowStopped,
    HeaderError,
    InDoubt,
    LimitError,
    LocalProtocolError,
    MessageNacked,
    MessageReturned,
    NoCredit,
    NoResult,
    RestoreError,
    SessionDetachedError,
    SessionFailed,
    SessionLost,
    SessionReopened,
    SharedSessionFailed,
    StaleDelivery,
    SubscriptionCancelled,
    SubscriptionClosed,
    TransactionFailed,
    core,
)
from amqp_sansio.errors.core import QUOTED, many
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.codes import XaStatus

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
    assert defined == {type(error) for error in (*EACH, *[error for error, _ in (*SAMPLES, *OF_CHANNELS)])}


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


EACH = [
    ConnectFailed("h:1", "refused"),
    ConnectionLost("gone"),
    SessionFailed(b"s", 404, "no queue", "queue.delete"),
    SessionLost(b"s", "gone", RangeSet.of(1, 2)),
    MessageReturned(1, "no queue", "x", "k"),
    TransactionFailed("unknown", "lost"),
    BranchFailed("dtx.commit", XaStatus.XA_RBTIMEOUT),
    BranchFailed("dtx.commit", None),
    AddressError("amqp://", "a host is missing"),
    SharedSessionFailed(b"s", 404, "no queue", "queue.delete", sent=False),
    SessionReopened(b"s", ("mine",)),
    NoResult(b"s", "queue.query", 3),
    SubscriptionClosed("here", "q"),
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
        (EACH[2], "session 's': the other side answers 404 to queue.delete: no queue"),
        (EACH[3], "session 's' is lost: gone; in doubt: {1-2}"),
        (EACH[4], "unroutable: no queue: exchange 'x', routing key 'k'"),
        (SessionFailed(b"s\xff", 404, ""), "session b's\\xff': the other side answers 404: no text"),
        (SessionFailed(b"s\x1b", 404, ""), "session b's\\x1b': the other side answers 404: no text"),
        (SessionFailed("größe".encode(), 404, ""), "session 'größe': the other side answers 404: no text"),
        (MessageReturned(2, ""), "nobody could take it at once"),
        (EACH[5], "the transaction is unknown: lost"),
        (EACH[6], "dtx.commit: XA_RBTIMEOUT"),
        (EACH[7], "dtx.commit: no answer: the outcome is unknown"),
    ],
)
def test_the_sentence(error: Exception, text: str) -> None:
    assert str(error) == text


ALL = [getattr(errors, name) for name in errors.__all__ if name != "AmqpError"]


@pytest.mark.parametrize("error", ALL)
def test_its_docstring_says_what_caused_it_what_to_do_and_what_was_in_doubt(error: type[AmqpError]) -> None:
    text = error.__doc__ or ""
    places = [text.find(f"\n    {heading}: ") for heading in ("Cause", "What to do", "In doubt")]
    assert -1 not in places
    assert places == sorted(places)


def test_each_adapter_exports_all() -> None:
    for adapter in (sync, asyncio, trio):
        assert all(getattr(adapter, name) is getattr(errors, name) for name in errors.__all__)
        assert set(errors.__all__) <= set(adapter.__all__)


@pytest.mark.parametrize("long", ["x" * 65_000, "\x1b" * 65_000], ids=["plain", "escaped"])
def test_what_the_other_side_says_fills_no_log(long: str) -> None:
    """The text of an error says how long it was, and then what is ours; the attributes hold all of it."""
    for error, mine in (
        (SessionFailed(b"s", 404, long, "queue.delete"), "404 to queue.delete"),
        (SharedSessionFailed(b"s", 404, long), "that was not this call's command"),
        (SessionLost(b"s", long, RangeSet.of(7)), "in doubt: {7}"),
        (ConnectionLost(long), ""),
        (MessageReturned(1, long, "x", "k"), "routing key 'k'"),
        (ConnectFailed("h:1", long), "h:1"),
    ):
        assert len(str(error)) < 9000
        assert "(65" in str(error)
        assert mine in str(error)
        assert len(vars(error).get("text", long)) == len(vars(error).get("cause", long)) == 65_000


@pytest.mark.parametrize("more", [0, 1])
def test_what_the_other_side_says_is_whole_up_to_its_limit(more: int) -> None:
    assert ("(501 characters)" in str(SessionFailed(b"s", 404, "x" * (QUOTED + more)))) == bool(more)


OF_CHANNELS = [
    (ChannelClosed(3, "refused", 404, "no queue", "queue.declare"), "channel 3 is closed: refused"),
    (InDoubt(7, "the connection was lost"), "publish 7 is in doubt: the connection was lost"),
    (MessageNacked(7), "the server did not take over publish 7 (basic.nack)"),
    (SubscriptionCancelled("tag", "q"), "the server cancelled consumer 'tag' of queue 'q'"),
]


@pytest.mark.parametrize(("error", "text"), OF_CHANNELS, ids=lambda value: type(value).__name__)
def test_an_error_is_one_sentence_and_travels_by_value(error: AmqpError, text: str) -> None:
    assert str(error) == text
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("str8",), {}),
        (("str8", "rule", 3), {}),
        (("str8", "rule"), {"octet": 3}),
        (("str8",), {"octet": 3}),
        ((), {"rule": "long"}),
    ],
)
def test_wrong_arguments_are_a_type_error(given: tuple[object, ...], named: dict[str, object]) -> None:
    make: Callable[..., EncodeError] = EncodeError
    with pytest.raises(TypeError, match="EncodeError takes what, rule"):
        make(*given, **named)


def test_arguments_may_be_named_and_left_to_their_defaults() -> None:
    assert str(DecodeError(what="str8", rule="too long", octet=3)) == str(DecodeError("str8", 3, "too long", 503))
