"""The types that hold no others, written: what each can hold and what not."""

from __future__ import annotations

from decimal import Decimal

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.values import OpaqueValue, Value
from amqp_sansio.wire.reading import DEFAULT_READING
from amqp_sansio.wire.scalars import READERS
from amqp_sansio.wire.writers import WRITERS, put_opaque


@pytest.mark.parametrize("code", sorted(code for code in WRITERS if code != 0xF0))
def test_what_a_type_cannot_hold_is_refused(code: int) -> None:
    class Odd:
        pass

    if code != 0xF1:
        with pytest.raises(EncodeError):
            WRITERS[code](Odd())  # type: ignore[arg-type]  # what no value is


@pytest.mark.parametrize(
    ("code", "good", "bad"),
    [
        (0x01, (-128, 127), (-129, 128)), (0x02, (0, 255), (-1, 256)), (0x11, (-(2**15), 2**15 - 1), (-(2**15) - 1, 2**15)),
        (0x12, (0, 65535), (-1, 65536)), (0x21, (-(2**31), 2**31 - 1), (-(2**31) - 1, 2**31)),
        (0x22, (0, 2**32 - 1), (-1, 2**32)), (0x31, (-(2**63), 2**63 - 1), (-(2**63) - 1, 2**63)),
        (0x32, (0, 2**64 - 1), (-1, 2**64)), (0x80, (b"", b"x" * 255), (b"x" * 256, "x")),
        (0x85, ("", "é" * 127), ("é" * 128, b"x")), (0x95, ("", "x" * 65535), ("x" * 65536, "\ud800")),
        (0x90, (b"", b"x" * 65535), (b"x" * 65536, None)), (0x04, ("a", "€"), ("ab", "☃")),
        (0x27, ("a", "\U0010ffff"), ("", "\ud800")),
        (0xC8, (Decimal(2**31 - 1), Decimal("1e-255")), (Decimal(2**31), Decimal("1e-256"))),
        (0xD8, (Decimal("1e18"), Decimal(0)), (Decimal("1e19"), Decimal("NaN"), Decimal("1" * 5000))),
    ],
)  # fmt: skip
def test_the_bounds_of_a_type(code: int, good: tuple[Value, Value], bad: tuple[Value, Value]) -> None:
    for value in good:
        raw = WRITERS[code](value)
        assert READERS[code](raw, 0, len(raw), DEFAULT_READING, 0)[1] == len(raw)
    for value in bad:
        with pytest.raises(EncodeError):
            WRITERS[code](value)


@pytest.mark.parametrize("value", [OpaqueValue(0x0A, b"xx"), OpaqueValue(0xB0, b""), OpaqueValue(0x8F, b"x" * 256)])
def test_an_opaque_value_that_its_code_cannot_hold(value: OpaqueValue) -> None:
    with pytest.raises(EncodeError):
        put_opaque(value)
