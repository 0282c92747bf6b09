"""One conversation with a server."""

from __future__ import annotations

from tests.testing.probe.inmemory import InMemory

from amqp_sansio.broker import Broker
from amqp_sansio.testing.probe.dialogue import Talk
from amqp_sansio.testing.probe.plans import Plan
from amqp_sansio.testing.probe.rounds import Round, taken
from amqp_sansio.testing.speech.refused_cases import trespasses
from amqp_sansio.testing.speech.word_encoder import Setting


def done(plan: Plan) -> Round:
    setting = Setting()
    found = [each for each in trespasses(setting) if each.condition.name == plan.trespass]
    round_ = Round(plan, Talk(InMemory(Broker()), setting), found[0] if found else None)
    round_.run()
    return round_


def test_what_is_legal_is_taken() -> None:
    led = done(Plan(0, "tx", ("client:tx.select", "client:tx.commit")))
    assert {finding.rule for finding in led.findings} == {taken("tx.select"), taken("tx.commit")}
    assert led.moves == [(0, "client:tx.select"), (led.part.language.moves[0]["client:tx.select"], "client:tx.commit")]  # type: ignore[union-attr]
    assert led.talk.ended or led.talk.steps[-1].verb == "connection.close-ok"


def test_what_is_illegal_is_refused() -> None:
    led = done(Plan(0, "tx", ("client:tx.select",), "client:tx.select"))
    assert led.findings[-1].rule == "tx.select.exactly-once"
    assert led.findings[-1].kept
    assert "tx.select" in led.conversation(led.findings[-1]).lines[-5:].__repr__()


def test_a_trespass() -> None:
    led = done(Plan(0, "queue", (), None, "queue.purge: no such queue"))
    assert [(finding.rule, finding.kept) for finding in led.findings] == [("queue.purge.queue.queue-exists", True)]


def test_the_words_of_the_server_are_followed() -> None:
    led = done(Plan(0, "message: explicit, pre-acquired", ("sender:message.transfer pre-acquired", "recipient:message.accept")))
    assert led.words == ["sender:message.transfer pre-acquired", "recipient:message.accept"]
    assert led.rule in {finding.rule for finding in led.findings}


def test_a_prepare_without_work_is_another_word() -> None:
    said = ("session:start", "session:end", "session:prepare")
    assert done(Plan(0, "dtx: branch", said)).words[-1] == "session:prepare"


def test_what_is_not_offered() -> None:
    led = done(Plan(0, "stream: publishing", ("client:stream.publish",)))
    assert led.not_offered
    assert led.findings == []
