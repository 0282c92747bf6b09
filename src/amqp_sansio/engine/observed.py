"""What a third person hears: who said what, and where."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from amqp_sansio.events import Observation

Speaker: TypeAlias = Literal["C", "S"]
"""C: the side that opened the connection, or that sent the protocol header first.  S: the other one."""


class Observed(NamedTuple):
    """What was observed, who said it, and in which octets of that speaker's stream (end is the one behind the last)."""

    speaker: Speaker
    start: int
    end: int
    event: Observation
