"""What is agreed on in the opening, with answers before their questions."""

from __future__ import annotations

import pytest

from amqp_sansio.engine.channel_witness_opening import OpeningWitness
from amqp_sansio.engine.findings import Findings
from amqp_sansio.limits import DEFAULT_LIMITS, MAX_CHANNELS
from amqp_sansio.spec.connection import Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.fields import as_fields


def heard(*controls: Start | StartOk | Tune | TuneOk) -> tuple[OpeningWitness, list[str]]:
    findings = Findings(False, DEFAULT_LIMITS)
    witness = OpeningWitness(findings)
    for control in controls:
        witness.hear(control)
    return witness, [each.rule for each in findings.found]


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize(
    ("answer", "rules"),
    [
        (TuneOk(2047, 131072), []),
        (TuneOk(1, 4096), []),
        (TuneOk(2048, 131072), ["connection.tune-ok.channel-max.upper-limit"]),
        (TuneOk(0, 131072), ["connection.tune-ok.channel-max.upper-limit"]),
        (TuneOk(2047, 131073), ["connection.tune-ok.frame-max.upper-limit"]),
        (TuneOk(2047, 0), ["connection.tune-ok.frame-max.upper-limit"]),
        (TuneOk(2047, 4095), ["connection.tune-ok.frame-max.minimum"]),
    ],
)
def test_answers_to_an_offer(answer: TuneOk, rules: list[str], pipelined: bool) -> None:
    offer = Tune(2047, 131072)
    witness, found = heard(answer, offer) if pipelined else heard(offer, answer)
    assert found == rules
    assert witness.agreed
    assert (witness.channels, witness.frame_max) == (answer.channel_max or MAX_CHANNELS, answer.max_frame_size)


def test_without_a_bound_all_may_be_asked_for() -> None:
    assert heard(Tune(0, 0), TuneOk(65535, 0))[1] == []
    assert heard(Tune(0, 100))[1] == ["connection.tune.frame-max.minimum"]


@pytest.mark.parametrize("pipelined", [False, True])
def test_a_mechanism_that_was_not_offered(pipelined: bool) -> None:
    start, answer = Start({}, ("PLAIN",), ()), StartOk({}, "X", b"", "")
    assert heard(*((answer, start) if pipelined else (start, answer)))[1] == ["connection.start-ok.mechanism.validity"]


def test_capabilities() -> None:
    witness, _ = heard(Start(as_fields({"capabilities": {"a": True, "b": False}}), ("PLAIN",), ()))
    assert [witness.able("server", each) for each in "abc"] == [True, False, False]
    assert witness.able("client", "a") is None
    assert heard(StartOk({"capabilities": 7}, "PLAIN"))[0].able("client", "a") is False
