"""Events about commands are plain values and name their session."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from amqp_sansio.events import (
    CommandReceived,
    CommandsCompleted,
    CommandsConfirmed,
    CommandsSkipped,
    ExceptionReceived,
    ResultReceived,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.queue import QueueQueryResult

PAIRS: list[tuple[ValueObject, ValueObject]] = [
    (CommandReceived(b"s", 1, Sync()), CommandReceived(b"s", 1, Sync(), True)),
    (ResultReceived(b"s", 1, None), ResultReceived(b"s", 1, QueueQueryResult("q"))),
    (ExceptionReceived(b"s", 404, 1), ExceptionReceived(b"s", 404)),
    (CommandsCompleted(b"s", RangeSet.of(1)), CommandsCompleted(b"s", RangeSet.of(2))),
    (CommandsConfirmed(b"s", RangeSet.of(1)), CommandsConfirmed(b"s", RangeSet.of(2))),
    (CommandsSkipped(b"s", RangeSet.of(1)), CommandsSkipped(b"s", RangeSet.of(2))),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_an_event_about_a_command_is_a_plain_value(
    plain: Callable[[ValueObject, ValueObject], None], one: ValueObject, other: ValueObject
) -> None:
    plain(one, other)
    assert one.values()[0] == b"s"
