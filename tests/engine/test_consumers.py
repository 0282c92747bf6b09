"""The consumers of a session.  (Word by word: test_content_talk.)"""

from __future__ import annotations

import pytest

from amqp_sansio.engine.consumers import Consumers
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.file import Consume
from amqp_sansio.tables import content_classes as t
from amqp_sansio.tables.connection import CLIENT, SERVER


def make(role: str | None = None, late: bool = False, *consumes: Consume) -> Consumers:
    consumers = Consumers("file", t.CONSUMER["file"], role, late)
    for consume in consumes:
        assert consumers.check_consume(consume, 9) is None
        consumers.consume(consume)
    return consumers


def test_only_the_last_cancel_of_a_tag_frees_it() -> None:
    consumers = make(None, False, Consume("q", "t", nowait=True))
    consumers.step(CLIENT, "file.cancel", "t", 1)
    consumers.consume(Consume("q", "t", nowait=True))
    consumers.step(CLIENT, "file.cancel", "t", 3)
    consumers.completed(RangeSet.of(1))
    assert consumers._machine("t").state == t.CANCELLED
    assert consumers.check(SERVER, "file.deliver", "t") is None
    consumers.completed(RangeSet.of(3))
    assert consumers.check(SERVER, "file.deliver", "t") is not None
    assert len(consumers._machines) == 0


def test_the_completion_of_an_old_cancel_leaves_the_new_consumer() -> None:
    consumers = make(None, False, Consume("q", "t", nowait=True))
    consumers.step(CLIENT, "file.cancel", "t", 1)
    consumers.consume(Consume("q", "t", nowait=True))
    consumers.completed(RangeSet.of(1))
    assert consumers._machine("t").state == t.CONSUMING


def test_whether_to_acknowledge_is_unknown_when_a_tag_changes_hands() -> None:
    consumers = make(None, False, Consume("q", "t", nowait=True))
    assert consumers.acknowledged("t") is True
    consumers.step(CLIENT, "file.cancel", "t", 1)
    consumers.consume(Consume("q", "t", no_ack=True, nowait=True))
    assert consumers.acknowledged("t") is None


def test_our_own_client_does_not_let_a_tag_change_hands_so() -> None:
    consumers = make(CLIENT, False, Consume("q", "t", nowait=True))
    consumers.step(CLIENT, "file.cancel", "t", 1)
    assert consumers.check_consume(Consume("q", "t"), 9) is None
    other = Consume("q", "t", no_ack=True)
    objection = consumers.check_consume(other, 9)
    assert objection is not None
    assert "another tag" in objection.legal
    consumers.completed(RangeSet.of(1))
    assert consumers.check_consume(other, 9) is None


def test_a_server_has_carried_out_a_cancel_when_it_hears_it() -> None:
    consumers = make(SERVER, False, Consume("q", "t"), Consume("q", "u", nowait=True))
    consumers.step(CLIENT, "file.cancel", "u", 1)
    assert len(consumers._machines) == 1
    consumers.step(CLIENT, "file.cancel", "t", 2)
    assert consumers._machine("t").state == t.ANSWER_OWED
    consumers.step(SERVER, "file.consume-ok", "t", 0)
    assert len(consumers._machines) == 0


def test_a_late_observer_takes_a_tag_for_anything_and_learns() -> None:
    consumers = make(late=True)
    for speaker, verb in ((SERVER, "file.consume-ok"), (SERVER, "file.deliver"), (CLIENT, "file.cancel")):
        assert consumers.check(speaker, verb, "t") is None
    assert consumers.check_consume(Consume("q", "t"), 9) is None
    consumers.step(SERVER, "file.consume-ok", "t", 5)
    consumers.step(SERVER, "file.deliver", "t", 6)
    assert consumers._machine("t").state in (f"{t.CONSUMING}|{t.CANCELLED}", f"{t.CANCELLED}|{t.CONSUMING}")
    assert consumers.check(SERVER, "file.consume-ok", "t") is not None
    consumers.forget()
    assert consumers.check(SERVER, "file.consume-ok", "t") is None


@pytest.mark.parametrize(("count", "fits"), [(1, True), (2, True), (3, False)])
def test_limit_of_consumers(count: int, fits: bool) -> None:
    consumers = make(CLIENT, False, *[Consume("q", str(number)) for number in range(count - 1)])
    objection = consumers.check_consume(Consume("q", "last"), 2)
    assert (objection is None) == fits
    assert objection is None or objection.rule == "limits.subscriptions"


def test_a_snapshot() -> None:
    consumers = make(None, False, Consume("q", "t", nowait=True), Consume("q", "u"))
    consumers.step(CLIENT, "file.cancel", "t", 7)
    again = make()
    again.restore(consumers.snapshot())
    assert again.snapshot() == consumers.snapshot()
    again.completed(RangeSet.of(7))
    assert len(again._machines) == 1
    for bad in ({}, {"tags": (("t", ("nowhere",), True),), "cancels": ()}, {"tags": ((1, ("asked",), True),), "cancels": ()}):
        with pytest.raises((KeyError, ValueError, TypeError)):
            make().restore(bad)
