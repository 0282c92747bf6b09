"""The probe's plans: every move of every grammar that a client can bring about, each illegal step, then random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from random import Random
from typing import Final, NamedTuple

from amqp_sansio.grammar.automaton import Word
from amqp_sansio.grammar.walks import Sampler, shortest_to_each, transition_words
from amqp_sansio.testing.speech.blame import illegal, trespasses
from amqp_sansio.testing.speech.parts import Part, parts_of
from amqp_sansio.testing.speech.word_encoder import Setting

LONGEST: Final = 12
_ILLEGAL_SHARE: Final = 0.4
CAUSES: Final[dict[Word, Word]] = {
    "server:session.completed": "client:session.flush",
    "server:session.confirmed": "client:session.flush",
}
"""Client words that make a server say what it may say at any time."""


class ProbePlan(NamedTuple):
    """Conversation `number`: these words of a part, then `wrong`, an illegal one; or a trespass of the catalogue."""

    number: int
    part: str
    words: tuple[Word, ...]
    wrong: Word | None = None
    trespass: str | None = None


def covering(part: Part) -> list[tuple[Word, ...]]:
    """Returns the shortest conversations that cover every move a client can bring about, none a prefix of another."""
    ways = transition_words(part.client_led).values()
    every = sorted([_caused(part, said) for said in ways], key=lambda said: (-len(said), said))
    kept: list[tuple[Word, ...]] = []
    for said in every:
        if not any(other[: len(said)] == said for other in kept):
            kept.append(said)
    return sorted(kept, key=lambda said: (len(said), said))


def _caused(part: Part, said: tuple[Word, ...]) -> tuple[Word, ...]:
    """Returns the same words, with the one that triggers the server's last word, if nothing else would."""
    *before, last = said
    cause = CAUSES.get(last)
    if cause is None or cause in before:
        return said
    for at in range(len(before) + 1):
        way = (*before[:at], cause, *before[at:])
        if part.client_led.run(way) == part.client_led.run(before):
            return (*way, last)
    return said


def wrongs(part: Part) -> list[tuple[tuple[Word, ...], Word]]:
    """Returns every illegal word of the client in every state that it can bring about, after the shortest path there."""
    ways = [(way, part.language.run(way)) for way in shortest_to_each(part.client_led).values()]
    return [(way, word) for way, state in ways if state is not None for word in illegal(part, state)]


def _each_once(parts: Sequence[Part], random: Random) -> Iterator[ProbePlan]:
    """Yields everything to try once: conversations through every move first, then illegal steps, in any order."""
    for part in parts:
        for said in covering(part):
            yield ProbePlan(0, part.name, said)
    names = {part.section for part in parts}
    rest = [
        ProbePlan(0, each.section, (), None, each.condition.name) for each in trespasses(Setting()) if each.section in names
    ]
    rest += [ProbePlan(0, part.name, way, word) for part in parts for way, word in wrongs(part)]
    random.shuffle(rest)
    yield from rest


def _at_random(parts: Sequence[Part], random: Random) -> Iterator[ProbePlan]:
    """Yields conversations without end, some of them with an illegal step."""
    samplers = {part.name: Sampler(part.client_led) for part in parts}
    while True:
        part = random.choice(parts)
        said = samplers[part.name].word(random.randint(1, LONGEST), random.randrange)
        if said is None:
            said = random.choice(covering(part))
        state = part.language.run(said)
        candidates = illegal(part, state) if state is not None else ()
        wrong = random.choice(candidates) if candidates and random.random() < _ILLEGAL_SHARE else None
        yield ProbePlan(0, part.name, said, wrong)


def plans(section: str | None, count: int, seed: int) -> Iterator[ProbePlan]:
    """Yields `count` plans, the same for the same seed.  Raises ValueError for an unknown section."""
    parts = parts_of(section)
    random = Random(seed)
    for number, plan in enumerate(islice(chain(_each_once(parts, random), _at_random(parts, random)), count)):
        yield plan._replace(number=number)
