"""Class message: a subscription and its credit, as far as they are regular (whether there is credit, not how much).

C:SUBSCRIBE / C:CANCEL / C:FLUSH / *:FLOW / *:STOP / *:SET-FLOW-MODE, with the rules of these commands.
"""

from __future__ import annotations

from typing import TypeAlias

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, repeated, sequence, together
from amqp_sansio.grammar.automaton import Automaton, Word, explore

_FLOWS = ("client:message.flow message", "client:message.flow byte")
_ZEROES = ("client:message.stop", "client:message.flush")
_ENDS = ("server:message.stop completed", "server:message.flush completed")


_Balance: TypeAlias = tuple[frozenset[Word], Word, frozenset[Word]]
"""Which units may have credit, the completion of the stop or flush under way, and which units were granted behind it."""


def subscription() -> Automaton:
    """One destination from subscribe on: commands about it until it is cancelled, transfers until the cancel is complete."""
    about = repeated(one_of(*_FLOWS, *_ZEROES, *_ENDS, "client:message.set-flow-mode", "server:message.transfer"))
    late = repeated(one_of(*_ENDS, "server:message.transfer"))
    cancelled = sequence("client:message.cancel", late, "server:message.cancel completed")
    return sequence("client:message.subscribe", about, optional(cancelled))


def credit() -> Automaton:
    """Whether there may be credit: none before both units were granted, none behind the completion of a stop or a flush.

    The mode may be set while both balances are zero when the command is carried out: before any flow, and behind a stop or
    flush that came behind the last flow.  One stop or flush is under way at a time.
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


def conversation() -> Automaton:
    """Both: the commands about one subscription, and transfers only where there may be credit."""
    return together(subscription(), credit())


def resumes() -> Automaton:
    """Interrupted transfers are resumed at any time, by either side."""
    return interleaved(repeated("client:message.resume"), repeated("server:message.resume"))
