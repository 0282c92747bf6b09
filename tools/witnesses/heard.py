"""Compares the grammars of the older dialects with an observer: every word in every state of a grammar.

The observer must not blame a word that the grammar has, and must blame one that it lacks; random conversations must be clean
throughout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.grammar.walks import Conversation, Sampler, shortest_to_each
from amqp_sansio.testing.speech.channel_parts import ChannelPart

MOST: Final = 2
"""How many words of one kind may await an answer, unless more are requested."""


class Heard(NamedTuple):
    """A conversation on which grammar and observer disagree: `rules` are those that the observer reports as broken."""

    part: ChannelPart
    words: Conversation
    rules: tuple[str, ...]

    def __str__(self) -> str:
        who = f"the grammar takes, and the observer says {', '.join(self.rules)}" if self.rules else "the observer takes alone"
        return f"{self.part}: {who}:" + "".join(f"\n      {word}" for word in self.words)


def accused(part: ChannelPart, words: Sequence[Word]) -> tuple[tuple[int, str], ...]:
    """Returns the rules of this part that a conversation breaks, each with the index of the word."""
    watch = Observer(strict=True, dialects=(part.edition.dialect,))
    before, said = part.spoken(words)
    for each in before:
        watch.receive_data(each.side, each.octets)
    found: list[tuple[int, str]] = [(-1, rule) for rule in _broken(watch)]
    at = -1
    for each in said:
        at += each.word == (words[at + 1] if at + 1 < len(words) else "")
        watch.receive_data(each.side, each.octets)
        found += [(at, rule) for rule in _broken(watch) if part.judges(rule)]
    return tuple(found)


def _broken(watch: Observer) -> Iterator[str]:
    return (each.event.rule for each in watch.events() if isinstance(each.event, Violation))


def cases(part: ChannelPart, most: int = MOST) -> Iterator[tuple[Conversation, bool]]:
    """Yields the shortest conversation to every state with each word after it, the shortest first; and whether it is legal."""
    language = part.language(most)
    ways = shortest_to_each(language)
    for state, way in sorted(ways.items(), key=lambda each: (len(each[1]), each[1])):
        yield from [((*way, word), True) for word in language.legal(state)]
        yield from [((*way, word), False) for word in part.wrong(way, most)]


def drawn(part: ChannelPart, lengths: Iterable[int], random: Random, most: int = MOST) -> Iterator[Conversation]:
    """Yields one random conversation of each length."""
    sampler = Sampler(part.language(most))
    found = [sampler.word(length, random.randrange) for length in lengths]
    return (said for said in found if said is not None)


def differs(part: ChannelPart, said: Conversation, legal: bool) -> Heard | None:
    """Returns the disagreement on one case; None when both agree."""
    found = accused(part, said)
    if legal:
        return Heard(part, said, tuple([rule for _, rule in found])) if found else None
    early = [rule for at, rule in found if at < len(said) - 1]
    return Heard(part, said, tuple(early)) if early or not found else None


def differences(part: ChannelPart, random: Random, count: int = 0, most: int = MOST) -> Iterator[Heard]:
    """Yields the differences of one part, the shortest first; `count`: the number of randomly chosen cases; 0: all."""
    every = list(cases(part, most))
    if 0 < count < len(every):
        every = [every[at] for at in sorted(random.sample(range(len(every)), count))]
    for said, legal in every:
        found = differs(part, said, legal)
        if found is not None:
            yield found


class Count(NamedTuple):
    """What was tried: cases of states and words, random conversations, and the differences found in them."""

    cases: int
    conversations: int
    differences: tuple[Heard, ...]


def heard(parts: Iterable[ChannelPart], seed: int, count: int, lengths: Iterable[int], most: int = MOST) -> Count:
    """Compares parts with the observer: `count` cases of each (0: all), and a random conversation of each length."""
    number = conversations = 0
    found: list[Heard] = []
    for part in parts:
        every = len(list(cases(part, most)))
        number += min(count, every) if count else every
        found += differences(part, Random(seed), count, most)
        for said in drawn(part, lengths, Random(seed), most):
            conversations += 1
            wrong = differs(part, said, True)
            found += [] if wrong is None else [wrong]
    return Count(number, conversations, tuple(sorted(found, key=lambda each: (len(each.words), each.words))))
