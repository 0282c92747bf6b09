"""Class message: the life of one transfer, by accept-mode and acquire-mode; and a subscription with its credit.

message = *:TRANSFER [ R:ACQUIRE ] [ R:ACCEPT / R:REJECT / R:RELEASE ], with R the recipient of the transfer, and the drawing of
states in the class: START, NOT-ACQUIRED, ACQUIRED, END.

C:SUBSCRIBE / C:CANCEL / C:FLUSH / *:FLOW / *:STOP / *:SET-FLOW-MODE, with the rules of these commands.  Credit is there as far
as it is regular: whether there is some, not how much.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, repeated, sequence, together, words
from amqp_sansio.grammar.automaton import Automaton, Word, explore

ACQUIRE: Final = "recipient:message.acquire"
GOT: Final = "sender:message.acquired"
"""The result of acquire names the transfer."""
LOST: Final = "sender:message.acquired without it"
"""The result does not name it: another subscriber was first."""
COMPLETED: Final = "recipient:session.completed"
RELEASE: Final = "recipient:message.release"


def explicit(acquired: bool) -> Automaton:
    """Returns one transfer with accept-mode explicit, pre-acquired or not.

    "The recipient MUST have acquired a message in order to accept it" (or reject it); release returns an acquired message and
    forgets any other.  After each of them "the command-id may no longer be referenced from other commands".  Completion settles
    nothing, and is repeated until the sender has confirmed it.
    """
    settled = optional(one_of("recipient:message.accept", "recipient:message.reject", RELEASE))
    browsed = sequence(_tries(), optional(one_of(sequence(words(ACQUIRE, GOT), settled), RELEASE)))
    talk = settled if acquired else browsed
    return sequence(_transfer(acquired), interleaved(talk, repeated(COMPLETED)))


def none(acquired: bool) -> Automaton:
    """Returns one transfer with accept-mode none: it only needs its completion, after which no command names it.

    A browsed transfer may be acquired (as deployed brokers and their tests do; the text names a wrong field), and its
    completion may come while the result is in flight.
    """
    if acquired:
        return sequence(_transfer(acquired), repeated(COMPLETED))
    looked_at = sequence(_tries(), optional(one_of(words(ACQUIRE, GOT), RELEASE)))
    # Its own completion binds the recipient, but the result of an earlier acquire still comes.
    bound = sequence(repeated(one_of(ACQUIRE, RELEASE)), repeated(COMPLETED))
    return sequence(_transfer(acquired), together(interleaved(looked_at, repeated(COMPLETED)), bound))


def transfer(accept_mode: int) -> Automaton:
    """Returns every transfer of an accept-mode: 0 explicit, 1 none."""
    kind = none if accept_mode else explicit
    return one_of(kind(True), kind(False))


def _transfer(acquired: bool) -> Automaton:
    return words("sender:message.transfer pre-acquired" if acquired else "sender:message.transfer not-acquired")


def _tries() -> Automaton:
    """Returns failed acquires."""
    return repeated(words(ACQUIRE, LOST))


_FLOWS = ("client:message.flow message", "client:message.flow byte")
_ZEROES = ("client:message.stop", "client:message.flush")
_ENDS = ("server:message.stop completed", "server:message.flush completed")


_Balance: TypeAlias = tuple[frozenset[Word], Word, frozenset[Word]]
"""The units that may have credit, the awaited completion of a stop or flush, and the units granted after it."""


def subscription() -> Automaton:
    """Returns one destination: after subscribe, commands about it until the cancel, and transfers until that completes."""
    about = repeated(one_of(*_FLOWS, *_ZEROES, *_ENDS, "client:message.set-flow-mode", "server:message.transfer"))
    late = repeated(one_of(*_ENDS, "server:message.transfer"))
    cancelled = sequence("client:message.cancel", late, "server:message.cancel completed")
    return sequence("client:message.subscribe", about, optional(cancelled))


def credit() -> Automaton:
    """Returns where there may be credit: after both units were granted, and not after the completion of a stop or a flush.

    The mode may be set while both balances are zero when the command is executed: before any flow, and after a stop or flush
    that followed the last flow.  Only one stop or flush is incomplete at a time.
    """
    start: _Balance = (frozenset(), "", frozenset())

    def moves(at: _Balance) -> dict[Word, _Balance]:
        balance, under_way, since = at
        found: dict[Word, _Balance] = {
            flow: (balance | {flow}, under_way, since | {flow} if under_way else since) for flow in _FLOWS
        }
        if under_way:
            found[under_way] = (since, "", frozenset())
        else:
            found.update({zero: (balance, end, frozenset()) for zero, end in zip(_ZEROES, _ENDS, strict=True)})
        if not (since if under_way else balance):
            found["client:message.set-flow-mode"] = at
        if balance == frozenset(_FLOWS):
            found["server:message.transfer"] = at
        return found

    return explore(start, moves, lambda _: True)


def subscription_with_credit() -> Automaton:
    """Returns both: the commands about one subscription, and transfers only where there may be credit."""
    return together(subscription(), credit())
