"""The moves of a grammar that a probe did not reach, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from amqp_sansio.grammar.automaton import START, Word
from amqp_sansio.grammar.walks import shortest_to_each, transition_words
from amqp_sansio.testing.speech.parts import Part
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


class Missed(NamedTuple):
    """Moves of the same word that were not made for the same reason, and their number."""

    word: Word
    moves: int
    why: str

    def __str__(self) -> str:
        speaker, _, word = self.word.rpartition(":")
        places = f" ({self.moves} places)" if self.moves > 1 else ""
        return f"{f'{word} by the {speaker}' if speaker else word}{places}: {self.why}"


def missed(part: Part, gone: Iterable[tuple[int, Word]]) -> list[Missed]:
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
    return [Missed(word, moves, why) for (word, why), moves in sorted(counts.items())]
