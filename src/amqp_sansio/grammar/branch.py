"""Class dtx, second grammar: one branch, as one session that works for it may speak of it, up to where it is forgotten.

outcome = one-phase-commit / one-phase-rollback / two-phase-commit / two-phase-rollback, command = C:SET-TIMEOUT /
C:GET-TIMEOUT, recovery-outcome adds C:FORGET.  Read with the rules `one-phase`, `two-phase`, `not-disassociated` and with
X/Open XA: an outcome comes when no session is associated; a one-phase commit without prepare, the other one behind it.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import interleaved, one_of, product, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton


def session(*verbs: str) -> Automaton:
    """One of these words of the session."""
    return one_of(*[f"session:{verb}" for verb in verbs])


END, SUSPEND, JOIN = "end", "end(suspend)", "start(join)"
AGAIN = session("start(resume)", JOIN)
"""A session comes back to what it has suspended."""
PREPARES = ("prepare", "prepare(read-only)")
COMMITS = ("commit", "commit(one-phase)")
ALL_ENDS = session(END, SUSPEND, "end(fail)", "ended")


def working() -> Automaton:
    """Conversations that leave the session at work for a branch that can still be committed."""
    held = repeated(sequence(session(SUSPEND), AGAIN))
    done = one_of(session(END), sequence(session(SUSPEND), session(END)))
    return sequence(session("start"), held, repeated(sequence(done, session(JOIN), held)))


def suspended() -> Automaton:
    """Conversations that leave it suspended."""
    return sequence(working(), session(SUSPEND))


def idle() -> Automaton:
    """Conversations that leave nobody associated."""
    return sequence(one_of(working(), suspended()), session(END))


def doomed() -> Automaton:
    """Rollback-only and nobody associated: by an end that failed, or because the session ended in the midst of its work.

    Whoever joins such a branch is told so by every end, and is then associated no more; prepare is answered the same.
    """
    spoiled = sequence(one_of(working(), suspended()), session("end(fail)", "ended"))
    return sequence(spoiled, repeated(one_of(sequence(session(JOIN), ALL_ENDS), session(*PREPARES))))


def late() -> Automaton:
    """The time of the branch has run out, and nobody is associated any more."""
    out = "clock:timeout"
    at_work = one_of(working(), sequence(doomed(), session(JOIN)))
    told = one_of(session("start(resume)", JOIN), ALL_ENDS)
    gone = one_of(sequence(one_of(idle(), doomed()), out), sequence(one_of(at_work, suspended()), out, told))
    return sequence(gone, repeated(session("start(resume)", JOIN)))


def life() -> Automaton:
    """One branch from its start to where the coordinator forgets it."""
    decided = sequence("administrator:complete", repeated(session(*COMMITS, "rollback")), session("forget"))
    prepared = sequence(session("prepare"), one_of(session("commit", "rollback"), decided))
    sound = sequence(idle(), one_of(session("commit(one-phase)", "rollback", "prepare(read-only)"), prepared))
    spoiled = sequence(doomed(), session(*COMMITS, "rollback"))
    told_late = sequence(late(), session(*PREPARES, *COMMITS, "rollback"))
    return one_of(sound, spoiled, told_late)


def branch() -> Automaton:
    """Any number of lives of one xid, with questions about its timeout while it is known."""
    asides = ("get-timeout", "set-timeout")
    asked = interleaved(life(), repeated(session(*asides)))
    last = session("forget", *PREPARES, *COMMITS, "rollback")
    every = one_of(*asked.alphabet)
    return repeated(product(asked, sequence(session("start"), repeated(every), last)))


def recovery() -> Automaton:
    """recovery = C:RECOVER *recovery-outcome: the transaction manager asks what is in doubt, and decides about it."""
    return sequence("client:dtx.recover", repeated(one_of("client:dtx.commit", "client:dtx.rollback", "client:dtx.forget")))
