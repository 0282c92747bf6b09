"""Class dtx, first grammar: which branch the work of one session belongs to, and that a session is of one kind only.

dtx-demarcation = C:SELECT *demarcation; demarcation = C:START C:END. The grammar leaves out the bits of start (join, resume)
and end (suspend, fail), which are fields; here each is a word of its own, and so is whether the xid is the associated one.
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
