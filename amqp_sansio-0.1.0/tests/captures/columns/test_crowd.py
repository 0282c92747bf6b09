"""Packets of many connections: each hears its own, as if there were no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from tests.captures import build
from tests.captures.build import Segment
from tests.captures.packets import Row, gathered, tables_of

from amqp_sansio.captures.columns.crowd import heard
from amqp_sansio.captures.columns.gathered import Records
from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES

ALL = ReplayOptions(tables=tuple(TABLES))


def capture(path: Path, count: int, server_port: int = 5672) -> str:
    """Connections that take turns."""
    talks = [
        build.conversation([b"x" * number], replace(Segment(True, 0), client_port=5660 + number, server_port=server_port))
        for number in range(count)
    ]
    turns = [each for segments in zip(*[talk.segments for talk in talks], strict=True) for each in segments]
    return build.write(path, build.pcap(build.records(turns)))


def crowd(paths: list[str]) -> dict[str, list[Row]]:
    table = pa.Table.from_batches([each for number, path in enumerate(paths) for each in read_file(path, number)])
    (packets,) = table.sort_by([(name, "ascending") for name in ("connection", "file_id", "offset")]).to_batches()
    replays: dict[int, ConnectionReplay] = {}

    def over(key: int, replay: ConnectionReplay) -> list[Records]:
        assert replays.pop(key) is replay
        return replay.finish()

    return gathered(heard(packets, lambda key: replays.setdefault(key, ConnectionReplay(ALL)), over))


def test_each_connection_hears_its_own_packets(tmp_path: Path) -> None:
    """Ports above and below that of the server, and the same as that."""
    path = capture(tmp_path / "one.pcap", 20)
    found, expected = crowd([path]), tables_of(path, ALL)
    assert len(found["connections"]) == 20
    for name, rows in expected.items():
        assert sorted(map(repr, found[name])) == sorted(map(repr, rows)), name


def test_damage_of_a_file_is_a_row_beside_those_of_connections(tmp_path: Path) -> None:
    path = capture(tmp_path / "one.pcap", 2)
    Path(path).write_bytes(Path(path).read_bytes()[:-7])
    found = crowd([path])
    assert [row["level"] for row in found["violations"]] == ["damage"]
    assert len(found["connections"]) == 2


def test_a_connection_may_go_on_in_another_file(tmp_path: Path) -> None:
    path = capture(tmp_path / "one.pcap", 3)
    octets = Path(path).read_bytes()
    size = 16 + int.from_bytes(octets[32:36], "little")
    halves = octets[: 24 + 3 * size], octets[:24] + octets[24 + 3 * size :]
    names = [build.write(tmp_path / f"{number}.pcap", half) for number, half in enumerate(halves)]
    found, whole = crowd(names), crowd([path])
    for name, rows in whole.items():
        places = ("capture", "file_id", "file_offset")
        kept = [[repr({key: row[key] for key in row if key not in places}) for row in each] for each in (found[name], rows)]
        assert sorted(kept[0]) == sorted(kept[1]), name
    assert {row["capture"] for row in found["messages"]} == set(names) - {names[0]}
