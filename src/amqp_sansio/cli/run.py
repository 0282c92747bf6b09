"""`amqp-sansio run`: a tour: a capture decoded and judged, two machines with a breaking link, a broker, the pipeline."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, redirect_stdout
from importlib.resources import as_file, files
from io import StringIO
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from amqp_sansio.cli.link_demo import WINDOW, Crossing, DemoOutcome

_SAMPLES: Final = ("hello.pcap", "badopen.pcap")
_MESSAGES: Final = 24
_BODY: Final = 500
_CUTS: Final = 6
_ORDERS: Final = 500
_SHOWN: Final = 2
"""Cuts whose surroundings are shown."""


CommandLine: TypeAlias = Callable[[list[str]], int]
"""Runs `amqp-sansio` with these arguments; returns its exit status."""


def run(seed: int, tables: str | None, command: CommandLine) -> int:
    """Prints everything.  Returns 0 when every message arrived once and in order, and the tables, if wanted, were published.

    `command` runs the verbs of the pipeline.
    """
    _chapter(1, "A real conversation, decoded: the old Python client and Apache qpidd, recorded with tcpdump")
    _read("decode", "hello.pcap")
    _chapter(2, "Who broke the protocol?  The same conversation, and one whose client takes more than it was offered")
    _read("check", *_SAMPLES)
    _chapter(3, f"A client and a server in memory; the link between them is cut {_CUTS} times (--seed {seed})")
    crossing = Crossing(Random(seed), messages=_MESSAGES, body_octets=_BODY, cuts=_CUTS)
    outcome = crossing.run()
    _surroundings(outcome)
    status = _verdict(crossing, outcome)
    _chapter(4, "A broker on a real socket (amqp-sansio serve --data-dir), killed in between")
    status = _serve() or status
    if tables is not None:
        _chapter(5, "The captures of chapters 1 and 2 as tables: the data pipeline, on Spark and without")
        status = _tables(tables, command) or status
    return status


def _serve() -> int:
    """Fills, kills, restarts and empties a broker.  Returns 0 when every message came, once and in order."""
    from amqp_sansio.cli.served import tell

    story = tell(_ORDERS)
    due = tuple([b"order %d" % number for number in range(_ORDERS)])
    right = story.received == due and story.confirmed == _ORDERS and story.ended == 0
    rows = {
        "sent": f"{story.confirmed} persistent messages, each completed when it was on the disk",
        "then": "kill -9, and a new process on the same directory",
        "received": _tally(story.received, due),
        "ended": f"on SIGTERM, with exit status {story.ended}",
    }
    return _told(rows, right, "Nothing that was completed is lost." if right else "SOMETHING IS WRONG: see above.")


def _told(rows: Mapping[str, str], right: bool, conclusion: str) -> int:
    """Prints what a chapter comes to.  Returns 0 when it is right, else 1."""
    for name, text in rows.items():
        print(f"  {name:<18}{text}")
    print(f"\n{conclusion}")
    sys.stdout.flush()
    return 0 if right else 1


def _tables(out: str, command: CommandLine) -> int:
    """Publishes the tables of the samples in `out`, on Spark and in this process, and the page made from them.  Returns 0 when
    both have the same rows, else 1, or the status of `analyze` or `report`."""
    with ExitStack() as stack:
        paths = [stack.enter_context(as_file(files("amqp_sansio.cli") / "samples" / name)) for name in _SAMPLES]
        beside = stack.enter_context(TemporaryDirectory(prefix="amqp-sansio-"))
        words = ["analyze", *map(str, paths), "--tables", "all"]
        status = command([*words, "--out", out])
        if status:
            return status
        print("\nThe same in this process, without Spark (--engine local):\n")
        status = command([*words, "--out", beside, "--engine", "local"])
        if status:
            return status
        one, other = _rows(out), _rows(beside)
    same = one == other
    print(f"\n{f'Both gave the same {one.total()} rows.' if same else 'THE ROWS DIFFER: see above.'}")
    sys.stdout.write("\nThe page made of them: ")
    sys.stdout.flush()
    return command(["report", out]) or (0 if same else 1)


def _rows(folder: str) -> Counter[str]:
    """Returns the rows of all tables in a folder, whatever their order."""
    from amqp_sansio.captures.columns.published import tables_in

    return Counter([f"{table} {row}" for table, batch in tables_in(folder) for row in batch.to_pylist()])


def _chapter(number: int, title: str) -> None:
    print(f"{'' if number == 1 else chr(10)}{number}  {title}\n")


def _read(verb: str, *names: str) -> None:
    from amqp_sansio.cli.check import check
    from amqp_sansio.cli.decode import decode

    for name in names:
        with as_file(files("amqp_sansio.cli") / "samples" / name) as path, redirect_stdout(StringIO()) as printed:
            if verb == "decode":
                decode([str(path)], as_json=False, ports=[], secrets=False)
            else:
                check([str(path)], as_json=False, ports=[], strict=False)
        for line in printed.getvalue().splitlines():
            print(_cut(line))


def _surroundings(outcome: DemoOutcome) -> None:
    """Prints the conversation before and after the first cuts."""
    lines = outcome.transcript
    cuts = [at for at, line in enumerate(lines) if line.endswith("the link is cut")]
    for at in cuts[:_SHOWN]:
        attached = next((n for n in range(at, len(lines)) if "session.completed" in lines[n]), at)
        for line in (*lines[at - 5 : at + 1], *lines[at + 1 : min(attached + 6, at + 26)]):
            print(_cut(f"  {line}"))
        print("      ...")
    print(f"  ({len(lines)} lines in all)\n")


def _cut(line: str) -> str:
    width = max(100, shutil.get_terminal_size((132, 24)).columns)
    return line if len(line) <= width else line[: width - 3] + "..."


def _verdict(crossing: Crossing, outcome: DemoOutcome) -> int:
    down, up = crossing.messages
    right = outcome.received == down and outcome.collected == up and not outcome.violations
    rows = {
        "connections": f"{outcome.connections}, of which {outcome.cuts} ended by a cut, {outcome.mid_message} times inside a"
        " frame",
        "sessions": f"1 on each side, resumed {outcome.resumed} times by the client",
        "server to client": _tally(outcome.received, down),
        "client to server": _tally(outcome.collected, up),
        "commands": f"{outcome.commands} said, {outcome.confirmed} told complete",
        "credit": f"a window of {WINDOW} messages; unused in the end: {outcome.credit_left}",
        "octets": f"{outcome.octets} written by both sides, replays included",
        "observer": f"{outcome.violations or 'no'} violations heard by a third person on the link",
    }
    return _told(
        rows, right, "Every message arrived once and in order." if right else "SOMETHING IS WRONG: see the tally above."
    )


def _tally(got: tuple[bytes, ...], due: tuple[bytes, ...]) -> str:
    doubled = len(got) - len(set(got))
    lost = len(set(due) - set(got))
    order = "in order" if list(got) == sorted(got, key=due.index) else "OUT OF ORDER"
    return f"{len(got)} messages of {len(due)}, {lost or 'none'} lost, {doubled or 'none'} twice, {order}"
