"""Attachment of one session to one channel (class session: attach, attached, detach, detached).

The specification has no grammar of class session; this one follows its rules `attachment`, `one-session-per-transport` and
`idempotence`.  One name is spoken of.  "use" is every other control and every command.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, renamed, repeated, sequence, words
from amqp_sansio.grammar.automaton import Automaton


def opening(asks: str, grants: str) -> Automaton:
    """One session from the attach of `asks` to its end, as both are heard by somebody in the middle.

    attach is answered by attached, or by detached (busy); attached again by name it is confirmed again.  Either side may end
    it: by detach, which the other confirms with detached (both may at once), or by a detached that nobody asked for.
    """
    use = repeated(one_of(f"{asks}:use", f"{grants}:use"))
    again = repeated(words(f"{asks}:attach", f"{grants}:attached"))
    body = interleaved(again, use)
    return sequence(f"{asks}:attach", one_of(f"{grants}:detached", sequence(f"{grants}:attached", body, _end(asks, grants))))


def _end(one: str, other: str) -> Automaton:
    return one_of(
        _left(one, other),
        _left(other, one),
        # Both at the same time: two requests on the way, two answers.
        interleaved(words(f"{one}:detach", f"{other}:detached"), words(f"{other}:detach", f"{one}:detached")),
    )


def _left(leaves: str, other: str) -> Automaton:
    """`leaves` says the word that ends it: detach, or detached with a code.

    What the other had on its way then is heard still.
    """
    asked = sequence(f"{leaves}:detach", repeated(f"{other}:use"), f"{other}:detached")
    forced = sequence(f"{leaves}:detached", repeated(f"{other}:use"), optional(words(f"{other}:detach", f"{leaves}:detached")))
    return one_of(asked, forced)


def conversation() -> Automaton:
    """Any number of sessions on one channel, one after the other, opened by either side."""
    return repeated(one_of(opening("client", "server"), opening("server", "client")))


def half(speaker: str, other: str) -> Automaton:
    """What binds one speaker: the use of the other is not looked at."""
    return renamed(conversation(), lambda word: None if word == f"{other}:use" else word)
