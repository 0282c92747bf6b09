"""The life of a session at one of its ends (class session), from its first attach to its end.

The specification has no grammar of it, but rules for an end: it sends commands only while the session is attached ("the
transport MUST be attached"); a session that was attached before begins with what the other end expects; nothing follows an
execution.exception and a detach; and a session may outlive its attachment for the granted timeout.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton


def endpoint(own: str, other: str) -> Automaton:
    """Returns the session as `own` sees it: any number of attachments that it survives, then perhaps one that it does not."""
    lives, ends = "transport:kept", "transport:over"
    return sequence(repeated(_attachment(own, other, lives)), optional(one_of(ends, _attachment(own, other, ends))))


def _attachment(own: str, other: str, over: str) -> Automaton:
    """Returns one attachment, requested by either end; `over` is the transport's word at its end."""
    asking = sequence(f"{own}:session.attach", repeated(f"{own}:session.attach"))
    heard = repeated(f"{other}:any command")
    use = repeated(one_of(f"{own}:any command", f"{other}:any command"))
    refused = sequence(f"{other}:execution.exception", heard)
    left = f"{own}:session.detach"
    used = sequence(use, optional(one_of(left, f"{own}:execution.exception", refused)))

    def begun(word: str) -> Automaton:
        return one_of(f"{own}:{word}", sequence(asking, f"{other}:{word}"))

    resumed = sequence(heard, one_of(optional(one_of(left, refused)), sequence(f"{other}:session.expected", used)))
    unanswered = sequence(asking, optional(left))
    whole = one_of(unanswered, sequence(begun("session.attached"), used), sequence(begun("session.attached again"), resumed))
    return sequence(whole, over)
