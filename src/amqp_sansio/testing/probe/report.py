"""The result of a probe: rules kept and broken, each with its shortest conversation, and the grammars' coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.grammar.automaton import START, Word
from amqp_sansio.grammar.walks import shortest_to_each, transition_words
from amqp_sansio.testing.probe.rounds import ProbeVerdict, Round
from amqp_sansio.testing.speech.parts import PARTS, Part
from amqp_sansio.testing.speech.word_encoder import speaker_of

REASONS: Final[dict[tuple[str, Word], str]] = {
    ("connection", "server:connection.close-ok"): (
        "it would come before the answer to the words ahead of the close, and servers answer in order"
    ),
    ("message: subscription", "server:message.cancel completed"): (
        "it would come before the completion of the stop or flush ahead of the cancel, and servers complete in order"
    ),
    ("dtx: branch", "session:prepare(read-only)"): "work that was ended with fail is answered with xa-rbrollback",
}
"""Moves that no client can bring about, where a server behaves as most do."""


class UnmadeMoves(NamedTuple):
    """Moves of the same word that were not made for the same reason, and their number."""

    word: Word
    moves: int
    why: str

    def __str__(self) -> str:
        speaker, _, word = self.word.rpartition(":")
        places = f" ({self.moves} places)" if self.moves > 1 else ""
        return f"{f'{word} by the {speaker}' if speaker else word}{places}: {self.why}"


def missed(part: Part, gone: Iterable[tuple[int, Word]]) -> list[UnmadeMoves]:
    """Returns the moves of a part that are missing from `gone`, in the order of their words."""
    language, gone = part.client_led, set(gone)
    entered = {START, *[language.moves[state][word] for state, word in gone]}
    ways = shortest_to_each(language)
    counts: Counter[tuple[Word, str]] = Counter()
    for state, word in sorted(transition_words(language).keys() - gone):
        why = "another way leads there"
        if state in entered:
            why = "the server did not say it there" if speaker_of(word) == "server" else "no conversation came to say it there"
            why = REASONS.get((part.name, word), why)
        else:
            at = START
            for before in ways[state]:
                if (at, before) not in gone:
                    why = f"it follows {before}, which no conversation reached"
                    break
                at = language.moves[at][before]
        counts[word, why] += 1
    return [UnmadeMoves(word, moves, why) for (word, why), moves in sorted(counts.items())]


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

    @property
    def shown(self) -> list[str]:
        """The conversation with the octets of the client, for a report."""
        return [f"        {line}" for line in (*self.lines, f"octets of the client: {self.client.hex()}")]

    def row(self) -> dict[str, Json]:
        """Returns the example for JSON."""
        return {
            "number": self.number,
            "text": self.text,
            "conversation": list(self.lines),
            "client_octets": self.client.hex(),
            "server_octets": self.server.hex(),
        }


class RuleTally:
    """The findings about one rule."""

    def __init__(self, rule: str) -> None:
        self.rule: Final = rule
        self.kept = self.broken = 0
        self.ways: Final[dict[str, Example]] = {}
        """The shortest conversation for each way in which the rule was broken."""
        self._good: Final[dict[str, Example]] = {}
        """The shortest one for each way in which it was kept."""

    def add(self, finding: ProbeVerdict, example: Example) -> None:
        """Adds a finding."""
        self.kept += finding.kept
        self.broken += not finding.kept
        ways = self._good if finding.kept else self.ways
        ways[finding.text] = min(ways.get(finding.text, example), example, key=attrgetter("size"))

    @property
    def example(self) -> Example:
        """The shortest conversation that breaks the rule, or else the shortest that keeps it; the first of equal ones."""
        return min((self.ways or self._good).values(), key=attrgetter("size", "number"))

    def row(self) -> Json:
        """Returns the tally for JSON."""
        return {
            "rule": self.rule,
            "kept": self.kept,
            "broken": self.broken,
            "ways": [{"answer": text, **way.row()} for text, way in sorted(self.ways.items())],
            "example": self.example.row(),
        }


class Report:
    """The report of a probe, to which each conversation is added."""

    def __init__(self, parts: Iterable[str]) -> None:
        self.rules: Final[dict[str, RuleTally]] = {}
        self.letter: Final[Counter[str]] = Counter()
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
        self.letter.update([violation.rule for violation in done.talk.letter])
        if done.plan.wrong is None and done.trespass is None and done.talk.blamed:
            self.unexplained.append(f"conversation {done.plan.number}: {done.talk.blamed[0].text}")
        for finding in done.findings:
            self.found(done, finding)

    def found(self, done: Round, finding: ProbeVerdict) -> None:
        """Adds a finding of a conversation."""
        octets = done.talk.octets
        lines = tuple(done.conversation(finding).lines)
        example = Example(done.plan.number, finding.text, lines, bytes(octets["client"]), bytes(octets["server"]))
        self.rules.setdefault(finding.rule, RuleTally(finding.rule)).add(finding, example)

    @property
    def broken(self) -> list[RuleTally]:
        """The rules that were broken, by name."""
        return [self.rules[rule] for rule in sorted(self.rules) if self.rules[rule].broken]

    @property
    def kept(self) -> list[RuleTally]:
        """The rules that were always kept."""
        return [self.rules[rule] for rule in sorted(self.rules) if not self.rules[rule].broken]

    def coverage(self) -> list[tuple[str, int, int, list[UnmadeMoves]]]:
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
        broken: list[str] = []
        for tally in self.broken:
            broken.append(f"  {tally.rule}: broken {_times(tally.broken)}, kept {_times(tally.kept)}")
            ways = sorted(tally.ways.items(), key=lambda each: each[1].size)
            broken += [f"    {text}  (conversation {way.number})" for text, way in ways]
            broken += [*tally.example.shown, f"        octets of the server: {tally.example.server.hex()}"]
        kept: list[str] = []
        for tally in self.kept:
            kept.append(f"  {tally.rule}: {_times(tally.kept)}")
            kept += tally.example.shown if verbose else ()
        tried: list[str] = []
        coverage = self.coverage()
        for name, covered, every, missing in coverage:
            if name.partition(":")[0] in self.not_offered:
                tried.append(f"  {name}: not offered by this server")
                continue
            tried.append(f"  {name}: {covered or 'none'} of {every}")
            tried += [f"        not tried: {each}" for each in missing] if verbose else ()
        if not verbose and any(missing for _, _, _, missing in coverage):
            tried.append("  (--verbose names the steps that were not tried, and why)")
        return [
            f"{self.conversations} conversations: {len(self.kept)} rules kept, {len(self.broken) or 'none'} broken",
            *_section("Broken rules", broken),
            *_section(
                "Against the letter of the specification, as deployed servers do",
                [f"  {rule}: {_times(count)}" for rule, count in sorted(self.letter.items())],
            ),
            *_section("Faults of the probe, not of the server: please report them", [f"  {text}" for text in self.unexplained]),
            *_section("Rules that were kept", kept),
            *_section("How much of the protocol was tried: steps of its grammar, of those that a client can lead to", tried),
        ]


def _section(title: str, lines: list[str]) -> list[str]:
    """Returns lines below their title; nothing where there are none."""
    return ["", title, *lines] if lines else []


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
