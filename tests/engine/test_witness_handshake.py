"""What the two sides are held to while they open a connection."""

from __future__ import annotations

import pytest

from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness_handshake import HandshakeWitness
from amqp_sansio.events import Note, Violation
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Close, Open, Redirect, Start, StartOk, Tune, TuneOk

START = Start({}, ("ANONYMOUS", "PLAIN"), ("en_US",))
TUNE = Tune(100, 8192, 10, 60)


def hear(*controls: Control, strict: bool = False) -> tuple[HandshakeWitness, list[tuple[str, str]]]:
    """The witness, and (rule, kind) of what it found."""
    findings = Findings(strict, DEFAULT_LIMITS)
    witness = HandshakeWitness(findings)
    for control in controls:
        findings.speaker = "S" if isinstance(control, Start | Tune | Redirect) else "C"
        witness.hear(control)
    return witness, [(each.rule, "violation" if isinstance(each, Violation) else "note") for each in findings.found]


def test_a_clean_opening() -> None:
    witness, found = hear(START, StartOk({}, "PLAIN", b"", "en_US"), TUNE, TuneOk(50, 4096, 30), Open("/"), strict=True)
    assert found == []
    assert (witness.channels, witness.max_frame_size, witness.mechanism, witness.layered) == (50, 4096, "PLAIN", False)


def test_a_mechanism_that_was_not_offered() -> None:
    assert hear(START, StartOk({}, "NOSUCH", b"", "en_US"))[1] == [("connection.start-ok.mechanism.validity", "violation")]
    assert hear(StartOk({}, "NOSUCH", b"", "en_US"))[1] == []


def test_what_python_clients_leave_out() -> None:
    controls = (START, StartOk({}, "PLAIN", b""), TUNE, TuneOk(), Open())
    assert hear(*controls)[1] == []
    assert [rule for rule, _ in hear(*controls, strict=True)[1]] == [
        "connection.start-ok.locale",
        "connection.tune-ok.channel-max",
        "connection.open.virtual-host",
    ]


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (TuneOk(99, 8192, 60), None),
        (TuneOk(100, 8192, 60), None),
        (TuneOk(101, 8192, 60), "connection.tune-ok.channel-max.upper-limit"),
        (TuneOk(100, 8191, 60), None),
        (TuneOk(100, 8193, 60), "connection.tune-ok.max-frame-size.upper-limit"),
        (TuneOk(100, 4095, 60), "connection.tune-ok.max-frame-size.minimum"),
        (TuneOk(100, 4096, 60), None),
        (TuneOk(100, 0, 60), None),
        (TuneOk(100, 4096, 61), "connection.tune-ok.heartbeat.permitted-range"),
        (TuneOk(100, 4096, 9), "connection.tune-ok.heartbeat.permitted-range"),
        (TuneOk(100, 4096, 10), None),
        (TuneOk(100, 4096, 0), None),
        (TuneOk(0, 0, 0), None),
    ],
)
def test_the_answer_to_tune(answer: TuneOk, rule: str | None) -> None:
    assert hear(TUNE, answer)[1] == ([] if rule is None else [(rule, "violation")])


def test_what_was_agreed() -> None:
    assert hear(TUNE, TuneOk(0, 0, 0))[0].max_frame_size == 8192
    assert hear(TUNE, TuneOk())[0].channels == 100
    assert hear(Tune(), TuneOk())[0].max_frame_size == 65535
    assert hear(Tune(), TuneOk())[0].channels == 65536


@pytest.mark.parametrize(
    ("tune", "rule"),
    [
        (Tune(1, 4095), "connection.tune.max-frame-size.minimum"),
        (Tune(1, 4096), None),
        (Tune(1, 4096, 10, 9), "connection.tune.heartbeat-max.permitted-range"),
        (Tune(1, 4096, 10, 10), None),
    ],
)
def test_tune_itself(tune: Tune, rule: str | None) -> None:
    assert hear(tune)[1] == ([] if rule is None else [(rule, "violation")])


def test_a_heartbeat_that_the_server_did_not_offer() -> None:
    assert hear(Tune(1, 4096), TuneOk(1, 4096, 5))[1] == [("connection.tune-ok.heartbeat.no-heartbeat-min", "note")]
    assert hear(Tune(1, 4096, None, 5), strict=True)[1] == [("connection.tune.heartbeat-max.no-heartbeat-min", "violation")]


def test_redirecting_a_client_that_insists() -> None:
    assert hear(Open("/"), Redirect("h"))[1] == [("connection.redirect", "note")]
    assert hear(Open("/", None, True), Redirect("h"))[1] == [
        ("connection.open.insist.behavior", "violation"),
        ("connection.redirect", "note"),
    ]


def test_a_close_with_a_reason_is_a_note() -> None:
    assert hear(Close(200, "bye"))[1] == []
    assert hear(Close(320, "out"))[1] == [("connection.close", "note")]
    assert hear(Close(777, "?"), strict=True)[1] == [("connection.close.reply-code", "violation"), ("connection.close", "note")]


@pytest.mark.parametrize(
    ("mechanism", "layered"), [("PLAIN", False), ("SCRAM-SHA-256", False), ("DIGEST-MD5", True), ("GSSAPI", True)]
)
def test_mechanisms_that_may_bring_a_security_layer(mechanism: str, layered: bool) -> None:
    assert hear(StartOk({}, mechanism))[0].layered is layered


def test_notes_do_not_grow_with_the_words() -> None:
    findings = Findings(False, DEFAULT_LIMITS)
    HandshakeWitness(findings).hear(Close(320, "x" * 255))
    note = findings.found[0]
    assert isinstance(note, Note)
    assert len(note.text) < 300


def test_an_offer_that_is_too_small_is_named_by_its_field() -> None:
    for tune, said in (
        (Tune(100, 4095, 10, 60), "connection.tune with max-frame-size 4095"),
        (Tune(100, 8192, 60, 10), "connection.tune with heartbeat-min 60, heartbeat-max 10"),
    ):
        findings = Findings(False, DEFAULT_LIMITS)
        HandshakeWitness(findings).hear(tune)
        assert [each.said for each in findings.found if isinstance(each, Violation)] == [said]
