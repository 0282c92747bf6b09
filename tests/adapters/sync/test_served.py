"""A broker for tests: what it shows of itself, and what it does to its clients."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from tests.adapters.conditions import eventually

from amqp_sansio.adapters.sync import connect
from amqp_sansio.adapters.sync import served as module
from amqp_sansio.adapters.sync.served import Published, ServedBroker
from amqp_sansio.broker import BrokerConfig, Kind, Request, Rules, Verb
from amqp_sansio.errors import EncodeError, SessionFailed, SessionLost
from amqp_sansio.spec import queue


def test_its_queues_and_what_was_published_are_seen() -> None:
    with ServedBroker() as broker, connect(broker.url) as connection, connection.session() as session:
        session.execute(queue.Declare("q", durable=True))
        session.publish("", "q", b"one", headers={"n": 1})
        session.publish("amq.topic", "nowhere", b"two")
        with session.subscribe("q") as messages:
            message = messages.receive(20)
            seen = broker.queues["q"]
            assert (seen.bodies, seen.unsettled, seen.consumers, seen.durable) == ((b"one",), 1, 1, True)
            message.accept()
            session.sync()
            assert broker.queues["q"].bodies == ()
        assert broker.published == (
            Published("", "q", b"one", {"n": 1}, ""), Published("amq.topic", "nowhere", b"two", {}, ""),
        )  # fmt: skip
        assert broker.connections == 1


def test_time_goes_forward_and_connections_stay() -> None:
    with ServedBroker() as broker, connect(broker.url) as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        session.publish("", "q", b"soon over", ttl=60_000)
        broker.advance(59)
        assert list(broker.queues["q"].bodies) == [b"soon over"]
        broker.advance(2)
        assert list(broker.queues["q"].bodies) == []
        broker.advance(100_000)
        session.publish("", "q", b"still connected")
        assert list(broker.queues["q"].bodies) == [b"still connected"]
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="time goes forward"):
            ServedBroker().advance(wrong)


def test_a_cut_is_a_loss_and_clients_may_come_again() -> None:
    with ServedBroker() as broker:
        with pytest.raises(SessionLost), connect(broker.url) as connection, connection.session() as session:
            session.execute(queue.Declare("q"))
            broker.cut()
            session.execute(queue.Declare("other"))
        eventually(lambda: broker.connections == 0)
        with connect(broker.url) as connection, connection.session() as session:
            session.publish("", "q", b"again")
        assert broker.queues["q"].bodies == (b"again",)


def test_what_is_to_be_refused_is_refused_until_all_is_allowed_again() -> None:
    with ServedBroker() as broker, connect(broker.url) as connection:
        broker.refuse("create", queue="q*")
        with pytest.raises(SessionFailed) as refused, connection.session() as session:
            session.execute(queue.Declare("q"))
        assert (refused.value.code, refused.value.text) == (403, "anonymous may not create queue 'q'")
        with connection.session() as session:
            session.execute(queue.Declare("other"))
        broker.refuse("purge")
        with pytest.raises(SessionFailed, match="may not purge"), connection.session() as session:
            session.execute(queue.Purge("other"))
        broker.allow()
        with connection.session() as session:
            session.execute(queue.Declare("q"))
        for wrong in ("eat", ""):
            with pytest.raises(EncodeError, match=r"is not a verb; there are .*publish"):
                broker.refuse(wrong)


def test_a_config_with_rules_counts_again_when_all_is_allowed() -> None:
    with ServedBroker(BrokerConfig(access=Rules(default=True))) as broker:
        request = Request("x", Verb.PURGE, Kind.QUEUE, "q")
        broker.refuse("purge")
        assert broker.broker._guard is not None
        assert not broker.broker._guard.may(request)
        broker.allow()
        assert broker.broker._guard.may(request)


def test_nothing_is_left_behind() -> None:
    before = set(threading.enumerate())
    with ServedBroker() as broker, connect(broker.url) as connection, connection.session() as session:
        session.execute(queue.Declare("q"))
        assert set(threading.enumerate()) > before
    assert set(threading.enumerate()) == before
    assert not list(broker.broker.peers)


def test_what_is_remembered_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 3)
    with ServedBroker() as broker, connect(broker.url) as connection, connection.session() as session:
        for number in range(5):
            session.publish("amq.topic", str(number), b"")
        assert [each.routing_key for each in broker.published] == ["2", "3", "4"]


def test_each_has_a_clock_that_agrees_with_that_of_the_machine() -> None:
    with ServedBroker() as broker:
        epoch = broker.broker.config.epoch
        assert epoch is not None
        assert abs(epoch + time.monotonic() - time.time()) < 60


def test_a_client_of_another_version_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with ServedBroker() as broker, socket.create_connection(("127.0.0.1", int(broker.url.rpartition(":")[2]))) as stranger:
        stranger.sendall(b"AMQP\0\0\x09\x01")
        while stranger.recv(100):
            pass
    (record,) = caplog.records
    assert "this side speaks AMQP 0-10, the other one AMQP 0-9-1" in record.getMessage()


def test_a_client_that_closes_is_not_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    with ServedBroker() as broker, connect(broker.url):
        pass
    assert [each for each in caplog.records if each.name == "amqp_sansio.server"] == []
