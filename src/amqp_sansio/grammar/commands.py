"""Classes execution, exchange and queue: each command needs no other before it, and has a result at most.

In exchange and queue only the client sends commands.  The grammar of class exchange names declare, delete and query; bind,
unbind and bound were added to the class later, and the grammar of class queue still names bind and unbind.  Class execution has
no grammar; an exception is the last command of its sender, which then detaches.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton


def execution(speaker: str) -> Automaton:
    """Returns the commands of one half, until one reports that the session has failed."""
    anything = repeated(one_of(*[f"{speaker}:{verb}" for verb in ("execution.sync", "execution.result", "command")]))
    return sequence(anything, optional(f"{speaker}:execution.exception"))


def exchange() -> Automaton:
    """Returns the commands of the class in one session."""
    return repeated(one_of(*[f"client:exchange.{verb}" for verb in ("declare", "delete", "query", "bind", "unbind", "bound")]))


def queue() -> Automaton:
    """Returns the commands of the class in one session."""
    return repeated(one_of(*[f"client:queue.{verb}" for verb in ("declare", "delete", "purge", "query")]))
