"""Events of a session are plain values and name their session."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from amqp_sansio.events import AttachRequested, Origin, SessionAttached, SessionDetached, TimeoutGranted
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.value import ValueObject

PAIRS: list[tuple[ValueObject, ValueObject]] = [
    (AttachRequested(b"s", 1, False), AttachRequested(b"s", 1, True)),
    (SessionAttached(b"s", 1), SessionAttached(b"s", 1, True)),
    (SessionDetached(b"s", 1, Origin.EOF), SessionDetached(b"s", 1, Origin.EOF, in_doubt=RangeSet.of(3, 4))),
    (TimeoutGranted(b"s", 0), TimeoutGranted(b"s", None)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_an_event_of_a_session_is_a_plain_value(
    plain: Callable[[ValueObject, ValueObject], None], one: ValueObject, other: ValueObject
) -> None:
    plain(one, other)
    assert one.values()[0] == b"s"
