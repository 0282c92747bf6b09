"""What is made a finding."""

from __future__ import annotations

from amqp_sansio.captures.conversation import Heard
from amqp_sansio.captures.findings import NOTE, VIOLATION, Finding, finding_of
from amqp_sansio.events.observed import HeaderSeen, Note, OpaqueSeen
from amqp_sansio.events.violation import Violation


def test_a_violation_accuses_its_speaker_and_nothing_else_does() -> None:
    violation = Violation("S", "a.rule", "said", ("this",), 501, 1, 8, "one sentence")
    assert finding_of(Heard(7, 0, "S", violation, 0, 1)) == Finding(
        VIOLATION, "S", 7, "a.rule", "said", ("this",), "one sentence", 1, 501, 8
    )
    for said, rule in ((Note("gap", "lost"), "gap"), (OpaqueSeen("TLS"), "opaque")):
        found = finding_of(Heard(7, 0, "C", said, 0, 1))
        assert found is not None
        assert (found.level, found.rule, found.legal) == (NOTE, rule, ())
    assert finding_of(Heard(7, 0, "C", HeaderSeen(b"AMQP\1\1\0\x0a", "0-10"), 0, 8)) is None
