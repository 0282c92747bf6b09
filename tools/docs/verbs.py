"""Generates the page of the command line's verbs and options from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Final

from amqp_sansio.cli.given import Wrapped
from amqp_sansio.cli.main import parser

WIDTH: Final = 110


def verbs() -> dict[str, argparse.ArgumentParser]:
    """Returns the parser of each verb and subverb ("store check")."""
    return dict(_below(parser(), ""))


def _below(top: argparse.ArgumentParser, before: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, each in action.choices.items():
                below = list(_below(each, f"{before}{name} "))
                yield from below or [(f"{before}{name}", each)]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _names(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None and action.metavar is None:
        metavar = "|".join(map(str, action.choices))
    if not action.option_strings:
        return f"`{metavar}`".replace("|", "\\|")
    value = "" if action.nargs == 0 else f" {metavar}"
    return ", ".join(f"`{name}{value}`" for name in action.option_strings).replace("|", "\\|")


def _section(name: str, verb: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## {name}\n"
    verb.formatter_class = partial(Wrapped, width=WIDTH)
    yield f"```text\n{verb.format_usage().strip()}\n```\n"
    yield f"{_prose(verb.description)}\n"
    yield "| argument | meaning |\n|---|---|"
    for action in verb._actions:
        if action.help is not argparse.SUPPRESS and "--help" not in action.option_strings:
            yield f"| {_names(action)} | {_cell((action.help or '') % {**vars(action), 'prog': verb.prog})} |"
    if verb.epilog:
        yield f"\n{_prose(verb.epilog)}"
    yield ""


def _prose(text: str | None) -> str:
    """Returns a help text as Markdown: indented parts are shown verbatim."""
    lines: list[str] = []
    shown = False
    for line in (text or "").strip().splitlines():
        if line.startswith(" ") != shown and line:
            lines += ["```", ""] if shown else ["", "```text"]
            shown = not shown
        lines.append(line if shown else line.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_"))
    return "\n".join([*lines, *(["```"] if shown else [])])


def verbs_page() -> str:
    """Returns the page."""
    lines = [
        "# Verbs and options\n",
        "Generated from the parsers of the command; `amqp-sansio VERB --help` prints the same. The page",
        "[command line](command-line.md) describes what the verbs print and what their exit codes mean.\n",
    ]
    for name, verb in verbs().items():
        lines += _section(name, verb)
    return "\n".join(lines)
