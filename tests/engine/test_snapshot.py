"""A session as a plain value."""

from __future__ import annotations

import pickle

import pytest
from tests.carriers import attached_session

from amqp_sansio.engine.session import Session
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import message, queue
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import AcquireMode


def plain(value: object) -> bool:
    """Whether a value is made of builtins, sets of ids and commands alone."""
    if value is None or isinstance(value, (bool, int, str, bytes, RangeSet, Command)):
        return True
    if isinstance(value, tuple):
        return type(value) is tuple and all(plain(item) for item in value)
    return isinstance(value, dict) and all(plain(key) and plain(item) for key, item in value.items())


def busy_client() -> Session:
    carrier, session = attached_session("client", timeout=60)
    first = session.subscribe("q", "d", acquire_mode=AcquireMode.NOT_ACQUIRED)
    first.grant(10, 500)
    first.flush()
    session.subscribe("q", "e").grant(2)
    for name, mode in (("d", 1), ("d", 1), ("e", 0)):
        carrier.hear(message.Transfer(name, 0, mode), body=b"body")
    session.acquire(0)
    session.complete(2)
    first.cancel()
    session.subscribe("r", "d")
    session.send(queue.Query("q"))
    session.publish("ex", message.DeliveryProperties(routing_key="k"), body=b"x")
    carrier.hear(message.Stop(""), message.Flow("", 0, 3), c.Completed(RangeSet.of(0)), c.Confirmed(RangeSet.of(1)))
    carrier.hear(c.CommandPoint(9, 0), message.Transfer("e", 0, 0))
    return session


def busy_server() -> Session:
    carrier, session = attached_session("server", max_timeout=60)
    carrier.hear(message.Subscribe("q", "d", 0, 0), message.Flow("d", 0, 10), message.Flow("d", 1, 500), message.Flush("d"))
    session.deliver("d", body=b"1")
    carrier.hear(message.Cancel("d"), message.Subscribe("q", "d", 0, 0), queue.Query("q"))
    session.complete([0, 1])
    session.confirm(2)
    session.send(message.Stop(""))
    return session


@pytest.mark.parametrize("busy", [busy_client, busy_server])
def test_a_snapshot_is_plain_and_the_session_the_same_again(busy: object) -> None:
    assert callable(busy)
    session = busy()
    assert isinstance(session, Session)
    snapshot = session.snapshot()
    assert plain(snapshot)
    again = Session.restore(pickle.loads(pickle.dumps(snapshot)))
    assert {**again.snapshot(), "cause": ""} == {**snapshot, "cause": ""}
    assert again.state == "detached"
    assert again.in_doubt == session.in_doubt
    for name, subscription in session.subscriptions.items():
        assert again.subscriptions[name]._book.granted() == subscription._book.granted()
        assert again.subscriptions[name].unsettled == subscription.unsettled
    assert again._outbound.kept_octets == session._outbound.kept_octets


def test_a_snapshot_does_not_change_with_the_session() -> None:
    carrier, session = attached_session("client", timeout=60)
    before = session.snapshot()
    copy = pickle.loads(pickle.dumps(before))
    session.subscribe("q", "d").grant(1)
    carrier.hear(message.Transfer("d", 0, 0))
    assert before == copy
    assert session.snapshot() != before


def test_an_ended_session_stays_ended() -> None:
    carrier, session = attached_session("client")
    session.detach()
    carrier.hear(c.Detached(b"s", 0))
    again = Session.restore(session.snapshot())
    assert (again.state, again.cause) == ("ended", session.cause)


def test_a_snapshot_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 0"):
        Session.restore({"version": 0})
