"""Observations are plain values."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from amqp_sansio.events import CommandSeen, ControlSeen, HeaderSeen, MethodSeen, Note, OpaqueSeen
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.execution import Sync

PAIRS: list[tuple[ValueObject, ValueObject]] = [
    (HeaderSeen(b"AMQP\x01\x01\x00\x0a", "0-10"), HeaderSeen(b"HTTP/1.1", None)),
    (ControlSeen(0, "connection.99", None, b"\x01\x63"), ControlSeen(0, "connection.99", None, b"\x01\x63", False)),
    (
        CommandSeen(1, b"s", 0, "execution.sync", Sync(), True, b"\x03\x01"),
        CommandSeen(1, None, None, "execution.sync", Sync(), True, b"\x03\x01", b"", b"body", False),
    ),
    (
        MethodSeen(1, "basic.publish", None, b"\0\x3c\0\x28", b"header", None, b"body"),
        MethodSeen(1, "basic.publish", None, b"\0\x3c\0\x28", b"header", None, b"body", False),
    ),
    (OpaqueSeen("security layer"), OpaqueSeen("a broken frame")),
    (Note("tcp.reset", "reset"), Note("tcp.reset", "reset", 1)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_an_observation_is_a_plain_value(
    plain: Callable[[ValueObject, ValueObject], None], one: ValueObject, other: ValueObject
) -> None:
    plain(one, other)
