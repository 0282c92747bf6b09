"""Formats help to the width of the terminal."""

from __future__ import annotations

import argparse
import re
import textwrap
from typing import Final

_TWO_COLUMNS: Final = re.compile(r"( +\S+(?: \S+)* {2,})\S")


class Wrapped(argparse.HelpFormatter):
    """Wraps paragraphs to the available width.

    A line that begins with a space is kept while it fits; otherwise it continues below its second column, where it has one, or
    its beginning.  Commands are never broken, nor words at hyphens.
    """

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs: list[str] = []
        running: list[str] = []

        def fill() -> None:
            if running:
                text = " ".join(running)
                paragraphs.append(
                    textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
                )
                running.clear()

        for line in text.strip().splitlines():
            if line and not line[0].isspace():
                running.append(line)
                continue
            fill()
            paragraphs.append(_broken(indent + line, width) if line else "")
        fill()
        return "\n".join(paragraphs)


def _broken(line: str, width: int) -> str:
    """Breaks a line that does not fit."""
    columns = _TWO_COLUMNS.match(line)
    at = columns.end(1) if columns else len(line) - len(line.lstrip())
    if len(line) <= width or (columns is None and line.lstrip().startswith("amqp-sansio ")):
        return line
    rest = textwrap.wrap(line[at:], max(width - at, 20), break_long_words=False, break_on_hyphens=False)
    return line[:at] + f"\n{' ' * at}".join(rest)
