"""Who has said how much, and who replays which."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.captures.columns import partitioning as module
from amqp_sansio.captures.columns.partitioning import LAST_TASK, PACKET_WEIGHT, shared_out, weights
from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.splits import Split, splits
from bench.traffic import make


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "traffic.pcap"
    make(path, 2_000_000, connections=8, skew=0.5)
    return path


def truth(path: Path) -> dict[int, int]:
    found: dict[int, int] = {}
    for batch in read_file(str(path)):
        for key, payload in zip(batch.column("connection").to_pylist(), batch.column("payload").to_pylist(), strict=True):
            found[key] = found.get(key, 0) + len(payload) + PACKET_WEIGHT
    return found


def test_samples_estimate_the_share_of_each_connection(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it where every packet is looked at; about, where one of some."""
    whole = truth(path)
    about = weights(splits(str(path), 0))
    assert set(about) == set(whole)
    total, told = sum(whole.values()), sum(about.values())
    assert all(abs(about[key] / told - whole[key] / total) < 0.05 for key in whole)
    monkeypatch.setattr(module, "PACKETS_APART", 1)
    assert weights(splits(str(path), 0)) == whole
    assert weights(splits(str(path), 0, 500_000)) == whole


def test_not_every_split_is_looked_into(path: Path) -> None:
    many = splits(str(path), 0, 100_000)
    assert sum(weights(many, samples=3).values()) < sum(weights(many).values()) / 5


def test_what_is_compressed_or_cannot_be_read_tells_nothing(path: Path, tmp_path: Path) -> None:
    packed = tmp_path / "traffic.pcap.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    other = tmp_path / "notes.txt"
    other.write_bytes(bytes(100_000))
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(path.read_bytes()[:100_000])
    gone = splits(str(cut), 0, 50_000)[-1]._replace(start=200_000)
    assert weights([Split(str(packed), 0), Split(str(other), 1), Split(str(tmp_path / "none"), 2), gone]) == {}


@given(st.dictionaries(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(1, 10**12), max_size=80), st.integers(1, 20))
def test_nobody_has_much_more_than_his_share(found: dict[int, int], tasks: int) -> None:
    """A task has at most what it had before the last connection came, which no emptier one could take."""
    chosen = shared_out(found, tasks)
    assert set(chosen) <= set(found)
    assert all(0 <= task < tasks for task in chosen.values())
    loads = [sum(found[key] for key, each in chosen.items() if each == task) for task in range(tasks)]
    fair = sum(found.values()) / tasks
    heaviest = max(found.values(), default=0)
    assert all(load <= fair / LAST_TASK + heaviest for load in loads)


def test_the_largest_is_begun_first_and_late_tasks_have_less_to_do() -> None:
    found = dict.fromkeys(range(64), 100) | {99: 5000}
    chosen = shared_out(found, 8)
    assert chosen[99] == 0
    assert list(chosen.values()).count(0) == 1
    loads = [list(chosen.values()).count(task) for task in range(1, 8)]
    assert sum(loads) == 64
    assert loads == sorted(loads, reverse=True)
    assert loads[-1] < loads[0] / 2


def test_small_connections_are_left_to_chance() -> None:
    chosen = shared_out({**dict.fromkeys(range(100_000), 1), -1: 50_000}, 4)
    assert chosen == {-1: 0}
    assert shared_out({}, 4) == {}
