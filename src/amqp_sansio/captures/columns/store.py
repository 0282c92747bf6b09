"""Tables as Parquet files: DIR/<table>/capture_date=.../broker=.../*.parquet, and a manifest that is written last.

`spark.writer` writes the same files, and is another thing: many processes do, to any file system, in bounded memory, and what
they wrote is published elsewhere; here one process does, and moves all of it into place at once.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from amqp_sansio.captures.columns.parquet import OPEN_FILES, Growing, file_schema, parted
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import SCHEMA_VERSION, TABLES
from amqp_sansio.errors import AmqpError

MANIFEST: Final = "_MANIFEST.json"
_WORK: Final = ".work"


class StoreError(AmqpError):
    """The folder cannot be written."""


class _File(Growing):
    """One in the folder of the work."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path: Final = path
        super().__init__(str(path), schema)


class Store:
    """Takes batches of rows; `publish` makes them visible at once.  StoreError when `folder` cannot be written.

    What was published there before is replaced; until then it stays as it is.
    """

    def __init__(self, folder: str, options: ReplayOptions) -> None:
        self._root: Final = Path(folder)
        self._work: Final = self._root / _WORK
        self._options: Final = options
        self._files: dict[tuple[str, str], _File] = {}
        self._done: dict[str, list[dict[str, object]]] = {name: [] for name in options.tables}
        self._count = 0
        self.rows: dict[str, int] = dict.fromkeys(options.tables, 0)
        """Rows of each table so far."""
        try:
            shutil.rmtree(self._work, ignore_errors=True)
            self._work.mkdir(parents=True)
        except OSError as error:
            raise StoreError(f"{folder}: cannot be written: {error.strerror or error}") from error

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Rows of a table."""
        try:
            for folder, part in parted(batch):
                key = table, folder
                file = self._files.get(key)
                if file is None:
                    if len(self._files) >= OPEN_FILES:
                        self._close(next(iter(self._files)))
                    path = self._work / table / folder / f"part-{self._count:05d}.parquet"
                    self._count += 1
                    file = self._files[key] = _File(path, part.schema)
                file.add(part)
                self.rows[table] += part.num_rows
        except OSError as error:
            raise StoreError(f"{self._root}: cannot be written: {error.strerror or error}") from error

    def _close(self, key: tuple[str, str]) -> None:
        file = self._files.pop(key)
        file.close()
        path = str(file.path.relative_to(self._work))
        self._done[key[0]].append({"path": path, "rows": file.rows, "octets": file.path.stat().st_size})

    def publish(self, captures: Sequence[str], problems: Iterable[str] = ()) -> Path:
        """Closes all files, moves them into place and writes the manifest: its path."""
        manifest = self._root / MANIFEST
        try:
            for key in list(self._files):
                self._close(key)
            for name in self._options.tables:
                if not self._done[name]:  # an empty file tells the columns
                    file = _File(self._work / name / "part-00000.parquet", file_schema(name))
                    file.close()
                    self._done[name].append(
                        {"path": f"{name}/part-00000.parquet", "rows": 0, "octets": file.path.stat().st_size}
                    )
            text = manifest_of(self._options, captures, self._done, problems)
            (self._work / MANIFEST).write_text(text, encoding="ascii")
            manifest.unlink(missing_ok=True)
            for name in TABLES:
                shutil.rmtree(self._root / name, ignore_errors=True)
                if name in self._done:
                    os.replace(self._work / name, self._root / name)
            os.replace(self._work / MANIFEST, manifest)
            shutil.rmtree(self._work, ignore_errors=True)
        except OSError as error:
            raise StoreError(f"{self._root}: cannot be written: {error.strerror or error}") from error
        return manifest

    def discard(self) -> None:
        """Removes what was not published."""
        self._files.clear()
        shutil.rmtree(self._work, ignore_errors=True)


def manifest_of(
    options: ReplayOptions,
    captures: Sequence[str],
    files: dict[str, list[dict[str, object]]],
    problems: Iterable[str] = (),
) -> str:
    """The manifest as JSON: what was read, what was asked for, which files hold the tables.  `file_id` counts the captures."""
    tables = {
        name: {"rows": sum([int(str(file["rows"])) for file in of]), "files": sorted(of, key=lambda file: str(file["path"]))}
        for name, of in files.items()
    }
    said = {
        "kind": "amqp-sansio tables",
        "schema": SCHEMA_VERSION,
        "captures": list(captures),
        "problems": list(problems),
        "ports": list(options.ports),
        "payload": options.body_head,
        "broker": options.broker,
        "brokers": dict(options.brokers),
        "strict": options.strict,
        "tables": tables,
    }
    return json.dumps(said, indent=1) + "\n"
