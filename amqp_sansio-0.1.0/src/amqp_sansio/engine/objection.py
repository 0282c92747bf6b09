"""What is wrong with a command of either side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from amqp_sansio.kernel.machine import Machine, Refusal


class Objection(NamedTuple):
    """`legal`: what would have been; `code`: an error code; `sure`: False where only this session's hearing speaks against it.

    What one of our limits stands in the way of has the rule "limits." and its name, and in `legal` what it lets pass.
    """

    rule: str
    said: str
    legal: tuple[str, ...]
    code: int
    text: str
    sure: bool = True


def refused(machine: Machine, speaker: str, verb: str) -> Refusal | None:
    """What `machine` would answer; it stays where it is."""
    return None if machine.can(speaker, verb) else machine.step(speaker, verb)


def machine_in(machine: Machine, states: object) -> Machine:
    """The machine in states that a snapshot names.  ValueError when its table has no such states."""
    if not isinstance(states, tuple) or not states or not set(states) <= set(machine.table.states):
        raise ValueError(f"states {states!r:.80} of {machine.table.name}")
    machine.states = tuple([state for state in machine.table.states if state in states])
    return machine


def some(things: Iterable[object]) -> list[str]:
    """The first eight, as they are shown to people."""
    shown: list[str] = []
    for thing in things:
        if len(shown) == 8:
            break
        shown.append(f"{thing!r:.80}")
    return shown
