"""Generates the page of the command line from the parsers, so that it and `--help` say the same."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Final

from amqp_sansio.cli.given import Wrapped
from amqp_sansio.cli.main import parser

WIDTH: Final = 110
HEAD: Final = "| argument | meaning |\n|---|---|"
GUIDES: Final = {
    "decode": "read-a-capture.md",
    "check": "read-a-capture.md",
    "analyze": "captures-of-any-size.md",
    "watch": "captures-of-any-size.md#streams-of-rotated-files",
    "compact": "captures-of-any-size.md#how-tables-are-published",
    "report": "report.md",
    "doctor": "run-on-a-cluster.md",
    "serve": "run-a-broker.md",
    "passwd": "run-a-broker.md#let-other-machines-connect",
    "rules": "access.md",
    "store": "run-a-broker.md#keep-durable-state",
    "send": "rabbitmq.md#from-the-shell",
    "receive": "rabbitmq.md#from-the-shell",
    "probe": "../tutorial/test-your-own-broker.md#a-client-and-a-live-server",
    "simulate": "simulate.md",
}
"""For each verb the page, from docs/how-to, that shows it at work."""


def verbs() -> dict[str, argparse.ArgumentParser]:
    """Returns the parser of each verb."""
    (action,) = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(action.choices)


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
    if name in GUIDES:
        yield f"[{name} at work](../how-to/{GUIDES[name]})\n"
    yield HEAD
    for group in verb._action_groups:
        if group.description:
            yield f"\n{_prose(group.description)}\n\n{HEAD}"
        for action in group._group_actions:
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
        "# Command line\n",
        "Generated from the parsers of the command: `amqp-sansio VERB --help` prints the same, as wide as the terminal. For an",
        "unknown verb, option or value the command suggests the most similar one, does nothing and exits with 2.\n",
    ]
    for name, verb in verbs().items():
        lines += _section(name, verb)
    return "\n".join(lines)
