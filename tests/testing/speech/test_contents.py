"""The voices of classes file and stream."""

from __future__ import annotations

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.session import Completed
from amqp_sansio.testing.speech.expected_rule import spoken
from amqp_sansio.testing.speech.parts import PARTS
from amqp_sansio.testing.speech.word_encoder import Setting


def test_content_has_its_header() -> None:
    said = spoken(PARTS["file: staging"], ["client:file.open", "server:file.open-ok", "client:file.stage"])
    assert said[-1].header
    assert said[-1].body
    assert spoken(PARTS["stream: publishing"], ["client:stream.publish"])[-1].header


def test_deliveries_are_numbered() -> None:
    words = ["client:stream.consume nowait", "server:stream.deliver", "server:stream.deliver"]
    tags = [getattr(step.said, "delivery_tag", None) for step in spoken(PARTS["stream: consumer"], words).said]
    assert tags == [None, 1, 2]


def test_what_was_delivered_is_completed_by_its_id() -> None:
    voice = PARTS["file: delivery"].voice(Setting())
    for step in (*voice.prepare(), *voice.say("server:file.deliver")):
        voice.told(step)
    (step,) = voice.say("client:session.completed")
    assert isinstance(step.said, Completed)
    assert step.said.commands == RangeSet.of(voice.halves["server"].next_id - 1)
