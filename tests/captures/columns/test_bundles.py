"""Packets through bundles, in any order of files and splits, come to a replay as they were captured."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from tests.captures.packets import Row, batch, by_connection, packet_rows

from amqp_sansio.captures.columns import bundles as module
from amqp_sansio.captures.columns.bundles import BUNDLES_ARROW, ORDER, bundled, opened, together
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


def told(found: Iterable[tuple[int, pa.RecordBatch]]) -> dict[object, list[Row]]:
    rows: dict[object, list[Row]] = {}
    for key, part in found:
        rows.setdefault(key, []).extend(part.to_pylist())
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
    assert told(together(opened(shuffled(bundled(pieces))), 20)) == expected


def test_files_that_overlap_in_time_are_merged(rows: list[Row]) -> None:
    chance = random.Random(1)
    first: list[Row] = []
    second: list[Row] = []
    for row in rows:
        part = chance.choice((first, second))
        part.append(row | {"file_id": int(part is second)})
    chance.shuffle(second)
    whole = [*bundled([batch(second)]), *bundled([batch(first)])]
    assert told(opened(shuffled(whole))) == by_connection([*first, *second])


def test_a_bundle_has_no_more_octets_than_its_limit_or_a_single_packet(
    rows: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUNDLE_OCTETS", 2000)
    made = list(bundled([batch(rows)]))
    assert told(opened(shuffled(made))) == by_connection(rows)
    parts = [part for _, part in opened(shuffled(made))]
    sizes = [sum(map(len, part.column("payload").to_pylist())) for part in parts]
    assert max(sizes) <= 2000
    assert len(sizes) > 50
    monkeypatch.setattr(module, "BUNDLE_OCTETS", 0)
    carrying = sum(bool(row["payload"]) for row in rows)
    assert sum(each.num_rows for each in bundled([batch(rows)])) >= carrying


def test_nothing_gives_nothing(tmp_path: Path) -> None:
    assert list(bundled([])) == list(opened([])) == list(together([])) == []


def test_small_batches_are_put_together_up_to_a_number(rows: list[Row]) -> None:
    parts = [(1, batch([row])) for row in rows[:30]] + [(2, batch([row])) for row in rows[:3]]
    assert [(key, part.num_rows) for key, part in together(parts, 20)] == [(1, 20), (1, 10), (2, 3)]
