"""Converts application headers to texts, for people and SQL, and to headers from what users supply."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from amqp_sansio.conversation.json_values import plain
from amqp_sansio.spec.values import OpaqueValue, Value


def texts_of(headers: Mapping[str, Value]) -> list[tuple[str, str | None]]:
    """Returns each header as a text: true and false, numbers, octets in base64, nested values as JSON; None for null."""
    return [(name, _text(value)) for name, value in headers.items()]


def _text(value: Value) -> str | None:
    made = plain(value, _base64)
    if made is None or (isinstance(made, str) and not isinstance(value, OpaqueValue)):
        return made
    return json.dumps(made, ensure_ascii=False, separators=(",", ":"))


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def headers_from(given: object) -> dict[str, Value]:
    """Converts a map of Spark (pairs) or a struct (a mapping) to headers.  Raises ValueError for what no header can be."""
    pairs: Iterable[tuple[Any, Any]]
    pairs = given.items() if isinstance(given, Mapping) else given  # type: ignore[assignment]  # as Arrow gives it
    headers: dict[str, Value] = {}
    for name, value in pairs:
        if not isinstance(name, str) or len(name.encode()) > 255:
            raise ValueError(f"the name of a header is a text of at most 255 octets, not {name!r:.60}")
        headers[name] = _value(name, value)
    return headers


def _value(name: str, value: Any) -> Value:
    if value is None or isinstance(value, bool | int | float | str | bytes | Decimal):
        return value
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return headers_from(value)  # type: ignore[return-value]  # mappings are encoded as maps
    if isinstance(value, list) and value and all(isinstance(each, tuple) and len(each) == 2 for each in value):
        return headers_from(value)  # type: ignore[return-value]
    if isinstance(value, list | tuple):
        return [_value(name, each) for each in value]  # type: ignore[return-value]  # lists are encoded as lists
    raise ValueError(f"header {name!r} is of a type that no header has: {type(value).__name__}")
