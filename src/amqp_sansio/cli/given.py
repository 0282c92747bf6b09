"""What the command line gives: numbers and pairs, checked, and the settings of a verb."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

import attrs

Settings = TypeVar("Settings")


def asked(settings: type[Settings], given: argparse.Namespace) -> Settings:
    """The settings of a verb: each has the name of its argument; one that may be repeated is a tuple."""
    make: Callable[..., Settings] = settings
    said = {each.name: getattr(given, each.name) for each in attrs.fields(settings)}  # type: ignore[arg-type]
    return make(**{name: tuple(value) if isinstance(value, list) else value for name, value in said.items()})


def whole(least: int, most: int | None = None, wrong: str = "") -> Callable[[str], int]:
    """Reads an integer from `least` to `most` (None: of any size); `wrong` says what any other text is not."""
    wrong = wrong or f"must be an integer {f'of at least {least}' if most is None else f'from {least} to {most}'}"

    def read(text: str) -> int:
        digits = text if most is None else text.lstrip("0")[:21] or "0"  # no more of them than tell that it is too much
        if not (text.isascii() and text.isdigit() and least <= int(digits) and (most is None or int(digits) <= most)):
            raise argparse.ArgumentTypeError(f"{text!r} {wrong}")
        return int(digits)

    return read


def pair(shown: str) -> Callable[[str], tuple[str, str]]:
    """Reads two texts with an equals sign between, as in `shown`: NAME=TEXT, say."""

    def read(text: str) -> tuple[str, str]:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise argparse.ArgumentTypeError(f"{text!r} is not {shown}")
        return name, value

    return read
