"""Strategies of legal and nearly legal conversations from the grammars of all dialects, and of the chunks in which they arrive.

Each number drawn selects the next legal word, searching the alphabet from there on.  A word keeps its meaning when others
before it are removed, so shrinking removes what is irrelevant to a failure.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from amqp_sansio.grammar.automaton import START, Automaton, Word
from amqp_sansio.testing.speech.blame import blamed, illegal, nearly, spoken, trespassed, trespasses
from amqp_sansio.testing.speech.channel_parts import PARTS, ChannelPart, Utterance
from amqp_sansio.testing.speech.parts import Part, parts_of
from amqp_sansio.testing.speech.step import Conversation, Speaker
from amqp_sansio.testing.speech.word_encoder import Setting


@st.composite
def chunkings(draw: st.DrawFn, octets: bytes, max_cuts: int = 8) -> tuple[bytes, ...]:
    """Generates the octets in pieces: whole, cut in up to `max_cuts` places, or of one size (1, 7, 4096).  Shrinks to whole.

    No piece is empty; no octets give no pieces.
    """
    if not octets:
        return ()
    # The cuts are always drawn first: hypothesis takes fewer choices for simpler.
    cuts = sorted(draw(st.sets(st.integers(1, len(octets) - 1), max_size=max_cuts))) if len(octets) > 1 else []
    size = draw(st.sampled_from([0, 0, 0, 1, 7, 4096]))
    if size:
        return tuple([octets[at : at + size] for at in range(0, len(octets), size)])
    return tuple([octets[low:high] for low, high in zip([0, *cuts], [*cuts, len(octets)], strict=True)])


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


class ChannelConversation(NamedTuple):
    """Words of a part of a grammar with their steps, and the steps before them."""

    part: ChannelPart
    words: tuple[Word, ...]
    before: tuple[Utterance, ...]
    steps: tuple[Utterance, ...]


def channel_parts(dialect: str | None = None, name: str | None = None) -> st.SearchStrategy[ChannelPart]:
    """Generates parts of one dialect, of one name such as "delivery", or any.  Raises ValueError when there is none."""
    found = [part for part in PARTS if dialect in (None, part.edition.name) and name in (None, part.name)]
    if not found:
        names = ", ".join(sorted({repr(part) for part in PARTS}))
        raise ValueError(f"no part {name!r} of {dialect!r}: there are {names}")
    return st.sampled_from(found)


def _said(part: ChannelPart, said: tuple[Word, ...]) -> ChannelConversation:
    before, steps = part.spoken(said)
    return ChannelConversation(part, said, tuple(before), tuple(steps))


@st.composite
def channel_conversations(
    draw: st.DrawFn, dialect: str | None = None, name: str | None = None, *, max_size: int = LONGEST
) -> ChannelConversation:
    """Generates legal conversations of both sides, as octets, of at most `max_size` words after the required opening."""
    part = draw(channel_parts(dialect, name))
    return _said(part, draw(words(part.language(), max_size)))


@st.composite
def wrong_channel_conversations(
    draw: st.DrawFn, dialect: str | None = None, name: str | None = None, *, max_size: int = LONGEST
) -> ChannelConversation:
    """Generates conversations whose last word is illegal in the grammar."""
    legal = draw(channel_conversations(dialect, name, max_size=max_size))
    wrong = legal.part.wrong(legal.words)
    assume(wrong)
    return _said(legal.part, (*legal.words, draw(st.sampled_from(wrong))))
