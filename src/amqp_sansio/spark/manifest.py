"""The manifest of a run: what was read, what was asked for, which files hold the tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import SCHEMA_VERSION
from amqp_sansio.spark.place import Place
from amqp_sansio.spark.writer import Written

KIND: Final = "amqp-sansio tables"


def manifest_of(place: Place, files: Iterable[Written], captures: Sequence[str], plan: ReplayOptions) -> bytes:
    """The manifest as JSON, the same for the same files."""
    tables: dict[str, dict[str, object]] = {name: {"rows": 0, "files": []} for name in plan.tables}
    for file in sorted(files):
        about = tables[file.table]
        assert isinstance(about["rows"], int)
        assert isinstance(about["files"], list)
        about["rows"] += file.rows
        about["files"].append({"path": place.relative(file.path), "rows": file.rows, "octets": file.octets})
    said = {
        "kind": KIND,
        "schema": SCHEMA_VERSION,
        "captures": [str(each) for each in captures],
        "ports": list(plan.ports),
        "payload": plan.body_head,
        "broker": plan.broker,
        "strict": plan.strict,
        "tables": tables,
    }
    return (json.dumps(said, indent=1) + "\n").encode()
