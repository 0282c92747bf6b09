"""What the verbs of the pipeline share: arguments, and what is said at the end."""

from __future__ import annotations

import argparse
import json

import attrs
import pytest

from amqp_sansio.captures.columns.late import Late
from amqp_sansio.captures.columns.store import Damage, PublishedTables
from amqp_sansio.captures.tables import DEFAULT_TABLES, TABLES
from amqp_sansio.cli.main import parser
from amqp_sansio.cli.output import NO_CONNECTION
from amqp_sansio.cli.pipeline import NO_SESSION, hours, payload, plan_of, report, setting, size, tables


def test_tables_are_names_between_commas() -> None:
    assert tables("messages, connections") == ("connections", "messages")
    assert tables("all") == tuple(TABLES)
    for wrong in ("", "nothing", "messages,nothing"):
        with pytest.raises(argparse.ArgumentTypeError, match="no table is called nothing: there are connections, "):
            tables(wrong)


@pytest.mark.parametrize(("text", "octets"), [("none", 0), ("head:1", 1), ("head:64", 64), ("head:65536", 65536)])
def test_the_payload_is_none_or_a_head(text: str, octets: int) -> None:
    assert payload(text) == octets


@pytest.mark.parametrize("text", ["", "head", "head:", "head:0", "head:65537", "head:-1", "full", "head:٣"])
def test_another_payload_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="neither none nor head:N"):
        payload(text)


def test_a_setting_is_a_name_and_a_value() -> None:
    assert setting("a.b=c=d") == ("a.b", "c=d")
    for wrong in ("a.b", "=c"):
        with pytest.raises(argparse.ArgumentTypeError, match="not NAME=VALUE"):
            setting(wrong)


@pytest.mark.parametrize(
    ("octets", "text"), [(0, "0 octets"), (999, "999 octets"), (1500, "1.5 kB"), (2_400_000, "2.4 MB"), (7e12, "7000.0 GB")]
)
def test_octets_for_people(octets: int, text: str) -> None:
    assert size(int(octets)) == text


def test_the_arguments_become_options_of_the_replay() -> None:
    words = ["--port", "5", "--port", "6", "--broker", "north", "--payload", "head:9", "--tables", "dtx", "--strict"]
    plan = plan_of(parser().parse_args(["analyze", "x.pcap", "--out", "y", *words]))
    assert (plan.ports, plan.broker, plan.body_head, plan.tables, plan.strict) == ((5, 6), "north", 9, ("dtx",), True)
    plan = plan_of(parser().parse_args(["watch", "x", "--out", "y", "--checkpoint", "z"]))
    assert (plan.ports, plan.broker, plan.body_head, plan.tables, plan.strict) == ((), None, 0, DEFAULT_TABLES, False)


def test_a_broker_is_a_name_or_one_with_an_address() -> None:
    def brokers(*words: str) -> list[str]:
        found: list[str] = parser().parse_args(["check", "x", *[word for each in words for word in ("--broker", each)]]).broker
        return found

    assert brokers("north", "10.0.0.1:5672=a=b", "[::1]:5672=c") == ["north", "10.0.0.1:5672=a=b", "[::1]:5672=c"]
    for wrong in ("", "=north", "10.0.0.1=north", ":5672=north", "10.0.0.1:5672=", "10.0.0.1:0=north", "10.0.0.1:99999=north"):
        with pytest.raises(SystemExit):
            brokers(wrong)


def test_hours_are_a_number() -> None:
    assert [hours(text) for text in ("0", "0.5", "24", "100000")] == [0, 0.5, 24, 100_000]
    for wrong in ("", "a day", "-1", "nan", "inf", "100001"):
        with pytest.raises(argparse.ArgumentTypeError, match="must be a number of hours from 0 to 100000"):
            hours(wrong)


def outcome(**findings: int) -> PublishedTables:
    return PublishedTables("out", {"connections": 2, "violations": sum(findings.values())}, 3, 4500, findings, 1.25)


def test_the_summary_says_what_was_published(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(outcome(note=2, violation=1), as_json=False) == 0
    assert capsys.readouterr().out.splitlines() == [
        "out: 3 files, 4.5 kB, in 1.2 s",
        "  connections              2",
        "  violations               3  (2 of level note, 1 of level violation)",
    ]


def test_the_summary_and_a_wrong_table_print_no_name_that_a_terminal_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(attrs.evolve(outcome(), out="t\x1b[2J"), as_json=False) == 0
    assert capsys.readouterr().out.startswith("t\\u001b[2J: 3 files, ")
    with pytest.raises(argparse.ArgumentTypeError, match=r"no table is called \\x1b\[2J: there are"):
        tables("\x1b[2J")


def test_deliveries_without_a_latency_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    early = attrs.evolve(outcome(), rows={"connections": 2, "end_to_end": 265}, early=7)
    assert report(early, as_json=False) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "  end_to_end             265  (7 without a latency: delivered before published, by the recorded times)"
    assert report(early, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["early"] == 7


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(outcome(note=2), as_json=True) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {
        "out": "out",
        "tables": {"connections": 2, "violations": 2},
        "findings": {"note": 2},
        "damage": [],
        "files": 3,
        "octets": 4500,
        "seconds": 1.25,
    }


def test_where_nothing_was_found_a_line_says_what_may_be_missing(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = attrs.evolve(outcome(), rows={"connections": 0, "violations": 0})
    for as_json in (False, True):
        assert report(nothing, as_json) == 0
        assert capsys.readouterr().err == f"amqp-sansio: {NO_CONNECTION}\n"
    for something in (outcome(), attrs.evolve(outcome(), rows={"violations": 0})):
        assert report(something, as_json=False) == 0
        assert capsys.readouterr().err == ""


def test_connections_without_a_session_are_pointed_to_the_verb_that_judges_them(capsys: pytest.CaptureFixture[str]) -> None:
    for rows, line in (
        ({"connections": 1, "sessions": 0}, f"amqp-sansio: {NO_SESSION}\n"),
        ({"connections": 1, "sessions": 1}, ""),
    ):
        assert report(attrs.evolve(outcome(), rows=rows), as_json=True) == 0
        assert capsys.readouterr().err == line


def test_damage_shows_in_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(outcome(damage=1), as_json=True) == 2
    assert "1 place in the captures cannot be read" in capsys.readouterr().err


def test_what_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """With its reason, in words and in JSON; of very many, the first."""
    damaged = attrs.evolve(outcome(damage=3), damage=[Damage("/a", 7, "it is torn"), Damage("/b", 0, "no capture")])
    assert report(damaged, as_json=True) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["damage"] == [
        {"capture": "/a", "offset": 7, "text": "it is torn"},
        {"capture": "/b", "offset": 0, "text": "no capture"},
    ]
    assert said.err.splitlines() == [
        "amqp-sansio: 3 places in the captures cannot be read: see level damage in violations",
        "amqp-sansio: /a: octet 7: it is torn",
        "amqp-sansio: /b: no capture",
        "amqp-sansio: ... and 1 more",
    ]


def test_files_that_came_too_late_are_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    """stderr named them when their batch was published."""
    late = Late(batch=3, capture="/a", packets=2, octets=30, first_ns=4, last_ns=5)
    assert report(attrs.evolve(outcome(note=2), late=[late]), as_json=True) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["late"] == [
        {"batch": 3, "capture": "/a", "packets": 2, "octets": 30, "first_ns": 4, "last_ns": 5, "files": 1}
    ]
    assert said.err == ""


@pytest.mark.parametrize(
    "words",
    [["analyze", "x", "--out", ""], ["watch", "x", "--out", "y", "--checkpoint", ""], ["report", "x", "--out", ""]],
)
def test_a_place_has_a_name(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(words)
    assert "an empty name" in capsys.readouterr().err
