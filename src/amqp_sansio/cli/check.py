"""`amqp-sansio check`: who broke the protocol."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from amqp_sansio.captures.conversation import MakeWitness
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.verdicts import VIOLATION, Finding, Verdict, verdict_row, verdicts
from amqp_sansio.cli.output import NO_CONNECTION, complain, json_line, short

_WHO = {"C": "client", "S": "server"}


def _plain(text: str) -> str:
    """Text that may hold what a peer said, in ASCII without control characters."""
    return text if text.isascii() and text.isprintable() else json_line(text)[1:-1]


def _finding(each: Finding) -> str:
    line = f"    {each.level:<9}  packet {each.packet:<6} {_WHO[each.speaker]:<6}  {_plain(each.rule)}: {_plain(each.said)}"
    if each.text and each.text != each.said:
        line += f"\n{'':41}{_plain(each.text)}"
    if each.legal:
        line += f"\n{'':41}legal: {_plain(', '.join(each.legal))}"
    return line


def _verdict(verdict: Verdict) -> str:
    broken = sum(each.level == VIOLATION for each in verdict.findings)
    word = _many(broken, "violation") if broken else "clean"
    said = f"{verdict.commands} commands, {verdict.controls} controls, {verdict.octets[0]}+{verdict.octets[1]} octets"
    head = f"  {verdict.connection}  {verdict.dialect or 'unknown version'}  {word}  ({said})"
    return "\n".join([head, *map(_finding, verdict.findings)])


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def check(files: Sequence[str], *, as_json: bool, ports: Sequence[int], strict: bool, make: MakeWitness | None = None) -> int:
    """Prints a verdict on each connection; 0 nobody broke the protocol, 1 somebody did, 2 a file could not be read."""
    if make is None:
        from amqp_sansio.captures.witnesses import observers

        make = observers(strict)
    unread = warned = False
    connections = clean = violations = notes = 0
    write = sys.stdout.write
    for file in files:

        def warn(text: str, file: str = file) -> None:
            nonlocal warned
            warned = True
            complain(f"{file}: warning: {text}")

        if not as_json:
            write(f"{short(file)}\n")
        try:
            for verdict in verdicts(file, make, ports, warn):
                broken = sum(each.level == VIOLATION for each in verdict.findings)
                connections += 1
                clean += not broken
                violations += broken
                notes += len(verdict.findings) - broken
                write((json_line(verdict_row(file, verdict)) if as_json else _verdict(verdict)) + "\n")
        except CaptureError as error:
            complain(str(error))
            unread = True
    if not as_json:
        write(
            f"{_many(connections, 'connection')} in {_many(len(files), 'file')}: {clean} clean, {connections - clean} with"
            f" violations ({_many(violations, 'violation')}, {_many(notes, 'note')})\n"
        )
    if not (connections or unread or warned):
        complain(NO_CONNECTION)
    return 2 if unread else int(violations > 0)
