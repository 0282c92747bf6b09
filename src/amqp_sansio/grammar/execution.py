"""Class execution: sync, result and exception of one half of a session.

The specification has no grammar of the class; an exception is the last command of its sender, which then detaches.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton


def execution(speaker: str) -> Automaton:
    """Returns the commands of one half, until one reports that the session has failed."""
    anything = repeated(one_of(*[f"{speaker}:{verb}" for verb in ("execution.sync", "execution.result", "command")]))
    return sequence(anything, optional(f"{speaker}:execution.exception"))
