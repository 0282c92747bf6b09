"""Feedback of one half of a session: what the receiver of commands says about them, and the timeout both may speak of."""

from __future__ import annotations

from amqp_sansio.grammar.algebra import answered, interleaved, one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton


def feedback(receiver: str, sender: str, most: int = 1) -> Automaton:
    """completed and confirmed at any time, expected once for each flush that asked for it ("never sent spontaneously").

    `most` bounds the flushes that may be on their way at one time; without a bound the language is not regular.
    """
    sets = repeated(one_of(f"{receiver}:completed", f"{receiver}:confirmed"))
    return interleaved(sets, answered(f"{sender}:flush(expected)", f"{receiver}:expected", most=most))


def timeouts(asks: str, grants: str, most: int = 1) -> Automaton:
    """request-timeout and its "one-to-one reply" timeout; `most` as for `feedback`."""
    return answered(f"{asks}:request-timeout", f"{grants}:timeout", most=most)


def life(sender: str, receiver: str, result: bool = False) -> Automaton:
    """What is said about one command id, in the order in which the receiver hears and says it.

    A set may name an id again until known-completed has named it ("MUST be excluded").  The sender may echo every completed.
    The result comes before the completion of the command that has one.
    """
    completed, confirmed, known = f"{receiver}:completed", f"{receiver}:confirmed", f"{sender}:known-completed"
    done = sequence(completed, repeated(one_of(completed, confirmed)), optional(sequence(known, repeated(known))))
    outcome = interleaved(repeated(confirmed), f"{receiver}:result") if result else repeated(confirmed)
    return sequence(f"{sender}:command", one_of(sequence(outcome, done), sequence(repeated(confirmed), f"{receiver}:exception")))
