"""Shared by the verbs of the data pipeline: their arguments, and their final report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypedDict

import attrs

from amqp_sansio.captures.errors import PipelineError
from amqp_sansio.captures.tables import DEFAULT_TABLES, TABLES
from amqp_sansio.cli.given import argument, flag, number, pair, repeated
from amqp_sansio.cli.output import NO_CONNECTION, Progress, complain, escaped, json_line, printed
from amqp_sansio.errors.core import many

if TYPE_CHECKING:
    from amqp_sansio.captures.columns.store import PublishedTables
    from amqp_sansio.captures.replay.options import ReplayOptions

_OF_EXTRAS: Final = frozenset(("matplotlib", "numpy", "pyarrow"))
"""Modules that the extras `[tables]` and `[report]` install."""
MOST_OF_A_BODY: Final = 65536
"""The most octets of a body that may be kept in a table."""
ALL_CORES: Final = "local[*]"
"""The default master of Spark."""
MASTERS: Final = "local[*] (this machine), spark://host:port, yarn, or k8s://..."
ANY_MASTER: Final = f"{MASTERS}; or sc://host:port for Spark Connect"


NO_SESSION: Final = (
    "no session was found: the tables hold AMQP 0-10 only. `amqp-sansio check` judges 0-9-1, 0-9 and 0-8, and the column"
    " not_judged of connections says what was not read"
)
"""The line for captures with connections and no sessions."""


def tables(text: str) -> tuple[str, ...]:
    """Parses names of tables, comma-separated; "all" for every one.  Raises ArgumentTypeError for an unknown one."""
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if names == ("all",):
        return tuple(TABLES)
    unknown = [name for name in names if name not in TABLES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"no table is called {escaped(', '.join(unknown)) or 'nothing'}: there are {', '.join(TABLES)}, all"
        )
    return tuple([name for name in TABLES if name in names])


def payload(text: str) -> int:
    """Parses how much of each body is kept: none, or head:N for N octets."""
    if text == "none":
        return 0
    word, _, number = text.partition(":")
    if word == "head" and number.isascii() and number.isdigit() and 0 < int(number) <= MOST_OF_A_BODY:
        return int(number)
    raise argparse.ArgumentTypeError(f"{text!r} is neither none nor head:N, with N from 1 to {MOST_OF_A_BODY}")


def hours(text: str) -> float:
    """Parses hours from 0 to the maximum of a stream, with fractions: 0.5."""
    from amqp_sansio.captures.replay.options import MOST_IDLE_HOURS

    return number(MOST_IDLE_HOURS, f"must be a number of hours from 0 to {MOST_IDLE_HOURS:.0f}")(text)


def named_place(text: str) -> str:
    """Returns the name of a folder or file.  Raises ArgumentTypeError for an empty one, for example an unset shell variable."""
    if not text:
        raise argparse.ArgumentTypeError("an empty name")
    return text


def add_arguments(verb: argparse.ArgumentParser, masters: str) -> None:
    """Adds the arguments of both `analyze` and `watch`; `masters` lists where Spark may run for the verb."""
    argument(verb, "--out", "DIR", "folder for the tables: a path, file:, s3: or s3a:", required=True, type=named_place)
    add_broker(verb)
    argument(verb, "--master", "URL", f"where Spark runs: {masters}")
    argument(
        verb,
        "--tables",
        "NAMES",
        f"names of tables, separated by commas, or all, which adds frames ({', '.join(DEFAULT_TABLES)})",
        type=tables,
    )
    argument(
        verb,
        "--payload",
        "none|head:N",
        "how many octets of each body to keep in the table messages (none)",
        type=payload,
        default=0,
    )
    flag(verb, "--strict", "also report where deployed peers differ from the letter of the specification")
    repeated(verb, "--conf", "NAME=VALUE", "a setting for Spark", type=setting, dest="conf")
    flag(verb, "--json", "one JSON object at the end instead of a summary")


def add_broker(verb: argparse.ArgumentParser) -> None:
    """Adds the argument that names brokers."""
    repeated(
        verb,
        "--broker",
        "NAME|ADDRESS:PORT=NAME",
        "a name for every broker, or for the broker at ADDRESS:PORT; may be repeated (its address and port)",
        type=_broker,
        dest="broker",
    )


def _broker(text: str) -> str:
    """Parses a broker's name, perhaps with the address that it is for.  Raises ArgumentTypeError."""
    address, equals, name = text.partition("=")
    host, _, number = address.rpartition(":")
    placed = bool(host and name) and number.isascii() and number.isdigit() and 1 <= int(number) <= 65535
    if not (placed if equals else text):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a name nor ADDRESS:PORT=NAME, with a port of 1 to 65535")
    return text


class Brokers(TypedDict):
    """The names of brokers, as `ReplayOptions` takes them."""

    broker: str | None
    brokers: tuple[tuple[str, str], ...]


def named_brokers(given: Sequence[str]) -> Brokers:
    """Returns the given names: of all brokers, and of single ones."""
    pairs = [text.partition("=") for text in given]
    every = [name for name, equals, _ in pairs if not equals]
    single = tuple([(address, name) for address, equals, name in pairs if equals])
    return {"broker": every[-1] if every else None, "brokers": single}


def plan_of(given: argparse.Namespace) -> ReplayOptions:
    """Returns the replay options in the arguments."""
    from amqp_sansio.captures.replay.options import ReplayOptions

    return ReplayOptions(
        ports=tuple(given.ports),
        **named_brokers(given.broker),
        tables=given.tables or DEFAULT_TABLES,
        body_head=given.payload,
        strict=given.strict,
    )


setting: Final = pair("NAME=VALUE")
"""Parses a setting for Spark."""


def size(octets: int) -> str:
    """Formats octets for people."""
    amount = float(octets)
    for unit in ("octets", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "octets" else f"{amount:.1f} {unit}"


def summary(outcome: PublishedTables) -> str:
    """Formats what was published, for people."""
    lines = [f"{printed(outcome.out)}: {many(outcome.files, 'file')}, {size(outcome.octets)}, in {outcome.seconds:.1f} s"]
    for name, rows in outcome.rows.items():
        told = ""
        if name == "violations" and rows:
            told = "  (" + ", ".join(f"{count} of level {level}" for level, count in sorted(outcome.findings.items())) + ")"
        if name == "end_to_end" and outcome.early:
            told = f"  ({outcome.early} without a latency: delivered before published, by the recorded times)"
        lines.append(f"  {name:<14}{rows:>12}{told}")
    return "\n".join(lines)


@contextmanager
def installed(what: str, extra: str) -> Iterator[None]:
    """Raises PipelineError when an import in the block fails because an extra is not installed: `what` is the verb that needs
    it."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _OF_EXTRAS:
            raise
        raise PipelineError(f"{what} {error.name}: pip install 'amqp-sansio[{extra}]'") from error


def run_here(captures: Sequence[str], out: str, plan: ReplayOptions, file_octets: int | None = None) -> PublishedTables:
    """Analyzes captures in this process, and shows the progress.  Raises PipelineError when that fails.

    Small files are merged up to `file_octets` (None: `compact.FILE_OCTETS`).
    """
    with installed("tables need", "tables"):
        from amqp_sansio.captures.columns.compact import FILE_OCTETS
        from amqp_sansio.captures.columns.local import run
        from amqp_sansio.captures.columns.process import without_pandas
    without_pandas()
    with Progress() as progress:
        return run(captures, out, plan, progress.octets, FILE_OCTETS if file_octets is None else file_octets)


def report(outcome: PublishedTables, as_json: bool) -> int:
    """Prints what was published.  Returns 0, or 2 when a capture could not be read, or not to its end."""
    if as_json:
        said = {
            "out": outcome.out,
            "tables": dict(outcome.rows),
            "findings": dict(outcome.findings),
            "damage": [{"capture": each.capture, "offset": each.offset, "text": each.text} for each in outcome.damage],
            **({"early": outcome.early} if outcome.early else {}),
            **({"late": [attrs.asdict(each) for each in outcome.late]} if outcome.late else {}),
            "files": outcome.files,
            "octets": outcome.octets,
            "seconds": round(outcome.seconds, 3),
        }
        sys.stdout.write(json_line(said) + "\n")
    else:
        sys.stdout.write(summary(outcome) + "\n")
    return warn(outcome)


def warn(outcome: PublishedTables) -> int:
    """Reports on stderr what may be missing in the tables.  Returns 0, or 2 when a capture could not be read, or not to its
    end."""
    if outcome.rows.get("connections") == 0:
        complain(NO_CONNECTION)
    elif outcome.rows.get("sessions") == 0:
        complain(NO_SESSION)
    damage = outcome.findings.get("damage", 0)
    if damage:
        complain(f"{many(damage, 'place')} in the captures cannot be read: see level damage in violations")
        for each in outcome.damage:
            complain(str(each))
        if damage > len(outcome.damage) > 0:
            complain(f"... and {damage - len(outcome.damage)} more")
    return 2 if damage else 0
