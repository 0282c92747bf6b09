"""Who is blamed, and what may follow; our broker refuses what it does for the reason that the catalogue gives."""

from __future__ import annotations

import pytest

from amqp_sansio.broker import Broker
from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import CommandSeen
from amqp_sansio.spec.execution import Exception_
from amqp_sansio.testing.speech.blame import ObserverPair, Trespass, blamed, illegal, nearly, spoken, trespassed, trespasses
from amqp_sansio.testing.speech.parts import PARTS
from amqp_sansio.testing.speech.step import Step
from amqp_sansio.testing.speech.word_encoder import Setting


def test_the_rule_of_an_illegal_step() -> None:
    found = nearly(PARTS["tx"], ["client:tx.commit"])
    assert found is not None
    said, blame = found
    assert said.breaks == "tx.commit.select-required"
    assert blame.codes == {409, 503}
    assert blame.must
    assert blame.legal


def test_what_deployed_brokers_let_pass() -> None:
    found = nearly(PARTS["tx"], ["client:tx.select", "client:tx.select"])
    assert found is not None
    assert not found[1].must


def test_nobody_is_blamed() -> None:
    assert nearly(PARTS["tx"], ["client:tx.select"]) is None
    assert blamed(spoken(PARTS["tx"], ["client:tx.select"])) is None
    assert "client:tx.commit" in illegal(PARTS["tx"], 0)
    assert illegal(PARTS["tx"], 0, "server") == ()


def test_the_first_of_several_is_reported() -> None:
    said = spoken(PARTS["tx"], ["client:tx.commit", "client:tx.commit"])
    found = blamed(said)
    assert found is not None
    assert found[0] == len(said) - 2


def test_a_step_that_breaks_two_rules_is_refused_with_the_codes_of_the_first() -> None:
    said = spoken(PARTS["tx"], ["client:tx.commit"])
    commit = said[-1].octets
    for behind in (commit, b"\x03\x01\x00\x0d\x00\x01\x00\x01\x00\x00\x00\x00x"):
        found = blamed([*said[:-1], Step("client", commit + behind)])
        assert found is not None
        assert found[1].rule == "tx.commit.select-required"
        assert found[1].codes == {409, 503}


def test_octets_of_nobody_we_know() -> None:
    plain, letter = ObserverPair().hear("client", b"GET / HTTP/1.0\r\n")
    assert plain == letter == [] or plain[0].speaker == "C"


EVERY = trespasses(Setting())


@pytest.mark.parametrize("each", EVERY, ids=[each.condition.name for each in EVERY])
def test_our_broker_refuses_it(each: Trespass) -> None:
    said = trespassed(each)
    assert said.breaks == each.blame.rule
    broker = Broker()
    peer = broker.connect()
    watch = Observer()
    for step in said.by("client"):
        watch.receive_data("C", step.octets)
        peer.receive_data(step.octets)
        for _ in broker.events():
            pass
        watch.receive_data("S", peer.data_to_send())
    seen = [one.event.command for one in watch.events() if one.speaker == "S" and isinstance(one.event, CommandSeen)]
    codes = [one.error_code for one in seen if isinstance(one, Exception_)]
    assert codes == [COLUMNS[each.condition].qpid] or (codes == [] and COLUMNS[each.condition].qpid is None)
    assert set(codes) <= each.blame.codes


def test_a_trespass_is_in_the_section_of_its_command() -> None:
    assert {each.section for each in EVERY} == {"exchange", "queue", "message", "dtx"}
    for each in EVERY:
        assert each.command.VERB.startswith(f"{each.section}.")
        assert trespassed(each).part == each.section


def test_only_what_the_specification_names_and_every_broker_refuses_must_be_refused() -> None:
    by_name = {each.condition.name: each for each in trespasses(Setting())}
    assert by_name["exchange.delete: no such exchange"].blame.must
    assert not by_name["message.flow: no such destination"].blame.must, "a condition without a rule"
