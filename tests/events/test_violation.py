"""A violation is a plain value; an origin is one of five words."""

from __future__ import annotations

from collections.abc import Callable

from amqp_sansio.events import Origin, Violation
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.codes import CloseCode


def test_a_violation_is_a_plain_value(plain: Callable[[ValueObject, ValueObject], None]) -> None:
    plain(Violation("client", "rule", "said", ("legal",), 501, 0, 8, "text"), Violation("server", "rule", "said"))


def test_there_are_five_origins() -> None:
    assert [origin.value for origin in Origin] == ["peer", "local", "violation", "timeout", "eof"]


def test_its_code_is_a_plain_number() -> None:
    assert type(Violation("client", "r", "s", (), CloseCode.FRAMING_ERROR).code) is int
