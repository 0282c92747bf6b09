"""Joins two machines in memory, and brings a fresh one to the same place again with the recorded octets.

A *script* is a generator of the actions of one side: it yields whenever it waits for the other side.  `record` runs it against
a live partner and records what the partner sent at each wait; `replay` runs it again with those octets alone, which is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.handshake import ClientHandshake, ServerHandshake
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Event

Machine: TypeAlias = ClientConnection | ServerConnection
Here = TypeVar("Here", bound=ClientHandshake | ServerHandshake)
There = TypeVar("There", bound=ClientHandshake | ServerHandshake)
Script: TypeAlias = Callable[[Here], Iterator[None]]
Answer: TypeAlias = Callable[[There, Event], None]
"""The partner's reaction to an event."""


def pump(here: Here, there: There, answer: Answer[There] | None = None) -> bytes:
    """Carries octets both ways until both are silent; returns what `there` sent."""
    said: list[bytes] = []
    while True:
        out, back = here.data_to_send(), there.data_to_send()
        if not out and not back:
            return b"".join(said)
        said.append(back)
        there.receive_data(out)
        for event in there.events():
            if answer is not None:
                answer(there, event)
        here.receive_data(back)
        for _event in here.events():
            pass


def record(here: Here, there: There, script: Script[Here], answer: Answer[There] | None = None) -> tuple[bytes, ...]:
    """Returns what `there` sends at each wait of the script of `here`."""
    said: list[bytes] = []
    for _wait in script(here):
        said.append(pump(here, there, answer))
    return tuple(said)


def replay(here: Here, script: Script[Here], said: tuple[bytes, ...]) -> None:
    """Brings `here` to where it was when `said` was recorded; discards its output."""
    waits = iter(said)
    for _wait in script(here):
        here.data_to_send()
        here.receive_data(next(waits))
        for _event in here.events():
            pass
    here.data_to_send()
