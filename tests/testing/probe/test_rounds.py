"""One conversation with a server, and what may be answered to a step that breaks a rule."""

from __future__ import annotations

import pytest
from tests.testing.probe.inmemory import InMemory

from amqp_sansio.broker import Broker
from amqp_sansio.spec.connection import Close
from amqp_sansio.spec.execution import Exception_
from amqp_sansio.spec.session import Completed, Detached
from amqp_sansio.testing.probe.dialogue import Dialogue
from amqp_sansio.testing.probe.plans import ProbePlan
from amqp_sansio.testing.probe.rounds import Answer, Round, answer_of, codes, judge, taken
from amqp_sansio.testing.speech.blame import Blame, trespasses
from amqp_sansio.testing.speech.step import Step
from amqp_sansio.testing.speech.word_encoder import Setting


def blame(rule: str, *numbers: int, must: bool = True) -> Blame:
    return Blame(rule, frozenset(numbers), must, (), "")


@pytest.mark.parametrize(
    ("rule", "numbers", "word", "answer", "kept"),
    [
        ("tx.commit.select-required", (409, 503), "client:tx.commit", Answer("exception", 409), True),
        ("tx.commit.select-required", (409, 503), "client:tx.commit", Answer("exception", 541), False),
        ("tx.commit.select-required", (409, 503), "client:tx.commit", Answer("taken"), False),
        ("tx.commit.select-required", (409, 503), "client:tx.commit", Answer("closed", 501), False),
        ("connection.sequence", (501,), "client:connection.open", Answer("ended"), True),
        ("connection.sequence", (501,), "client:connection.open", Answer("closed", 501), True),
        ("connection.sequence", (501,), "client:connection.open", Answer("silent"), False),
        ("assembly.first-frame", (501,), "client:body e", Answer("exception", 503), True),
        ("session.attachment", (), "client:session.attached", Answer("taken"), True),
        ("session.attachment", (), "client:other", Answer("taken"), False),
        ("session.attachment", (), "client:other", Answer("detached", 3), True),
        ("session.command-point.newly-attached-transports", (409,), "client:command", Answer("detached", 4), True),
    ],
)
def test_what_is_allowed(rule: str, numbers: tuple[int, ...], word: str, answer: Answer, kept: bool) -> None:
    found, text = judge(blame(rule, *numbers), word, answer)
    assert found == kept
    assert text
    if not kept:
        assert "expected" in text


def test_what_deployed_brokers_let_pass_may_be_let_pass() -> None:
    assert judge(blame("tx.select.exactly-once", 409, must=False), "client:tx.select", Answer("taken"))[0]
    assert not judge(blame("tx.select.exactly-once", 409, must=False), "client:tx.select", Answer("silent"))[0]


def test_several_reasons_come_at_once_in_dtx() -> None:
    assert codes(blame("dtx.start.illegal-state", 409)) >= {409, 503, 530}
    assert codes(blame("tx.commit.select-required", 409)) == {409}


def test_what_was_answered() -> None:
    assert answer_of([], False, True).kind == "taken"
    assert answer_of([], False, False).kind == "silent"
    assert answer_of([Step("server", Completed(), 1)], True, False).kind == "ended"
    assert answer_of([Step("server", Exception_(404, description="none"), 1)], False, True) == Answer("exception", 404, "none")
    assert answer_of([Step("server", Detached(b"s", 3), 1)], False, True).code == 3
    assert str(answer_of([Step("server", Close(501, "no"))], True, False)) == "connection.close 501: no"


def done(plan: ProbePlan) -> Round:
    setting = Setting()
    found = [each for each in trespasses(setting) if each.condition.name == plan.trespass]
    round_ = Round(plan, Dialogue(InMemory(Broker()).exchange, setting), found[0] if found else None)
    round_.run()
    return round_


def test_what_is_legal_is_taken() -> None:
    led = done(ProbePlan(0, "tx", ("client:tx.select", "client:tx.commit")))
    assert {finding.rule for finding in led.findings} == {taken("tx.select"), taken("tx.commit")}
    assert led.moves == [(0, "client:tx.select"), (led.part.language.moves[0]["client:tx.select"], "client:tx.commit")]
    assert led.talk.ended or led.talk.steps[-1].verb == "connection.close-ok"


def test_what_is_illegal_is_refused() -> None:
    led = done(ProbePlan(0, "tx", ("client:tx.select",), "client:tx.select"))
    assert led.findings[-1].rule == "tx.select.exactly-once"
    assert led.findings[-1].kept
    assert "tx.select" in led.conversation(led.findings[-1]).lines[-5:].__repr__()


def test_a_trespass() -> None:
    led = done(ProbePlan(0, "queue", (), None, "queue.purge: no such queue"))
    assert [(finding.rule, finding.kept) for finding in led.findings] == [("queue.purge.queue.queue-exists", True)]


def test_the_words_of_the_server_are_followed() -> None:
    led = done(
        ProbePlan(0, "message: explicit, pre-acquired", ("sender:message.transfer pre-acquired", "recipient:message.accept"))
    )
    assert led.words == ["sender:message.transfer pre-acquired", "recipient:message.accept"]
    assert led.rule in {finding.rule for finding in led.findings}


def test_a_prepare_without_work_is_another_word() -> None:
    said = ("session:start", "session:end", "session:prepare")
    assert done(ProbePlan(0, "dtx: branch", said)).words[-1] == "session:prepare"


def test_what_is_not_offered() -> None:
    led = done(ProbePlan(0, "stream: publishing", ("client:stream.publish",)))
    assert led.not_offered
    assert led.findings == []
