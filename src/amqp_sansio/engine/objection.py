"""An objection to a command of either side."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from amqp_sansio.kernel.machine import Machine, Refusal


class Objection(NamedTuple):
    """Why a command is illegal.

    `legal`: what would have been legal; `code`: an error code; `sure`: False when only this side's view of the conversation
    speaks against it.  When one of our limits is exceeded, `rule` is "limits." and its name, and `legal` what it allows.
    """

    rule: str
    said: str
    legal: tuple[str, ...]
    code: int
    text: str
    sure: bool = True


def refused(machine: Machine, speaker: str, verb: str) -> Refusal | None:
    """Returns the refusal that `machine` would give, without changing its state."""
    return None if machine.can(speaker, verb) else machine.step(speaker, verb)


def some(things: Iterable[object]) -> list[str]:
    """Returns the first eight, for an error text."""
    return [f"{thing!r:.80}" for thing in islice(things, 8)]
