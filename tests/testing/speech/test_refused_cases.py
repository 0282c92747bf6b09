"""What our broker refuses, it refuses for the reason that the catalogue gives."""

from __future__ import annotations

import pytest

from amqp_sansio.broker import Broker
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import CommandSeen
from amqp_sansio.spec.execution import Exception_
from amqp_sansio.testing.speech.refused_cases import Trespass, trespassed, trespasses
from amqp_sansio.testing.speech.word_encoder import Setting

EVERY = trespasses(Setting())


@pytest.mark.parametrize("each", EVERY, ids=[each.condition.name for each in EVERY])
def test_our_broker_refuses_it(each: Trespass) -> None:
    said = trespassed(each)
    assert said.breaks == each.rule
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
    assert codes == [each.column.qpid] or (codes == [] and each.column.qpid is None)
    assert set(codes) <= each.blame.codes


def test_only_what_the_specification_names_and_every_broker_refuses_must_be_refused() -> None:
    by_name = {each.condition.name: each for each in trespasses(Setting())}
    assert by_name["exchange.delete: no such exchange"].blame.must
    assert not by_name["message.flow: no such destination"].blame.must, "a condition without a rule"
