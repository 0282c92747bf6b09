"""Conditions on rows."""

from __future__ import annotations

import gzip
import os
import random
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.captures import build
from tests.captures.columns.plainly import Row, plain_rows, rows_of

from amqp_sansio.captures.columns.read import FILTERED, OPERATORS, ColumnFilter, chosen, read_file, read_split
from amqp_sansio.captures.columns.segments import NO_INTERFACE
from amqp_sansio.captures.conversation import observers
from amqp_sansio.captures.layers import IN_TWO, packets_left_out
from amqp_sansio.captures.pcapng import MAX_INTERFACES, TOO_MANY
from amqp_sansio.captures.reader import over_stream
from amqp_sansio.captures.splits import Split, SplitError, splits
from amqp_sansio.captures.tables import PACKET_NAMES, picked
from amqp_sansio.captures.verdicts import verdicts

COLUMNS = {"sport": pa.array([1, 2, 3], pa.int32()), "note": pa.array([None, "b", "c"])}


@pytest.mark.parametrize(
    ("filters", "want"),
    [
        ([ColumnFilter("sport", "=", 2)], [False, True, False]),
        ([ColumnFilter("sport", "=", 2, True)], [True, False, True]),
        ([ColumnFilter("sport", "<", 2)], [True, False, False]),
        ([ColumnFilter("sport", "<=", 2)], [True, True, False]),
        ([ColumnFilter("sport", ">", 2)], [False, False, True]),
        ([ColumnFilter("sport", ">=", 2)], [False, True, True]),
        ([ColumnFilter("sport", "in", (1, 3))], [True, False, True]),
        ([ColumnFilter("note", "null")], [True, False, False]),
        ([ColumnFilter("note", "null", negated=True)], [False, True, True]),
        ([ColumnFilter("note", "=", "b")], [False, True, False]),
        ([ColumnFilter("note", "=", "b", True)], [False, False, True]),
        ([ColumnFilter("note", "in", ("b",), True)], [False, False, True]),
        ([ColumnFilter("sport", ">", 1), ColumnFilter("note", "=", "c")], [False, False, True]),
    ],
)
def test_rows_of_which_all_hold(filters: list[ColumnFilter], want: list[bool]) -> None:
    assert chosen(filters, COLUMNS.__getitem__).tolist() == want


def test_what_can_be_asked_exists() -> None:
    assert set(FILTERED) < set(PACKET_NAMES)
    assert len(OPERATORS) == 7


HERE = Path(__file__).resolve().parents[2] / "data" / "captures"
OURS = sorted(HERE.rglob("*.pcap"))
WRITERS: dict[str, Callable[[list[build.Record]], bytes]] = {
    "little-micro": lambda made: build.pcap(made),
    "big-micro": lambda made: build.pcap(made, ">"),
    "little-nano": lambda made: build.pcap(made, "<", True),
    "big-nano": lambda made: build.pcap(made, ">", True),
    "little-ng": lambda made: build.pcapng(made),
    "big-ng": lambda made: build.pcapng(made, ">"),
}


SOAK = os.environ.get("AMQP_PROFILE") == "soak"
EVERY = 1 if SOAK else 8
"""Of so many cuts in the last packets one is tried, of each format another; or all (`make soak`)."""


def zstd(octets: bytes) -> bytes:
    return pa.Codec("zstd").compress(octets, asbytes=True)  # type: ignore[no-any-return]


@cache
def conversation(count: int, kind: str = "ethernet", size: int = 60) -> list[build.Record]:
    chance = random.Random(count)
    segments = build.conversation([chance.randbytes(chance.randrange(size)) for _ in range(count)]).segments
    return build.records(segments, kind)


def left_out(notes: Iterable[str]) -> Counter[str]:
    """How many packets notes say are left out, by the reason."""
    found: Counter[str] = Counter()
    for note in notes:
        count, _, why = note.partition(" packet")
        if count.isdigit():
            found[why.partition(": ")[2]] += int(count)
    return found


def same(path: str, octets: int = 4096, rows: int = 10_000) -> list[Row]:
    """Both readers give the same rows, whatever the splits; answers the notes."""
    want, error = plain_rows(path)
    notes: list[Row] = []
    for resync in (False, True):
        got, notes = rows_of(read_file(path, octets=octets, resync=resync, rows=rows))
        if error is not None:  # the plain reader stops there
            got = [row for row in got if row["offset"] < want[-1]["offset"] + 1] if want else []
        assert got == want
    return notes


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_our_recordings_give_the_same_rows(path: Path) -> None:
    assert same(str(path)) == []
    assert plain_rows(str(path))[0] != []


def test_all_shared_recordings_give_the_same_rows(shared: Path) -> None:
    paths = sorted((shared / "captures" / "0-10").glob("*.pcap"))
    assert len(paths) == 26
    for path in paths:
        assert same(str(path), 100_000) == []


@pytest.mark.parametrize("six", [False, True])
@pytest.mark.parametrize("kind", build.LINKS)
def test_every_link_layer(kind: str, six: bool, tmp_path: Path) -> None:
    ends = ("fe80::1", "2001:db8::2") if six else ("10.0.0.1", "10.0.0.2")
    base = build.Segment(True, 0, client=ends[0], server=ends[1])
    made = build.records(build.conversation([b"x" * 40] * 20, base=base).segments, kind)
    for name, write in WRITERS.items():
        assert same(build.write(tmp_path / name, write(made))) == []
    rows, _ = plain_rows(str(tmp_path / "big-nano"))
    assert len(rows) == len(made)
    assert {row["src"] for row in rows} == set(ends)
    assert len({row["connection"] for row in rows}) == 1


def test_options_extension_headers_and_fragments(tmp_path: Path) -> None:
    four = build.Segment(True, 5, b"abc" * 9)
    six = replace(four, client="::1", server="::2")
    made = [
        build.ip(four, options=b"\1" * 12),
        build.ip(four, fragment=0x2000),
        build.ip(four, fragment=0x0007),
        build.authenticated(build.ip(four)),
        build.ip(six, extensions=[(0, b"\0" + b"\0" * 6), (60, b"\1" + b"\0" * 14)]),
        build.ip(six, extensions=[(44, b"\0\0\1\0\0\0\7")]),
        build.ip(six, extensions=[(44, b"\0\0\x10\0\0\0\7")]),
        build.ip(six, extensions=[(51, b"\1" + b"\0" * 10)]),
        build.ip(six, extensions=[(59, b"\0" * 7)]),
        build.ip(four),
        build.ip(six),
    ]
    packets = [build.Record(1, build.ethernet(packet), 200, index) for index, packet in enumerate(made)]
    notes = same(build.write(tmp_path / "x", build.pcap(packets)))
    assert [(row["note"], row["connection"]) for row in notes] == [(packets_left_out(2, IN_TWO), 0)]
    assert len(plain_rows(str(tmp_path / "x"))[0]) == 8


@given(st.data())
def test_whatever_is_in_the_packets(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Packets of any octets, cut anywhere, of any link type, give the same rows as the plain reader finds."""
    chance = data.draw(st.randoms(use_true_random=False))
    made = []
    for index in range(data.draw(st.integers(0, 30))):
        segment = build.Segment(chance.random() < 0.5, chance.randrange(9999), chance.randbytes(chance.randrange(50)))
        if chance.random() < 0.4:
            segment = replace(segment, client="::1:2", server="::9")
        link, packet = build.link(chance.choice(build.LINKS), build.ip(segment))
        octets = bytearray(packet)
        for _ in range(chance.choice((0, 0, 1, 3))):
            octets[chance.randrange(min(len(octets), 80))] = chance.randrange(256)
        kept = bytes(octets[: chance.choice((len(octets), chance.randrange(len(octets))))])
        made.append((link, build.Record(link, kept, chance.choice((len(octets), 0, 70000)), index * 10**6)))
    links = sorted({link for link, _ in made})
    ng = build.section() + b"".join(build.interface(link) for link in links)
    ng += b"".join(build.enhanced(packet, which=links.index(link)) for link, packet in made)
    folder = tmp_path_factory.mktemp("any")
    notes = same(build.write(folder / "ng", ng), rows=data.draw(st.integers(1, 20)))
    warnings: list[str] = []
    list(verdicts(str(folder / "ng"), observers(), (), warnings.append))
    assert left_out(row["note"] for row in notes) == left_out(warnings)
    if made:
        same(build.write(folder / "old", build.pcap([packet for _, packet in made])))


def test_sections_interfaces_and_clocks(tmp_path: Path) -> None:
    made = conversation(200)
    octets = build.section(">") + build.interface(113, ">", resolution=9) + build.interface(1, ">", resolution=0x8A, offset=77)
    octets += b"".join(build.enhanced(packet, ">", 1, ticks=packet.time // 10**6) for packet in made[:300])
    octets += build.block(5, b"statistics..", ">") + build.interface(1, ">", resolution=10)
    octets += b"".join(build.enhanced(packet, ">", 2, ticks=packet.time * 10 + 9) for packet in made[300:500])
    octets += build.section("<") + build.interface(1, "<", snaplen=80)
    octets += b"".join(build.old(packet) for packet in made[500:600])
    octets += b"".join(build.simple(replace(packet, data=packet.data[:80])) for packet in made[600:])
    assert same(build.write(tmp_path / "x", octets)) == []


def test_packets_of_an_unknown_link_type_are_counted(tmp_path: Path) -> None:
    made = [replace(each, link=147) for each in conversation(200)]
    for name, write in WRITERS.items():
        notes = same(build.write(tmp_path / name, write(made)))
        assert left_out(row["note"] for row in notes) == {"link type 147 is not known": len(made)}


def test_packets_of_interfaces_that_are_not_described_are_counted(tmp_path: Path) -> None:
    made = conversation(200)
    known = build.section() + build.interface(1)
    strange = [build.enhanced(packet, which=number + 1) for number, packet in enumerate(made)]
    beyond = b"".join([build.interface(1)] * (MAX_INTERFACES + 9)) + build.enhanced(made[0], which=MAX_INTERFACES)
    path = build.write(tmp_path / "x", known + b"".join(strange) + build.enhanced(made[0]) + beyond)
    rows, notes = rows_of(read_file(path))
    assert (len(rows), [row["note"] for row in notes]) == (
        1,
        [TOO_MANY, f"{len(made) + 1} packets are left out: {NO_INTERFACE}"],
    )


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_a_file_that_is_cut_gives_all_whole_packets_and_one_note(name: str, tmp_path: Path) -> None:
    whole = WRITERS[name](conversation(40))
    path = tmp_path / "x"
    first = sorted(WRITERS).index(name) % EVERY
    for length in sorted({*range(len(whole) - 150 + first, len(whole), EVERY), *range(20 + first, 400, 7 if SOAK else 28)}):
        notes = same(build.write(path, whole[:length]))
        assert len(notes) <= 1
        if notes:
            assert "the file" in notes[0]["note"]


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_behind_damage_the_rest_is_read(name: str, tmp_path: Path) -> None:
    whole = WRITERS[name](conversation(800))
    clean, _ = rows_of(read_file(build.write(tmp_path / "clean", whole)))
    damaged = bytearray(whole)
    at = clean[600]["offset"]
    damaged[at : at + 64] = b"\xff" * 64
    del damaged[clean[1200]["offset"] + 30 : clean[1200]["offset"] + 64]
    path = build.write(tmp_path / "x", bytes(damaged))
    rows, notes = rows_of(read_file(path))
    for resync in (False, True):
        for octets in (4096, 50_000, 10**9):
            assert rows_of(read_file(path, octets=octets, resync=resync)) == (rows, notes)
    assert notes[0]["offset"] == at
    assert notes[0]["ts_ns"] == clean[599]["ts_ns"]
    assert len(clean) - 40 <= len(rows) <= len(clean)
    seen = {(row["ts_ns"], row["seq"], row["payload"]) for row in rows}
    expected = {(row["ts_ns"], row["seq"], row["payload"]) for row in clean}
    assert len(seen - expected) <= 1  # the packet that lost octets in its middle is taken for one with others
    compressed = build.write(tmp_path / "y.gz", gzip.compress(bytes(damaged)))
    again = rows_of(read_file(compressed))
    assert ([{**row, "capture": ""} for row in again[0]], [{**row, "capture": ""} for row in again[1]]) == (
        [{**row, "capture": ""} for row in rows],
        [{**row, "capture": ""} for row in notes],
    )


@given(st.integers(0, 2**32), st.sampled_from(sorted(WRITERS)))
def test_damaged_octets_never_raise_and_splits_never_matter(
    tmp_path_factory: pytest.TempPathFactory, seed: int, name: str
) -> None:
    """Whatever octets are changed, lost or added, every way to split the file gives the same rows, and none raises."""
    chance = random.Random(seed)
    octets = bytearray(WRITERS[name](conversation(150)))
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(octets))
        match chance.randrange(3):
            case 0:
                octets[at : at + chance.randrange(1, 9)] = chance.randbytes(chance.randrange(1, 9))
            case 1:
                del octets[at : at + chance.randrange(1, 200)]
            case _:
                octets[at:at] = bytes(chance.randrange(1, 40))
    path = build.write(tmp_path_factory.mktemp("any") / "x", bytes(octets))

    def told(octets: int, resync: bool) -> tuple[list[Row], list[Row], Counter[str]]:
        rows, notes = rows_of(read_file(path, octets=octets, resync=resync))
        counted = [row for row in notes if left_out([row["note"]])]
        return rows, [row for row in notes if row not in counted], left_out(row["note"] for row in counted)

    want = told(10**9, False)
    for resync in (False, True):
        assert told(8192, resync) == want
    plain, _ = plain_rows(path)
    assert want[0][: len(plain)] == plain


def test_a_capture_inside_a_packet_does_not_mislead(tmp_path: Path) -> None:
    """A message body that is itself a capture: its records are not taken for those of the file, wherever splits begin."""
    inner = build.pcap(conversation(900))[24:]
    segments = build.conversation([inner[at : at + 60_000] for at in range(0, len(inner), 60_000)]).segments
    path = build.write(tmp_path / "x", build.pcap(build.records(segments * 3)))
    for octets in range(4096, 8192, 411 if SOAK else 2055):
        assert same(path, octets) == []


def test_a_split_that_lands_wrong_is_reported_and_the_rest_is_indexed(tmp_path: Path) -> None:
    path = build.write(tmp_path / "x", build.pcap(conversation(600)))
    parts = splits(path, 0, 10_000, resync=True)
    wrong = parts[1]._replace(stop=(parts[1].stop or 0) + 1)
    with pytest.raises(SplitError, match="resync off") as raised:
        list(read_split(wrong))
    assert raised.value.file == path

    def every(path: str) -> list[pa.RecordBatch]:
        return [batch for part in splits(path, 0, 10_000, resync=True) for batch in read_split(part)]

    # Sections that come later are not known to a resynchronised split: it tells, and the file is read by the index.
    octets = build.pcapng(conversation(300)) + build.pcapng(conversation(300), ">")
    two = build.write(tmp_path / "two", octets)
    with pytest.raises(SplitError, match="resync off"):
        every(two)
    same(two, 10_000)
    more = build.interface(113) + b"".join(build.enhanced(packet, which=1) for packet in conversation(300, "sll"))
    three = build.write(tmp_path / "three", build.pcapng(conversation(300)) + more)
    with pytest.raises(SplitError, match="other interfaces"):
        every(three)
    same(three, 10_000)


@pytest.mark.parametrize(("back", "told"), [(0, False), (1, False), (400, True)])
def test_a_clock_that_goes_back_between_resynchronised_splits_is_reported(back: int, told: bool, tmp_path: Path) -> None:
    """They would not know the latest time before them, by which packets are sorted: the index and whoever reads all do."""
    made = [replace(each, time=each.time - back * 10**6 * (index > 900)) for index, each in enumerate(conversation(600))]
    path = build.write(tmp_path / "x", build.pcap(made))

    def latest(resync: bool) -> list[int]:
        found: list[int] = []
        for part in splits(path, 0, 10_000, resync):
            for batch in read_split(part):
                found += batch.column("latest_ns").to_pylist()
        return found

    with pytest.raises(SplitError, match=r"later times than the next one .*resync off") if told else nullcontext():
        assert latest(resync=True) == latest(resync=False)
    same(path, 10_000)


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
@pytest.mark.parametrize("name", sorted(WRITERS))
def test_compressed_files_give_the_same_rows(name: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    octets = WRITERS[name](conversation(500))
    plain = build.write(tmp_path / "plain", octets)
    packed = build.write(tmp_path / "packed", pack(octets))
    assert len(splits(packed, 0, 4096)) == 1
    assert same(packed) == []
    want, _ = rows_of(read_file(plain))
    got, _ = rows_of(read_file(packed))
    assert [{**row, "capture": plain} for row in got] == want
    # Cut short: what can be had, and a note.
    cut = build.write(tmp_path / "cut", pack(octets)[:-20])
    rows, notes = rows_of(read_file(cut))
    assert [{**row, "capture": plain} for row in rows] == want[: len(rows)]
    assert len(notes) == 1
    assert "stream is damaged" in notes[0]["note"]


@pytest.mark.parametrize(("octets", "word"), [(b"", "empty"), (b"hello world", "68656c6c"), (b"BZh9123", "bzip2")])
def test_what_is_no_capture_is_one_note(octets: bytes, word: str, tmp_path: Path) -> None:
    paths = [build.write(tmp_path / "a", octets), str(tmp_path / "b"), str(tmp_path)]
    rows, notes = rows_of(batch for number, path in enumerate(paths) for batch in read_file(path, number))
    assert rows == []
    assert word in notes[0]["note"]
    assert [note["file_id"] for note in notes] == [0, 1, 2]
    assert "No such file" in notes[1]["note"]


def test_columns_are_those_that_are_asked_for(tmp_path: Path) -> None:
    path = build.write(tmp_path / "x", build.pcap(conversation(30)) + b"rest")
    full = [row for batch in read_file(path) for row in batch.to_pylist()]
    for name in PACKET_NAMES:
        assert [row for batch in read_file(path, 0, picked(name)) for row in batch.to_pylist()] == [
            {name: row[name]} for row in full
        ]


def test_filters_choose_rows(tmp_path: Path) -> None:
    path = build.write(tmp_path / "x", build.pcap(conversation(30)) + b"rest")
    full = [row for batch in read_file(path) for row in batch.to_pylist()]

    def rows(*filters: ColumnFilter) -> list[Row]:
        return [row for batch in read_split(Split(path, 0), picked(None), filters) for row in batch.to_pylist()]

    assert rows(ColumnFilter("sport", "=", 5672)) == [row for row in full if row["sport"] == 5672] != []
    assert rows(ColumnFilter("flags", "in", (2, 18))) == [row for row in full if row["flags"] in (2, 18)]
    assert rows(ColumnFilter("note", "null", negated=True)) == full[-1:]
    assert rows(ColumnFilter("ts_ns", ">", full[9]["ts_ns"]), ColumnFilter("src", "=", "10.0.0.1", negated=True)) == [
        row for row in full if row["ts_ns"] > full[9]["ts_ns"] and row["src"] != "10.0.0.1"
    ]
    only = [
        row
        for batch in read_split(Split(path, 0), picked("seq"), [ColumnFilter("dport", "=", 5672)])
        for row in batch.to_pylist()
    ]
    assert only == [{"seq": row["seq"]} for row in full if row["dport"] == 5672]


def test_batches_are_bounded(tmp_path: Path) -> None:
    path = build.write(tmp_path / "x", build.pcap(conversation(300)))
    assert {batch.num_rows <= 7 for batch in read_file(path, rows=7)} == {True}


def test_a_stream_of_small_reads_gives_the_same(tmp_path: Path) -> None:
    octets = build.pcap(conversation(300))

    class Dribble:
        def __init__(self) -> None:
            self.at = 0

        def read(self, size: int) -> bytes:
            part = octets[self.at : self.at + min(size, 777)]
            self.at += len(part)
            return part

    found = [stretch.base + at for stretch in over_stream(Dribble()) for at in stretch.positions]  # type: ignore[arg-type]
    assert found == [row["offset"] for row in plain_rows(build.write(tmp_path / "x", octets))[0]]
    assert struct.unpack_from("<I", octets, found[0] + 8)[0] >= 60
