"""Help as wide as the terminal."""

from __future__ import annotations

import argparse
import textwrap


class Wrapped(argparse.HelpFormatter):
    """Fills paragraphs to the width that there is.  A line that begins with a space stays as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs: list[str] = []
        running: list[str] = []

        def fill() -> None:
            if running:
                paragraphs.append(textwrap.fill(" ".join(running), width, initial_indent=indent, subsequent_indent=indent))
                running.clear()

        for line in text.strip().splitlines():
            if line and not line[0].isspace():
                running.append(line)
                continue
            fill()
            paragraphs.append(indent + line if line else "")
        fill()
        return "\n".join(paragraphs)
