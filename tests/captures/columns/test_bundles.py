"""Payloads are found in their file again, as long as it is the same one."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.captures import build
from tests.captures.packets import Row, batch, by_connection, packet_rows

from amqp_sansio.captures.columns import bundles as module
from amqp_sansio.captures.columns.bundles import (
    BUNDLES_ARROW,
    CARRIED,
    ORDER,
    PLACED,
    Payloads,
    Stamp,
    bundled,
    opened,
    stamp_of,
)
from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.errors import CHANGED, CaptureError
from bench.traffic import make


def write(path: Path, octets: bytes = b"\xd4\xc3\xb2\xa1 and the rest") -> str:
    path.write_bytes(octets)
    return str(path)


def take(found: Payloads, path: str, stamp: Stamp, *places: tuple[int, int]) -> list[bytes]:
    begins, lengths = (np.array([place[at] for place in places], np.int64) for at in (0, 1))
    octets: list[bytes] = found.take(path, stamp, begins, lengths).to_pylist()
    return octets


def test_they_are_taken_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path / "x")
    found = Payloads()
    assert take(found, path, stamp_of(path), (9, 3), (5, 3), (16, 0), (0, 1)) == [b"the", b"and", b"", b"\xd4"]
    assert take(found, path, stamp_of(path)) == []
    found.close()


def test_what_is_no_plain_capture_has_no_place_for_them(tmp_path: Path) -> None:
    made = build.records(build.conversation([b"x"]).segments)
    for octets in (build.pcap(made), build.pcapng(made)):
        path = write(tmp_path / "capture", octets)
        assert stamp_of(path) == Stamp(len(octets), os.stat(path).st_mtime_ns)
        assert stamp_of(write(tmp_path / "packed", gzip.compress(octets))) == CARRIED
    assert stamp_of(write(tmp_path / "foreign", b"no capture")) == CARRIED
    assert stamp_of(write(tmp_path / "empty", b"")) == CARRIED
    assert stamp_of(str(tmp_path / "nothing")) == stamp_of(str(tmp_path)) == stamp_of("\0") == CARRIED


@pytest.mark.parametrize("pcapng", [False, True])
def test_the_reader_tells_where_each_one_lies(tmp_path: Path, pcapng: bool) -> None:
    made = build.records(build.conversation([b"some", b"octets" * 100, b"x"]).segments)
    path = write(tmp_path / "capture", (build.pcapng if pcapng else build.pcap)(made))
    (carried,), (placed,) = list(read_file(path)), list(read_file(path, columns=PLACED))
    begins = placed.column("offset").to_numpy() + placed.column("start").to_numpy()
    found = Payloads()
    taken = found.take(path, stamp_of(path), begins, placed.column("length").to_numpy())
    assert taken.equals(carried.column("payload"))
    assert sum(map(len, taken.to_pylist())) > 600
    found.close()


def test_a_file_that_was_changed_is_reported(tmp_path: Path) -> None:
    """At the first look, and at the end when it was read meanwhile: by its size, and by its time alone."""
    path = write(tmp_path / "x")
    stamp = stamp_of(path)
    found = Payloads()
    take(found, path, stamp, (0, 1))
    write(tmp_path / "x", b"\xd4\xc3\xb2\xa1 and something else")
    with pytest.raises(CaptureError, match=rf"x: {CHANGED} \(it had 17 octets, now 23\)"):
        take(Payloads(), path, stamp, (0, 1))
    with pytest.raises(CaptureError, match=CHANGED):
        found.close()
    stamp = stamp_of(path)
    os.utime(path, ns=(0, stamp.changed_ns + 1))
    with pytest.raises(CaptureError, match=CHANGED):
        take(Payloads(), path, stamp, (0, 1))


def test_a_file_that_is_gone_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "x")
    stamp = stamp_of(path)
    os.unlink(path)
    with pytest.raises(CaptureError, match="x: cannot be opened any more: No such file"):
        take(Payloads(), path, stamp, (0, 1))


def test_only_so_many_files_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OPEN_FILES", 2)
    paths = [write(tmp_path / name, b"\xd4\xc3\xb2\xa1" + name.encode()) for name in "abc"]
    stamps = {path: stamp_of(path) for path in paths}
    found = Payloads()

    def one(at: int) -> list[bytes]:
        return take(found, paths[at], stamps[paths[at]], (4, 1))

    assert [one(0), one(1), one(0), one(2)] == [[b"a"], [b"b"], [b"a"], [b"c"]]
    for path in paths[:2]:
        os.unlink(path)
    assert one(0) == [b"a"]
    with pytest.raises(CaptureError, match="cannot be opened any more"):
        one(1)  # it was used longest ago when room was needed


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
