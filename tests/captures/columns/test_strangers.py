"""What is no AMQP is told from ports and first octets, and nothing else ever is."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.captures import build
from tests.captures.build import ACK, FIN, RST, SYN, Segment
from tests.captures.packets import gathered

from amqp_sansio.captures.columns import batch as batch_module
from amqp_sansio.captures.columns import runner as module
from amqp_sansio.captures.columns.bundles import PLACED
from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.columns.runner import records_of
from amqp_sansio.captures.columns.strangers import ForeignPackets, may_begin, spoken, strange
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import PACKETS, TABLES, picked

ALL = ReplayOptions(tables=tuple(TABLES))
SEEDS = 1000 if os.environ.get("AMQP_PROFILE") == "soak" else 20

FIRST = (
    b"",
    b"GET / HTTP/1.1\r\n",
    b"A",
    b"AM",
    b"AMQ",
    b"AMQP",
    b"AMQX",
    b"\x16\x03\x01",
    b"x",
    build.HEADER,
    b"xAMQP\x01\x01\x00\x0a",
    b"\x01",
    b"\x01\x00",
    b"\x01\x00\x00",
    b"\x01\x00\x00\x00\x00\x01\xef",
    b"\x01\x00\x01\x00",
    b"\x02\x00\x00",
)


def packets(path: Path, segments: list[Segment]) -> pa.RecordBatch:
    build.write(path, build.pcap(build.records(segments)))
    (found,) = pa.Table.from_batches(list(read_file(str(path)))).combine_chunks().to_batches()
    return found


def chosen(path: Path, segments: list[Segment], ports: tuple[int, ...] = ()) -> set[bool]:
    found = packets(path, segments)
    order = np.argsort(found.column("connection").to_numpy(), kind="stable")
    return set(strange(spoken(found, order), ports).tolist())


def foreign(first: bytes = b"GET /", second: bytes = b"HTTP/1.1", base: Segment = Segment(True, 0)) -> build.Talk:
    return build.Talk(base).open().say(True, first).say(False, second).close()


def test_a_connection_that_is_no_amqp_is_a_stranger(tmp_path: Path) -> None:
    talks = {
        "two that spoke": foreign().segments,
        "a health check": build.Talk().open().close().segments,
        "refused": [Segment(True, 0, flags=SYN), Segment(False, 0, flags=RST | ACK, acknowledged=1)],
        "reset": [*foreign().segments[:-3], Segment(True, 6, flags=RST)],
        "only one spoke": build.Talk().open().say(False, b"220 mail").close().segments,
    }
    for name, segments in talks.items():
        assert chosen(tmp_path / "x", segments) == {True}, name


def test_in_doubt_it_is_none(tmp_path: Path) -> None:
    good = foreign()
    talks = {
        "no SYN": good.segments[1:],
        "not over": good.segments[:-3],
        "only one side is over": good.segments[:-2],
        "ports used again": [*good.segments, *foreign(base=replace(Segment(True, 0), client_isn=99)).segments],
        "a protocol header": foreign(build.HEADER).segments,
        "the server's": foreign(second=build.HEADER).segments,
        "a server that sends no header": foreign(second=b"\x01\x00\x00\x00\x00\x00\x08\x00\x0a\x00\x0a").segments,
        "its first octets": foreign(b"AMQ").segments,
        "its first octets in parts": build.Talk(chunk=1).open().say(True, build.HEADER).close().segments,
        "octets before its first": [*good.segments[:3], Segment(True, -2, b"xxxAMQP", ACK), *good.segments[3:]],
        "a server that was not heard": [Segment(True, 0, flags=SYN), *good.segments[2:]],
    }
    for name, segments in talks.items():
        assert chosen(tmp_path / "x", segments) == {False}, name
    assert chosen(tmp_path / "x", good.segments, (5672,)) == {False}
    assert chosen(tmp_path / "x", good.segments, (40000, 1)) == {False}
    assert chosen(tmp_path / "x", good.segments, (1,)) == {True}


def test_how_a_header_may_begin() -> None:
    heads = np.array([int.from_bytes(each[:4].ljust(4, b"\0")) for each in FIRST])
    lengths = np.array(list(map(len, FIRST)))
    found = [each for each, may in zip(FIRST, may_begin(heads, lengths).tolist(), strict=True) if may]
    starts = [b"\x01", b"\x01\x00", b"\x01\x00\x00", b"\x01\x00\x00\x00\x00\x01\xef"]
    assert found == [b"A", b"AM", b"AMQ", b"AMQP", build.HEADER, *starts]
    nothing = np.zeros(0, np.int64)
    assert not len(strange(ForeignPackets(*[nothing] * 7)))


def traffic(chance: Random) -> list[Segment]:
    """Connections of all kinds on few ports, some of them damaged, that take turns."""
    talks = []
    for number in range(8):
        base = replace(Segment(True, 0), client_port=40000 + chance.randrange(3), client_isn=number * 1_000_000)
        base = replace(base, server_isn=number * 999_999, server_port=chance.choice((5672, 8080)))
        if chance.random() < 0.3:
            talk = build.conversation([b"one"], base, chance.choice((1, 3, 1460)))
        else:
            talk = foreign(chance.choice(FIRST), chance.choice(FIRST), base)
        segments = talk.segments
        if chance.random() < 0.2:
            del segments[chance.randrange(len(segments))]
        if chance.random() < 0.2:
            at = chance.randrange(len(segments))
            segments.insert(at, segments[chance.randrange(len(segments))])
        if chance.random() < 0.2:
            del segments[chance.randrange(1, len(segments)) :]
        if chance.random() < 0.2:
            segments.append(replace(segments[-1], flags=chance.choice((RST, RST | ACK, FIN | ACK))))
        talks.append(segments)
    found: list[Segment] = []
    while talks:
        talk_ = chance.choice(talks[:2])  # two at a time
        found.append(talk_.pop(0))
        talks = [each for each in talks if each]
    return found


@pytest.mark.parametrize("ports", [(), (8080,)])
def test_rows_are_the_same_with_strangers_and_without(
    ports: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever connections there are, nothing that a table would tell is dropped."""
    options = ReplayOptions(tables=tuple(TABLES), ports=ports)
    dropped = 0
    for seed in range(SEEDS):
        path = build.write(tmp_path / "x.pcap", build.pcap(build.records(traffic(Random(seed)))))
        found = gathered(records_of([path], options))
        dropped += int(strange(spoken(*sorted_(path)), ports).sum())
        with monkeypatch.context() as patch:
            for each in (module, batch_module):
                patch.setattr(each, "strange", lambda said, ports: np.zeros(len(said.keys), np.bool_))
            whole = gathered(records_of([path], options))
        assert {name: sorted(map(repr, rows)) for name, rows in found.items()} == {
            name: sorted(map(repr, rows)) for name, rows in whole.items()
        }, seed
    assert dropped > SEEDS


@pytest.mark.parametrize("rows", [3, 7, 10_000])
def test_the_reader_leaves_out_what_it_sees_from_beginning_to_end(rows: int, tmp_path: Path) -> None:
    """Whatever the columns; notes and all other connections stay."""
    talks = [foreign(base=replace(Segment(True, 0), client_port=number)) for number in range(1, 9)]
    segments = [each for talk in [*talks, build.conversation([b"one"])] for each in talk.segments]
    path = build.write(tmp_path / "x", build.pcap(build.records(segments))[:-3])
    for columns in (PACKETS, picked("connection,offset,note"), PLACED):
        whole, found = [
            [row for batch in read_file(path, 0, columns, rows=rows, ports=ports) for row in batch.to_pylist()]
            for ports in (None, ())
        ]
        assert [row for row in whole if row in found] == found
        strangers = {row["connection"] for row in whole} - {row["connection"] for row in found}
        assert len(strangers) == {3: 0, 7: 0, 10_000: 8}[rows]
        assert found[-1]["note"] is not None


def sorted_(path: str) -> tuple[pa.RecordBatch, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    (found,) = pa.Table.from_batches(list(read_file(path))).combine_chunks().to_batches()
    return found, np.argsort(found.column("connection").to_numpy(), kind="stable")
