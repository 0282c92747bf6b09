from __future__ import annotations

import pytest

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.carrier import violation_of
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.wording import frame_of, judge_encoding, judge_headers, verb_of
from amqp_sansio.events.observed import CommandSeen, FrameSeen
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.execution import Sync
from amqp_sansio.wire.assembly import Malformed
from amqp_sansio.wire.reading import Reading


@pytest.mark.parametrize(
    ("kind", "payload", "verb"),
    [
        ("control", b"\x02\x01", "session.attach"), ("command", b"\x04\x01\0\0", "message.transfer"),
        ("control", b"\x01\x63", "connection.99"), ("command", b"\x77\x01", "119.1"), ("command", b"\x04", "4.?"),
        ("control", b"", "?.?"),
    ],
)  # fmt: skip
def test_a_verb_by_its_name_or_its_numbers(kind: str, payload: bytes, verb: str) -> None:
    assert verb_of(AMQP_0_10.codec, kind, payload) == verb


def test_frames_name_what_begins_in_them() -> None:
    assert frame_of(AMQP_0_10.codec, (0, 14, 0x0F, 0, 0, 3, b"\x02\x01")) == FrameSeen(0x0F, 0, 0, 3, "session.attach")
    assert frame_of(AMQP_0_10.codec, (0, 14, 0x0B, 1, 1, 3, b"\x04\x01")).verb == "message.transfer"
    assert frame_of(AMQP_0_10.codec, (0, 14, 0x05, 3, 1, 3, b"ab")).verb is None


def test_what_is_malformed_is_its_speakers_violation() -> None:
    found = violation_of("S", Malformed("frame.size", "too small", 501, 2, 99, False, "size 3", ("at least 12",)))
    assert (found.speaker, found.rule, found.said, found.code) == ("S", "frame.size", "size 3", 501)
    assert (found.legal, found.channel, found.offset, found.text) == (("at least 12",), 2, 99, "too small")


def test_octets_that_say_nothing_are_reported_once() -> None:
    findings = Findings(False, DEFAULT_LIMITS)
    good = AMQP_0_10.codec.encode_command(Sync(), True)
    for payload in (good, good + b"more", good + b"more"):
        judge_encoding(findings, AMQP_0_10.codec, "execution.sync", payload, Sync(), True)
    assert [each.rule for each in findings.found] == ["encoding"]
    (found,) = findings.found
    assert found.text == f"{len(good) + 4} octets where {len(good)} say the same: {good.hex(' ')}"


def test_a_header_that_cannot_be_read_is_reported() -> None:
    for header, rules in ((b"", []), (b"\0\0\0\x09", ["header"])):
        findings = Findings(False, DEFAULT_LIMITS)
        seen = CommandSeen(0, None, 0, "message.transfer", None, False, b"", header)
        judge_headers(findings, AMQP_0_10.codec, seen, header, DEFAULT_LIMITS, Reading.of(DEFAULT_LIMITS))
        assert [bool(each) for each in findings.found] == [bool(rule) for rule in rules]
