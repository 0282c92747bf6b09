"""An observer's octets in pieces, with gaps."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.dialects import READABLE
from amqp_sansio.engine.observer import Observer, Speaker
from fuzz import corpus, older
from fuzz.mutate import mutated
from fuzz.subjects import LIMITS

Steps = list[tuple[Speaker, bytes | int]]
"""What each side says, and how many octets of it are missing."""
SPEAKERS: dict[str, Speaker] = {"client": "C", "server": "S"}


def spoken(dice: random.Random) -> list[tuple[str, bytes]]:
    """A conversation in any of the dialects, also from its middle, some of it damaged."""
    if dice.randrange(2):
        return list(older.conversation(dice))
    whole = dice.choice(corpus.conversations())
    first = 0 if dice.randrange(3) else dice.randrange(len(whole))
    said = [(who, octets[:900]) for who, octets in whole[first : first + dice.randint(2, 30)]]
    at = dice.randrange(len(said))
    return [(who, mutated(dice, octets) if place == at else octets) for place, (who, octets) in enumerate(said)]


def with_gaps(dice: random.Random, said: list[tuple[str, bytes]]) -> Iterator[tuple[Speaker, bytes | int]]:
    """Some of it is missing, more or less of it than there was."""
    for name, octets in said:
        who = SPEAKERS[name]
        low, high = sorted((dice.randrange(len(octets) + 1), dice.randrange(len(octets) + 1)))
        missing = (high - low, high - low, 0, dice.choice((0, 1, 7, 70_000)))
        if dice.randrange(8):
            yield who, octets
        else:
            yield from ((who, octets[:low]), (who, dice.choice(missing)), (who, octets[high:]))


def heard(watch: Observer, steps: Steps, cut: Callable[[bytes], list[bytes]], at_once: bool, over: bool) -> tuple[object, ...]:
    """All that is told of each side; `at_once`: as soon as it can be."""
    told: dict[Speaker, list[object]] = {"C": [], "S": []}

    def take() -> None:
        for event in watch.events():
            told[event[0]].append(event)

    for who, step in steps:
        if isinstance(step, int):
            watch.receive_gap(who, step)
        for piece in cut(step) if isinstance(step, bytes) else ():
            watch.receive_data(who, piece)
            if at_once:
                take()
    if over:
        watch.receive_eof("C")
        watch.receive_eof("S")
    else:
        watch.finish()
    take()
    return told, [(watch.unread(who), watch.frames(who)) for who in told]


@given(st.integers(0, 2**32))
def test_what_an_observer_tells_does_not_depend_on_the_pieces(seed: int) -> None:
    """An observer tells the same of each side in whatever pieces its octets come, and whenever its events are taken."""
    dice = random.Random(seed)
    steps = list(with_gaps(dice, spoken(dice)))
    strict, frames, middle, over, small = [bool(dice.randrange(2)) for _ in range(5)]
    given_one = dice.choice([None, *READABLE])

    def watch() -> Observer:
        limits = {"limits": LIMITS} if small else {}
        return Observer(given_one, strict, frames=frames, dialects=READABLE, middle=middle, **limits)

    def any_pieces(octets: bytes) -> list[bytes]:
        found = []
        while octets:
            size = dice.choice((1, 2, 3, 5, 8, 20, 100))
            found.append(octets[:size])
            octets = octets[size:]
        return found

    whole = heard(watch(), steps, lambda octets: [octets], True, over)
    assert heard(watch(), steps, lambda octets: [octets], False, over) == whole
    assert heard(watch(), steps, any_pieces, True, over) == whole
    assert heard(watch(), steps, lambda octets: [octets[at : at + 1] for at in range(len(octets))], True, over) == whole
