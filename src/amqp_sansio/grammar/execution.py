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


def failure(fails: str, other: str) -> Automaton:
    """Returns the end of a session by a command error: exception, detach, detached; the other side's words are lost."""
    lost = repeated(f"{other}:other")
    ends = (f"{fails}:execution.exception", f"{fails}:session.detach", f"{other}:session.detached")
    return sequence(ends[0], lost, ends[1], lost, ends[2])
