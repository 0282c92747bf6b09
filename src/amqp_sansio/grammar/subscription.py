"""Class message: a subscription and its credit, as far as they are regular (whether there is credit, not how much).

C:SUBSCRIBE / C:CANCEL / C:FLUSH / *:FLOW / *:STOP / *:SET-FLOW-MODE, with the rules of these commands.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, repeated, sequence, together
from amqp_sansio.grammar.automaton import START, Automaton, Word

_FLOWS = ("client:flow(message)", "client:flow(byte)")
_ZEROES = ("client:stop", "client:flush")
_ENDS = ("server:stop completed", "server:flush completed")


def subscription() -> Automaton:
    """One destination from subscribe on: commands about it until it is cancelled, transfers until the cancel is complete."""
    about = repeated(one_of(*_FLOWS, *_ZEROES, *_ENDS, "client:set-flow-mode", "server:transfer"))
    late = repeated(one_of(*_ENDS, "server:transfer"))
    cancelled = sequence("client:cancel", late, "server:cancel completed")
    return sequence("client:subscribe", about, optional(cancelled))


def credit() -> Automaton:
    """Whether there may be credit: none before both units were granted, none behind the completion of a stop or a flush.

    The mode may be set while one can be sure that both balances are zero: before any flow, and when a stop or flush that came
    behind the last flow is complete.  One stop or flush is under way at a time.
    """
    # (message granted, octets granted, what is under way, granted since that was asked)
    states: dict[tuple[frozenset[Word], Word, frozenset[Word]], int] = {}
    moves: list[dict[Word, int]] = []

    def number(state: tuple[frozenset[Word], Word, frozenset[Word]]) -> int:
        if state not in states:
            states[state] = len(moves)
            moves.append({})
            granted, under_way, since = state
            found: dict[Word, tuple[frozenset[Word], Word, frozenset[Word]]] = {}
            for flow in _FLOWS:
                found[flow] = (granted | {flow}, under_way, since | {flow} if under_way else since)
            if not under_way:
                found["client:stop"] = (granted, _ENDS[0], frozenset())
                found["client:flush"] = (granted, _ENDS[1], frozenset())
            else:
                found[under_way] = (since, "", frozenset())
            if not granted and not under_way:
                found["client:set-flow-mode"] = state
            if granted == frozenset(_FLOWS):
                found["server:transfer"] = state
            here = states[state]
            for word, to in found.items():
                moves[here][word] = number(to)
        return states[state]

    start = number((frozenset(), "", frozenset()))
    assert start == START
    return Automaton(moves, range(len(moves)))


def conversation() -> Automaton:
    """Both: the commands about one subscription, and transfers only where there may be credit."""
    return together(subscription(), credit())


def others() -> Automaton:
    """What the class says about no subscription and no transfer."""
    return interleaved(repeated("client:resume"), repeated("server:resume"))
