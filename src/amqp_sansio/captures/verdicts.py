"""A capture file as a stream of verdicts: for each connection, who broke the protocol and what else is worth knowing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypedDict

from amqp_sansio.captures.conversation import Heard, MakeWitness
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.flows import Listener, Talk
from amqp_sansio.captures.packet import Warn
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.events.observed import CommandSeen, ControlSeen, Note, OpaqueSeen
from amqp_sansio.events.violation import Violation

FINDINGS: Final = 1000
"""Findings kept for one connection; one more note counts the rest."""

VIOLATION: Final = "violation"
NOTE: Final = "note"


class Finding(NamedTuple):
    """One thing found.  A "violation" accuses its speaker, a "note" nobody.

    `said` is what was said (for a note: one sentence), `legal` what would have been; `text` is one sentence.
    """

    level: str
    speaker: str
    packet: int
    rule: str
    said: str
    legal: tuple[str, ...]
    text: str


def finding_of(heard: Heard) -> Finding | None:
    """What is to be said about a thing heard, if anything."""
    said = heard.said
    if isinstance(said, Violation):
        return Finding(VIOLATION, said.speaker, heard.packet, said.rule, said.said, tuple(said.legal), said.text)
    if isinstance(said, Note):
        return Finding(NOTE, heard.speaker, heard.packet, said.rule, said.text, (), said.text)
    if isinstance(said, OpaqueSeen):
        text = f"{said.octets} octets that cannot be read: {said.reason}"
        return Finding(NOTE, heard.speaker, heard.packet, "opaque", text, (), text)
    return None


class Verdict(NamedTuple):
    """What is to be said about one connection; `verdict` is "clean" or "violations"."""

    connection: str
    dialect: str | None
    findings: list[Finding]
    packet: int
    controls: int
    commands: int
    octets: tuple[int, int]

    @property
    def verdict(self) -> str:
        return "violations" if any(each.level == VIOLATION for each in self.findings) else "clean"


class VerdictRow(TypedDict):
    """One line of `check --json`."""

    file: str
    connection: str
    dialect: str | None
    verdict: str
    findings: list[FindingRow]


class FindingRow(TypedDict):
    """A finding as JSON shows it."""

    level: str
    speaker: str
    packet: int
    rule: str
    said: str
    legal: list[str]


class _Case:
    """What is gathered about a connection while it lasts."""

    __slots__ = ("commands", "controls", "findings", "more", "violated")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.more = 0
        self.violated = False
        self.controls = 0
        self.commands = 0

    def hear(self, heard: Heard) -> None:
        said = heard.said
        if isinstance(said, CommandSeen):
            self.commands += 1
        elif isinstance(said, ControlSeen):
            self.controls += 1
        elif (found := finding_of(heard)) is not None:
            self.add(found)

    def add(self, finding: Finding) -> None:
        # A violation that comes after FINDINGS notes must still be seen.
        if len(self.findings) < FINDINGS or (finding.level == VIOLATION and not self.violated):
            self.findings.append(finding)
        else:
            self.more += 1
        self.violated = self.violated or finding.level == VIOLATION

    def verdict(self, talk: Talk) -> Verdict:
        findings = sorted(self.findings, key=lambda each: each.packet)
        conversation = talk.conversation
        if self.more:
            text = f"{self.more} more findings are left out"
            findings.append(Finding(NOTE, "C", conversation.packet, "limits.findings", text, (), text))
        client = conversation.client
        octets = conversation.octets[client], conversation.octets[1 - client]
        return Verdict(talk.name, conversation.dialect, findings, conversation.packet, self.controls, self.commands, octets)


def verdicts(path: str, make: MakeWitness, ports: Iterable[int], warn: Warn) -> Iterator[Verdict]:
    """One verdict for each connection in the file at `path`, as soon as it is over, in the order of their ends.

    `make` makes the observer of a conversation, `ports` are server ports that count in any case.  When the file cannot be read
    (any further), verdicts on what was good come first and then CaptureError.
    """
    cases: dict[Talk, _Case] = {}
    done: list[Verdict] = []

    def tell(talk: Talk, heard: Heard) -> None:
        case = cases.get(talk)
        if case is None:
            case = cases[talk] = _Case()
        case.hear(heard)

    def ended(talk: Talk) -> None:
        done.append(cases.pop(talk, _Case()).verdict(talk))

    listener = Listener(make, tell, ended, ports, warn)
    problem: CaptureError | None = None
    try:
        for packet in read_packets(path, warn):
            listener.hear(packet)
            if done:
                yield from done
                done.clear()
    except CaptureError as error:
        problem = error
    listener.finish()
    yield from done
    if problem is not None:
        raise problem


def verdict_row(file: str, verdict: Verdict) -> VerdictRow:
    """A verdict as a line of JSON."""
    return {
        "file": file,
        "connection": verdict.connection,
        "dialect": verdict.dialect,
        "verdict": verdict.verdict,
        "findings": [
            {
                "level": each.level,
                "speaker": each.speaker,
                "packet": each.packet,
                "rule": each.rule,
                "said": each.said,
                "legal": list(each.legal),
            }
            for each in verdict.findings
        ],
    }
