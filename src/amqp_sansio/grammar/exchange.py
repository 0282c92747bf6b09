"""Class exchange: only the client sends commands; each needs no other before it, and has a result at most.

The class's grammar names declare, delete and query; bind, unbind and bound were added to the class later.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, repeated
from amqp_sansio.grammar.automaton import Automaton


def exchange() -> Automaton:
    """Returns the commands of the class in one session."""
    return repeated(one_of(*[f"client:exchange.{verb}" for verb in ("declare", "delete", "query", "bind", "unbind", "bound")]))
