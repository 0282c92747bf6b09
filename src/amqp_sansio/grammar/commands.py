"""The stream of commands of one half of a session on one attachment, with the receiver's feedback (class session).

command-point "must be used at least once prior to sending any command data on newly attached transports"; so the other controls
may come before it.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton
from amqp_sansio.grammar.feedback import expected, sets

CONTROLS: Final = ("session.flush", "session.gap", "session.known-completed")
"""The sender's controls; "session.flush" is one that does not ask for the expected set."""


def stream(sender: str) -> Automaton:
    """Returns the sender's words on one attachment, except flushes that ask for the expected set."""
    controls = [f"{sender}:{verb}" for verb in CONTROLS]
    point = f"{sender}:session.command-point"
    free = repeated(one_of(*controls, point, f"{sender}:command"))
    return sequence(repeated(one_of(*controls)), optional(sequence(point, free)))


def half(sender: str, receiver: str, most: int | None = None) -> Automaton:
    """Returns the stream with the feedback to it; `most` as for `feedback.expected`."""
    return interleaved(stream(sender), sets(receiver), expected(receiver, sender, most))
