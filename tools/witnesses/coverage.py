"""The rows of the tables that the grammars' conversations cover."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final, NamedTuple

from amqp_sansio.grammar.automaton import START, Automaton, Word, explore
from amqp_sansio.grammar.walks import Conversation, Sampler, transition_words
from amqp_sansio.kernel.machine import Machine, Row, Table
from tools.witnesses import shared
from tools.witnesses.section import Section, automaton
from tools.witnesses.sections import SECTIONS, TABLES_ALONE


class Count(NamedTuple):
    """The rows of a table that conversations covered, and those that none did."""

    table: Table
    conversations: int
    taken: int
    missing: tuple[Row, ...]

    @property
    def total(self) -> int:
        """The number of rows of the table."""
        return len(self.table.rows)


class Follower:
    """Follows conversations through one table, and records the rows."""

    def __init__(self, table: Table) -> None:
        self.table: Final = table
        self.taken: Final[set[tuple[str, str, str]]] = set()
        self.conversations = 0

    def follow(self, said: Iterable[Word], start: str = "") -> Word | None:
        """Feeds a conversation to a fresh machine; returns the first word that it refuses, None when it accepts all.

        `start`: the state in which it begins ("": the initial one).
        """
        machine = Machine(self.table, (start or self.table.initial,))
        self.conversations += 1
        for word in said:
            speaker, _, verb = word.partition(":")
            (state,) = machine.states
            if machine.step(speaker, verb) is not None:
                return word
            self.taken.add((state, speaker, verb))
        return None

    def count(self) -> Count:
        """Returns what was covered so far."""
        missing = [row for row in self.table.rows if (row.state, row.speaker, row.verb) not in self.taken]
        return Count(self.table, self.conversations, len(self.taken), tuple(missing))


def paths(section: Section, table: Table) -> Automaton:
    """Returns the conversations of the section's grammar, with the state of the table beside that of the grammar.

    The minimal automaton of a language has one move for equivalent rows; this one has a move for each.
    """
    language = section.said()
    if section.sessions:
        return _shared_paths(language, section.sessions)
    heard = {word: section.heard(table, word) for word in language.alphabet}

    def moves(at: tuple[int, str]) -> dict[Word, tuple[int, str]]:
        found: dict[Word, tuple[int, str]] = {}
        for word, to in language.moves[at[0]].items():
            text = heard[word]
            if text is None:
                found[word] = (to, at[1])
            else:
                speaker, _, verb = text.partition(":")
                state = table.moves.get((at[1], speaker, verb))
                if state is not None:
                    found[word] = (to, state)
        return found

    return explore((START, table.initial), moves, lambda _: True)


def _shared_paths(language: Automaton, sessions: tuple[str, ...]) -> Automaton:
    def moves(at: tuple[int, shared.Shared]) -> dict[Word, tuple[int, shared.Shared]]:
        then = {word: to for word, _, to in shared.moves(at[1], sessions)}
        return {word: (to, then[word]) for word, to in language.moves[at[0]].items() if word in then}

    return explore((START, shared.begin(len(sessions))), moves, lambda _: True)


def sources(table: Table) -> list[str]:
    """Returns the initial state of a table, and states that are unreachable from it but may be initial (after a restart,
    say)."""
    found: list[str] = []
    reached: set[str] = set()
    for state in (table.initial, *table.states):
        if state not in reached:
            found.append(state)
            waiting = [state]
            while waiting:
                at = waiting.pop()
                if at not in reached:
                    reached.add(at)
                    waiting += [row.next_state for row in table.rows if row.state == at]
    return found


def generated(language: Automaton, lengths: Iterable[int], random: Random) -> list[Conversation]:
    """Returns the shortest conversation through every move of a language, and one random conversation of each length."""
    sampler = Sampler(language)
    drawn = [sampler.word(length, random.randrange) for length in lengths]
    return [*transition_words(language).values(), *[said for said in drawn if said is not None]]


def coverage(sections: Iterable[Section] = SECTIONS, seed: int = 1, lengths: Iterable[int] = (20, 60)) -> list[Count]:
    """Follows generated conversations of every section's grammar through its tables.

    Raises ValueError when a table refuses one of them.
    """
    followers: dict[str, Follower] = {}
    lengths = tuple(lengths)
    for section in sections:
        for table in section.tables:
            follower = followers.setdefault(table.name, Follower(table))
            for said in generated(paths(section, table), lengths, Random(seed)):
                if section.sessions:
                    taken, refused = shared.rows(section.sessions, said)
                    follower.taken.update(taken)
                    follower.conversations += 1
                    if refused is not None:
                        raise ValueError(f"{table.name} refuses {refused}: {' '.join(said)}")
                    continue
                heard = [text for text in (section.heard(table, word) for word in said) if text is not None]
                refused = follower.follow(heard)
                if refused is not None:
                    raise ValueError(f"{table.name} refuses {refused}: {' '.join(said)}")
    for table in TABLES_ALONE:
        follower = followers[table.name] = Follower(table)
        for start in sources(table):
            for said in transition_words(automaton(table, start)).values():
                follower.follow(said, start)
    return [follower.count() for follower in followers.values()]


def report(counts: Iterable[Count]) -> str:
    """Returns one line for each table, and one for each row that no conversation covered."""
    lines: list[str] = []
    for count in counts:
        lines.append(f"{count.taken:4} of {count.total:4} rows in {count.conversations:5} conversations: {count.table.name}")
        lines += [f"          not in: {row.state} {row.speaker}:{row.verb}" for row in count.missing]
    return "\n".join(lines)
