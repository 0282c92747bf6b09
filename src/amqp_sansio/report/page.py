"""Assembles the page: one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.resources import files
from pathlib import Path
from typing import Final

import pyarrow.compute as pc

from amqp_sansio.captures.locations import local
from amqp_sansio.report.bins import Axis
from amqp_sansio.report.charts import Charts
from amqp_sansio.report.findings import first_to_do, in_doubt, verdict, violations
from amqp_sansio.report.flow import CreditReader
from amqp_sansio.report.folder import Folder, ReportError, Tell
from amqp_sansio.report.latency import Commands, Messages
from amqp_sansio.report.markup import Content, Markup, count, duration, joined, moment, octets, small, tag
from amqp_sansio.report.overview import Overview
from amqp_sansio.report.talk import names_of, talks
from amqp_sansio.report.traffic import captures, connections, latency, of_all, over_time, talkers

_HERE: Final = files("amqp_sansio.report")
CSS: Final = (_HERE / "page.css").read_text(encoding="utf-8")
SCRIPT: Final = (_HERE / "page.js").read_text(encoding="utf-8")
"""The only script of the page, which zooms."""
NAME: Final = "report.html"
"""The default file name of the page in the folder of the tables."""


def page(path: str, tell: Tell | None = None) -> str:
    """Returns the page for the tables in a folder, the same for the same tables.  Calls `tell` with the progress.

    Raises ReportError when it cannot be made.
    """
    folder: Final = Folder(path, tell)
    seen: Final = Overview(folder)
    axis: Final = _axis(folder, seen)
    commands = Commands(folder) if "commands" in folder else None
    messages = Messages(folder, axis) if "messages" in folder else None
    credit = CreditReader(folder, axis) if "credit" in folder else None
    around = talks(folder, seen.drawn)
    rows = [*seen.doubtful, *seen.sessions, *seen.branch_rows, *seen.hanging, *(commands.open if commands else ())]
    wanted = {row["connection"] for row in rows} | {of.connection for of in (credit.lines if credit else ())}
    names = names_of(folder, wanted)
    charts = Charts()
    missing = [
        name for name in ("connections", "sessions", "commands", "messages", "credit", "violations") if name not in folder
    ]
    parts: list[tuple[str, str, Markup]] = [
        ("violations", "Who broke the protocol", violations(seen, around, "controls" in folder or "frames" in folder))
        if "violations" in folder
        else ("violations", "Who broke the protocol", tag("p", "The table violations is not here.", class_="none")),
        ("latency", "How long things took", latency(charts, commands, messages)),
        ("time", "Messages and credit over time", over_time(charts, axis, messages, credit, names)),
        ("doubt", "What is in doubt", in_doubt(folder, seen, commands, names)),
        ("talkers", "Busiest senders", talkers(folder, seen, commands, messages)),
        ("connections", "Connections, sessions, transactions", connections(seen, names, folder)),
        ("captures", "Captures and tables", captures(folder, seen)),
    ]
    when = "No time is known."
    if seen.start is not None and seen.end is not None:
        when = f"{moment(seen.start)} to {moment(seen.end)} UTC ({duration(seen.end - seen.start)})"
    header = tag(
        "header",
        tag("h1", "What happened in the captures"),
        tag("p", when, class_="when"),
        verdict(folder, seen, commands, (credit.stalls, credit.stalled_ns) if credit else None),
        first_to_do(seen, commands),
        _tiles(folder, seen, commands, messages, credit),
        small(f"This page shows nothing of tables that are not here: {', '.join(missing)}.") if missing else "",
        tag("nav", *[tag("a", title, href=f"#{key}") for key, title, _ in parts]),
    )
    main = tag("main", *[tag("section", tag("h2", title), body, id=key) for key, title, body in parts])
    footer = tag(
        "footer",
        "Made by amqp-sansio report; charts drawn by matplotlib. Hold Ctrl or Shift and turn the wheel over a chart to zoom,"
        " drag to move, double-click for the whole.",
    )
    return _document(joined(header, main, footer))


def _axis(folder: Folder, seen: Overview) -> Axis:
    """Returns the axis from the first packet to the last; without connections, from the first message to the last."""
    start, end = seen.start, seen.end
    if start is None:
        for name in ("messages", "credit"):
            for batch in folder.batches(name, ("ts",)):
                times = pc.min_max(batch["ts"]).as_py()
                if times["min"] is not None:
                    start = times["min"] if start is None else min(start, times["min"])
                    end = times["max"] if end is None else max(end, times["max"])
    return Axis(start or 0, end or 0)


def _tiles(
    folder: Folder, seen: Overview, commands: Commands | None, messages: Messages | None, credit: CreditReader | None
) -> Markup:
    tiles: list[Markup] = []

    def tile(number: Content, words: str, bad: bool = False) -> None:
        tiles.append(tag("div", tag("b", number), tag("span", words), class_=f"tile{' bad' if bad else ''}"))

    if "violations" in folder:
        tile(count(seen.levels["violation"]), "violations", seen.levels["violation"] > 0)
        tile(count(seen.levels["note"]), "notes, which accuse nobody")
    if "connections" in folder:
        tile(count(seen.rows["connections"]), "connections")
        tile(octets(seen.sums.get("octets_by_client", 0) + seen.sums.get("octets_by_server", 0)), "captured")
        if seen.unread:
            tile(octets(seen.unread), "not judged")
    if "sessions" in folder:
        tile(count(seen.rows["sessions"]), "attachments of sessions")
        tile(count(seen.in_doubt), "in doubt: published, delivered, prepared, committed", seen.perhaps_lost > 0)
    if commands is not None:
        tile(count(seen.rows["commands"]), "commands")
        tile(count(commands.outcomes["refused"]), "commands refused")
    if messages is not None:
        tile(count(messages.sums["C"]), "messages published")
        tile(count(messages.sums["S"]), "messages delivered")
        spread = messages.end_to_end.spread()
        if spread is not None:
            tile(duration(spread.p50), f"end to end, median of {of_all(spread.number, messages.sums['S'])} messages")
    if credit is not None:
        tile(duration(credit.stalled_ns), "stalled without credit")
    return tag("div", *tiles, class_="tiles")


def _document(body: Markup) -> str:
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    # Whatever a capture contains, nothing is fetched, and no script runs but ours.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">'
        f"<title>amqp-sansio report</title><style>{CSS}</style>"
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{body}\n<script>{SCRIPT}</script></body></html>\n'


def write(path: str, out: str | None = None, tell: Tell | None = None) -> Path:
    """Writes the page for the tables in the folder `path` to `out` (None: into the folder), atomically; returns its path.

    A link stays, and a device or a pipe is written to: nothing takes their places.

    Raises ReportError when it cannot be made or written.
    """
    folder: Final = local(path)
    if folder is None and out is None:
        raise ReportError(f"{path}: is not on this machine: say where the page goes (--out FILE)")
    place: Final = Path(folder or "") / NAME if out is None else Path(out)
    if not place.name:
        raise ReportError(f"{place}: cannot be written: it is a folder")
    made: Final = page(path, tell).encode()
    target: Final = Path(os.path.realpath(place))
    work: Final = target.with_name(f".{target.name}.{os.getpid()}.work")
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(made)
        else:
            work.write_bytes(made)
            os.replace(work, target)
    except OSError as error:
        work.unlink(missing_ok=True)
        raise ReportError(f"{place}: cannot be written: {error.strerror or error}") from error
    return place
