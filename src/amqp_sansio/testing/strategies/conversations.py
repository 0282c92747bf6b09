"""Strategies of legal and nearly legal conversations from the grammars; they shrink to a few lines.

Each number drawn selects the next legal word, searching the alphabet from there on.  A word keeps its meaning when others
before it are removed, so shrinking removes what is irrelevant to a failure.
"""

from __future__ import annotations

from typing import Final

from hypothesis import assume
from hypothesis import strategies as st

from amqp_sansio.grammar.automaton import START, Automaton, Word
from amqp_sansio.testing.speech.expected_rule import blamed, illegal, nearly, spoken
from amqp_sansio.testing.speech.parts import Part, parts_of
from amqp_sansio.testing.speech.refused_cases import trespassed, trespasses
from amqp_sansio.testing.speech.step import Conversation, Speaker
from amqp_sansio.testing.speech.word_encoder import Setting

LONGEST: Final = 12
"""The default number of words after the opening."""


def parts(section: str | None = None) -> st.SearchStrategy[Part]:
    """Generates parts of a section such as "tx", or of all.  Raises ValueError for an unknown section."""
    return st.sampled_from(parts_of(section))


def _walk(language: Automaton, numbers: list[int]) -> tuple[list[Word], int]:
    """Returns the words that the numbers select, and the state after them."""
    alphabet, state = language.alphabet, START
    said: list[Word] = []
    for number in numbers:
        moves = language.moves[state]
        word = next((each for each in (*alphabet[number:], *alphabet[:number]) if each in moves), None)
        if word is None:
            break
        said.append(word)
        state = moves[word]
    return said, state


@st.composite
def words(draw: st.DrawFn, language: Automaton, max_size: int = LONGEST) -> tuple[Word, ...]:
    """Generates words of a language in a legal order, which may continue after them (see `Automaton.accepts`)."""
    alphabet = language.alphabet
    numbers = draw(st.lists(st.integers(0, len(alphabet) - 1), max_size=max_size)) if alphabet else []
    return tuple(_walk(language, numbers)[0])


@st.composite
def conversations(
    draw: st.DrawFn,
    section: str | None = None,
    role: Speaker | None = None,
    *,
    max_size: int = LONGEST,
    setting: Setting | None = None,
) -> Conversation:
    """Generates legal conversations, as real controls and commands of both sides, from the first octet on.

    `section` is one such as "tx" (None: any).  With `role="client"` the server only answers, like a passive peer, so that the
    client's steps can be sent to a server one by one; with None or "server" both sides do what they may.  Results and
    completions come in between where legal.  At most `max_size` words follow the opening.
    """
    part = draw(parts(section))
    language = part.client_led if role == "client" else part.language
    alphabet = language.alphabet
    numbers = draw(st.lists(st.tuples(st.integers(0, len(alphabet) - 1), st.integers(0, 3)), max_size=max_size))
    said, _ = _walk(language, [number for number, _ in numbers])
    answered = [at for at, word in enumerate(said) if numbers[at][1] == 1 and _may_answer(part, word)]
    return spoken(part, said, setting, answered)


def _may_answer(part: Part, word: Word) -> bool:
    """Returns whether the server may answer the commands so far here, in a part whose grammar leaves answers out."""
    meant = any(each.endswith("completed") or each.startswith("sender:message.acquired") for each in part.language.alphabet)
    return part.opening == "work" and not meant and "exception" not in word and part.section != "assembly"


@st.composite
def nearly_legal(
    draw: st.DrawFn,
    section: str | None = None,
    role: Speaker = "client",
    *,
    max_size: int = LONGEST,
    setting: Setting | None = None,
) -> Conversation:
    """Generates conversations whose last step, by `role`, is illegal; `breaks` is the rule, `legal` what was legal."""
    wrong = [each for each in trespasses(setting or Setting()) if section in (None, each.section)] if role == "client" else []
    if wrong and (section in ("exchange", "queue") or draw(st.booleans())):
        return trespassed(draw(st.sampled_from(wrong)), setting)
    part = draw(parts(section))
    alphabet = part.language.alphabet
    numbers = draw(st.lists(st.integers(0, len(alphabet) - 1), max_size=max_size))
    at = draw(st.integers(0, len(alphabet) - 1))
    for count in range(len(numbers), -1, -1):
        said, state = _walk(part.language, numbers[:count])
        for word in sorted(illegal(part, state, role), key=lambda word: word < alphabet[at]):  # from that one on, then others
            found = nearly(part, (*said, word), setting)
            if found is not None:
                return found[0]
    assume(False)
    raise AssertionError


def breaking(conversation: Conversation) -> tuple[int, str] | None:
    """Returns the first step that breaks a rule for a strict observer, and the rule; None when none does."""
    found = blamed(conversation)
    return None if found is None else (found[0], found[1].rule)
