"""Lines for machines and for people; both are ASCII, whatever the peers sent."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from json import JSONEncoder
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.captures.json_values import Json

json_line: Final = JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False).encode

NO_CONNECTION: Final = "no AMQP connection was found: --port N counts also those to port N that began before the capture did"
"""The line for files without AMQP."""
_BARE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./#*@:+$%&~^|;<>")
_LONGEST: Final = 60
_COLOURS: Final = {"dim": 2, "red": 31, "green": 32, "blue": 34, "magenta": 35, "cyan": 36}


def complain(text: str) -> None:
    """Prints one line on stderr, after everything printed so far."""
    sys.stdout.flush()
    print("amqp-sansio: " + ascii(text)[1:-1].replace("\\'", "'").replace("\\\\", "\\"), file=sys.stderr)


def painted(text: str, colour: str) -> str:
    """Colours text where stdout is a terminal, unless NO_COLOR is set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def whole(text: str) -> str:
    """Formats text for people: bare where it is unambiguous, else quoted and escaped."""
    return text if text and _BARE.issuperset(text) else json_line(text)


def short(value: Json) -> str:
    """Formats a value for people: as `whole`, and shortened when long."""
    if isinstance(value, str):
        return whole(value if len(value) <= _LONGEST else value[:_LONGEST] + "...")
    if isinstance(value, list):
        if not value:
            return "{}"
        if all(isinstance(each, list) and len(each) == 2 and type(each[0]) is int for each in value):
            return "{" + _cut(",".join(_span(each) for each in value)) + "}"
        return "[" + _cut(", ".join(short(each) for each in value[:20])) + "]"
    if isinstance(value, dict):
        return "{" + _cut(pairs(value, names="struct" in value)) + "}"
    return json_line(value)


def pairs(fields: Mapping[str, Json], names: bool = True) -> str:
    """Formats fields for people: name=value; a bit that is set is its name alone.  `names`: they are the specification's."""
    return " ".join(
        _name(name, names) if value is True and names else f"{_name(name, names)}={short(value)}"
        for name, value in list(fields.items())[:40]
    )


def _name(name: str, ours: bool) -> str:
    return name.replace("_", "-") if ours else short(name)


def _span(pair: Json) -> str:
    assert isinstance(pair, list)
    low, high = pair
    return f"{low}" if low == high else f"{low}-{high}"


def _cut(text: str) -> str:
    return text if len(text) <= 3 * _LONGEST else text[: 3 * _LONGEST] + "..."
