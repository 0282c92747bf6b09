"""Class dtx, first grammar: which branch the work of one session belongs to, and that a session is of one kind only.

dtx-demarcation = C:SELECT *demarcation; demarcation = C:START C:END.  The bits of start (join, resume) and end (suspend, fail)
are in the fields and not in the grammar; here they are words of their own.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton
from amqp_sansio.grammar.tx import tx

SELECT = "client:dtx.select"


def association() -> Automaton:
    """One branch on one session, from start (or join) to end: suspended and resumed as often as wanted.

    What is suspended may be ended without being resumed (X/Open XA, xa_end of a suspended association).
    """
    suspended = "client:dtx.end(suspend)"
    ended = one_of("client:dtx.end", "client:dtx.end(fail)")
    return sequence(
        one_of("client:dtx.start", "client:dtx.start(join)"),
        repeated(sequence(suspended, "client:dtx.start(resume)")),
        one_of(ended, sequence(suspended, ended)),
    )


def dtx() -> Automaton:
    """The demarcation of one session with distributed transactions of one branch at a time; select "at least once", so again too."""
    return sequence(SELECT, interleaved(repeated(association()), repeated(SELECT)))


def demarcation() -> Automaton:
    """A session selects standard transactions, or distributed ones, or none."""
    return optional(one_of(tx(), dtx()))
