"""Arguments of the command line: checked numbers and pairs, and the settings of a verb."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

import attrs

Settings = TypeVar("Settings")


def asked(settings: type[Settings], given: argparse.Namespace) -> Settings:
    """Returns the settings of a verb: each has the name of its argument; one that may be repeated is a tuple."""
    make: Callable[..., Settings] = settings
    said = {each.name: getattr(given, each.name) for each in attrs.fields(settings)}  # type: ignore[arg-type]
    return make(**{name: tuple(value) if isinstance(value, list) else value for name, value in said.items()})


def whole(least: int, most: int | None = None, wrong: str = "") -> Callable[[str], int]:
    """Returns a parser of integers from `least` to `most` (None: unbounded); `wrong` describes any other text."""
    wrong = wrong or f"must be an integer {f'of at least {least}' if most is None else f'from {least} to {most}'}"

    def read(text: str) -> int:
        digits = text if most is None else text.lstrip("0")[:21] or "0"  # enough digits to show that it is too large
        if not (text.isascii() and text.isdigit() and least <= int(digits) and (most is None or int(digits) <= most)):
            raise argparse.ArgumentTypeError(f"{text!r} {wrong}")
        return int(digits)

    return read


def pair(shown: str) -> Callable[[str], tuple[str, str]]:
    """Returns a parser of two texts with an equals sign between, as in `shown`, for example NAME=TEXT."""

    def read(text: str) -> tuple[str, str]:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise argparse.ArgumentTypeError(f"{text!r} is not {shown}")
        return name, value

    return read
