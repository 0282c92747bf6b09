"""About how much each connection has sent, and which task replays it: so that no task runs long after the others.

Samples tell: of some splits the first megabytes, and of those one packet in PACKETS_APART.  What they miss costs evenness
only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapreplace
from typing import Final

import numpy as np

from amqp_sansio.captures.columns.batch import Parsed
from amqp_sansio.captures.columns.heads import records
from amqp_sansio.captures.columns.payloads import CARRIED, stamp_of
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import size_of
from amqp_sansio.captures.splits import Split, over_split

SAMPLES: Final = 64
"""Splits that are looked into, each up to its first STRETCH_OCTETS, which takes some 4 ms."""
PACKETS_APART: Final = 4
"""One packet in this many is looked at."""
PACKET_WEIGHT: Final = 256
"""Octets of payload that cost as much as a packet does."""
LEAST_FILE_OCTETS: Final = 64 * 1024
"""Smaller files are not looked into."""
SMALL_PART: Final = 16
"""A connection that has less than this part (one in 16) of what a task gets is left to chance."""
LAST_TASK: Final = 0.3
"""What the last task has to do, where the first has 1."""


def weights(splits: Sequence[Split], samples: int = SAMPLES) -> dict[int, int]:
    """Of each connection that is found in samples of these splits a number that grows with what its replay costs.

    A compressed or unreadable file tells nothing; its reader will report that.
    """
    found: dict[int, int] = {}
    for split in splits[:: max(1, -(-len(splits) // samples))]:
        if size_of(split.path) < LEAST_FILE_OCTETS or stamp_of(split.path) == CARRIED:
            continue
        try:
            stretch = next(over_split(split), None)
        except CaptureError:
            continue
        if stretch is None or not stretch.positions:
            continue
        chosen = stretch.positions[::PACKETS_APART]
        parsed = Parsed(stretch.octets, records(stretch.octets, stretch.walk, chosen), split.path, split.file_id, stretch.base)
        keys, places = np.unique(parsed.column("connection").to_numpy(), return_inverse=True)
        costs = np.bincount(places, parsed.column("length").to_numpy() + PACKET_WEIGHT)
        for key, cost in zip(keys.tolist(), costs.tolist(), strict=True):
            found[key] = found.get(key, 0) + int(cost)
    return found


def shared_out(weights: Mapping[int, int], tasks: int) -> dict[int, int]:
    """The task, below `tasks`, of each connection that weighs something.

    Tasks that are begun late have less to do, down to LAST_TASK of what the first ones have: at the end nobody waits long.  A
    connection that is not named may go anywhere.
    """
    least = sum(weights.values()) / (tasks * SMALL_PART)
    room = [1 - (1 - LAST_TASK) * task / max(1, tasks - 1) for task in range(tasks)]
    emptiest = [(0.0, task) for task in range(tasks)]
    chosen: dict[int, int] = {}
    for key, weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
        if weight < least:
            break
        full, task = emptiest[0]
        chosen[key] = task
        heapreplace(emptiest, (full + weight / room[task], task))
    return chosen
