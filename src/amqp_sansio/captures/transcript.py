"""A capture file as a stream of what was heard, in the order in which the last octet of each thing was captured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Final, TypeAlias

from amqp_sansio.captures.conversation import Heard, MakeWitness
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.flows import Listener, Talk
from amqp_sansio.captures.packet import Warn
from amqp_sansio.captures.reader import read_packets

HELD: Final = 8192
"""Things heard that wait for something captured before them and not yet whole; beyond it they come out of order."""

_Entry: TypeAlias = tuple[int, int, Talk, Heard]


def transcript(path: str, make: MakeWitness, ports: Iterable[int], warn: Warn) -> Iterator[tuple[Talk, Heard]]:
    """Everything heard in the file at `path`, as its packets are read: nothing is kept beyond named limits.

    `make` makes the observer of a conversation, `ports` are server ports that count in any case.  When the file cannot be read
    (any further), what was good comes first and then CaptureError.
    """
    waiting: list[_Entry] = []
    count = 0

    def tell(talk: Talk, heard: Heard) -> None:
        nonlocal count
        count += 1
        heappush(waiting, (heard.packet, count, talk, heard))

    listener = Listener(make, tell, lambda talk: None, ports, warn)
    problem: CaptureError | None = None
    try:
        for packet in read_packets(path, warn):
            listener.hear(packet)
            if waiting:
                floor = listener.floor()
                while waiting and (waiting[0][0] < floor or len(waiting) > HELD):
                    entry = heappop(waiting)
                    yield entry[2], entry[3]
    except CaptureError as error:
        problem = error
    listener.finish()
    while waiting:
        entry = heappop(waiting)
        yield entry[2], entry[3]
    if problem is not None:
        raise problem
