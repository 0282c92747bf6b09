"""A broker and clients without sockets."""

from __future__ import annotations

import pytest

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.events import ConnectionClosed, SessionDetached, TransferReceived
from amqp_sansio.spec import queue
from amqp_sansio.testing import memory as module
from amqp_sansio.testing.memory import MemoryBroker


def test_messages_go_from_one_client_to_another() -> None:
    memory = MemoryBroker()
    one, two = memory.connect(), memory.connect()
    session = one.session()
    session.send(queue.Declare("q"))
    for number in range(100):
        session.publish(routing_key="q", body=b"%d" % number)
    receiver = two.session("receiver")
    receiver.subscribe("q", "d").grant(60)
    memory.run()
    received = [event.body for event in two.events if isinstance(event, TransferReceived)]
    assert received == [b"%d" % number for number in range(60)]
    assert memory.broker.host().queues["q"].available == 40


def test_time_passes_only_on_request() -> None:
    memory = MemoryBroker()
    session = memory.connect().session()
    session.send(queue.Declare("q"))
    session.publish(routing_key="q", body=b"soon over", ttl=60_000)
    memory.advance(59)
    assert memory.broker.host().queues["q"].available == 1
    memory.advance(1)
    assert memory.broker.host().queues["q"].available == 0
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="time goes forward"):
            memory.advance(wrong)


def test_heartbeats_go_on() -> None:
    memory = MemoryBroker()
    client = memory.connect(ClientConfig(heartbeat=5), ServerConfig(heartbeat_max=10))
    for _ in range(20):
        memory.advance(3)
    assert client.connection.is_open


def test_a_cut_is_a_loss_for_both_and_a_kept_session_can_be_resumed() -> None:
    memory = MemoryBroker()
    client = memory.connect(server=ServerConfig(session_timeout=60))
    session = client.session(b"kept", 60)
    client.cut()
    assert [event for event in client.events if isinstance(event, ConnectionClosed)]
    assert not memory.broker.peers
    again = memory.connect(server=ServerConfig(session_timeout=60))
    again.connection.resume(session)
    memory.run()
    assert session.state == "attached"


def test_a_refused_client_is_closed() -> None:
    memory = MemoryBroker()
    client = memory.connect(server=ServerConfig(virtual_hosts=("other",)))
    (closed,) = [event for event in client.events if isinstance(event, ConnectionClosed)]
    assert closed.code == 402
    assert not client.connection.is_open


def test_a_refused_command_ends_its_session() -> None:
    memory = MemoryBroker()
    client = memory.connect()
    client.session().send(queue.Delete("nothing"))
    memory.run()
    assert [event.ended for event in client.events if isinstance(event, SessionDetached)] == [True]


def test_a_conversation_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROUNDS", 2)
    with pytest.raises(AssertionError, match="more than 2 rounds"):
        MemoryBroker().connect()
