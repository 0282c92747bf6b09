"""Packets through bundles, in any order of files and splits, come to a replay as they were captured."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.captures import build
from tests.captures.packets import Row, batch, by_connection, packet_rows

from amqp_sansio.captures.columns import bundles as module
from amqp_sansio.captures.columns.bundles import BUNDLES_ARROW, ORDER, bundled, opened
from amqp_sansio.captures.columns.payloads import CARRIED, PLACED, stamp_of
from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.errors import CHANGED, CaptureError
from bench.traffic import make


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    path = tmp_path_factory.mktemp("bundles") / "traffic.pcap"
    make(path, 150_000, connections=5)
    return packet_rows(str(path))


def shuffled(parts: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    """As Spark hands them over: sorted, in batches of any size."""
    table = pa.Table.from_batches(list(parts), BUNDLES_ARROW).sort_by([(name, "ascending") for name in ORDER])
    yield from table.combine_chunks().to_batches(max_chunksize=3)


def told(found: Iterable[pa.RecordBatch]) -> dict[object, list[Row]]:
    rows: dict[object, list[Row]] = {}
    for row in [row for part in found for row in part.to_pylist()]:
        rows.setdefault(row["connection"], []).append(row)
    return rows


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_every_packet_comes_to_its_connection_in_the_order_of_time(
    rows: list[Row], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUNDLE_PACKETS", size)
    monkeypatch.setattr(module, "GATHERED_OCTETS", 40_000)
    expected = by_connection(rows)
    pieces = [batch(rows[at : at + 50]) for at in range(0, len(rows), 50)]
    assert told(opened(shuffled(bundled(pieces)))) == expected


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_files_that_overlap_in_time_are_merged(rows: list[Row], size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUNDLE_PACKETS", size)
    chance = random.Random(1)
    first: list[Row] = []
    second: list[Row] = []
    for row in rows:
        part = chance.choice((first, second))
        part.append(row | {"file_id": int(part is second)})
    whole = [*bundled([batch(second)]), *bundled([batch(first)])]
    assert told(opened(shuffled(whole))) == by_connection([*first, *second])


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_packets_of_a_file_stay_in_its_order_whatever_its_clock_does(
    rows: list[Row], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUNDLE_PACKETS", size)
    monkeypatch.setattr(module, "GATHERED_OCTETS", 40_000)
    chance = random.Random(2)
    times = [chance.randrange(10**18) for _ in rows]
    latest = accumulate(times, max)
    wild = [row | {"ts_ns": time, "latest_ns": far} for row, time, far in zip(rows, times, latest, strict=True)]
    pieces = [batch(wild[at : at + 50]) for at in range(0, len(wild), 50)]
    assert told(opened(shuffled(bundled(pieces)))) == by_connection(wild)


def test_a_bundle_has_no_more_octets_than_its_limit_or_a_single_packet(
    rows: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUNDLE_OCTETS", 2000)
    made = list(bundled([batch(rows)]))
    assert told(opened(shuffled(made))) == by_connection(rows)
    monkeypatch.setattr(module, "FED_OCTETS", 0)
    parts = list(opened(shuffled(made)))
    sizes = [sum(map(len, part.column("payload").to_pylist())) for part in parts]
    assert max(sizes) <= 2000
    assert len(sizes) > 50
    monkeypatch.setattr(module, "BUNDLE_OCTETS", 0)
    carrying = sum(bool(row["payload"]) for row in rows)
    assert sum(each.num_rows for each in bundled([batch(rows)])) >= carrying


def test_nothing_gives_nothing(tmp_path: Path) -> None:
    assert list(bundled([])) == list(opened([])) == []


def test_small_bundles_of_many_connections_are_put_together(rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch costs its reader something, however few packets it has: there are as few as the limits allow."""
    few = [row | {"connection": at % 100} for at, row in enumerate(rows[:200])]
    turned = [row | {"file_id": at // 100} for at, row in enumerate(few)]  # the second packet of each is in another file
    for each in (few, turned):
        made = [*bundled([batch(each[:100])]), *bundled([batch(each[100:])])]
        assert sum(part.num_rows for part in made) == 200
        assert [part.num_rows for part in opened(shuffled(made))] == [200]
        assert told(opened(shuffled(made))) == by_connection(each)
        with monkeypatch.context() as limited:
            limited.setattr(module, "FED_PACKETS", 20)
            assert [part.num_rows for part in opened(shuffled(made))] == [20] * 10


def bundles_of(path: str, number: int, in_file: bool) -> list[pa.RecordBatch]:
    """The packets of a file as bundles, in the one form or the other."""
    stamp = stamp_of(path) if in_file else CARRIED
    return list(bundled(read_file(path, number, PLACED) if stamp != CARRIED else read_file(path, number), stamp))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The packets of some connections in three files that overlap in time: a pcap with damage in it, a pcapng, one packed."""
    folder = tmp_path_factory.mktemp("files")
    made = []
    for size in (1, 90, 700):
        talk = build.conversation([b"x" * size, b"yz" * size] * 40).segments
        made += build.records([replace(segment, client_port=2000 + size) for segment in talk])
    plain, ng, packed = made[::3], made[1::3], made[2::3]
    random.Random(2).shuffle(plain)
    damaged = build.pcap(plain[:60]) + b"\xff" * 100 + build.pcap(plain[60:])[24:]
    paths = [build.write(folder / "a.pcap", damaged), build.write(folder / "b.pcapng", build.pcapng(ng))]
    return [*paths, build.write(folder / "c.gz", gzip.compress(build.pcap(packed)))]


@pytest.mark.parametrize("size", [3, 100_000])
def test_payloads_that_stay_in_their_files_are_those_that_are_carried(
    files: list[str], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever lies in which file, and in whatever order: what is opened is the same, row for row."""
    monkeypatch.setattr(module, "BUNDLE_PACKETS", size)
    carried = [each for number, path in enumerate(files) for each in bundles_of(path, number, False)]
    placed = [each for number, path in enumerate(files) for each in bundles_of(path, number, True)]
    assert [pc.any(pc.equal(each.column("file_octets"), -1)).as_py() for each in placed] == [False, False, True]
    found = told(opened(shuffled(placed)))
    assert found == told(opened(shuffled(carried)))
    monkeypatch.setattr(module, "FED_OCTETS", 500)
    assert told(opened(shuffled(placed))) == found
    assert sum(bool(row["payload"]) for rows in found.values() for row in rows) > 100
    assert sum(row["note"] is not None for rows in found.values() for row in rows) == 1


def test_a_bundle_is_bounded_by_the_octets_that_it_tells_of(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUNDLE_OCTETS", 2000)
    monkeypatch.setattr(module, "FED_OCTETS", 2000)
    sizes = [sum(map(len, part.column("payload").to_pylist())) for part in opened(bundles_of(files[1], 0, True))]
    assert 1000 < max(sizes) <= 2000
    monkeypatch.setattr(module, "BUNDLE_OCTETS", 1 << 20)  # one that has too many by itself is taken from its file in parts
    sizes = [sum(map(len, part.column("payload").to_pylist())) for part in opened(bundles_of(files[1], 0, True))]
    assert 1000 < max(sizes) <= 2000


def test_a_file_that_changes_before_its_last_bundle_is_opened_or_behind_it_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build.write(tmp_path / "x.pcap", build.pcap(build.records(build.conversation([b"x"] * 9).segments)))
    made = bundles_of(path, 0, True)
    monkeypatch.setattr(module, "FED_OCTETS", 0)
    several = opened([each.slice(0, 1) for each in made] * 2)
    next(several)
    os.utime(path, ns=(0, 0))
    with pytest.raises(CaptureError, match=CHANGED):
        list(several)
    with pytest.raises(CaptureError, match=CHANGED):
        list(opened(made))
