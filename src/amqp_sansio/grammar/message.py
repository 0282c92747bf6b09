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
"""The result does not name it: another subscriber was first."""
COMPLETED: Final = "recipient:session.completed"
RELEASE: Final = "recipient:message.release"


def explicit(acquired: bool) -> Automaton:
    """Returns one transfer with accept-mode explicit, pre-acquired or not.

    "The recipient MUST have acquired a message in order to accept it" (or reject it); release returns an acquired message and
    forgets any other.  After each of them "the command-id may no longer be referenced from other commands".  Completion settles
    nothing, and is repeated until the sender has confirmed it.
    """
    settled = optional(one_of("recipient:message.accept", "recipient:message.reject", RELEASE))
    browsed = sequence(_tries(), optional(one_of(sequence(words(ACQUIRE, GOT), settled), RELEASE)))
    talk = settled if acquired else browsed
    return sequence(_transfer(acquired), interleaved(talk, repeated(COMPLETED)))


def none(acquired: bool) -> Automaton:
    """Returns one transfer with accept-mode none: it only needs its completion, after which no command names it.

    A browsed transfer may be acquired (as deployed brokers and their tests do; the text names a wrong field), and its
    completion may come while the result is in flight.
    """
    if acquired:
        return sequence(_transfer(acquired), repeated(COMPLETED))
    looked_at = sequence(_tries(), optional(one_of(words(ACQUIRE, GOT), RELEASE)))
    # Its own completion binds the recipient, but the result of an earlier acquire still comes.
    bound = sequence(repeated(one_of(ACQUIRE, RELEASE)), repeated(COMPLETED))
    return sequence(_transfer(acquired), together(interleaved(looked_at, repeated(COMPLETED)), bound))


def transfer(accept_mode: int) -> Automaton:
    """Returns every transfer of an accept-mode: 0 explicit, 1 none."""
    kind = none if accept_mode else explicit
    return one_of(kind(True), kind(False))


def _transfer(acquired: bool) -> Automaton:
    return words("sender:message.transfer pre-acquired" if acquired else "sender:message.transfer not-acquired")


def _tries() -> Automaton:
    """Returns failed acquires."""
    return repeated(words(ACQUIRE, LOST))
