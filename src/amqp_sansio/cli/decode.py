"""`amqp-sansio decode`: prints the methods in captures."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Final

from amqp_sansio.captures.conversation import observers
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import named
from amqp_sansio.captures.flows import AmqpFlow
from amqp_sansio.captures.json_values import Json
from amqp_sansio.captures.rows import DecodedLine, transcript
from amqp_sansio.cli.output import NO_CONNECTION, Progress, complain, json_line, painted, pairs, plain, short, whole
from amqp_sansio.cli.selection import Selection, Wanted, is_error, session_name
from amqp_sansio.dialects import readable
from amqp_sansio.errors.core import many

_VERB: Final = 24
BODY_SHOWN: Final = 4096
"""The most octets of a body that are shown to people."""
_HEX_LINE: Final = 16
_INDENT: Final = " " * 37
_SPEAKERS: Final = {"C": "cyan", "S": "blue"}


class _Page:
    """Formats lines for people.  Each connection gets a number when it first appears, and a line that identifies it."""

    def __init__(self, file: str, selection: Selection) -> None:
        self.file: Final = file
        self._selection: Final = selection
        self._begun = False

    def line(self, flow: AmqpFlow, row: DecodedLine) -> str:
        conversation = flow.conversation
        lines = ""
        first = self._selection.first
        if not self._begun:
            self._begun = True
            lines = f"{whole(self.file)}: first heard at {_date(first)}\n"
        if not flow.label:
            flow.label = f"[{self._selection.number(flow)}]"
            ends = row["connection"]
            lines += f"{flow.label} is {ends}{'' if conversation.begun else ', from the middle'}\n"
        seconds = (row["time"] - first) / 1e9
        channel = "" if row["channel"] is None else str(row["channel"])
        where = painted(f"{row['packet']:>7} {seconds:>12.6f}", "dim")
        said = _said(row)
        if is_error(row):
            said = painted(said, "red")
        speaker = painted(row["speaker"], _SPEAKERS[row["speaker"]])
        return f"{lines}{where} {flow.label:>4} {speaker} {channel:>5}  {said}{''.join(_body(row))}"


def _body(row: DecodedLine) -> Iterator[str]:
    """Returns the lines of a message's body, as far as shown."""
    if "body" in row:
        text = row["body"].encode()[:BODY_SHOWN].decode(errors="ignore")
        left = row["body_octets"] - len(text.encode())
        for line in text.splitlines():
            yield f"\n{_INDENT}{json_line(line)[1:-1]}"
    elif "body_hex" in row:
        octets = bytes.fromhex(row["body_hex"][: 2 * BODY_SHOWN])
        left = row["body_octets"] - len(octets)
        for at in range(0, len(octets), _HEX_LINE):
            part = octets[at : at + _HEX_LINE]
            shown = "".join([chr(octet) if 32 <= octet < 127 else "." for octet in part])
            yield f"\n{_INDENT}{at:04x}  {part.hex(' '):<{3 * _HEX_LINE}} {shown}"
    else:
        return
    if left:
        yield f"\n{_INDENT}... {many(left, 'octet')} more"


def _said(row: DecodedLine) -> str:
    fields = row["fields"]
    if row["kind"] == "header":
        version = fields["version"]
        return f"{'protocol header':<{_VERB}} {short(version) if version else 'not AMQP as we know it'} ({fields['octets']})"
    if row["kind"] == "opaque":
        return f"{'opaque':<{_VERB}} from here on: {plain(str(fields['reason']))}"
    verb = row["verb"] or "?"
    number = "" if row["command_id"] is None else f" #{row['command_id']}"
    if verb.startswith("session.") and isinstance(name := fields.get("name"), str):
        fields = {**fields, "name": session_name(name)}
    elif verb == "message.flow":
        fields = {**fields, **_credit(fields)}
    parts = [f"{verb + number + ('!' if row['sync'] else ''):<{_VERB}}", pairs(fields)]
    for header in row["headers"]:
        assert isinstance(header, dict)
        name = str(header.get("struct")).rpartition(".")[2]
        parts.append(f"| {name}: {pairs({key: value for key, value in header.items() if key != 'struct'})}")
    if row["body_octets"]:
        parts.append(f"| {many(row['body_octets'], 'octet')}")
    if not row["complete"]:
        parts.append("| NOT COMPLETE")
    return " ".join(part for part in parts if part).rstrip()


def _credit(fields: dict[str, Json]) -> dict[str, Json]:
    """Formats unit and value of message.flow as words."""
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
    dialects: Sequence[str] = (),
    wanted: Wanted = Wanted(),
    bodies: str = "none",
) -> int:
    """Prints the wanted units of the files.  Returns 0, or 2 when one of them could not be read (to its end).

    `dialects` are names; see `amqp_sansio.dialects.readable`.  `bodies` is one of `rows.BODIES`.  Reports on stderr when the
    options exclude every line.
    """
    make = observers(dialects=readable(dialects))
    status, told, shown, left_out = 0, False, False, 0
    progress = Progress()
    write = sys.stdout.write
    try:
        files = named(files)
    except CaptureError as error:
        complain(str(error))
        return 2
    for file in files:
        selection = Selection(wanted)
        page = _Page(file, selection)

        def warn(text: str, file: str = file) -> None:
            nonlocal told
            told = True
            progress.clear()
            complain(f"{file}: warning: {text}")

        try:
            for flow, row in transcript(file, make, ports, warn, secrets, progress.octets, bodies):
                told = True
                if not selection.takes(flow, row):
                    left_out += 1
                else:
                    shown = True
                    progress.clear()
                    write((json_line(row) if as_json else page.line(flow, row)) + "\n")
        except CaptureError as error:
            progress.clear()
            complain(str(error))
            status = 2
    progress.clear()
    if not (told or status):
        complain(NO_CONNECTION)
    elif left_out and not shown:
        hint = "; `amqp-sansio check` reports broken rules" if wanted.errors else ""
        complain(f"no line fits the options: {left_out:,} lines were left out{hint}")
    return status
