"""The parts that show the traffic."""

from __future__ import annotations

from pathlib import Path

from tests.report.made import SECOND, START, write_manifest, write_story, write_table

from amqp_sansio.report.bins import Axis
from amqp_sansio.report.charts import Charts
from amqp_sansio.report.folder import Folder
from amqp_sansio.report.latency import Commands, Messages
from amqp_sansio.report.overview import Overview
from amqp_sansio.report.traffic import captures, connections, latency, talkers


def test_what_could_not_be_read_is_reported(tmp_path: Path) -> None:
    write_story(tmp_path)
    write_manifest(tmp_path, ["a.pcap", "<b>.pcap"], ["c.pcap: is no capture"])
    folder = Folder(str(tmp_path))
    said = captures(folder, Overview(folder))
    assert "c.pcap: is no capture" in said
    assert "&lt;b&gt;.pcap" in said
    assert "Captures: 2" in said
    assert "There is no manifest" not in said


def test_a_missing_manifest_is_reported(tmp_path: Path) -> None:
    write_story(tmp_path)
    (tmp_path / "_MANIFEST.json").unlink()
    folder = Folder(str(tmp_path))
    assert "There is no manifest" in captures(folder, Overview(folder))


def test_the_busiest_senders_and_the_connections(tmp_path: Path) -> None:
    folder = Folder(str(write_story(tmp_path)))
    seen = Overview(folder)
    said = talkers(folder, seen, Commands(folder), None)
    assert '<span class="name">c</span>' in said
    assert "queue.declare by the client" in said
    assert "1 connection: eof 1." in connections(seen, {7: "c&gt;s"}, folder)


def test_deliveries_without_a_latency_are_reported(tmp_path: Path) -> None:
    times = [("C", START + 9, START + 9), ("S", START, START + 1), ("S", START, START + 2)]
    rows = [{"direction": who, "message_id": "a", "ts_ns": ts, "last_octet_ns": last} for who, ts, last in times]
    write_table(tmp_path, "messages", rows)
    said = latency(Charts(), None, Messages(Folder(str(tmp_path)), Axis(START, START + SECOND)))
    assert "2 deliveries ended, by the recorded times, before the message was published" in said
    write_table(tmp_path, "messages", rows[:1])
    said = latency(Charts(), None, Messages(Folder(str(tmp_path)), Axis(START, START + SECOND)))
    assert "before the message was published" not in said
