"""The parts that say what went wrong."""

from __future__ import annotations

from pathlib import Path

from tests.report.made import write_story, write_table

from amqp_sansio.report.findings import base, legal, ranges, verdict
from amqp_sansio.report.folder import Folder
from amqp_sansio.report.latency import Commands
from amqp_sansio.report.overview import Overview


def test_the_verdict_is_one_paragraph(tmp_path: Path) -> None:
    folder = Folder(str(write_story(tmp_path)))
    said = verdict(folder, Overview(folder), Commands(folder), (1, 2_000_000_000))
    assert said == (
        '<div class="card verdict bad"><p>The protocol was broken 1 time on 1 connection (1 by the client); most often: '
        "tx.commit.select-required. In doubt at the end: 2 commands, 1 distributed branch, 1 local transaction. Credit ran out"
        " and deliveries stood still 1 time, 2 s in all.</p></div>"
    )


def test_nobody_is_accused_of_nothing(tmp_path: Path) -> None:
    write_table(tmp_path, "violations", [])
    folder = Folder(str(tmp_path))
    said = verdict(folder, Overview(folder), None, None)
    assert said == '<div class="card verdict"><p>Nobody broke the protocol.</p></div>'


def test_words_for_lists() -> None:
    some = [{"first": 1, "last": 1}, {"first": 3, "last": 5}]
    assert ranges(some) == "1, 3\N{EN DASH}5"
    assert ranges(some * 4).endswith(", …")
    assert (ranges(None), legal(None), legal(["a", "b"])) == ("unknown", "—", "a, b")
    assert (base("/a/b.pcap"), base("c:\\x\\y"), base(None)) == ("b.pcap", "y", "")
