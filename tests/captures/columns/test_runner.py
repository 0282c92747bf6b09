"""Packets of many connections: each hears its own, as if there were no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from tests.captures import build
from tests.captures.build import Segment
from tests.captures.clocks import CLOCKS, clocked, dealt
from tests.captures.packets import Row, by_connection, gathered, packet_rows, replayed, tables_of

from amqp_sansio.captures.columns import runner as module
from amqp_sansio.captures.columns.bundles import BUNDLES_ARROW, ORDER, bundled
from amqp_sansio.captures.columns.read import read_file, read_split
from amqp_sansio.captures.columns.replay import ConnectionReplay, TableRecords
from amqp_sansio.captures.columns.runner import Runner, heard, overlapping, records_of
from amqp_sansio.captures.conversation import observers
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.splits import SPLIT_OCTETS, splits
from amqp_sansio.captures.tables import TABLES, is_time
from amqp_sansio.captures.verdicts import verdicts
from amqp_sansio.spark.passes import replays
from bench.traffic import make

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

    def over(key: int, replay: ConnectionReplay) -> list[TableRecords]:
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


DATA = Path(__file__).parents[2] / "data" / "captures"

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
    monkeypatch.setattr(module, "WAITING_OCTETS", 0)
    for rows in (7, 50, 3000):
        assert plain(gathered(fed([str(traffic)], ALL, rows))) == expected


def fed(paths: list[str], options: ReplayOptions, rows: int) -> Iterator[TableRecords]:
    """What a runner makes of these files in batches of so many packets."""
    runner = Runner(options, overlapping(paths))
    for number, path in enumerate(paths):
        for batch in read_file(path, number, rows=rows):
            yield from runner.feed(batch)
    yield from runner.finish()


def test_files_that_overlap_give_the_rows_of_one(traffic: Path, tmp_path: Path) -> None:
    names = dealt(traffic, tmp_path, 3)
    assert overlapping(names)
    assert not overlapping([str(traffic)])
    places = ("capture", "file_id", "file_offset")
    whole = plain(gathered(records_of([str(traffic)], ALL)), places)
    assert plain(gathered(records_of(names, ALL)), places) == whole


TIMES = tuple(
    {name for table in TABLES.values() for name in table.names if name.endswith("_ns") or is_time(name)}
    | {"capture", "capture_date"}
)


@pytest.mark.parametrize("name", CLOCKS)
def test_whatever_the_clock_does_the_rows_are_the_same_but_for_times(name: str, traffic: Path, tmp_path: Path) -> None:
    """Packets with the times of a bad clock give the rows of a good one, and one note for each connection on which time
    goes back; plain, bundles and `check` say the same."""
    path = clocked(traffic, tmp_path / "x.pcap", CLOCKS[name])
    found = gathered(records_of([path], ALL))
    as_it_is = plain(found)
    told = sorted((str(row["rule"]), str(row["text"])) for row in found["violations"])
    notes = [row for row in found["violations"] if row["rule"] == "capture.time"]
    assert bool(notes) == (name != "no clock")
    silence = ("capture.time", "connection.silence")  # who was silent, a clock must tell
    for rows in (found, whole := gathered(records_of([str(traffic)], ALL))):
        rows["violations"] = [row for row in rows["violations"] if row["rule"] not in silence]
        rows["connections"] = [{**row, "notes": 0, "connection": 0} for row in rows["connections"]]
    assert plain(found, (*TIMES, "connection")) == plain(whole, (*TIMES, "connection"))
    for octets in (20_000, SPLIT_OCTETS):
        made = gathered(replays(sorted_bundles([path], octets), ALL))
        assert plain(made) == as_it_is, octets
    judged = [each for one in verdicts(path, observers(), (), print) for each in one.findings]
    assert sorted((each.rule, each.text) for each in judged) == told


def sorted_bundles(paths: list[str], octets: int) -> list[pa.RecordBatch]:
    """The bundles of files in splits of so many octets, as Spark sorts them."""
    parts = [bundled(read_split(each)) for number, path in enumerate(paths) for each in splits(path, number, octets)]
    made = pa.Table.from_batches(list(chain(*parts)), BUNDLES_ARROW)
    batches: list[pa.RecordBatch] = made.sort_by([(each, "ascending") for each in ORDER]).to_batches()
    return batches


def test_a_latency_that_would_be_negative_is_null_and_counted(tmp_path: Path) -> None:
    talk = build.conversation([b"one", b"two"])
    good = Path(build.write(tmp_path / "good", build.pcap(build.records(talk.segments))))
    back = next(index for index, each in enumerate(talk.segments) if build.completed(0) in each.octets)
    path = clocked(good, tmp_path / "bad", lambda number, time: time - 5_000_000_000 * (number >= back))
    found = gathered(records_of([path], ALL))
    assert [row["complete_latency_ns"] is None for row in found["commands"]] == [True, False]
    (note,) = [row for row in found["violations"] if row["rule"] == "capture.time"]
    assert note["text"] == "the time of packets goes back once, by up to 4.999000 s; 2 latencies are left out"
    assert note["file_offset"] == [row["offset"] for row in packet_rows(path)][back]


def test_files_are_merged_by_the_latest_time_in_each(traffic: Path, tmp_path: Path) -> None:
    """A step back stays inside its file: another file goes on where its own times say."""
    names = dealt(traffic, tmp_path, 2)
    first, second = [
        clocked(Path(each), tmp_path / f"{index}.late", lambda number, time: time - 300_000 * (number % 7 == 0))
        for index, each in enumerate(names)
    ]
    found = plain(gathered(records_of([first, second], ALL)))
    assert plain(gathered(replays(sorted_bundles([first, second], SPLIT_OCTETS), ALL))) == found


@pytest.mark.parametrize("seed", range(6))
def test_overlapping_files_are_merged_alike_wherever_they_are_cut(seed: int, traffic: Path, tmp_path: Path) -> None:
    """The clock of one file jumps forward and back, in packets of some connections; another overlaps: one meaning, whatever
    the splits, plain and in bundles, as the oracle has it that reads packet after packet."""
    chance = Random(seed)
    one, other = dealt(traffic, tmp_path, 2)
    begin = chance.randrange(100, 600)
    end = begin + chance.choice((1, 3, 40, 300))
    far = chance.choice((2_000_000, 30_000_000, 7_000_000_000))
    names = [clocked(Path(one), tmp_path / "jump.pcap", lambda number, time: time + far * (begin <= number < end)), other]
    packets = [row for number, path in enumerate(names) for row in packet_rows(path, number)]
    expected = plain(gathered([each for rows in by_connection(packets).values() for each in replayed(rows, ALL)]))
    assert plain(gathered(records_of(names, ALL))) == expected
    for octets in (1, 20_000, SPLIT_OCTETS):
        assert plain(gathered(replays(sorted_bundles(names, octets), ALL))) == expected, octets
