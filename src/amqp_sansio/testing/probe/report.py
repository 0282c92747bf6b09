"""The result of a probe: rules kept and broken, each with its shortest conversation, and the coverage of the grammars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.grammar.automaton import Word
from amqp_sansio.grammar.walks import transition_words
from amqp_sansio.testing.probe.judging import Finding
from amqp_sansio.testing.probe.rounds import Round
from amqp_sansio.testing.probe.unreached import Missed, missed
from amqp_sansio.testing.speech.parts import PARTS

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | bool | None"


class Example(NamedTuple):
    """A conversation that shows a finding; `number` is its number in the probe of that seed."""

    number: int
    text: str
    lines: tuple[str, ...]
    client: bytes
    server: bytes

    @property
    def size(self) -> tuple[int, int]:
        """The size by which the shortest is found: steps, then octets."""
        return len(self.lines), len(self.client) + len(self.server)

    def row(self) -> Json:
        """Returns the example for JSON."""
        return {
            "number": self.number,
            "text": self.text,
            "conversation": list(self.lines),
            "client_octets": self.client.hex(),
            "server_octets": self.server.hex(),
        }


class Tally:
    """The findings about one rule."""

    def __init__(self, rule: str) -> None:
        self.rule: Final = rule
        self.kept = self.broken = 0
        self.ways: Final[dict[str, Example]] = {}
        """The shortest conversation for each way in which the rule was broken."""
        self.example: Example | None = None
        """The shortest conversation that breaks the rule, or else the shortest that keeps it."""

    def add(self, finding: Finding, example: Example) -> None:
        """Adds a finding."""
        if finding.kept:
            self.kept += 1
        else:
            self.broken += 1
            way = self.ways.get(finding.text)
            if way is None or example.size < way.size:
                self.ways[finding.text] = example
        first_broken = not finding.kept and self.broken == 1
        same_kind = finding.kept == (self.broken == 0)
        if self.example is None or first_broken or (same_kind and example.size < self.example.size):
            self.example = example

    def row(self) -> Json:
        """Returns the tally for JSON."""
        return {
            "rule": self.rule,
            "kept": self.kept,
            "broken": self.broken,
            "ways": [{"answer": text, **_dict(way.row())} for text, way in sorted(self.ways.items())],
            "example": None if self.example is None else self.example.row(),
        }


def _dict(row: Json) -> dict[str, Json]:
    assert isinstance(row, dict)
    return row


class Report:
    """The report of a probe, to which each conversation is added."""

    def __init__(self, parts: Iterable[str]) -> None:
        self.rules: Final[dict[str, Tally]] = {}
        self.letter: Final[dict[str, int]] = {}
        """The server's deviations from the letter that deployed peers share, counted by rule."""
        self.conversations = 0
        self.not_offered: Final[set[str]] = set()
        """Sections that the server says it does not implement."""
        self.unexplained: Final[list[str]] = []
        """Violations of the probe itself in legal conversations, which are errors of this library."""
        self.moves: Final[dict[str, set[tuple[int, Word]]]] = {part: set() for part in parts}

    def add(self, done: Round) -> None:
        """Adds a conversation."""
        self.conversations += 1
        part = done.plan.part
        if part in self.moves:
            self.moves[part].update(done.moves)
        if done.not_offered:
            self.not_offered.add(part.partition(":")[0])
        for violation in done.talk.letter:
            self.letter[violation.rule] = self.letter.get(violation.rule, 0) + 1
        if done.plan.wrong is None and done.trespass is None and done.talk.blamed:
            self.unexplained.append(f"conversation {done.plan.number}: {done.talk.blamed[0].text}")
        for finding in done.findings:
            self.found(done, finding)

    def found(self, done: Round, finding: Finding) -> None:
        """Adds a finding of a conversation."""
        tally = self.rules.setdefault(finding.rule, Tally(finding.rule))
        octets = done.talk.octets
        lines = tuple(done.conversation(finding).lines)
        tally.add(finding, Example(done.plan.number, finding.text, lines, bytes(octets["client"]), bytes(octets["server"])))

    @property
    def broken(self) -> list[Tally]:
        """The rules that were broken, by name."""
        return [self.rules[rule] for rule in sorted(self.rules) if self.rules[rule].broken]

    @property
    def kept(self) -> list[Tally]:
        """The rules that were always kept."""
        return [self.rules[rule] for rule in sorted(self.rules) if not self.rules[rule].broken]

    def coverage(self) -> list[tuple[str, int, int, list[Missed]]]:
        """Returns, for each part, the moves made, those that a client can bring about, and the missing ones with reasons."""
        rows = []
        for name, moves in self.moves.items():
            every = transition_words(PARTS[name].client_led).keys()
            rows.append((name, len(moves & every), len(every), missed(PARTS[name], moves & every)))
        return rows

    def row(self) -> dict[str, Json]:
        """Returns the report for JSON."""
        return {
            "conversations": self.conversations,
            "kept": len(self.kept),
            "broken": len(self.broken),
            "not_offered": list[Json](sorted(self.not_offered)),
            "rules": [self.rules[rule].row() for rule in sorted(self.rules)],
            "letter": dict[str, Json](sorted(self.letter.items())),
            "coverage": [
                {
                    "part": name,
                    "covered": covered,
                    "moves": every,
                    "missing": [dict[str, Json](each._asdict()) for each in missing],
                }
                for name, covered, every, missing in self.coverage()
            ],
        }

    def lines(self, verbose: bool = False) -> list[str]:
        """Returns the report as text: totals, broken rules, kept rules, and the coverage of each part."""
        lines = [f"{self.conversations} conversations: {len(self.kept)} rules kept, {len(self.broken) or 'none'} broken"]
        if self.broken:
            lines += ["", "Broken rules"]
        for tally in self.broken:
            lines.append(f"  {tally.rule}: broken {_times(tally.broken)}, kept {_times(tally.kept)}")
            for text, way in sorted(tally.ways.items(), key=lambda each: each[1].size):
                lines.append(f"    {text}  (conversation {way.number})")
            if tally.example is not None:
                lines += [f"        {line}" for line in tally.example.lines]
                lines.append(f"        octets of the client: {tally.example.client.hex()}")
                lines.append(f"        octets of the server: {tally.example.server.hex()}")
        if self.letter:
            lines += ["", "Against the letter of the specification, as deployed servers do"]
            lines += [f"  {rule}: {_times(count)}" for rule, count in sorted(self.letter.items())]
        if self.unexplained:
            lines += ["", "Faults of the probe, not of the server: please report them"]
            lines += [f"  {text}" for text in self.unexplained]
        if self.kept:
            lines += ["", "Rules that were kept"]
        for tally in self.kept:
            lines.append(f"  {tally.rule}: {_times(tally.kept)}")
            if verbose and tally.example is not None:
                lines += [f"        {line}" for line in tally.example.lines]
                lines.append(f"        octets of the client: {tally.example.client.hex()}")
        coverage = self.coverage()
        if coverage:
            lines += ["", "How much of the protocol was tried: steps of its grammar, of those that a client can lead to"]
        for name, covered, every, missing in coverage:
            if name.partition(":")[0] in self.not_offered:
                lines.append(f"  {name}: not offered by this server")
            elif not covered:
                lines.append(f"  {name}: none of {every}")
            else:
                lines.append(f"  {name}: {covered} of {every}")
            if verbose and name.partition(":")[0] not in self.not_offered:
                lines += [f"        not tried: {each}" for each in missing]
        if not verbose and any(missing for _, _, _, missing in coverage):
            lines.append("  (--verbose names the steps that were not tried, and why)")
        return lines


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
