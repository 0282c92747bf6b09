"""All tables written by one process and published at once; `spark` has many processes write the same files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from amqp_sansio.captures.columns.place import MANIFEST, Place, Written
from amqp_sansio.captures.columns.writer import Writer, write_empty
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import SCHEMA_VERSION


class Store:
    """Takes batches of rows; `publish` makes them visible at once.

    PlaceError when `folder` cannot be written or another run is writing there, LocationError when nothing can open it.  What
    was published there before is replaced; until then it stays as it is.
    """

    def __init__(self, folder: str, options: ReplayOptions) -> None:
        self._options: Final = options
        self._place: Final = Place(folder)
        self._place.open()
        self._writer: Final = Writer(self._place.work, "part")
        self._files: list[Written] = []
        self.rows: dict[str, int] = dict.fromkeys(options.tables, 0)
        """Rows of each table so far."""

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Rows of a table."""
        with self._place.writing():
            self._files += self._writer.add(table, batch)
        self.rows[table] += batch.num_rows

    def publish(self, captures: Sequence[str], problems: Iterable[str] = ()) -> str:
        """Closes all files, publishes them and gives the folder back: the path or URI of the manifest."""
        place = self._place
        with place.writing():
            self._files += self._writer.rest()
            have = {file.table for file in self._files}
            self._files += [write_empty(place.work, name) for name in self._options.tables if name not in have]
        place.publish(self._files, manifest_of(place, self._files, captures, self._options, problems))
        place.discard()
        return f"{place.name}/{MANIFEST}"

    def discard(self) -> None:
        """Removes what was not published and gives the folder back."""
        self._place.discard()


def manifest_of(
    place: Place, files: Iterable[Written], captures: Sequence[str], options: ReplayOptions, problems: Iterable[str] = ()
) -> bytes:
    """The manifest as JSON, the same for the same files: what was read and asked for, which files hold the tables.

    Paths are relative to the folder of the tables; `file_id` counts the captures.
    """
    by_table: dict[str, list[dict[str, object]]] = {name: [] for name in options.tables}
    for file in sorted(files, key=lambda file: place.relative(file.path)):
        about: dict[str, object] = {"path": place.relative(file.path), "rows": file.rows, "octets": file.octets}
        by_table.setdefault(file.table, []).append(about)
    tables = {name: {"rows": sum([int(str(each["rows"])) for each in of]), "files": of} for name, of in by_table.items()}
    said = {
        "kind": "amqp-sansio tables",
        "schema": SCHEMA_VERSION,
        "captures": [str(each) for each in captures],
        "problems": list(problems),
        "ports": list(options.ports),
        "payload": options.body_head,
        "broker": options.broker,
        "brokers": dict(options.brokers),
        "strict": options.strict,
        "tables": tables,
    }
    return json.dumps(said, indent=1).encode() + b"\n"
