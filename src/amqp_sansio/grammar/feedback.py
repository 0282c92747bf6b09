"""Feedback of one half of a session: the receiver's controls about commands, and the timeout that either side may request."""

from __future__ import annotations

from amqp_sansio.grammar.algebra import answered, interleaved, one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton


def sets(receiver: str) -> Automaton:
    """Returns completed and confirmed, at any time."""
    return repeated(one_of(f"{receiver}:session.completed", f"{receiver}:session.confirmed"))


def expected(receiver: str, sender: str, most: int | None = None) -> Automaton:
    """Returns expected, which is "never sent spontaneously": once for each flush that asked for it.

    Counting is not regular.  With `most` (1 or more), at most that many flushes are unanswered at a time; with None, expected
    only has to follow some flush that asked for it.
    """
    asks, answers = f"{sender}:session.flush expected", f"{receiver}:session.expected"
    if most is not None:
        return answered(asks, answers, most=most)
    return optional(sequence(asks, repeated(one_of(asks, answers))))


def life(sender: str, receiver: str, result: bool = False) -> Automaton:
    """Returns the words about one command id, in the order in which its receiver hears and sends them.

    A set may repeat an id until known-completed has named it ("MUST be excluded").  The sender may confirm every completed.
    The result comes before the completion of a command that has one.  An exception ends everything.
    """
    completed, confirmed = f"{receiver}:session.completed", f"{receiver}:session.confirmed"
    known = f"{sender}:session.known-completed"
    done = sequence(completed, repeated(one_of(completed, confirmed)), optional(sequence(known, repeated(known))))
    before = repeated(confirmed)
    outcome = interleaved(before, f"{receiver}:execution.result") if result else before
    failed = sequence(before, f"{receiver}:execution.exception")
    return sequence(f"{sender}:command", one_of(sequence(outcome, done), failed))
