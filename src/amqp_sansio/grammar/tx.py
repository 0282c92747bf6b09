"""Class tx: "exactly once on a session before using the Commit or Rollback commands".

tx = C:SELECT / C:COMMIT / C:ROLLBACK
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.algebra import one_of, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton

SUBSCRIBE: Final = "client:message.subscribe with accept-mode none"
CANCEL: Final = "client:message.cancel"
"""The cancel of the subscription with accept-mode none."""


def tx() -> Automaton:
    """Returns the demarcation of one session with standard transactions."""
    return sequence("client:tx.select", repeated(one_of("client:tx.commit", "client:tx.rollback")))


def subscribed() -> Automaton:
    """Returns a session with accept-mode none: such a subscription must not exist at tx.select, nor be created later."""
    return sequence(repeated(sequence(SUBSCRIBE, CANCEL)), tx())
