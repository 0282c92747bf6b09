"""The arguments of the command line: how they are declared and checked, the parser, and the settings of a verb."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from itertools import takewhile
from typing import Any, Final, NoReturn, TypeVar

import attrs

Settings = TypeVar("Settings")


def asked(settings: type[Settings], given: argparse.Namespace) -> Settings:
    """Returns the settings of a verb: each has the name of its argument, and its own default where that is absent; one that
    may be repeated is a tuple."""
    make: Callable[..., Settings] = settings
    said = {each.name: getattr(given, each.name) for each in attrs.fields(settings)}  # type: ignore[arg-type]
    return make(**{
        name: tuple(value) if isinstance(value, list) else value for name, value in said.items() if value is not None
    })  # fmt: skip


def argument(verb: argparse._ActionsContainer, name: str, shown: str | None, text: str, **more: Any) -> None:
    """Adds an argument, or an option with a value, `shown` in the help; `more` is that of argparse."""
    verb.add_argument(name, metavar=shown, help=text, **more)


def flag(verb: argparse._ActionsContainer, name: str, text: str, **more: Any) -> None:
    """Adds an option without a value."""
    verb.add_argument(name, action="store_true", help=text, **more)


def repeated(verb: argparse._ActionsContainer, name: str, shown: str, text: str, dest: str | None = None, **more: Any) -> None:
    """Adds an option that may be repeated; its values become a list, with an s behind its name unless `dest` names it."""
    dest = dest or f"{name.lstrip('-').replace('-', '_')}s"
    verb.add_argument(name, action="append", default=[], metavar=shown, dest=dest, help=text, **more)


def whole(least: int, most: int | None = None, wrong: str = "") -> Callable[[str], int]:
    """Returns a parser of integers from `least` to `most` (None: unbounded); `wrong` describes any other text."""
    wrong = wrong or f"must be an integer {f'of at least {least}' if most is None else f'from {least} to {most}'}"

    def read(text: str) -> int:
        digits = text if most is None else text.lstrip("0")[:21] or "0"  # enough digits to show that it is too large
        if not (text.isascii() and text.isdigit() and least <= int(digits) and (most is None or int(digits) <= most)):
            raise argparse.ArgumentTypeError(f"{text!r} {wrong}")
        return int(digits)

    return read


def number(most: float, wrong: str) -> Callable[[str], float]:
    """Returns a parser of numbers from 0 to `most`, with fractions; `wrong` says what another text is not."""

    def read(text: str) -> float:
        try:
            given = float(text)
        except ValueError:
            given = -1.0
        if not 0 <= given <= most:
            raise argparse.ArgumentTypeError(f"{text!r} {wrong}")
        return given

    return read


seconds: Final = number(1e9, "is not a number of seconds")


def pair(shown: str) -> Callable[[str], tuple[str, str]]:
    """Returns a parser of two texts with an equals sign between, as in `shown`, for example NAME=TEXT."""

    def read(text: str) -> tuple[str, str]:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise argparse.ArgumentTypeError(f"{text!r} is not {shown}")
        return name, value

    return read


_TWO_COLUMNS: Final = re.compile(r"( +\S+(?: \S+)* {2,})\S")
_NO_CHOICE: Final = re.compile(r".*invalid choice: '(.*)' \(choose from (.*)\)", re.DOTALL)
_UNKNOWN: Final = "unrecognized arguments: "


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


class Parser(argparse.ArgumentParser):
    """A parser with such help, whose errors name the verb, option or choice that is most like the wrong one."""

    def __init__(self, **settings: Any) -> None:  # Any: those of the base
        super().__init__(formatter_class=Wrapped, **settings)
        self._given: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # Any: as in the base
        """Parses what it knows, and remembers all for its errors."""
        self._given = [*(sys.argv[1:] if args is None else args)]
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Prints the usage and the error, and exits with status 2.

        An option that does not exist goes before: what else is wrong, such as what is missing, may follow from it.
        """
        options = takewhile(lambda each: each != "--", self._given if self._subparsers is None else ())
        unknown = [each for each in options if each.startswith("--") and not self._knows(each)]
        if unknown and not message.startswith(_UNKNOWN):
            message = _UNKNOWN + " ".join(unknown)
        super().error(message + self._meant(message))

    def _knows(self, word: str) -> bool:
        """Whether an option begins with it: abbreviations are legal."""
        return any(each.startswith(word.partition("=")[0]) for each in self._option_string_actions)

    def refuse(self, unknown: Sequence[str]) -> None:
        """Refuses arguments that it does not know, where there are some."""
        if unknown:
            self.error(_UNKNOWN + " ".join(unknown))

    def _meant(self, message: str) -> str:
        known: Iterable[str] = [each for each in self._option_string_actions if each.startswith("--")]
        if message.startswith(_UNKNOWN):
            wrong = next((each.partition("=")[0] for each in message.split() if each.startswith("-")), "")
        elif choice := _NO_CHOICE.fullmatch(message):
            wrong, known = choice[1], choice[2].replace("'", "").split(", ")
        else:
            return ""
        if wrong in known:
            return f" (put {wrong} after the verb)"
        names = {each.lstrip("-"): each for each in known}
        near = get_close_matches(wrong.lstrip("-"), names, 1)
        return f" (did you mean {names[near[0]]}?)" if near else ""


def _broken(line: str, width: int) -> str:
    """Breaks a line that does not fit."""
    columns = _TWO_COLUMNS.match(line)
    at = columns.end(1) if columns else len(line) - len(line.lstrip())
    if len(line) <= width or (columns is None and line.lstrip().startswith("amqp-sansio ")):
        return line
    rest = textwrap.wrap(line[at:], max(width - at, 20), break_long_words=False, break_on_hyphens=False)
    return line[:at] + f"\n{' ' * at}".join(rest)
