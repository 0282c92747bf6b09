"""What a verb prints: lines for machines and for people, both ASCII, whatever the peers sent; complaints; progress."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from json import JSONEncoder
from typing import TYPE_CHECKING, Final, Self, TextIO

from amqp_sansio.errors.core import many

if TYPE_CHECKING:
    from amqp_sansio.captures.json_values import Json


json_line: Final = JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False).encode

NO_CONNECTION: Final = "no AMQP connection was found: --port N counts also those to port N that began before the capture did"
"""The line for files without AMQP."""
_BARE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./#*@:+$%&~^|;<>")
_LONGEST: Final = 60
_COLOURS: Final = {"dim": 2, "red": 31, "green": 32, "blue": 34, "magenta": 35, "cyan": 36}


def escaped(text: str) -> str:
    """Returns text that may be a peer's, in ASCII without control characters; backslashes stay."""
    return ascii(text)[1:-1].replace("\\'", "'").replace("\\\\", "\\")


def plain(text: str) -> str:
    """Returns text that may be a peer's, in ASCII without control characters."""
    return text if text.isascii() and text.isprintable() else json_line(text)[1:-1]


def printed(name: str) -> str:
    """Returns the name of a file: as it is where a terminal shows it, else in ASCII without control characters."""
    return name if name.isprintable() else plain(name)


def complain(text: str) -> None:
    """Prints one line on stderr, after everything printed so far."""
    sys.stdout.flush()
    with suppress(OSError):  # stderr may be a file on a full disk; the exit status tells what else there is to tell
        print(f"amqp-sansio: {escaped(text)}", file=sys.stderr)


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


ON_A_TERMINAL: Final = 0.5
ELSEWHERE: Final = 15.0
"""Seconds between two reports, and before the first."""


class Progress:
    """Shows the progress now and then: an updated line on a terminal, a new line each time elsewhere.

    It has no thread of its own: the work calls it often.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream: Final = stream or sys.stderr
        self._terminal: Final = self._stream.isatty()
        self._began: Final = time.monotonic()
        self._next = self._began + self._pause
        self._stands = False

    @property
    def _pause(self) -> float:
        return ON_A_TERMINAL if self._terminal else ELSEWHERE

    def files(self, table: str, done: int, of: int) -> None:
        """Reports the next file of a table."""
        self._tell(f"reading {table}: {done} of {many(of, 'file')}")

    def octets(self, file: str, octets: int) -> None:
        """Reports that `octets` (decompressed) octets of a capture file were read."""
        self._tell(f"reading {file}: {octets / 1_000_000:.0f} MB")

    def tasks(self, job: str, done: int, of: int) -> None:
        """Reports that `done` of `of` tasks of a job are over; `of` is 0 where that is unknown."""
        self._tell(f"{job}: {done} of {many(of, 'task')}" if of else job)

    def rounds(self, done: int, of: int, what: str) -> None:
        """Reports that `done` of `of` seeds or conversations (`what`) are over."""
        self._tell(f"{done} of {of} {what}")

    def _tell(self, how_far: str) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._pause
        passed = int(now - self._began)
        line = f"amqp-sansio: {escaped(how_far)}, {passed // 60}:{passed % 60:02}"
        self._stream.write(f"\r\033[K{line}" if self._terminal else f"{line}\n")
        self._stream.flush()
        self._stands = self._terminal

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Removes the line from a terminal, before other output or at the end."""
        if self._stands:
            self._stands = False
            self._stream.write("\r\033[K")
            self._stream.flush()
