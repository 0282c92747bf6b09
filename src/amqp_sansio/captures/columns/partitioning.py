"""Estimates the volume of each connection, and assigns connections to tasks, so that no task runs long after the others.

The estimate uses samples: the first megabytes of some splits, and of those one packet in PACKETS_APART.  What they miss only
makes tasks less even.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapreplace
from typing import Final

import numpy as np

from amqp_sansio.captures.columns.batch import Parsed
from amqp_sansio.captures.columns.bundles import CARRIED, stamp_of
from amqp_sansio.captures.columns.heads import records
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import size_of
from amqp_sansio.captures.splits import Split, over_split

SAMPLES: Final = 64
"""The number of splits sampled, each up to its first STRETCH_OCTETS, which takes some 4 ms."""
PACKETS_APART: Final = 4
"""One packet in this many is examined."""
PACKET_WEIGHT: Final = 256
"""The cost of a packet, in octets of payload."""
LEAST_FILE_OCTETS: Final = 64 * 1024
"""Smaller files are not sampled."""
SMALL_PART: Final = 16
"""A connection with less than one in this many parts of a task's load is placed at random."""
LAST_TASK: Final = 0.3
"""The load of the last task, relative to the first."""


def weights(splits: Sequence[Split], samples: int = SAMPLES) -> dict[int, int]:
    """Returns for each connection found in samples of these splits a weight that grows with the cost of its replay.

    A compressed or unreadable file contributes nothing; its reader will report the fault.
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
    """Returns the task, below `tasks`, of each connection with a weight.

    Tasks that start later get less, down to LAST_TASK of the first ones, so that none runs long at the end.  A connection
    without a weight may go anywhere.
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
