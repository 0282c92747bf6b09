"""Classes tx and dtx.  Class tx: "exactly once on a session before using the Commit or Rollback commands".

tx = C:SELECT / C:COMMIT / C:ROLLBACK

Class dtx, first grammar: which branch the work of one session belongs to, and that a session is of one kind only.

dtx-demarcation = C:SELECT *demarcation; demarcation = C:START C:END. The grammar leaves out the bits of start (join, resume)
and end (suspend, fail), which are fields; here each is a word of its own, and so is whether the xid is the associated one.

Class dtx, second grammar: one branch, as the sessions that work for it may use it, until the coordinator forgets it.

outcome = one-phase-commit / one-phase-rollback / two-phase-commit / two-phase-rollback, command = C:SET-TIMEOUT /
C:GET-TIMEOUT, recovery-outcome adds C:FORGET. Read together with the rules `one-phase`, `two-phase`, `not-disassociated` and
with X/Open XA: an outcome comes while no session is associated; a one-phase commit comes without prepare, a two-phase commit
after it.

Each session has a grammar for its own association, which also hears what makes the branch rollback-only; the branch is all of
them together.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.algebra import SILENCE, interleaved, one_of, optional, renamed, repeated, sequence, together
from amqp_sansio.grammar.automaton import Automaton, Word

SUBSCRIBE: Final = "client:message.subscribe with accept-mode none"
CANCEL: Final = "client:message.cancel"
"""The cancel of the subscription with accept-mode none."""


def tx() -> Automaton:
    """Returns the demarcation of one session with standard transactions."""
    return sequence("client:tx.select", repeated(one_of("client:tx.commit", "client:tx.rollback")))


def subscribed() -> Automaton:
    """Returns a session with accept-mode none: such a subscription must not exist at tx.select, nor be created later."""
    return sequence(repeated(sequence(SUBSCRIBE, CANCEL)), tx())


SELECT: Final = "client:dtx.select"
START: Final = "client:dtx.start"
"""Plain or with join."""
RESUME: Final = "client:dtx.start resume of a suspended xid"
END: Final = "client:dtx.end of the associated xid"
"""With or without fail."""
SUSPEND: Final = "client:dtx.end suspend of the associated xid"
END_SUSPENDED: Final = "client:dtx.end of a suspended xid"


def association(xid: str = "") -> Automaton:
    """Returns one branch on one session, from start to end, suspended and resumed any number of times.

    A suspended branch may be ended without a resume (X/Open XA, xa_end of a suspended association).
    """
    start, resume, end, suspend, end_suspended = [word + xid for word in (START, RESUME, END, SUSPEND, END_SUSPENDED)]
    return sequence(start, repeated(sequence(suspend, resume)), one_of(end, sequence(suspend, end_suspended)))


def work(branches: int) -> Automaton:
    """Returns associations with this number of branches, one active at a time while the others are suspended."""
    xids = [f" {number}" for number in range(branches)]
    each = interleaved(*[repeated(association(xid)) for xid in xids])
    active = repeated(
        one_of(*[sequence(one_of(START + xid, RESUME + xid), one_of(END + xid, SUSPEND + xid)) for xid in xids])
    )  # fmt: skip

    def plain(word: Word) -> Word:
        return word.rstrip("0123456789 ")

    return renamed(together(each, active), plain)


def dtx(branches: int = 1) -> Automaton:
    """Returns the demarcation of one session with distributed transactions; select comes "at least once", so it may repeat."""
    return sequence(SELECT, interleaved(work(branches), repeated(SELECT)))


def demarcation(branches: int = 1) -> Automaton:
    """Returns a session with standard transactions, distributed ones or none, and with or without accept-mode none."""
    free = interleaved(repeated(SUBSCRIBE), optional(dtx(branches)))
    standard = renamed(subscribed(), lambda word: None if word == CANCEL else word)
    return one_of(standard, free)


SESSION: Final = ("session",)
PREPARES: Final = ("prepare", "prepare(read-only)")
COMMITS: Final = ("commit", "commit(one-phase)")
OUTCOMES: Final = (*PREPARES, *COMMITS, "rollback")
ASIDES: Final = ("get-timeout", "set-timeout")
TIMEOUT: Final = "clock:timeout"
SPOILS: Final = ("end(fail)", "ended")
"""What makes a branch rollback-only: an end with fail, and the end of a session that works on it."""
ENDS: Final = ("end", "end(suspend)", *SPOILS)
AGAIN: Final = ("start(resume)", "start(join)")
"""How a session returns to a suspended branch."""


def anyone(sessions: tuple[str, ...], *verbs: str) -> Automaton:
    """Returns any one of these words by any one of these sessions."""
    return one_of(*[f"{session}:{verb}" for session in sessions for verb in verbs])


def _heard(session: str, sessions: tuple[str, ...]) -> Automaton:
    """Returns the branch as one session hears it, up to an outcome, after which the session has no part in it.

    The session's words while it works, while it is suspended, and while it has no part in it; separately for a healthy branch,
    for a rollback-only one, and for one that has timed out.
    """
    others = tuple([each for each in sessions if each != session])
    spoiled = anyone(others, *SPOILS)
    heard = repeated(spoiled)

    def own(*verbs: str) -> Automaton:
        return anyone((session,), *verbs)

    begin = own("start", "start(join)")
    held = repeated(sequence(own("end(suspend)"), own(*AGAIN)))
    done = sequence(optional(own("end(suspend)")), own("end"))
    at_work = sequence(begin, held, repeated(sequence(done, begin, held)))
    suspended = sequence(at_work, own("end(suspend)"))
    associated = one_of(at_work, suspended)
    apart = one_of(SILENCE, sequence(associated, own("end")))

    # Rollback-only: the answer to every end reports it, and a session that has ended, however it did, has no part in it.
    back = sequence(suspended, spoiled, heard, own(*AGAIN))
    kept = sequence(one_of(sequence(at_work, spoiled), back), heard)
    ended = one_of(
        sequence(associated, own(*SPOILS)),
        sequence(apart, spoiled),
        sequence(kept, own(*ENDS)),
        sequence(suspended, spoiled, heard, own("end", *SPOILS)),
    )
    joined = sequence(own("start(join)"), heard)
    asked = anyone(sessions, *PREPARES)
    doomed_apart = sequence(ended, repeated(one_of(sequence(joined, own(*ENDS)), spoiled, asked)))
    doomed_at_work = one_of(kept, sequence(doomed_apart, joined))
    doomed_suspended = sequence(suspended, spoiled, heard)

    # Timed out: a session that learns it, from the answer to a start or an end, has no part in it any more.
    late = sequence(one_of(associated, doomed_at_work, doomed_suspended), TIMEOUT, heard, own(*AGAIN, *ENDS))
    over = one_of(sequence(one_of(apart, doomed_apart), TIMEOUT), late)
    late_apart = sequence(over, repeated(one_of(own(*AGAIN), spoiled)))

    decided = sequence(
        "administrator:complete", repeated(anyone(sessions, *COMMITS, "rollback")), anyone(sessions, "forget")
    )  # fmt: skip
    prepared = sequence(anyone(sessions, "prepare"), one_of(anyone(sessions, "commit", "rollback"), decided))
    one_phase = anyone(sessions, "commit(one-phase)", "rollback", "prepare(read-only)")
    return one_of(
        sequence(apart, one_of(one_phase, prepared)),
        sequence(doomed_apart, anyone(sessions, *COMMITS, "rollback")),
        sequence(late_apart, anyone(sessions, *OUTCOMES)),
    )


def life(sessions: tuple[str, ...] = SESSION) -> Automaton:
    """Returns one branch from its start, the first word, which comes once, until the coordinator forgets it."""
    lives = together(*[_heard(session, sessions) for session in sessions])
    rest = repeated(one_of(*[word for word in lives.alphabet if not word.endswith(":start")]))
    return together(lives, sequence(anyone(sessions, "start"), rest))


def branch(sessions: tuple[str, ...] = SESSION) -> Automaton:
    """Returns any number of lives of one xid; while it is known, any session may ask for its timeout."""
    asked = interleaved(life(sessions), repeated(anyone(sessions, *ASIDES)))
    last = anyone(sessions, "forget", *OUTCOMES)
    return repeated(together(asked, sequence(anyone(sessions, "start"), repeated(one_of(*asked.alphabet)), last)))
