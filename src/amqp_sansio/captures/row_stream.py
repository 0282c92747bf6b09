"""Turns a capture file into a stream of rows, in the order in which the last octet of each observation was captured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Final, TypeAlias

from amqp_sansio.captures.conversation import Heard, MakeWitness
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.flows import Listener, Talk
from amqp_sansio.captures.packet import Warn
from amqp_sansio.captures.reader import Told, read_packets
from amqp_sansio.captures.rows import Row, row_of
from amqp_sansio.events.observed import CommandSeen, MethodSeen

HELD_ROWS: Final = 8192
"""Rows that may wait for an earlier one that is still incomplete; beyond it they come out of order."""
HELD_OCTETS: Final = 8 * 1024 * 1024
"""The same in octets, on the wire, of their headers, arguments and, if included, bodies."""

_Entry: TypeAlias = tuple[int, int, int, Talk, Row]


def transcript(
    path: str,
    make: MakeWitness,
    ports: Iterable[int],
    warn: Warn,
    secrets: bool = False,
    told: Told | None = None,
    bodies: str = "none",
) -> Iterator[tuple[Talk, Row]]:
    """Yields a row for each observation in the file at `path`, as its packets are read, in bounded memory.

    `make` makes the observer of a conversation; connections to the server `ports` always count as AMQP; `told` is called with
    the progress; `bodies` is one of `rows.BODIES`.  Raises CaptureError when the file cannot be read, or not to its end, after
    the rows before the fault.
    """
    waiting: list[_Entry] = []
    count = octets = 0

    def tell(talk: Talk, heard: Heard) -> None:
        nonlocal count, octets
        row = row_of(path, talk.name, heard, secrets, bodies)
        if row is not None:
            count += 1
            said = heard.said
            weight = 0
            if isinstance(said, CommandSeen | MethodSeen):
                weight = len(said.header or b"") + len(said.payload)
                if bodies != "none":
                    weight += len(said.body or b"")
            octets += weight
            heappush(waiting, (heard.packet, count, weight, talk, row))

    listener = Listener(make, tell, lambda talk: None, ports, warn)
    problem: CaptureError | None = None
    try:
        for packet in read_packets(path, warn, told):
            listener.hear(packet)
            if waiting:
                floor = listener.floor()
                while waiting and (waiting[0][0] < floor or len(waiting) > HELD_ROWS or octets > HELD_OCTETS):
                    _, _, weight, talk, row = heappop(waiting)
                    octets -= weight
                    yield talk, row
    except CaptureError as error:
        problem = error
    listener.finish()
    while waiting:
        _, _, _, talk, row = heappop(waiting)
        yield talk, row
    if problem is not None:
        raise problem
