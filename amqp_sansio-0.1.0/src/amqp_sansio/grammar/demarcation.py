"""Class dtx, first grammar: which branch the work of one session belongs to, and that a session is of one kind only.

dtx-demarcation = C:SELECT *demarcation; demarcation = C:START C:END.  The bits of start (join, resume) and end (suspend, fail)
are in the fields and not in the grammar; here they are words of their own, as is whether the xid is the associated one.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, renamed, repeated, sequence, together
from amqp_sansio.grammar.automaton import Automaton, Word
from amqp_sansio.grammar.tx import CANCEL, SUBSCRIBE, subscribed

SELECT: Final = "client:dtx.select"
START: Final = "client:dtx.start"
"""Plain or with join."""
RESUME: Final = "client:dtx.start resume of a suspended xid"
END: Final = "client:dtx.end of the associated xid"
"""With fail or without."""
SUSPEND: Final = "client:dtx.end suspend of the associated xid"
END_SUSPENDED: Final = "client:dtx.end of a suspended xid"


def association(xid: str = "") -> Automaton:
    """One branch on one session, from start to end: suspended and resumed as often as wanted.

    What is suspended may be ended without being resumed (X/Open XA, xa_end of a suspended association).
    """
    start, resume, end, suspend, end_suspended = [word + xid for word in (START, RESUME, END, SUSPEND, END_SUSPENDED)]
    return sequence(start, repeated(sequence(suspend, resume)), one_of(end, sequence(suspend, end_suspended)))


def work(branches: int) -> Automaton:
    """Associations with that many branches, one active at a time: the others are suspended meanwhile."""
    xids = [f" {number}" for number in range(branches)]
    each = interleaved(*[repeated(association(xid)) for xid in xids])
    active = repeated(
        one_of(*[sequence(one_of(START + xid, RESUME + xid), one_of(END + xid, SUSPEND + xid)) for xid in xids])
    )  # fmt: skip

    def plain(word: Word) -> Word:
        return word.rstrip("0123456789 ")

    return renamed(together(each, active), plain)


def dtx(branches: int = 1) -> Automaton:
    """The demarcation of one session with distributed transactions; select "at least once", so again too."""
    return sequence(SELECT, interleaved(work(branches), repeated(SELECT)))


def demarcation(branches: int = 1) -> Automaton:
    """A session selects standard transactions, or distributed ones, or none, and subscribes with accept-mode none or not."""
    free = interleaved(repeated(SUBSCRIBE), optional(dtx(branches)))
    standard = renamed(subscribed(), lambda word: None if word == CANCEL else word)
    return one_of(standard, free)
