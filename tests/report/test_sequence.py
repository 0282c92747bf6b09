"""Sequence diagrams."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.report.sequence import sequence
from amqp_sansio.report.talk import Said, Talk

WORDS = st.text(max_size=300)


def talk_of(words: str) -> Talk:
    talk = Talk({"ts_ns": 10, "direction": "C", "stream_offset": 10, "connection": 1, "rule": words})
    talk.add(Said(5, "S", 1, "control", "connection.tune", words, 0, None))
    talk.add(Said(10, "C", 10, "command", words, words, 1, 4))
    talk.add(Said(10, "C", 10, "violation", words, words, 1, None))
    talk.add(Said(12, "S", 9, "note", words, words, None, None))
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
