"""The errors of clients: one sentence each, by value, and explained on their page."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio import errors
from amqp_sansio.adapters import asyncio, sync, trio
from amqp_sansio.errors import (
    AmqpError,
    BranchFailed,
    ConnectFailed,
    ConnectionLost,
    MessageReturned,
    SessionFailed,
    SessionLost,
    SharedSessionFailed,
    TransactionFailed,
)
from amqp_sansio.errors.core import QUOTED
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.codes import XaStatus

EACH = [
    ConnectFailed("h:1", "refused"),
    ConnectionLost("gone"),
    SessionFailed(b"s", 404, "no queue", "queue.delete"),
    SessionLost(b"s", "gone", RangeSet.of(1, 2)),
    MessageReturned(1, "no queue", "x", "k"),
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
