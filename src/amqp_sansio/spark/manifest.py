"""The manifest of a run, as `captures.columns.store` writes it: what was read and asked for, which files hold the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amqp_sansio.captures.columns import store
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.place import Place
from amqp_sansio.spark.writer import Written


def manifest_of(place: Place, files: Iterable[Written], captures: Sequence[str], options: ReplayOptions) -> bytes:
    """The manifest as JSON, the same for the same files; their paths are told from the folder of the tables."""
    by_table: dict[str, list[dict[str, object]]] = {name: [] for name in options.tables}
    for file in sorted(files):
        about: dict[str, object] = {"path": place.relative(file.path), "rows": file.rows, "octets": file.octets}
        by_table.setdefault(file.table, []).append(about)
    return store.manifest_of(options, [str(each) for each in captures], by_table).encode()
