"""Verdicts: what is gathered about each connection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.captures import build
from tests.captures.fake import FakeWitness

from amqp_sansio.captures import verdicts as module
from amqp_sansio.captures.conversation import Finding, observers
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.verdicts import Verdict, verdict_row, verdicts
from amqp_sansio.dialects import readable
from amqp_sansio.engine.checker import Observed
from amqp_sansio.engine.observer import Speaker
from amqp_sansio.events.observed import Note, Observation, OpaqueSeen
from amqp_sansio.events.violation import Violation


class Accuser(FakeWitness):
    """Says what it is told to say as soon as the client says anything."""

    says: Sequence[Observation] = ()

    def receive_data(self, speaker: Speaker, data: bytes) -> None:
        super().receive_data(speaker, data)
        if speaker == "C":
            self.seen.extend([Observed(speaker, 0, 8, each) for each in self.says])
            self.says = ()


def judged(tmp_path: Path, *says: Observation) -> Verdict:
    class Told(Accuser):
        def __init__(self, middle: bool) -> None:
            super().__init__(middle)
            self.says = says

    path = build.write(tmp_path / "x", build.pcap(build.records(build.conversation([b"x", b"y"]).segments)))
    (verdict,) = verdicts(path, Told, (), lambda text: None)
    return verdict


def test_a_clean_connection_is_counted(tmp_path: Path) -> None:
    verdict = judged(tmp_path)
    assert (verdict.verdict, verdict.findings, verdict.dialect) == ("clean", [], "0-10")
    assert (verdict.commands, verdict.connection) == (2, "10.0.0.1:40000>10.0.0.2:5672#1")
    assert verdict.controls == 13
    assert min(verdict.octets) > 100


def test_each_accusation_names_the_speaker_and_the_rule(tmp_path: Path) -> None:
    violation = Violation("C", "a.rule", "what was said", ("this", "that"), 501, 1, 8, "one sentence")
    verdict = judged(tmp_path, Note("n", "a note"), violation, OpaqueSeen("why"))
    assert verdict.verdict == "violations"
    assert verdict.findings == [
        Finding("note", "C", 4, "n", "a note", (), "a note", octet=0),
        Finding("violation", "C", 4, "a.rule", "what was said", ("this", "that"), "one sentence", 1, 501, 8),
        Finding("note", "C", 4, "opaque", "cannot be read from here on: why", (), "cannot be read from here on: why", octet=0),
    ]
    assert judged(tmp_path, Note("n", "a note")).verdict == "clean"


def test_a_verdict_as_json(tmp_path: Path) -> None:
    row = verdict_row(
        "f", judged(tmp_path, Violation("C", "a.rule", "said", ("this",), 501, 1, 8, "one sentence"), Note("n", "a"))
    )
    assert (row["file"], row["verdict"], row["dialect"]) == ("f", "violations", "0-10")
    assert row["findings"] == [
        {
            "level": "violation",
            "speaker": "C",
            "packet": 4,
            "rule": "a.rule",
            "said": "said",
            "legal": ["this"],
            "text": "one sentence",
            "channel": 1,
            "code": 501,
            "octet": 8,
        },
        {
            "level": "note",
            "speaker": "C",
            "packet": 4,
            "rule": "n",
            "said": "a",
            "legal": [],
            "text": "a",
            "channel": None,
            "code": None,
            "octet": 0,
        },
    ]


@pytest.mark.parametrize("most", [2, 3, 4])
def test_findings_beyond_the_limit_are_counted_and_a_violation_is_never_lost(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FINDINGS", most)
    notes = [Note("n", str(number)) for number in range(3)]
    verdict = judged(tmp_path, *notes)
    assert len(verdict.findings) == min(most, 3) + (most < 3)
    assert (verdict.findings[-1].rule == "limits.findings") == (most < 3)
    assert judged(tmp_path, *notes, Violation("C", "r", "s")).verdict == "violations"


def test_verdicts_on_what_was_good_come_before_the_error(tmp_path: Path) -> None:
    octets = build.pcap(build.records(build.conversation().segments))
    path = build.write(tmp_path / "x", octets + b"\xff" * 17)
    found: list[Verdict] = []
    with pytest.raises(CaptureError):
        found.extend(verdicts(path, FakeWitness, (), lambda text: None))
    assert [each.verdict for each in found] == ["clean"]


def test_what_is_in_doubt_on_channels_is_counted() -> None:
    recording = Path(__file__).parents[1] / "data" / "channels" / "orders.pcap"
    (verdict,) = verdicts(str(recording), observers(False, dialects=readable(())), (), lambda text: None)
    assert (verdict.verdict, verdict.doubt.publishes, verdict.doubt.deliveries) == ("clean", 1, 1)
