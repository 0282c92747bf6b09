"""Class message: the life of one transfer, by accept-mode and acquire-mode.

message = *:TRANSFER [ R:ACQUIRE ] [ R:ACCEPT / R:REJECT / R:RELEASE ], with R the recipient of the transfer, and the drawing of
states in the class: START, NOT-ACQUIRED, ACQUIRED, END.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, repeated, sequence, together, words
from amqp_sansio.grammar.automaton import Automaton

ACQUIRE: Final = "recipient:message.acquire"
GOT: Final = "sender:message.acquired"
"""The result of acquire names the transfer."""
LOST: Final = "sender:message.acquired without it"
"""It does not: another subscriber was first."""
COMPLETED: Final = "recipient:session.completed"
RELEASE: Final = "recipient:message.release"


def explicit(acquired: bool) -> Automaton:
    """One transfer with accept-mode explicit, acquired from the start or not.

    "The recipient MUST have acquired a message in order to accept it" (or reject it); release sets free what is acquired and
    forgets what is not.  After any of them "the command-id may no longer be referenced from other commands".  Completion
    settles nothing, and is repeated until the sender has confirmed it.
    """
    settled = optional(one_of("recipient:message.accept", "recipient:message.reject", RELEASE))
    browsed = sequence(_tries(), optional(one_of(sequence(words(ACQUIRE, GOT), settled), RELEASE)))
    talk = settled if acquired else browsed
    return sequence(_transfer(acquired), interleaved(talk, repeated(COMPLETED)))


def none(acquired: bool) -> Automaton:
    """One transfer with accept-mode none: its completion is all that it takes, and nothing names it behind that.

    A transfer that was only looked at may be acquired (so deployed brokers and their tests; the text names a wrong field),
    and its completion may be sent while the result is on its way.
    """
    if acquired:
        return sequence(_transfer(acquired), repeated(COMPLETED))
    looked_at = sequence(_tries(), optional(one_of(words(ACQUIRE, GOT), RELEASE)))
    # The recipient is bound by its own completion; the answer to what it asked before that comes all the same.
    bound = sequence(repeated(one_of(ACQUIRE, RELEASE)), repeated(COMPLETED))
    return sequence(_transfer(acquired), together(interleaved(looked_at, repeated(COMPLETED)), bound))


def transfer(accept_mode: int) -> Automaton:
    """Every transfer of an accept-mode: 0 explicit, 1 none."""
    kind = none if accept_mode else explicit
    return one_of(kind(True), kind(False))


def _transfer(acquired: bool) -> Automaton:
    return words("sender:message.transfer pre-acquired" if acquired else "sender:message.transfer not-acquired")


def _tries() -> Automaton:
    """Acquires that did not succeed."""
    return repeated(words(ACQUIRE, LOST))
