"""The plain runner: rows are those of the connections one by one, whatever the sizes and the order of files."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from tests.captures.packets import gathered, tables_of

from amqp_sansio.captures.columns import runner as module
from amqp_sansio.captures.columns.runner import disordered, records_of, run
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from bench.traffic import make

DATA = Path(__file__).parents[2] / "data" / "captures"
ALL = ReplayOptions(tables=tuple(TABLES))

Plain = dict[str, list[str]]


def plain(tables: dict[str, list[dict[str, object]]], but: tuple[str, ...] = ()) -> Plain:
    return {
        name: sorted(repr({key: value for key, value in row.items() if key not in but}) for row in rows)
        for name, rows in sorted(tables.items())
    }


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traffic") / "x.pcap"
    make(path, 600_000, connections=9, faults=0.1, repeats=0.02)
    return path


def test_rows_are_those_of_the_connections_one_by_one(traffic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = plain(tables_of(str(traffic), ALL))
    assert plain(gathered(records_of([str(traffic)], ALL))) == expected
    monkeypatch.setattr(module, "WAITING_ROWS", 50)
    assert plain(gathered(records_of([str(traffic)], ALL))) == expected
    monkeypatch.setattr(module, "WAITING_OCTETS", 5000)
    assert plain(gathered(records_of([str(traffic)], ALL))) == expected


def parts(path: Path, folder: Path, count: int) -> list[str]:
    """The records of a capture dealt out to files, one after the other."""
    octets = path.read_bytes()
    head, at = octets[:24], 24
    found = [bytearray(head) for _ in range(count)]
    number = 0
    while at < len(octets):
        size = 16 + struct.unpack_from("<I", octets, at + 8)[0]
        found[number % count] += octets[at : at + size]
        at += size
        number += 1
    names = []
    for index, each in enumerate(found):
        names.append(str(folder / f"{index}.pcap"))
        Path(names[-1]).write_bytes(each)
    return names


def test_files_that_overlap_give_the_rows_of_one(traffic: Path, tmp_path: Path) -> None:
    names = parts(traffic, tmp_path, 3)
    assert disordered(names)
    assert not disordered([str(traffic)])
    places = ("capture", "file_id", "offset")
    whole = plain(gathered(records_of([str(traffic)], ALL)), places)
    assert plain(gathered(records_of(names, ALL)), places) == whole


def test_the_tables_of_all_recordings_in_a_folder(tmp_path: Path) -> None:
    paths = sorted(str(path) for path in DATA.glob("*.pcap"))
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes((DATA / "hello.pcap").read_bytes()[:-7])
    foreign = tmp_path / "foreign.pcap"
    foreign.write_text("nothing of the kind")
    out = tmp_path / "out"
    outcome = run([*paths, str(damaged), str(foreign), str(tmp_path / "none.pcap")], str(out), ReplayOptions(broker="north"))
    assert outcome.manifest.is_file()
    found = ds.dataset(out / "violations", partitioning="hive").to_table().to_pylist()
    said = " ".join(outcome.problems) + " ".join(row["text"] for row in found if row["level"] == "damage")
    for name in ("damaged.pcap", "foreign.pcap", "none.pcap"):
        assert name in said or any(name in str(row["capture"]) for row in found if row["level"] == "damage"), name
    assert outcome.rows["messages"] == ds.dataset(out / "messages", partitioning="hive").count_rows() > 100
    assert {row["broker"] for row in ds.dataset(out / "connections", partitioning="hive").to_table().to_pylist()} == {"north"}
