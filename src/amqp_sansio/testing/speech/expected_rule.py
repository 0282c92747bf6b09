"""Determines the rule that a conversation breaks, and a server's possible answers; an observer is the judge."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final, NamedTuple

from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.testing.speech.parts import Part, opening
from amqp_sansio.testing.speech.step import Conversation, Step
from amqp_sansio.testing.speech.word_encoder import Setting, speaker_of


class Blame(NamedTuple):
    """The last step breaks `rule`; `codes` are the error codes that may answer it, by the letter and by deployed brokers.

    `must` is False when deployed brokers accept it, or the specification does not say what follows.
    """

    rule: str
    codes: frozenset[int]
    must: bool
    legal: tuple[str, ...]
    text: str


class Watch:
    """Two observers, one of which is strict."""

    def __init__(self) -> None:
        self._observers: Final = (Observer(), Observer(strict=True))

    def hear(self, speaker: str, octets: bytes) -> tuple[list[Violation], list[Violation]]:
        """Returns the violations in octets of the "client" or the "server", as the lenient and the strict observer report
        them."""
        found: list[list[Violation]] = []
        for observer in self._observers:
            observer.receive_data("C" if speaker == "client" else "S", octets)
            found.append([each.event for each in observer.events() if isinstance(each.event, Violation)])
        return found[0], found[1]


def blamed(steps: Iterable[Step]) -> tuple[int, Blame] | None:
    """Returns the index of the first illegal step, and what it breaks; None when all is legal."""
    watch = Watch()
    for number, step in enumerate(steps):
        plain, letter = watch.hear(step.speaker, step.octets)
        if plain or letter:
            first = (plain or letter)[0]
            codes = frozenset([each.code for each in (*plain[:1], *letter[:1]) if each.code])
            return number, Blame(first.rule, codes, bool(plain), first.legal, first.text)
    return None


def spoken(part: Part, words: Iterable[Word], setting: Setting | None = None, answered: Container[int] = ()) -> Conversation:
    """Returns a conversation of these words of a part, after the usual opening; does not judge it.

    The server gives the answers that it owes after the words with these indices.
    """
    voice = part.voice(setting or Setting())
    steps = [*voice.heard(opening(part.opening, voice))]
    opened = len(steps)
    for at, word in enumerate(words):
        steps += voice.heard(voice.say(word))
        if at in answered:
            steps += voice.heard(voice.feedback("server"))
    return Conversation(part.name, steps, opened)


def nearly(part: Part, words: Sequence[Word], setting: Setting | None = None) -> tuple[Conversation, Blame] | None:
    """Returns a conversation whose last word is illegal, with the rule that it breaks; None when no rule is broken."""
    said = spoken(part, words, setting)
    found = blamed(said)
    if found is None or found[0] != len(said) - 1:
        return None
    blame = found[1]
    return Conversation(said.part, said.steps, said.opened, blame.rule, blame.legal), blame


def illegal(part: Part, state: int, role: str = "client") -> tuple[Word, ...]:
    """Returns the words that one side may not say in a state of the language."""
    return tuple(
        [
            word
            for word in part.language.alphabet
            if part.language.step(state, word) is None
            and speaker_of(word) == role
            and not word.endswith("protocol-header")  # a second protocol header is not a word, but octets that are not a frame
        ]
    )
