"""What was said around a violation."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from tests.report.made import START, write_story, write_table

from amqp_sansio.report.folder import Folder
from amqp_sansio.report.overview import Overview
from amqp_sansio.report.talk import AFTER, BEFORE, DiagramLine, Surroundings, sequence, talks


def row(place: int) -> dict[str, Any]:
    return {"ts_ns": place, "direction": "C", "stream_offset": place, "connection": 1, "rule": "r"}


def said(place: int, kind: str = "command") -> DiagramLine:
    return DiagramLine(place, "C", place, kind, f"v{place}", "", 0, None)


# Of any number of messages in any order, those nearest to the violation stay, in order, and the others are counted.
def test_the_nearest_stay_and_the_others_are_counted() -> None:
    for step in (1, -1, 7):
        talk = Surroundings(row(1000))
        places = sorted(range(2000), key=lambda n: (n * step) % 2003)
        for place in places:
            talk.add(said(place))
        shown = [each.ts_ns for each, _ in talk.lines()]
        assert shown == list(range(1000 - BEFORE, 1000 + AFTER + 1))
        assert (talk.earlier, talk.later) == (1000 - BEFORE, 999 - AFTER)


def test_a_finding_stands_with_its_word_or_alone() -> None:
    talk = Surroundings(row(10))
    for each in (said(5), said(10), said(10, "violation"), said(12, "note"), said(5, "note")):
        talk.add(each)
    assert [(each.ts_ns, each.kind, [note.kind for note in notes]) for each, notes in talk.lines()] == [
        (5, "command", ["note"]),
        (10, "command", ["violation"]),
        (12, "note", []),
    ]


def test_a_violation_that_no_table_tells_is_drawn_all_the_same() -> None:
    talk = Surroundings(row(10))
    talk.add(said(10, "note"))
    talk.add(said(10, "violation"))
    assert [each.kind for each, _ in talk.lines()] == ["violation"]


def test_controls_come_from_frames_or_else_from_sessions_and_connections(tmp_path: Path) -> None:
    write_story(tmp_path)
    (tmp_path / "_MANIFEST.json").unlink()
    folder = Folder(str(tmp_path))
    (talk,) = talks(folder, Overview(folder).drawn)
    assert talk.name == "c>s#1"
    verbs = [each.verb for each, _ in talk.lines()]
    assert verbs[:2] == ["session.attach", "queue.declare"]
    assert "connection.open-ok" in verbs
    frame = {
        "connection": 7,
        "ts_ns": START,
        "direction": "S",
        "type": "control",
        "verb": "session.known-completed",
        "channel": 1,
    }
    write_table(tmp_path, "frames", [{**frame, "stream_offset": 3}, {**frame, "type": "command", "verb": "x.y"}])
    (talk,) = talks(Folder(str(tmp_path)), Overview(folder).drawn)
    verbs = [each.verb for each, _ in talk.lines()]
    assert "session.known-completed" in verbs
    assert "session.attach" not in verbs
    assert "x.y" not in verbs
    write_table(tmp_path, "controls", [{**frame, "verb": "session.completed", "arguments": '{"commands":[[0,3]]}'}])
    (talk,) = talks(Folder(str(tmp_path)), Overview(folder).drawn)
    drawn = {each.verb: each.detail for each, _ in talk.lines()}
    assert drawn["session.completed"] == '"commands":[[0,3]]'
    assert "session.known-completed" not in drawn


WORDS = st.text(max_size=300)


def talk_of(words: str) -> Surroundings:
    talk = Surroundings({"ts_ns": 10, "direction": "C", "stream_offset": 10, "connection": 1, "rule": words})
    talk.add(DiagramLine(5, "S", 1, "control", "connection.tune", words, 0, None))
    talk.add(DiagramLine(10, "C", 10, "command", words, words, 1, 4))
    talk.add(DiagramLine(10, "C", 10, "violation", words, words, 1, None))
    talk.add(DiagramLine(12, "S", 9, "note", words, words, None, None))
    return talk


# Whatever was said, the diagram is well-formed, and has no other elements than with harmless words.
@given(WORDS)
def test_names_never_become_elements(words: str) -> None:
    allowed = {"svg", "title", "line", "rect", "text", "tspan", "path", "g"}
    assert {each.tag for each in ElementTree.fromstring(sequence(talk_of(words))).iter()} <= allowed


def test_the_violation_is_marked_and_the_others_are_not() -> None:
    root = ElementTree.fromstring(sequence(talk_of("tx.commit")))
    bad = [each for each in root.iter("g") if each.get("class") == "bad"]
    assert (bad[0][0].tag, bad[0][0].get("class")) == ("rect", "here")
    assert "tx.commit #4" in "".join(bad[0].itertext())
    arrows = [(each.get("x1"), each.get("x2")) for each in root.iter("line") if each.get("class") == "arrow"]
    assert arrows == [("488", "66"), ("66", "488")]
    assert "\N{MINUS SIGN}5 ns" in "".join(root.itertext())
