"""Replays packets of many connections: splits their columns once, and passes each connection its part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from amqp_sansio.captures.columns.gathered import Gathered, Records
from amqp_sansio.captures.columns.heads import edges_of
from amqp_sansio.captures.columns.replay import ConnectionReplay, Ends, ends_of, listed
from amqp_sansio.captures.replay.options import ReplayOptions

ENDS: Final = ("src", "sport", "dst", "dport")


def heard(
    packets: pa.RecordBatch,
    replay_of: Callable[[int], ConnectionReplay],
    behind: Callable[[int, ConnectionReplay], list[Records]],
) -> Iterator[Records]:
    """Yields the records that packets produce, which are sorted by connection, and in order within each.

    `replay_of` returns the replay of a connection by its number; `behind` is called when it has processed its part.
    """
    keys = packets.column("connection").to_numpy()
    edges = edges_of(keys)
    starts = edges[:-1]
    files = packets.column("file_id").to_numpy()
    captures = packets.column("capture")
    firsts = pa.array(starts)
    ends = list(map(_ends_of, *[packets.column(name).take(firsts).to_pylist() for name in ENDS]))
    highest = np.repeat(np.array([each[3] for each in ends], np.int64), np.diff(edges))
    rows = listed(packets, (packets.column("sport").to_numpy() == highest).astype(np.int64))
    # Edges where the file, and so the capture, changes: between them, a connection's packets are processed as one batch.
    turns = np.concatenate(([0], np.cumsum(files[1:] != files[:-1])))
    alone = (turns[starts] == turns[edges[1:] - 1]).tolist()
    capture, file = "", None
    for key, start, stop, both, one in zip(
        keys[starts].tolist(), starts.tolist(), edges[1:].tolist(), ends, alone, strict=True
    ):
        replay = replay_of(key)
        if one and key and both[1] != both[3]:
            if file != files[start]:
                capture, file = captures[start].as_py(), files[start]
            yield from replay.hear(rows, start, stop, capture, both)
        else:
            yield from replay.feed(packets.slice(start, stop - start))
        yield from behind(key, replay)


def heard_in_order(batches: Iterable[pa.RecordBatch], options: ReplayOptions, gathered: Gathered) -> Iterator[Records]:
    """Yields the records of packets that come in `bundles.ORDER`, connection after connection; replays many at once."""
    going: dict[int, ConnectionReplay] = {}
    last = 0

    def replay_of(key: int) -> ConnectionReplay:
        if key not in going:
            going[key] = ConnectionReplay(options, gathered)
        return going[key]

    def behind(key: int, replay: ConnectionReplay) -> list[Records]:
        if key == last:  # it may go on
            return []
        del going[key]
        return list(replay.finish())

    for packets in batches:
        keys = packets.column("connection")
        first, last = keys[0].as_py(), keys[len(keys) - 1].as_py()
        for key in [key for key in going if key != first]:
            yield from going.pop(key).finish()
        yield from heard(packets, replay_of, behind)
    for replay in going.values():
        yield from replay.finish()


def _ends_of(source: str, sport: int, target: str, dport: int) -> Ends:
    return ends_of(source, sport, target, dport) if source else (b"", 0, b"", 0)  # a note about a place in a file
