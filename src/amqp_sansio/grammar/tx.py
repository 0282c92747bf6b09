"""Class tx: "exactly once on a session before using the Commit or Rollback commands".

tx = C:SELECT / C:COMMIT / C:ROLLBACK
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton


def tx() -> Automaton:
    """The demarcation of one session with standard transactions."""
    return sequence("client:tx.select", repeated(one_of("client:tx.commit", "client:tx.rollback")))


def subscribed() -> Automaton:
    """One subscriber with accept-mode none and the select, which exclude each other (rule of tx.select)."""
    subscriber = sequence("client:subscribe(none)", "client:cancel")
    return sequence(repeated(subscriber), one_of("client:subscribe(none)", sequence("client:tx.select")))
