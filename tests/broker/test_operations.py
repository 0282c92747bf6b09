"""Operations are plain values."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio.broker.operations import (
    OPERATIONS,
    Bound,
    BranchDecided,
    BranchEnded,
    BranchPrepared,
    Closed,
    Dequeued,
    Enqueued,
    Entry,
    ExchangeDeclared,
    ExchangeDeleted,
    Marks,
    MessageStored,
    Opened,
    Operation,
    QueueDeclared,
    QueueDeleted,
    SessionLeft,
    Unbound,
)
from amqp_sansio.spec.values import List, Map

XID = (1, b"global", b"branch")
SAMPLES: tuple[Operation, ...] = (
    QueueDeclared("h", "q", "alternate", True, False, {"qpid.max_count": 3}),
    QueueDeleted("h", "q"),
    ExchangeDeclared("h", "x", "topic", "", True, {"a": List([1, Map({"b": b"c"})])}),
    ExchangeDeleted("h", "x"),
    Bound("h", "x", "q", "key", {"x-match": "all", "void": None}),
    Unbound("h", "x", "q", "key"),
    MessageStored("h", 5, b"header", b"secret body", 12.5),
    Enqueued("h", "q", 5),
    Dequeued("h", "q", 5),
    BranchPrepared("h", XID, [(5, ("q", "r"))], [("q", 4)], 60),
    BranchDecided("h", XID, 4),
    BranchEnded("h", XID),
    SessionLeft("h", "me", b"session"),
    Opened(""),
    Marks("h", "q", [5, 7]),
    Closed(""),
)


def test_there_is_a_sample_of_each() -> None:
    assert tuple([type(sample) for sample in SAMPLES]) == OPERATIONS


@pytest.mark.parametrize("operation", SAMPLES, ids=lambda operation: type(operation).__name__)
def test_an_operation_is_a_value(operation: Operation) -> None:
    again = pickle.loads(pickle.dumps(operation))
    assert again == operation
    assert hash(again) == hash(operation)


def test_a_message_shows_no_content() -> None:
    shown = repr(Entry(1, SAMPLES))
    assert "secret" not in shown
    assert "<11 octets>" in shown
