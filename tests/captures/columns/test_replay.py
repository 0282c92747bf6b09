"""Rows of many connections in one batch: each with its own capture, broker and connection, none lost, none too many."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.captures import build, scram
from tests.captures.packets import Row, batch, by_connection, gathered, packet_rows, replayed, tables_of

from amqp_sansio.captures.columns import replay as module
from amqp_sansio.captures.columns.replay import BATCH_ROWS, ConnectionReplay, Gathered, TableRecords
from amqp_sansio.captures.columns.tables import table_batch
from amqp_sansio.captures.conversation import Conversation, observers
from amqp_sansio.captures.flows import Listener
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.state import read, write
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.captures.verdicts import verdicts
from amqp_sansio.engine.observer import Observer
from amqp_sansio.errors import DecodeError
from bench.traffic import make

ROW: tuple[object, ...] = (5, "C", "note", "rule", "said", [], "text", None, None, 7, 0, 24)


@pytest.mark.parametrize("most", [1, 4, 5, 100])
def test_rows_of_connections_stand_in_one_batch(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows as in batches of single connections, in their order, in as few batches as can be."""
    monkeypatch.setattr(module, "BATCH_ROWS", most)
    found = Gathered(ReplayOptions())
    made, expected = [], []
    for number, count in enumerate((3, 1, 0, 6, 2)):
        common = f"{number % 2}.pcap", f"broker {number}", number
        found.rows.by_table["violations"].extend([ROW] * count)
        found.take(common)
        assert not found.rows.by_table["violations"]
        made += found.full()
        expected += table_batch(TABLES["violations"], common, [ROW] * count).to_pylist()
    made += found.rest()
    assert gathered(made) == {"violations": expected}
    assert [each.batch.num_rows for each in made] == [most] * (12 // most) + [12 % most] * (12 % most > 0)
    assert found.rest() == []


def test_tables_that_nobody_wants_are_dropped() -> None:
    found = Gathered(ReplayOptions(tables=("messages",)))
    found.rows.by_table["violations"].append(ROW)
    found.take(("a", "b", 1))
    found.damage(("a", "b", 1), ROW)
    assert found.rest() == []
    assert not found.rows.by_table["violations"]


DATA = Path(__file__).parents[2] / "data" / "captures"
EXPECTED = json.loads((DATA / "expected.json").read_text())
NAMES = sorted(EXPECTED)
MORE = {f"more/{name}": each for name, each in json.loads((DATA / "more" / "expected.json").read_text()).items()}
COUNTED = {**EXPECTED, **MORE}
ALL = ReplayOptions(tables=tuple(TABLES))


def options(name: str) -> ReplayOptions:
    return ReplayOptions(ports=(int(COUNTED[name]["port"]),), tables=tuple(TABLES))


@cache
def tables(name: str) -> dict[str, list[Row]]:
    return tables_of(str(DATA / name), options(name))


def plain(records: list[TableRecords]) -> list[tuple[str, str]]:
    return sorted((name, repr(row)) for name, rows in gathered(records).items() for row in rows)


@pytest.mark.parametrize("name", COUNTED)
def test_verbs_and_transfers_per_speaker_are_those_expected(name: str) -> None:
    found, expected = tables(name), COUNTED[name]
    for speaker, column in (("C", "verbs_by_client"), ("S", "verbs_by_server")):
        verbs: Counter[str] = Counter()
        for row in found["connections"]:
            verbs.update(dict(row[column]))  # type: ignore[call-overload]
        assert verbs == expected["operations"][speaker]
        said = Counter(row["verb"] for row in found.get("commands", []) if row["direction"] == speaker)
        assert said == {verb: count for verb, count in verbs.items() if verb in said}
        messages = sum(row["direction"] == speaker for row in found.get("messages", []))
        assert messages == said["message.transfer"] == expected["transfers"][speaker]
    assert len(found["connections"]) == expected["connections"]


@pytest.mark.parametrize("name", COUNTED)
def test_violations_are_those_of_check(name: str) -> None:
    numbers = {row["offset"]: number for number, row in enumerate(packet_rows(str(DATA / name)), 1)}
    found: list[tuple[object, ...]] = sorted(
        (row["direction"], row["level"], row["rule"], row["said"], tuple(row["legal"]), row["text"])  # type: ignore[arg-type]
        for row in tables(name).get("violations", [])
    )
    judged = verdicts(str(DATA / name), observers(), options(name).ports, lambda text: None)
    expected = sorted(
        (each.speaker, each.level, each.rule, each.said, each.legal, each.text) for one in judged for each in one.findings
    )
    assert found == expected
    assert all(row["file_offset"] in numbers for row in tables(name).get("violations", []))


@pytest.mark.parametrize("name", NAMES)
def test_frames_on_request_are_as_many_as_were_counted(name: str) -> None:
    frames = Counter(row["direction"] for row in tables(name).get("frames", []))
    for speaker, column in (("C", "frames_by_client"), ("S", "frames_by_server")):
        assert frames[speaker] == sum(row[column] for row in tables(name)["connections"])  # type: ignore[misc]


@pytest.mark.parametrize("name", NAMES)
def test_batches_of_any_size_give_the_same_rows(name: str) -> None:
    """The rows of a connection do not depend on how its packets are cut into batches."""
    for rows in by_connection(packet_rows(str(DATA / name))).values():
        whole = plain(replayed(rows, ALL))
        for step in (1, 7, 50):
            assert plain(replayed(rows, ALL, step)) == whole


@given(data=st.data())
def test_a_snapshot_anywhere_changes_nothing(data: st.DataObject) -> None:
    """Wherever the feed is cut, snapshot and restore in its place give the rows that an uncut feed gives."""
    name = data.draw(st.sampled_from(NAMES))
    connections = by_connection(packet_rows(str(DATA / name)))
    rows = connections[data.draw(st.sampled_from(sorted(connections, key=repr)))]
    chosen = options(name)
    replay, records, at = ConnectionReplay(chosen), [], 0
    for cut in sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4))):
        records += replay.feed(batch(rows[at:cut]))
        octets = replay.snapshot()
        replay = ConnectionReplay.restore(octets, chosen)
        assert replay.snapshot() == octets
        at = cut
    records += replay.feed(batch(rows[at:])) + replay.finish()
    assert plain(records) == plain(replayed(rows, chosen))


@pytest.mark.parametrize("over", [False, True])
def test_another_header_behind_the_same_syn_is_another_connection_as_check_has_it(over: bool, tmp_path: Path) -> None:
    """However the packets are cut into batches, and with a snapshot after each."""
    first = build.Talk().open().say(True, build.HEADER).say(False, build.HEADER)
    second = build.Talk().open().say(True, b"AMQP\0\0\x09\x01").say(False, build.HEADER)
    path = build.write(tmp_path / "x", build.pcap(build.records((first.close() if over else first).segments + second.segments)))
    names = [verdict.connection for verdict in verdicts(path, observers(), (), lambda text: None)]
    assert [name[-2:] for name in names] == ["#1", "#2"]
    (rows,) = by_connection(packet_rows(path)).values()
    for step in (1, 4, len(rows)):
        replay, records = ConnectionReplay(), []
        for at in range(0, len(rows), step):
            records += replay.feed(batch(rows[at : at + step]))
            replay = ConnectionReplay.restore(replay.snapshot())
        found = gathered([*records, *replay.finish()])
        assert [row["name"] for row in found["connections"]] == names


def test_a_snapshot_of_an_idle_connection_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size does not depend on where the checkout lies: the name of the capture is in it."""
    monkeypatch.chdir(DATA)
    (rows,) = by_connection(packet_rows("hello.pcap")).values()
    replay = ConnectionReplay()
    replay.feed(batch(rows[:-6]))
    assert not replay.quiet
    assert len(replay.snapshot()) < 4096
    replay.feed(batch(rows[-6:]))
    over = replay
    assert over.quiet
    assert len(over.snapshot()) < 256


def test_the_latest_time_is_in_the_snapshot() -> None:
    """In one of an earlier version it is not: there it is that of the last packet."""
    (rows,) = by_connection(packet_rows(str(DATA / "hello.pcap"))).values()
    replay = ConnectionReplay()
    assert not ConnectionReplay().spoken
    replay.feed(batch(rows))
    assert replay.spoken
    replay.latest_ns = replay.last_ns + 7
    octets = replay.snapshot()
    assert ConnectionReplay.restore(octets).latest_ns == replay.last_ns + 7
    heard, own = cast("tuple[object, tuple[object, ...]]", read(octets, replay._given()))
    earlier = write((heard, own[:-1]), replay._given())
    assert ConnectionReplay.restore(earlier).latest_ns == replay.last_ns


def test_what_is_no_snapshot_is_refused() -> None:
    good = ConnectionReplay().snapshot()
    for octets in (b"", b"\x00" + good[1:], good[:-1], good[:1] + b"nothing", b"\xff" + good):
        with pytest.raises(DecodeError):
            ConnectionReplay.restore(octets)


def test_no_secret_reaches_a_table() -> None:
    text = repr(tables("sasl_python.pcap"))
    octets = (DATA / "sasl_python.pcap").read_bytes()
    assert b"PLAIN" in octets
    for secret in ("\\x00guest", "Z3Vlc3Q", "wrong", "secret", b"\0guest".hex()):
        assert secret not in text


def test_nothing_of_a_scram_exchange_reaches_a_table(tmp_path: Path) -> None:
    """No nonce, no salt, no proof, no verifier, whatever is asked for; the exchange itself is told."""
    path = scram.write(tmp_path / "scram.pcap")
    found = tables_of(path, ReplayOptions(ports=(scram.PORT,), tables=tuple(TABLES), body_head=64))
    octets = Path(path).read_bytes()
    (connection,) = found["connections"]
    assert connection["mechanism"] == "SCRAM-SHA-256"
    assert [row["verb"] for row in found["controls"]].count("connection.secure-ok") == 2
    assert found.get("violations", []) == []
    assert scram.told(octets.decode("latin-1")) == list(scram.SECRETS)
    assert scram.told(repr(found)) == []


def test_heads_of_bodies_are_kept_when_asked_for() -> None:
    assert all(row["body_head"] is None for row in tables("hello.pcap")["messages"])
    found = tables_of(str(DATA / "hello.pcap"), ReplayOptions(body_head=3))["messages"]
    assert {row["body_head"] for row in found} == {b"hel"} or all(len(row["body_head"]) <= 3 for row in found)  # type: ignore[arg-type]


def test_batches_are_bounded() -> None:
    for rows in by_connection(packet_rows(str(DATA / "tx.pcap"))).values():
        assert all(0 < record.batch.num_rows <= BATCH_ROWS for record in replayed(rows))


def test_damage_of_a_file_is_a_row() -> None:
    (rows,) = by_connection(packet_rows(str(DATA / "hello.pcap"))).values()
    note = dict.fromkeys(rows[0], 0) | {
        "capture": "x.pcap",
        "src": "",
        "dst": "",
        "payload": b"",
        "note": "cut off",
        "offset": 99,
    }
    found = gathered(replayed([note]))
    assert list(found) == ["violations"]
    assert (found["violations"][0]["level"], found["violations"][0]["text"]) == ("damage", "cut off")
    assert found["violations"][0]["file_offset"] == 99


JMS = json.loads((DATA / "jms" / "expected.json").read_text())


@pytest.mark.parametrize("name", sorted(JMS))
def test_recordings_of_the_java_client_give_the_verbs_expected(name: str) -> None:
    found = tables_of(str(DATA / "jms" / name))
    for speaker, column in (("C", "verbs_by_client"), ("S", "verbs_by_server")):
        verbs: Counter[str] = Counter()
        for row in found["connections"]:
            verbs.update(dict(row[column]))  # type: ignore[call-overload]
        assert verbs == JMS[name]["operations"][speaker]


DATA = Path(__file__).parents[2] / "data" / "captures"
VARIANTS = 2000 if os.environ.get("AMQP_PROFILE") == "soak" else 5
EXPECTED = json.loads((DATA / "expected.json").read_text())


def said(groups: list[list[Row]], options: ReplayOptions, step: int = 1 << 30) -> list[tuple[str, str]]:
    found = [each for rows in groups for each in replayed(rows, options, step)]
    return sorted((name, repr(row)) for name, batch in found for row in batch.to_pylist())


def slowly(groups: list[list[Row]], options: ReplayOptions, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    with monkeypatch.context() as patch:
        patch.setattr(module, "take_runs", lambda listener, key, packets, at, count, order: at)
        patch.setattr(Observer, "next_alike", lambda self, headers, head=0: None)
        return said(groups, options)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_recordings_give_the_same_rows_packet_by_packet(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ReplayOptions(ports=(int(EXPECTED[name]["port"]),), tables=tuple(TABLES), body_head=5)
    groups = list(by_connection(packet_rows(str(DATA / name))).values())
    assert said(groups, options) == slowly(groups, options, monkeypatch)


@pytest.mark.parametrize("body", [30, 400, 9000])
def test_traffic_gives_the_same_rows_packet_by_packet(body: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "traffic.pcap"
    make(path, 250_000 + 60 * body, connections=5, body=body, faults=0.2, repeats=0.02, seed=body)
    rows = packet_rows(str(path))
    for lost in (None, len(rows) // 3):
        left = [row for at, row in enumerate(rows) if at != lost]
        groups = list(by_connection(left).values())
        slow = slowly(groups, ReplayOptions(body_head=3), monkeypatch)
        assert said(groups, ReplayOptions(body_head=3)) == slow
        assert said(groups, ReplayOptions(body_head=3), 37) == slow
        assert any(name == "messages" for name, _ in slow)


def test_silence_is_noticed_within_many_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "heartbeat_dead.pcap"
    options = ReplayOptions(ports=(int(EXPECTED[name]["port"]),))
    groups = list(by_connection(packet_rows(str(DATA / name))).values())
    found = said(groups, options)
    assert any("connection.silence" in row for _, row in found)
    assert found == slowly(groups, options, monkeypatch)


def odd(rows: list[Row], chance: random.Random) -> list[Row]:
    """The same packets, but that some are lost, come twice or late, are split or cut, or carry another flag or octet."""
    rows = [dict(row) for row in rows]
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(rows))
        row, payload = rows[at], rows[at]["payload"]
        assert isinstance(payload, bytes) and isinstance(row["seq"], int) and isinstance(row["flags"], int)  # noqa: PT018
        half = len(payload) // 2
        match chance.choice(("lost", "twice", "late", "split", "cut", "flag", "octet")):
            case "lost" if len(rows) > 3:
                del rows[at]
            case "twice":
                rows.insert(min(len(rows), at + chance.randint(1, 3)), dict(row))
            case "late":
                rows.insert(min(len(rows) - 1, at + chance.randint(1, 3)), rows.pop(at))
            case "split" if half:
                second = {**row, "payload": payload[half:], "seq": (row["seq"] + half) & 0xFFFFFFFF}
                rows[at : at + 1] = [{**row, "payload": payload[:half]}, second]
            case "cut" if half:
                row["payload"], row["cut"] = payload[:half], len(payload) - half
            case "flag":
                row["flags"] ^= 1 << chance.randrange(6)
            case "octet" if half:
                row["payload"] = payload[:half] + bytes([payload[half] ^ 1 << chance.randrange(8)]) + payload[half + 1 :]
    latest = 0
    for place, row in enumerate(rows):
        row["offset"] = 24 + 100 * place
        assert isinstance(row["ts_ns"], int)
        row["ts_ns"] = latest = max(row["ts_ns"], latest)
    return rows


@pytest.mark.parametrize("name", ["hello.pcap", "credit.pcap", "dtx.pcap", "tx.pcap"])
def test_odd_packets_give_the_same_rows_packet_by_packet_however_they_are_batched(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with packets, and wherever a batch begins, many at a time tell what one by one does."""
    options = ReplayOptions(ports=(int(EXPECTED[name]["port"]),), tables=tuple(TABLES))
    groups = list(by_connection(packet_rows(str(DATA / name))).values())
    for seed in range(VARIANTS):
        chance = random.Random(f"{name} {seed}")
        rows = odd(chance.choice(groups), chance)
        slow = slowly([rows], options, monkeypatch)
        for step in (1 << 30, chance.randint(1, 9), chance.randint(10, 60)):
            assert said([rows], options, step) == slow, (seed, step)


def test_a_batch_that_begins_with_an_odd_packet_tells_nothing_of_the_time_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SYN in the middle: what follows belongs to nobody, and the connection ends before it."""
    name = "hello.pcap"
    options = ReplayOptions(ports=(int(EXPECTED[name]["port"]),), tables=tuple(TABLES))
    rows = max(by_connection(packet_rows(str(DATA / name))).values(), key=len)
    for at in range(12, 40):
        changed = [{**row, "flags": 26} if index == at else row for index, row in enumerate(rows)]
        assert said([changed], options, at) == slowly([changed], options, monkeypatch), at


def test_what_is_replayed_at_once_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever one side says in a row: no more octets at once than are allowed and one packet."""
    heard: list[int] = []
    several = Conversation.several

    def noted(self: Conversation, side: int, octets: bytes, *rest: Any) -> None:
        heard.append(len(octets))
        several(self, side, octets, *rest)

    monkeypatch.setattr(Conversation, "several", noted)
    make(tmp_path / "traffic.pcap", 200_000, connections=1)
    groups = list(by_connection(packet_rows(str(tmp_path / "traffic.pcap"))).values())
    whole = said(groups, ReplayOptions())
    assert max(heard) > 6000
    heard.clear()
    monkeypatch.setattr(module, "RUN_OCTETS", 3000)
    assert said(groups, ReplayOptions()) == whole
    assert 3000 < max(heard) <= 3000 + 1448


@pytest.mark.parametrize("block", [1, 20, 300])
def test_packets_of_many_files_give_the_same_rows_and_stay_many_at_once(
    block: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Files that were rotated within a connection; where files take turns packet by packet, so are they heard."""
    make(tmp_path / "traffic.pcap", 200_000, connections=2)
    groups = list(by_connection(packet_rows(str(tmp_path / "traffic.pcap"))).values())
    for rows in groups:
        for at, row in enumerate(rows):
            row["file_id"], row["capture"] = at // block, f"{at // block}.pcap"
    slow = slowly(groups, ReplayOptions(), monkeypatch)
    alone: list[int] = []
    segment = Listener.segment

    def noted(self: Listener, *given: Any) -> None:
        alone.append(1)
        segment(self, *given)

    monkeypatch.setattr(Listener, "segment", noted)
    assert said(groups, ReplayOptions()) == slow
    count = sum(len(rows) for rows in groups)
    assert len(alone) == count if block == 1 else len(alone) < count / 8
