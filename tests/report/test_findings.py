"""The parts that say what went wrong."""

from __future__ import annotations

import re
from pathlib import Path

from tests.report.made import write_story, write_table

from amqp_sansio.report.findings import RULES_TO_DO, base, first_to_do, legal, ranges, verdict
from amqp_sansio.report.folder import Folder
from amqp_sansio.report.latency import Commands
from amqp_sansio.report.overview import Overview


def test_the_verdict_is_one_paragraph(tmp_path: Path) -> None:
    folder = Folder(str(write_story(tmp_path)))
    said = verdict(folder, Overview(folder), Commands(folder), (1, 2_000_000_000))
    assert said == (
        '<div class="card verdict bad"><p>The protocol was broken once on 1 connection (1 by the client); most often: '
        "tx.commit.select-required. In doubt at the end: 4 (2 messages published and not completed, 1 branch prepared and not"
        " decided, 1 commit that nobody answered). Credit ran out and deliveries stood still once, 2 s in all.</p></div>"
    )


def test_nobody_is_accused_of_nothing(tmp_path: Path) -> None:
    write_table(tmp_path, "violations", [])
    folder = Folder(str(tmp_path))
    said = verdict(folder, Overview(folder), None, None)
    assert said == '<div class="card verdict"><p>Nobody broke the protocol.</p></div>'


def test_what_was_not_judged_has_its_reason_and_its_own_colour(tmp_path: Path) -> None:
    at = {"ts_ns": 1, "ended_at": 2, "octets_by_client": 300, "octets_by_server": 40}
    secret = [{**at, "connection": each, "not_judged": "TLS is not read here"} for each in (1, 2)]
    write_table(tmp_path / "none", "connections", secret)
    write_table(tmp_path / "some", "connections", [*secret, {**at, "connection": 3}])
    told = "Not judged: 2 connections, 680 octets: TLS is not read here (2)."
    for name, judged in (("none", ""), ("some", "Nobody broke the protocol in what was judged. ")):
        write_table(tmp_path / name, "violations", [])
        folder = Folder(str(tmp_path / name))
        said = verdict(folder, Overview(folder), None, None)
        assert said == f'<div class="card verdict unjudged"><p>{judged}{told}</p></div>'


def test_words_for_lists() -> None:
    some = [{"first": 1, "last": 1}, {"first": 3, "last": 5}]
    assert ranges(some) == "1, 3\N{EN DASH}5"
    assert ranges(some * 4).endswith(", …")
    assert (ranges(None), legal(None), legal(["a", "b"])) == ("unknown", "—", "a, b")
    assert (base("/a/b.pcap"), base("c:\\x\\y"), base(None)) == ("b.pcap", "y", "")


def test_what_to_act_on_is_ranked_by_what_it_may_cost(tmp_path: Path) -> None:
    folder = Folder(str(write_story(tmp_path)))
    said = re.findall(r'<li><a href="#(\w+)"><b>(.*?)</b>', first_to_do(Overview(folder), Commands(folder)))
    assert said == [
        ("doubt", "1 branch prepared and not decided"),
        ("doubt", "1 commit that nobody answered"),
        ("doubt", "2 messages published and not completed"),
        ("violations", "tx.commit.select-required, broken once by the client"),
    ]


def test_the_report_has_no_list_of_actions_where_nothing_is_to_be_done(tmp_path: Path) -> None:
    write_table(tmp_path, "violations", [])
    assert first_to_do(Overview(Folder(str(tmp_path))), None) == ""


def test_of_many_broken_rules_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    at = {"direction": "S", "level": "violation", "connection": 1}
    write_table(tmp_path, "violations", [{**at, "rule": f"rule{each}"} for each in range(9) for _ in range(9 - each)])
    said = re.findall(r"<b>(.*?)</b>", first_to_do(Overview(Folder(str(tmp_path))), None))
    assert said[0] == "rule0, broken 9 times by the server"
    assert len(said) == RULES_TO_DO + 1
    assert said[-1] == "6 other rules that were broken"
