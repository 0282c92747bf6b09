"""Splits of files: their places, and that each ends where the next one starts."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from tests.captures import build

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.splits import LEAST_SPLIT_OCTETS, Split, SplitError, over_split, reindexed, splits
from amqp_sansio.captures.walk import NO_TIME

MADE = build.records(build.conversation([b"x" * 300] * 400).segments)


def offsets(parts: list[Split]) -> list[int]:
    return [stretch.base + at for part in parts for stretch in over_split(part) for at in stretch.positions]


@pytest.mark.parametrize("write", [build.pcap, build.pcapng])
def test_every_packet_is_in_one_split_and_both_ways_find_the_same(write: object, tmp_path: Path) -> None:
    assert callable(write)
    path = build.write(tmp_path / "x", write(MADE))
    whole = offsets([Split(path, 7)])
    assert len(whole) == len(MADE)
    for octets in (1, LEAST_SPLIT_OCTETS - 1, LEAST_SPLIT_OCTETS + 1, 30_000, 10**9):
        exact, found = splits(path, 7, octets), splits(path, 7, octets, resync=True)
        alike = [[each._replace(latest=0, reached=None) for each in parts] for parts in (exact, found)]
        assert alike[0] == alike[1]
        assert offsets(exact) == whole
        assert {part.file_id for part in exact} == {7}
        assert all(here.stop == there.start for here, there in pairwise(exact))
        assert pickle.loads(pickle.dumps(exact)) == exact
    assert len(splits(path, 7, 1)) == len(splits(path, 7, LEAST_SPLIT_OCTETS)) > 20


@pytest.mark.parametrize("write", [build.pcap, build.pcapng])
def test_a_split_knows_the_latest_time_before_it(write: object, tmp_path: Path) -> None:
    """The index has seen every packet before it; without one it is that of the first packets of the splits before it."""
    assert callable(write)
    packets = [replace(each, time=each.time - 10**10 * (n >= 700)) for n, each in enumerate(MADE)]
    path = build.write(tmp_path / "x", write(packets))
    times = [each.time // 1000 * 1000 for each in packets]
    for resync in (False, True):
        parts = splits(path, 0, 30_000, resync)
        assert parts[0].latest == NO_TIME
        counts = list(accumulate(len(offsets([part])) for part in parts))
        starts = [0, *counts[:-1]]
        for number, part in enumerate(parts[1:], 1):
            seen = [times[at] for at in starts[:number]] if resync else times[: starts[number]]
            assert part.latest == max(seen)
        assert parts[-1].latest > times[-1]


def test_a_split_that_does_not_land_says_where_it_ended(tmp_path: Path) -> None:
    path = build.write(tmp_path / "x", build.pcap(MADE))
    parts = splits(path, 0, 20_000)
    wrong = parts[1]._replace(stop=(parts[1].stop or 0) + 3)
    with pytest.raises(SplitError, match=f"starts at {wrong.stop}: .*resync off") as raised:
        offsets([wrong])
    error = raised.value
    assert pickle.loads(pickle.dumps(error)).args == error.args
    rest = reindexed(wrong, error, 20_000)
    assert offsets([parts[0], wrong._replace(stop=error.octet, following=error.walk), *rest]) == offsets(parts)
    # Behind the end of the file there is nothing.
    assert reindexed(wrong, SplitError(path, Path(path).stat().st_size, "", error.walk)) == []


def test_a_file_that_has_changed_is_reported(tmp_path: Path) -> None:
    path = build.write(tmp_path / "x", build.pcap(MADE))
    parts = splits(path, 0, 20_000)
    build.write(tmp_path / "x", build.pcap(MADE)[:30_000])
    for part in (parts[3], parts[1]):
        with pytest.raises(CaptureError, match="the file has 30000 octets"):
            offsets([part])
    build.write(tmp_path / "x", b"something else" * 9999)
    with pytest.raises(CaptureError, match="neither"):
        offsets([parts[0]])


def test_what_cannot_be_split_is_one_split(tmp_path: Path) -> None:
    build.write(tmp_path / "a", b"")
    build.write(tmp_path / "b", b"x" * 9999)
    for path in (str(tmp_path / "no"), str(tmp_path), str(tmp_path / "a"), str(tmp_path / "b")):
        assert splits(path, 3, 5000, resync=True) == [Split(path, 3)]
