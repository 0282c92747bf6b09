"""Class queue: every command is by the client, answered at most by a result, and needs no other before it.

The grammar of the class still names bind and unbind, which are commands of class exchange.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, repeated
from amqp_sansio.grammar.automaton import Automaton


def queue() -> Automaton:
    """The commands of the class in one session."""
    return repeated(one_of(*[f"client:queue.{verb}" for verb in ("declare", "delete", "purge", "query")]))
