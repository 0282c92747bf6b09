"""The grammar of attachment."""

from __future__ import annotations

import pytest

from amqp_sansio.grammar import attachment
from amqp_sansio.grammar.algebra import difference, together
from amqp_sansio.grammar.automaton import Word

C, S = "client", "server"


def said(text: str) -> list[Word]:
    """ "c attach" and "s attached": a word each, apart by commas."""
    found: list[Word] = []
    for each in text.split(", "):
        who, verb = each.split()
        found.append(f"{C if who == 'c' else S}:{verb if verb == 'other' else 'session.' + verb}")
    return found


HELD = "c attach, s attached"


@pytest.mark.parametrize(
    "text",
    [
        f"{HELD}, c other, s other, c detach, s other, s detached",
        f"{HELD}, c attach, s attached, s detach, c other, c detached",
        f"{HELD}, c detach, s detach, c detached, s detached, s attach, c detached",
        f"{HELD}, s detached, c attach, s detached",
    ],
)
def test_whole_sessions(text: str) -> None:
    assert attachment.conversation().accepts(said(text))


def test_what_a_client_may_not_say() -> None:
    half = attachment.half(C, S).prefixes()
    for wrong in (
        "c other", "c attached", "c attach, c other", "c attach, s detached, c other", f"{HELD}, c detach, c other",
        f"{HELD}, c detach, c attach", f"{HELD}, s detach, c detached, c other", "s attach, c other",
    ):  # fmt: skip
        *before, last = said(wrong)
        assert half.accepts(before)
        assert not half.accepts([*before, last])


def test_what_was_on_its_way_is_legal() -> None:
    half = attachment.half(C, S).prefixes()
    for crossing in (
        f"{HELD}, s detach, c other, c attach, c detach, s detached", f"{HELD}, s detached, c other, c detach, c attach",
        f"{HELD}, c detach, s attach, s other, c detached", "c detach", "c detached", "s other, s attached, s detached",
    ):  # fmt: skip
        assert half.accepts(said(crossing))


def test_a_half_hears_everything_at_any_time() -> None:
    for speaker, other in ((C, S), (S, C)):
        half = attachment.half(speaker, other).prefixes()
        for state in range(half.size):
            assert {f"{other}:{verb}" for verb in attachment.VERBS} <= set(half.legal(state))


# Every undisturbed conversation is legal for both speakers.
def test_halves_take_the_whole() -> None:
    halves = together(attachment.half(C, S).prefixes(), attachment.half(S, C).prefixes())
    assert difference(attachment.conversation().prefixes(), halves).empty
