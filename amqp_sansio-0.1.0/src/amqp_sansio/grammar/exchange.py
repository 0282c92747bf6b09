"""Class exchange: every command is by the client, answered at most by a result, and needs no other before it.

The grammar of the class names declare, delete and query; bind, unbind and bound came to the class later.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, repeated
from amqp_sansio.grammar.automaton import Automaton


def exchange() -> Automaton:
    """The commands of the class in one session."""
    return repeated(one_of(*[f"client:exchange.{verb}" for verb in ("declare", "delete", "query", "bind", "unbind", "bound")]))
