"""Which rule a conversation breaks, and what a server may answer to that: an observer decides, for us and for others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.testing.speech.parts import Part, opening
from amqp_sansio.testing.speech.step import Conversation, Step
from amqp_sansio.testing.speech.word_encoder import Setting, speaker_of


class Blame(NamedTuple):
    """The last step breaks `rule`; `codes` are the error codes that may answer it, the letter's and those of deployed brokers.

    `must` is False when deployed brokers let it pass, or the specification does not say what follows.
    """

    rule: str
    codes: frozenset[int]
    must: bool
    legal: tuple[str, ...]
    text: str


class Watch:
    """Two observers, one that holds everybody to the letter, and one that does not."""

    def __init__(self) -> None:
        self._observers: Final = (Observer(), Observer(strict=True))

    def hear(self, step: Step) -> tuple[list[Violation], list[Violation]]:
        """The violations in a step, to the one and to the other."""
        return self.octets(step.speaker, step.octets)

    def octets(self, speaker: str, octets: bytes) -> tuple[list[Violation], list[Violation]]:
        """As `hear`, for octets of the "client" or the "server"."""
        found: list[list[Violation]] = []
        for observer in self._observers:
            observer.receive_data("C" if speaker == "client" else "S", octets)
            found.append([each.event for each in observer.events() if isinstance(each.event, Violation)])
        return found[0], found[1]


def blamed(steps: Iterable[Step]) -> tuple[int, Blame] | None:
    """The first step that breaks a rule, by its number, and which; None when all is legal."""
    watch = Watch()
    for number, step in enumerate(steps):
        plain, letter = watch.hear(step)
        if plain or letter:
            first = (plain or letter)[0]
            codes = frozenset([each.code for each in (*plain[:1], *letter[:1]) if each.code])
            return number, Blame(first.rule, codes, bool(plain), first.legal, first.text)
    return None


def spoken(part: Part, words: Sequence[Word], setting: Setting | None = None) -> Conversation:
    """A conversation of these words of a part behind the usual opening; not judged."""
    voice = part.voice(setting or Setting())
    steps = [*voice.heard(opening(part.opening, voice))]
    opened = len(steps)
    for word in words:
        steps += voice.heard(voice.say(word))
    return Conversation(part.name, steps, opened)


def nearly(part: Part, words: Sequence[Word], setting: Setting | None = None) -> tuple[Conversation, Blame] | None:
    """A conversation whose last word is illegal, with the rule that it breaks; None when nobody is blamed for it."""
    said = spoken(part, words, setting)
    found = blamed(said)
    if found is None or found[0] != len(said) - 1:
        return None
    blame = found[1]
    return Conversation(said.part, said.steps, said.opened, blame.rule, blame.legal), blame


def illegal(part: Part, state: int, role: str = "client") -> tuple[Word, ...]:
    """The words that one side may not say in a state of the language."""
    return tuple(
        [
            word
            for word in part.language.alphabet
            if part.language.step(state, word) is None
            and speaker_of(word) == role
            and not word.endswith("protocol-header")  # a second one is no word but octets that are no frame
        ]
    )
