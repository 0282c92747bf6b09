"""Class dtx, second grammar: the outcome of one branch, whoever says the words, with the results that decide what may follow.

outcome = one-phase-commit / one-phase-rollback / two-phase-commit / two-phase-rollback; recovery-outcome adds C:FORGET.  Read
with the rules `one-phase` and `not-disassociated`: an outcome comes when no session is associated, a one-phase commit
without prepare, the other behind one.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton

SUSPEND = sequence("client:end(suspend)", "client:start(resume)")


def work(begin: str, end: str) -> Automaton:
    """One association of a session: begun, suspended and resumed, ended (a suspended one too)."""
    return sequence(begin, repeated(SUSPEND), one_of(end, sequence("client:end(suspend)", end)))


def branch() -> Automaton:
    """One branch that one session after the other works for, up to the point where it is forgotten.

    An end with fail makes it good for rollback only; a server may decide prepared branches by itself (heuristic), and remembers
    until forget.
    """
    more = repeated(work("client:start(join)", "client:end"))
    sound = sequence(work("client:start", "client:end"), more)
    spoiled = one_of(
        work("client:start", "client:end(fail)"), sequence(sound, work("client:start(join)", "client:end(fail)"))
    )  # fmt: skip
    decided = sequence("server:heuristic", repeated(one_of("client:commit", "client:rollback")), optional("client:forget"))
    prepared = sequence("client:prepare", "server:ok", one_of("client:commit", "client:rollback", decided))
    outcome = one_of(
        "client:commit(one-phase)", "client:rollback", prepared, sequence("client:prepare", "server:rdonly"),
    )  # fmt: skip
    doomed = sequence(
        repeated(one_of(work("client:start(join)", "client:end"), work("client:start(join)", "client:end(fail)"))),
        repeated(sequence("client:prepare", "server:rbrollback")),
        "client:rollback",
    )
    return one_of(sequence(sound, outcome), sequence(spoiled, doomed))


def recovery() -> Automaton:
    """recover, as often as wanted, and what is then decided about what it named."""
    decided = repeated(one_of("client:commit", "client:rollback", "client:forget"))
    return repeated(sequence("client:recover", decided))


def asides() -> Automaton:
    """command = C:SET-TIMEOUT / C:GET-TIMEOUT: at any time while the branch is known."""
    return repeated(one_of("client:set-timeout", "client:get-timeout"))
