"""`amqp-sansio decode`: the methods in captures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from amqp_sansio.captures.conversation import MakeWitness
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.flows import Talk
from amqp_sansio.captures.json_values import Json
from amqp_sansio.captures.rows import Row
from amqp_sansio.captures.transcript import transcript
from amqp_sansio.cli.output import NO_CONNECTION, complain, json_line, pairs, short
from amqp_sansio.cli.progress import Progress

_VERB: Final = 24


class _Page:
    """Lines for people.  Each connection gets a number when it is first heard, and a line that says who it is."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.first: int | None = None
        self.count = 0

    def line(self, talk: Talk, row: Row) -> str:
        conversation = talk.conversation
        lines = ""
        if self.first is None:
            self.first = row["time"]
            lines = f"{short(self.file)}: first heard at {_date(self.first)}\n"
        if not talk.label:
            self.count += 1
            talk.label = f"[{self.count}]"
            ends = row["connection"]
            lines += f"{talk.label} is {ends}{'' if conversation.begun else ', from the middle'}\n"
        seconds = (row["time"] - self.first) / 1e9
        channel = "" if row["channel"] is None else str(row["channel"])
        head = f"{row['packet']:>7} {seconds:>12.6f} {talk.label:>4} {row['speaker']} {channel:>5}  "
        return lines + head + _said(row)


def _said(row: Row) -> str:
    fields = row["fields"]
    if row["kind"] == "header":
        version = fields["version"]
        return f"{'protocol header':<{_VERB}} {short(version) if version else 'not AMQP as we know it'} ({fields['octets']})"
    if row["kind"] == "opaque":
        return f"{'opaque':<{_VERB}} from here on: {fields['reason']}"
    verb = row["verb"] or "?"
    number = "" if row["command_id"] is None else f" #{row['command_id']}"
    if verb.startswith("session.") and isinstance(name := fields.get("name"), str):
        fields = {**fields, "name": _readable(name)}
    elif verb == "message.flow":
        fields = {**fields, **_credit(fields)}
    parts = [f"{verb + number + ('!' if row['sync'] else ''):<{_VERB}}", pairs(fields)]
    for header in row["headers"]:
        assert isinstance(header, dict)
        name = str(header.get("struct")).rpartition(".")[2]
        parts.append(f"| {name}: {pairs({key: value for key, value in header.items() if key != 'struct'})}")
    if row["body_octets"]:
        parts.append(f"| {row['body_octets']} octets")
    if not row["complete"]:
        parts.append("| NOT COMPLETE")
    return " ".join(part for part in parts if part).rstrip()


def _readable(name: str) -> str:
    """The name of a session, which is octets, as the text that it usually is."""
    octets = bytes.fromhex(name)
    return octets.decode("ascii") if octets.isascii() and octets.decode("ascii").isprintable() else name


def _credit(fields: dict[str, Json]) -> dict[str, Json]:
    """Unit and value of message.flow in words."""
    said: dict[str, Json] = {}
    if "unit" in fields:
        said["unit"] = {0: "message", 1: "byte"}.get(fields["unit"], fields["unit"]) if type(fields["unit"]) is int else None
    if fields.get("value") == 0xFFFFFFFF:
        said["value"] = "infinite"
    return said


def _date(time: int) -> str:
    from datetime import UTC, datetime

    try:
        return f"{datetime.fromtimestamp(time // 1_000_000_000, UTC):%Y-%m-%d %H:%M:%S}.{time % 1_000_000_000:09d} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{time} ns"


def decode(
    files: Sequence[str],
    *,
    as_json: bool,
    ports: Sequence[int],
    secrets: bool,
    make: MakeWitness | None = None,
    dialects: Sequence[str] = (),
) -> int:
    """Prints everything heard in the files; 0, or 2 when one of them could not be read (to its end).

    `dialects` are names; see `amqp_sansio.dialects.readable`.
    """
    if make is None:
        from amqp_sansio.captures.witnesses import observers
        from amqp_sansio.dialects import readable

        make = observers(dialects=readable(dialects))
    status, told = 0, False
    progress = Progress()
    write = sys.stdout.write
    for file in files:
        page = _Page(file)

        def warn(text: str, file: str = file) -> None:
            nonlocal told
            told = True
            progress.clear()
            complain(f"{file}: warning: {text}")

        try:
            for talk, row in transcript(file, make, ports, warn, secrets, progress.octets):
                progress.clear()
                write((json_line(row) if as_json else page.line(talk, row)) + "\n")
                told = True
        except CaptureError as error:
            progress.clear()
            complain(str(error))
            status = 2
    progress.clear()
    if not (told or status):
        complain(NO_CONNECTION)
    return status
