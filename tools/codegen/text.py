"""Writes Python text that is already formatted as ruff would, without needing ruff."""

from __future__ import annotations

import textwrap

WIDTH = 128


def docstring(text: str, indent: int, more: list[str] | None = None) -> list[str]:
    """Returns a docstring: one line if it fits, else wrapped; `more` are further paragraphs."""
    blanks = " " * indent
    text = text.replace("\\", "\\\\")
    if not more and len(text) + indent + 6 <= WIDTH:
        return [f'{blanks}"""{text}"""']
    lines = textwrap.wrap(f'{blanks}"""{text}', WIDTH, subsequent_indent=blanks, break_long_words=False, break_on_hyphens=False)
    for paragraph in more or []:
        lines += ["", *textwrap.wrap(blanks + paragraph, WIDTH, subsequent_indent=blanks, break_on_hyphens=False)]
    return [*lines, f'{blanks}"""']


def call(head: str, items: list[str], tail: str, indent: int) -> list[str]:
    """Returns `head(items)tail` on one line if it fits, else one item per line with a trailing comma."""
    blanks = " " * indent
    flat = f"{blanks}{head}({', '.join(items)}){tail}"
    if len(flat) <= WIDTH:
        return [flat]
    return [f"{blanks}{head}(", *[f"{blanks}    {item}," for item in items], f"{blanks}){tail}"]


def tuple_of(items: list[str]) -> str:
    """Returns a tuple display."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def assign(target: str, items: list[str], indent: int) -> list[str]:
    """Returns `target = (items)` on one line if it fits, else one item per line."""
    blanks = " " * indent
    flat = f"{blanks}{target} = {tuple_of(items)}"
    if len(flat) <= WIDTH:
        return [flat]
    return [f"{blanks}{target} = (", *[f"{blanks}    {item}," for item in items], f"{blanks})"]


def quoted(text: str) -> str:
    """Returns a string literal as ruff writes it: in double quotes, unless that would need more backslashes."""
    if '"' in text and "'" not in text:
        return "'" + text.replace("\\", "\\\\") + "'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
