"""Broker-J's answers: a line in, a line out, from a Java program of ours that uses its classes."""

from __future__ import annotations

import subprocess
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from amqp_sansio.broker.selectors.expressions import SelectorValue
from tools.interop import broker_j
from tools.interop.maven import compiled, fetch, java

SOURCES: Final = Path(__file__).parent
INTEGERS: Final = range(-(2**31), 2**31)
"""Properties that are Java's Integer; other exact numbers are Long."""


def prepare(folder: Path) -> tuple[Path, Path]:
    """Returns the folders of our classes and of Broker-J's jars, fetched and compiled once.  Raises NotAvailable."""
    libraries = fetch(broker_j.POM, folder)
    return compiled(SOURCES, libraries, folder), libraries


def answers(folder: Path, asked: Iterable[tuple[str, Mapping[str, SelectorValue]]]) -> list[str]:
    """For each selector and message, returns `true`, `false`, `refused ERROR` (no selector) or `raised ERROR` (evaluating)."""
    classes, libraries = prepare(folder)
    lines = "".join([_line(text, properties) for text, properties in asked])
    command = [java(), "-Dfile.encoding=UTF-8", "-cp", f"{classes}:{libraries}/*", "Selectors"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _text(text: str) -> str:
    return b64encode(text.encode()).decode()


def _line(text: str, properties: Mapping[str, SelectorValue]) -> str:
    parts = [_text(text)]
    for name, value in properties.items():
        if isinstance(value, bool):
            parts += [name, "bool", str(value).lower()]
        elif isinstance(value, int):
            parts += [name, "int" if value in INTEGERS else "long", str(value)]
        elif isinstance(value, float):
            parts += [name, "double", repr(value)]
        elif value is not None:
            parts += [name, "string", _text(value)]
    return "\t".join(parts) + "\n"
