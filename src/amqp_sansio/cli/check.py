"""`amqp-sansio check`: reports which side broke the protocol."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from amqp_sansio.captures.conversation import VIOLATION, Finding, observers
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import named
from amqp_sansio.captures.replay.doubt import DELIVERED, PREPARED, PUBLISHED, UNANSWERED, Doubt, branches_in_doubt
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.verdicts import CLEAN, NOT_JUDGED, VIOLATIONS, Verdict, verdict_row, verdicts
from amqp_sansio.cli.output import NO_CONNECTION, Progress, complain, json_line, painted, plain, whole
from amqp_sansio.cli.pipeline import named_brokers
from amqp_sansio.dialects import readable
from amqp_sansio.errors.core import many

_WHO: Final = {"C": "client", "S": "server"}
_COLOURS: Final = {CLEAN: "green", VIOLATIONS: "red", NOT_JUDGED: "magenta"}
_DETAIL: Final = f"\n{'':41}"
"""Begins a line that says more of a finding, indented under its rule."""
NOTHING_JUDGED: Final = 3
"""Exit status: no connection was found, or none could be judged."""


def _finding(each: Finding) -> str:
    """Returns the lines of one finding."""
    line = f"    {each.level:<9}  packet {each.packet:<6} {_WHO[each.speaker]:<6}  {plain(each.rule)}: {plain(each.said)}"
    if each.level == VIOLATION:
        where = "connection" if each.channel is None else f"channel {each.channel}"
        line += f"{_DETAIL}{where}, octet {each.octet}{f', code {each.code}' if each.code else ''}"
    if each.text and each.text != each.said:
        line += f"{_DETAIL}{plain(each.text)}"
    if each.legal:
        line += f"{_DETAIL}legal: {plain(', '.join(each.legal))}"
    return line


def _violations(verdict: Verdict) -> int:
    return sum(each.level == VIOLATION for each in verdict.findings)


def _verdict(verdict: Verdict) -> str:
    """Returns the lines of one connection: the verdict, then its findings."""
    violations = _violations(verdict)
    word = many(violations, "violation") if violations else verdict.verdict
    if verdict.not_judged is not None and not violations:
        word += f": {verdict.not_judged}"
    if verdict.methods:
        words = many(verdict.methods + verdict.controls, "method")
    else:
        words = f"{many(verdict.commands, 'command')}, {many(verdict.controls, 'control')}"
    said = f"{words}, {verdict.octets[0]}+{verdict.octets[1]} octets"
    unread = sum(verdict.unread)
    if unread and verdict.verdict != NOT_JUDGED:
        said += f", {unread} of them not judged"
    word = painted(plain(word), _COLOURS[verdict.verdict])
    head = f"  {verdict.connection}  {verdict.dialect or 'unknown version'}  {word}  ({said})"
    return "\n".join([head, *map(_finding, verdict.findings)])


class _Sums:
    """The totals of all files, for the last lines."""

    def __init__(self) -> None:
        self.verdicts: Final = {CLEAN: 0, VIOLATIONS: 0, NOT_JUDGED: 0}
        """Connections by verdict."""
        self.violations = 0
        self.notes = 0
        self.unread_connections = 0
        self.unread_octets = 0
        self.doubt = Doubt()

    def add(self, verdict: Verdict) -> None:
        """Adds the verdict on a connection."""
        violations = _violations(verdict)
        self.verdicts[verdict.verdict] += 1
        self.violations += violations
        self.notes += len(verdict.findings) - violations
        octets = sum(verdict.octets if verdict.verdict == NOT_JUDGED else verdict.unread)
        self.unread_connections += bool(octets) or verdict.verdict == NOT_JUDGED
        self.unread_octets += octets
        self.doubt = self.doubt.with_(verdict.doubt)

    @property
    def connections(self) -> int:
        """The number of connections."""
        return sum(self.verdicts.values())

    def lines(self, files: int) -> str:
        """Returns the last lines of the report on this many files."""
        doubt = self.doubt
        numbers = (
            (doubt.publishes, *PUBLISHED),
            (doubt.deliveries, *DELIVERED),
            (len(branches_in_doubt(doubt.branches)), *PREPARED),
            (doubt.commits, *UNANSWERED),
        )
        parts = ", ".join([many(*each) for each in numbers if each[0]])
        of = f" ({parts})" if parts else ""
        found = (
            f"{many(self.connections, 'connection')} in {many(files, 'file')}: {self.verdicts[CLEAN]} clean,"
            f" {self.verdicts[VIOLATIONS]} with violations"
            f" ({many(self.violations, 'violation')}, {many(self.notes, 'note')}),"
            f" {self.verdicts[NOT_JUDGED]} not judged\n"
            f"in doubt at the end: {sum([number for number, _, _ in numbers])}{of}\n"
        )
        if self.unread_connections:
            octets, where = many(self.unread_octets, "octet"), many(self.unread_connections, "connection")
            return f"{found}not judged: {octets} on {where}\n"
        rest = "every octet was read" if self.connections else "there was nothing to judge"
        return f"{found}not judged: 0 octets on 0 connections; {rest}\n"


def check(
    files: Sequence[str],
    *,
    as_json: bool,
    ports: Sequence[int],
    strict: bool,
    brokers: Sequence[str] = (),
    dialects: Sequence[str] = (),
    only_wrong: bool = False,
) -> int:
    """Prints a verdict on each connection; with `only_wrong`, only on those with violations.

    `as_json`: one JSON object per connection, and no totals.  Connections to the server `ports` always count as AMQP.
    `strict`: what deployed peers commonly do against the letter is a violation too.  `brokers` are names of brokers, see
    `pipeline.named_brokers`; `dialects` those of dialects, see `amqp_sansio.dialects.readable`.

    Returns the exit status: 2 if a file could not be read, else 1 if a side broke the protocol, else 0 if a connection is
    clean, else NOTHING_JUDGED.
    """
    make = observers(strict, dialects=readable(dialects))
    unread = warned = False
    sums = _Sums()
    options = ReplayOptions(**named_brokers(brokers))
    progress = Progress()

    def write(text: str) -> None:
        progress.clear()
        sys.stdout.write(text)

    try:
        files = named(files)
    except CaptureError as error:
        complain(str(error))
        return 2
    for file in files:
        heading = "" if as_json else f"{whole(file)}\n"

        def warn(text: str, file: str = file) -> None:
            nonlocal warned
            warned = True
            progress.clear()
            complain(f"{file}: warning: {text}")

        if not only_wrong:
            write(heading)
        try:
            for verdict in verdicts(file, make, ports, warn, options, progress.octets):
                sums.add(verdict)
                if only_wrong:
                    if verdict.verdict != VIOLATIONS:
                        continue
                    write(heading)
                    heading = ""
                write((json_line(verdict_row(file, verdict)) if as_json else _verdict(verdict)) + "\n")
        except CaptureError as error:
            progress.clear()
            complain(str(error))
            unread = True
    progress.clear()
    if not as_json:
        write(sums.lines(len(files)))
    if not (sums.connections or unread or warned):
        complain(NO_CONNECTION)
    if unread:
        return 2
    if sums.violations:
        return 1
    return 0 if sums.verdicts[CLEAN] else NOTHING_JUDGED
