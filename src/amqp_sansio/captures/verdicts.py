"""Verdicts on the connections of a capture file: which side broke the protocol, what is in doubt, and what was not judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypedDict

from amqp_sansio.captures.conversation import (
    NOTE,
    VIOLATION,
    Finding,
    Hearer,
    LocatedEvent,
    MakeWitness,
    PacketIndex,
    finding_of,
)
from amqp_sansio.captures.flows import AmqpFlow, Listener
from amqp_sansio.captures.reader import Told, read_packets
from amqp_sansio.captures.replay.doubt import Doubt
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.recorder import Recorder
from amqp_sansio.captures.replay.rows import HeaderColumns, Rows
from amqp_sansio.captures.walk import Warn
from amqp_sansio.engine.checker import Answered, Transfers
from amqp_sansio.events.observed import ControlSeen, MethodSeen
from amqp_sansio.wire.layouts.layout import HeaderDecoder

FINDINGS: Final = 1000
"""The most findings kept for one connection; a further note counts the rest."""

CLEAN: Final = "clean"
VIOLATIONS: Final = "violations"
NOT_JUDGED: Final = "not judged"

_ROWS: Final = 256
"""How many rows of a connection are gathered before what is in doubt in them is counted, and they are dropped."""


class Verdict(NamedTuple):
    """The verdict about one connection.

    `packet` is the number of its last packet.  `controls` and `commands` count those of 0-10; in the older dialects `controls`
    counts the methods of class connection, and `methods` those on channels.  `octets` counts what was captured of the client
    and of the server, `unread` what of that could not be decoded.  `not_judged` says why nothing was judged, None when
    something was.  `doubt` is what may have been lost.
    """

    connection: str
    dialect: str | None
    findings: list[Finding]
    packet: int
    controls: int
    commands: int
    octets: tuple[int, int]
    not_judged: str | None
    unread: tuple[int, int]
    doubt: Doubt
    methods: int = 0

    @property
    def verdict(self) -> str:
        """VIOLATIONS, NOT_JUDGED or CLEAN: no side broke a rule in what could be decoded."""
        if any(each.level == VIOLATION for each in self.findings):
            return VIOLATIONS
        return CLEAN if self.not_judged is None else NOT_JUDGED


class DoubtRow(TypedDict):
    """What is in doubt on a connection, as JSON."""

    publishes: int
    deliveries: int
    branches: list[str]
    commits: int


class VerdictRow(TypedDict):
    """One line of `check --json`."""

    file: str
    connection: str
    dialect: str | None
    verdict: str
    not_judged: str | None
    octets: int
    unread_octets: int
    in_doubt: DoubtRow
    findings: list[FindingRow]


class FindingRow(TypedDict):
    """A finding as JSON."""

    level: str
    speaker: str
    packet: int
    rule: str
    said: str
    legal: list[str]
    text: str
    channel: int | None
    code: int | None
    octet: int | None


class _Case(Hearer):
    """What is gathered about a connection while it lasts: findings, counts, and what is in doubt in the rows of a replay."""

    __slots__ = (
        "_broker",
        "_doubt",
        "_recorder",
        "_rows",
        "controls",
        "findings",
        "left_out",
        "methods",
        "violated",
    )

    def __init__(self, flow: AmqpFlow, options: ReplayOptions) -> None:
        self._rows: Final = Rows()
        self._recorder: Final = Recorder(flow, self._rows, options, "")
        self._broker: Final = self._recorder.common[1]
        self._doubt = Doubt()
        self.findings: list[Finding] = []
        self.left_out = 0
        """Findings beyond FINDINGS."""
        self.violated = False
        self.controls = 0
        self.methods = 0

    def hear(self, heard: LocatedEvent, marks: PacketIndex) -> None:
        self._recorder.hear(heard, marks)
        self._drop()
        said = heard.said
        if isinstance(said, ControlSeen):
            self.controls += 1
        elif isinstance(said, MethodSeen):
            self.methods += 1
        elif (found := finding_of(heard)) is not None:
            self.add(found)

    def transfers(self, run: Transfers[HeaderColumns], marks: PacketIndex) -> None:
        self._recorder.transfers(run, marks)
        self._drop()

    def answered(self, answer: Answered, marks: PacketIndex) -> None:
        self._recorder.answered(answer, marks)
        self.controls += not answer.accepts
        self._drop()

    def _drop(self) -> None:
        """Drops rows after counting what is in doubt in them."""
        if self._rows.full(_ROWS):
            self._recorder.leave()
            self._doubt = self._doubt.grown(self._rows, self._broker)
            self._rows.clear()

    def add(self, finding: Finding) -> None:
        # A violation that comes after FINDINGS notes must still be reported.
        if len(self.findings) < FINDINGS or (finding.level == VIOLATION and not self.violated):
            self.findings.append(finding)
        else:
            self.left_out += 1
        self.violated = self.violated or finding.level == VIOLATION

    def verdict(self, flow: AmqpFlow) -> Verdict:
        recorder = self._recorder
        recorder.finish()
        note = recorder.time_back
        if note is not None and (found := finding_of(note)) is not None:
            self.add(found)
        findings = sorted(self.findings, key=lambda each: each.packet)
        conversation = flow.conversation
        if self.left_out:
            text = f"{self.left_out} more findings are left out"
            findings.append(Finding(NOTE, "C", conversation.packet, "limits.findings", text, (), text))
        client = conversation.client
        octets = conversation.octets[client], conversation.octets[1 - client]
        doubt = self._doubt.grown(self._rows, self._broker).with_(Doubt(*conversation.in_doubt()))
        self._rows.clear()
        return Verdict(
            flow.name,
            conversation.dialect,
            findings,
            conversation.packet,
            self.controls,
            sum(recorder.commands.values()),
            octets,
            recorder.not_judged,
            conversation.unread,
            doubt,
            self.methods,
        )


def verdicts(
    path: str,
    make: MakeWitness,
    ports: Iterable[int],
    warn: Warn,
    options: ReplayOptions = ReplayOptions(),
    told: Told | None = None,
) -> Iterator[Verdict]:
    """Yields one verdict for each connection in the file at `path`, as soon as it is over, in the order of their ends.

    `make` makes the observer of a conversation.  Connections to the server `ports` always count as AMQP.  `options` names
    brokers.  `warn` gets what is wrong with the file, and `told` the progress in octets.  Raises CaptureError when the
    file cannot be read, or not to its end, after the verdicts on everything before the fault.
    """
    cases: dict[AmqpFlow, _Case] = {}
    done: list[Verdict] = []

    headers: HeaderDecoder[HeaderColumns] | None = None

    def tell(flow: AmqpFlow, heard: LocatedEvent) -> None:
        """Takes the first observation of a connection; then it reports to its case."""
        nonlocal headers
        case = cases[flow] = _Case(flow, options)
        headers = flow.conversation.report_to(case, headers)
        case.hear(heard, flow.conversation.marks(heard.speaker))

    def ended(flow: AmqpFlow) -> None:
        done.append((cases.pop(flow, None) or _Case(flow, options)).verdict(flow))

    listener = Listener(make, tell, ended, ports, warn)
    listener.floors = False  # nobody asks which packet may still cause an event
    for _ in listener.hear_all(read_packets(path, warn, told)):
        if done:
            yield from done
            done.clear()


def verdict_row(file: str, verdict: Verdict) -> VerdictRow:
    """Returns a verdict as a JSON row."""
    doubt = verdict.doubt
    return {
        "file": file,
        "connection": verdict.connection,
        "dialect": verdict.dialect,
        "verdict": verdict.verdict,
        "not_judged": verdict.not_judged,
        "octets": sum(verdict.octets),
        "unread_octets": sum(verdict.unread),
        "in_doubt": {
            "publishes": doubt.publishes,
            "deliveries": doubt.deliveries,
            "branches": sorted(each.xid for each in doubt.branches if each.in_doubt),
            "commits": doubt.commits,
        },
        "findings": [
            FindingRow(**{**each._asdict(), "legal": list(each.legal), "code": each.code or None})  # type: ignore[typeddict-item]
            for each in verdict.findings
        ],
    }
