"""The stream of commands of one half of a session, on one attachment (class session: command-point, flush, gap, known-completed).

"This must be used at least once prior to sending any command data on newly attached transports": controls may come before it.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton


def stream(sender: str) -> Automaton:
    """What the sender of commands says from one attach to the next loss of the transport."""
    controls = [f"{sender}:{verb}" for verb in ("flush", "gap", "known-completed")]
    point = f"{sender}:command-point"
    free = repeated(one_of(*controls, point, f"{sender}:command"))
    return sequence(repeated(one_of(*controls)), optional(sequence(point, free)))
