"""Class message: a subscription and its credit, as far as they are regular: whether there is credit, not how much.

C:SUBSCRIBE / C:CANCEL / C:FLUSH / *:FLOW / *:STOP / *:SET-FLOW-MODE, with the rules of these commands.
"""

from __future__ import annotations

from typing import TypeAlias

from amqp_sansio.grammar.algebra import one_of, optional, repeated, sequence, together
from amqp_sansio.grammar.automaton import Automaton, Word, explore

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


def conversation() -> Automaton:
    """Returns both: the commands about one subscription, and transfers only where there may be credit."""
    return together(subscription(), credit())
