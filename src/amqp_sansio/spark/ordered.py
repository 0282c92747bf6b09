"""Sorts the bundles of one connection: in memory up to a limit, beyond it on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from operator import itemgetter
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from amqp_sansio.captures.columns.bundles import BUNDLES_ARROW, ORDER

if TYPE_CHECKING:
    import pandas as pd

HELD_OCTETS: Final = 32 * 1024 * 1024
"""Octets of the bundles of one connection held in memory; the rest goes to a file, because a batch may be large."""

_PACKETS: Final = "packets"
_HEAD: Final = [name for name in BUNDLES_ARROW.names if name != _PACKETS]
_KEY: Final = itemgetter(*[_HEAD.index(name) for name in ORDER])


def in_order(frames: Iterable[pd.DataFrame], held: int = HELD_OCTETS) -> Iterator[pa.RecordBatch]:
    """Yields the bundles in these frames, each as a batch of its own, sorted as `captures.columns.bundles.opened` requires."""
    heads: list[tuple[Any, ...]] = []
    places: list[tuple[int, int]] = []
    at = 0
    with SpooledTemporaryFile(held, dir=_scratch()) as spool:
        for frame in frames:
            for head in zip(*(frame[name] for name in _HEAD), strict=True):
                heads.append(head)
            for packets in frame[_PACKETS]:
                places.append((at, len(packets)))
                at += spool.write(packets)
        for index in sorted(range(len(heads)), key=lambda index: _KEY(heads[index])):
            place, octets = places[index]
            spool.seek(place)
            values = [*heads[index], spool.read(octets)]
            yield pa.RecordBatch.from_arrays(
                [pa.array([value], field.type) for value, field in zip(values, BUNDLES_ARROW, strict=True)],
                schema=BUNDLES_ARROW,
            )


def _scratch() -> str | None:
    """Returns Spark's folder for temporary files; None for the system's."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
