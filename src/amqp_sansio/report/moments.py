"""Formats the times of tables; reads no clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_NS: Final = 1_000_000_000


def moment(ns: int | None) -> str:
    """Formats a time in ns since 1970 as UTC, to the microsecond; "" for None, the number itself beyond the calendar."""
    if ns is None:
        return ""
    try:
        at = datetime.fromtimestamp(ns // _NS, UTC)
    except (OverflowError, OSError, ValueError):
        return f"{ns} ns"
    return f"{at:%Y-%m-%d}\N{NO-BREAK SPACE}{at:%H:%M:%S}.{ns % _NS // 1000:06d}"
