"""Class queue: only the client sends commands; each needs no other before it, and has a result at most.

The class's grammar still names bind and unbind, which are commands of class exchange.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, repeated
from amqp_sansio.grammar.automaton import Automaton


def queue() -> Automaton:
    """Returns the commands of the class in one session."""
    return repeated(one_of(*[f"client:queue.{verb}" for verb in ("declare", "delete", "purge", "query")]))
