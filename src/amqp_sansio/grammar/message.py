"""Class message: the life of one transfer, by accept-mode and acquire-mode.

message = *:TRANSFER [ R:ACQUIRE ] [ R:ACCEPT / R:REJECT / R:RELEASE ], with R the recipient of the transfer, and the drawing of
states in the class: START, NOT-ACQUIRED, ACQUIRED, END.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import SILENCE, interleaved, one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton


def transfer(explicit: bool, acquired: bool, sender: str = "sender", recipient: str = "recipient") -> Automaton:
    """One transfer with accept-mode explicit or none, pre-acquired or not.

    The result of an acquire is "acquired" when the set names the transfer and "not-acquired" when it does not.  The word for the
    completion of the transfer is "completed".  "The recipient MUST have acquired a message in order to accept" (or reject) it;
    release sets free what is acquired and forgets what is not.  After accept, reject or release "the command-id may no longer be
    referenced from other commands".
    """
    if explicit:
        talk = _explicit(sender, recipient, acquired)
    else:
        # Nothing is left to be accepted: the transfer is over when it was sent, or is looked at only.
        seen = sequence(_tries(sender, recipient), optional(one_of(_got(sender, recipient), f"{recipient}:release")))
        talk = SILENCE if acquired else seen
    return sequence(f"{sender}:transfer", interleaved(talk, optional(f"{recipient}:completed")))


def _explicit(sender: str, recipient: str, acquired: bool) -> Automaton:
    settled = one_of(*[f"{recipient}:{verb}" for verb in ("accept", "reject", "release")])
    if acquired:
        return optional(settled)
    held = sequence(_got(sender, recipient), optional(settled))
    return sequence(_tries(sender, recipient), optional(one_of(held, f"{recipient}:release")))


def _tries(sender: str, recipient: str) -> Automaton:
    """Acquires that did not succeed: another subscriber was first."""
    return repeated(sequence(f"{recipient}:acquire", f"{sender}:not-acquired"))


def _got(sender: str, recipient: str) -> Automaton:
    return sequence(f"{recipient}:acquire", f"{sender}:acquired")
