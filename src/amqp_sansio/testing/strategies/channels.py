"""Strategies of conversations in the dialects with channels: legal ones, and ones with an illegal last word."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from amqp_sansio.grammar.automaton import Word
from amqp_sansio.testing.speech.channel_parts import PARTS, ChannelPart
from amqp_sansio.testing.speech.channel_voice import Spoken
from amqp_sansio.testing.strategies.conversations import LONGEST, words


class ChannelConversation(NamedTuple):
    """Words of a part of a grammar with their steps, and the steps before them."""

    part: ChannelPart
    words: tuple[Word, ...]
    before: tuple[Spoken, ...]
    steps: tuple[Spoken, ...]


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
