"""Converts names of the specification to Python names."""

from __future__ import annotations

import builtins
import keyword


def field_name(name: str) -> str:
    """`accept-mode` -> `accept_mode`, `type` -> `type_`."""
    plain = name.replace("-", "_")
    return plain + "_" if keyword.iskeyword(plain) or plain in _BUILTINS or plain == "global" else plain


def class_name(name: str) -> str:
    """`delivery-properties` -> `DeliveryProperties`, `exception` -> `Exception_`."""
    plain = "".join(part.capitalize() for part in name.split("-"))
    return plain + "_" if keyword.iskeyword(plain) or plain in _BUILTINS else plain


def constant_name(name: str) -> str:
    """`not-found` -> `NOT_FOUND`."""
    return name.replace("-", "_").upper()


_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
