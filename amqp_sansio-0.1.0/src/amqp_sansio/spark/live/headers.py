"""Application headers as texts, for people and for SQL; and what people give as headers."""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.values import OpaqueValue, Value


def texts_of(headers: Mapping[str, Value]) -> list[tuple[str, str | None]]:
    """Each header as a text: true and false, numbers, octets in base64, what is nested as JSON; None for none."""
    return [(name, _text(value)) for name, value in headers.items()]


def _text(value: Value) -> str | None:
    if isinstance(value, str):
        return str(value)
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, UUID | Decimal):
        return str(value)
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Value) -> Any:
    """A value of JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, Struct):
        return {name: _plain(getattr(value, name)) for name in value.FIELDS}
    if isinstance(value, OpaqueValue):
        return base64.b64encode(value.octets).decode()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return _text(value)


def headers_from(given: object) -> dict[str, Value]:
    """Headers from a map of Spark (pairs) or a struct (a mapping); ValueError for what no header can be."""
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
