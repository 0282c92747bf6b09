"""The manifest says what was read, what was asked for and which files there are, the same for the same files."""

from __future__ import annotations

import json
from pathlib import Path

from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import SCHEMA_VERSION
from amqp_sansio.spark.manifest import manifest_of
from amqp_sansio.spark.place import Place
from amqp_sansio.spark.writer import Written


def test_the_manifest(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    files = [
        Written("dtx", "day", f"{place.work}/dtx/day/{name}.parquet", rows, 10 * rows) for name, rows in (("b", 2), ("a", 1))
    ]
    options = ReplayOptions(ports=(5672,), broker="north", tables=("credit", "dtx"), body_head=4)
    made = manifest_of(place, files, ["one.pcap"], options)
    assert made == manifest_of(place, files[::-1], ["one.pcap"], options)
    assert json.loads(made) == {
        "kind": "amqp-sansio tables",
        "schema": SCHEMA_VERSION,
        "captures": ["one.pcap"],
        "problems": [],
        "ports": [5672],
        "payload": 4,
        "broker": "north",
        "strict": False,
        "tables": {
            "credit": {"rows": 0, "files": []},
            "dtx": {
                "rows": 3,
                "files": [
                    {"path": "dtx/day/a.parquet", "rows": 1, "octets": 10},
                    {"path": "dtx/day/b.parquet", "rows": 2, "octets": 20},
                ],
            },
        },
    }
