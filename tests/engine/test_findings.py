"""What tells a breach from a note, and how often it is told."""

from __future__ import annotations

from amqp_sansio.engine.findings import Findings, some
from amqp_sansio.events import Note, Violation
from amqp_sansio.limits import DEFAULT_LIMITS


def test_a_breach_accuses_the_speaker() -> None:
    findings = Findings(False, DEFAULT_LIMITS)
    findings.speaker, findings.channel, findings.offset = "S", 3, 99
    findings.breach("a.rule", "said", "text", ("legal",), 501)
    assert list(findings.found) == [Violation("S", "a.rule", "said", ("legal",), 501, 3, 99, "text")]


def test_a_divergence_is_a_note_and_a_breach_when_strict() -> None:
    for strict, kind in ((False, Note), (True, Violation)):
        findings = Findings(strict, DEFAULT_LIMITS)
        for _ in range(3):
            findings.divergence("a.rule", "said", "text")
        assert [type(each) for each in findings.found] == [kind]


def test_the_letter_is_held_to_only_when_strict() -> None:
    for strict, count in ((False, 0), (True, 1)):
        findings = Findings(strict, DEFAULT_LIMITS)
        for _ in range(3):
            findings.letter("a.rule", "said", "text")
        assert len(findings.found) == count


def test_a_finding_is_repeated_for_another_channel_speaker_matter_or_session() -> None:
    findings = Findings(False, DEFAULT_LIMITS)
    for speaker in "CS":
        for channel in (0, 1):
            for about in ("", "x"):
                findings.speaker, findings.channel = speaker, channel
                findings.divergence("a.rule", "said", "text", about=about)
                findings.divergence("a.rule", "said", "text", about=about)
    assert len(findings.found) == 8
    findings.forget(1)
    findings.divergence("a.rule", "said", "text", about="x")
    assert len(findings.found) == 9


def test_the_memory_of_findings_is_bounded() -> None:
    findings = Findings(False, DEFAULT_LIMITS)
    for number in range(5000):
        findings.divergence("a.rule", "said", "text", about=str(number))
    assert len(findings.found) == 5000
    assert sum([len(told) for told in findings._told.values()]) == 4096


def test_people_are_shown_eight() -> None:
    assert some(range(20)) == [str(number) for number in range(8)]
    assert len(some(["x" * 1000])[0]) == 80
