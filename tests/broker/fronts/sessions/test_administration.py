"""Commands of classes queue and exchange, as a client says them.  What each may be refused for is tested with the model."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.harness import World, blurt, bodies, done, refused
from tests.broker.model.things import Sink, publish

from amqp_sansio import ServerConfig
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.sessions.administration import bound_result, exchange_result, queue_result
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.config import STRICT_PROFILE
from amqp_sansio.events import CommandsCompleted, ExceptionReceived, StartReceived, TransferReceived
from amqp_sansio.spec import exchange, message, queue
from amqp_sansio.spec.exchange import ExchangeBoundResult, ExchangeQueryResult
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Map


def test_a_message_through_a_topic_exchange(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    done(client, session, exchange.Declare("stocks", "topic"))
    done(client, session, exchange.Bind("q", "stocks", "usd.*"))
    session.subscribe("q", "d").grant(5)
    for key in ("usd.ibm", "eur.ibm", "usd.sun"):
        session.publish("stocks", routing_key=key, body=key.encode())
    world.run()
    assert bodies(client) == [b"usd.ibm", b"usd.sun"]
    assert done(client, session, exchange.Bound("stocks", "q", "usd.*")) == ExchangeBoundResult()
    done(client, session, exchange.Unbind("q", "stocks", "usd.*"))
    result = done(client, session, exchange.Bound("stocks", "q"))
    assert result == ExchangeBoundResult(queue_not_matched=True)


def test_a_hint_of_a_queue_is_taken_and_handed_out_once_and_not_where_it_came_to_nothing(world: World) -> None:
    client, session = world.session()
    for name in ("q", "r"):
        done(client, session, queue.Declare(name, arguments={"qpid.file_size": 24, "qpid.max_count": 5}))
    assert [(hint.command, hint.argument) for hint in world.broker.hints.take()] == [("queue.declare", "qpid.file_size")]
    session.send(queue.Declare("s", arguments={"qpid.flow_stop_count": 24, "odd": 5}))
    world.run()
    (refused,) = client.take(ExceptionReceived)
    assert (refused.error_code, "'odd'" in refused.description) == (531, True)
    assert world.broker.hints.take() == ()


def test_a_full_ring_drops_the_oldest_and_a_queue_that_destroys_itself_ends_its_subscriptions(world: World) -> None:
    client, session = world.session()
    for policy in ("ring", "self-destruct"):
        done(client, session, queue.Declare(policy, arguments={"qpid.policy_type": policy, "qpid.max_count": 2}))
    for body in (b"1", b"2", b"3"):
        session.publish(routing_key="ring", body=body)
    session.subscribe("ring", "d").grant(5)
    world.run()
    assert bodies(client) == [b"2", b"3"]
    session.subscribe("self-destruct", "e")
    for body in (b"1", b"2", b"3"):
        session.publish(routing_key="self-destruct", body=body)
    world.run()
    (ended,) = client.take(ExceptionReceived)
    assert "'self-destruct' is deleted" in ended.description
    assert list(world.broker.host().queues) == ["ring"]


def test_a_queue_outlives_its_session_for_a_while(world: World) -> None:
    world.tick(10.0)
    client, session = world.session()
    done(client, session, queue.Declare("q", exclusive=True, arguments={"qpid.auto_delete_timeout": 3}))
    client.cut()
    world.tick(1.0)
    assert world.broker.due == 14.0
    world.tick(2.5)
    assert "q" in world.broker.host().queues
    world.tick(0.5)
    assert world.broker.host().queues == {}


def test_queries(world: World) -> None:
    client, session = world.session()
    assert done(client, session, queue.Query("q")) == QueueQueryResult()
    done(client, session, queue.Declare("q", exclusive=True, auto_delete=True))
    session.publish(routing_key="q")
    result = done(client, session, queue.Query("q"))
    assert isinstance(result, QueueQueryResult)
    assert (result.queue, result.exclusive, result.auto_delete, result.message_count) == ("q", True, True, 1)
    assert done(client, session, exchange.Query("none")) == ExchangeQueryResult(not_found=True)
    result = done(client, session, exchange.Query("amq.topic"))
    assert isinstance(result, ExchangeQueryResult)
    assert (result.type_, result.not_found) == ("topic", False)


def test_a_refusal_names_command_field_and_reason(world: World) -> None:
    client, session = world.session()
    exception = refused(client, session, exchange.Declare("x", "nonsense"))
    assert (exception.error_code, exception.class_code, exception.command_code, exception.field_index) == (404, 7, 1, 1)
    assert "nonsense" in exception.description


def test_other_sessions_keep_away_from_an_exclusive_queue(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("mine", exclusive=True))
    for number, command in enumerate(
        (queue.Declare("mine"), queue.Delete("mine"), queue.Purge("mine"), exchange.Bind("mine", "amq.fanout", ""))
    ):
        other, another = world.session(b"%d" % number)
        assert refused(other, another, command).error_code == 405


def test_delete_purge_and_their_refusals(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q")
    assert refused(client, session, queue.Delete("q", if_empty=True)).error_code == 406
    session = client.session(b"2")
    done(client, session, queue.Purge("q"))
    done(client, session, queue.Delete("q", if_empty=True))
    done(client, session, exchange.Declare("x", "fanout"))
    done(client, session, exchange.Delete("x"))
    assert refused(client, session, exchange.Delete("x")).error_code == 404


def test_the_codes_are_those_of_the_profile(world: World) -> None:
    """queue.purge without a name: 542 by the letter, 531 as deployed brokers say."""
    client, session = world.session()
    assert refused(client, session, queue.Purge("")).error_code == 531
    world = World(BrokerConfig(error_codes="spec"), world.chunk)
    client, session = world.session()
    assert refused(client, session, queue.Purge("")).error_code == 542
    client = world.connect(server=ServerConfig(profile=STRICT_PROFILE))
    assert refused(client, client.session(b"t"), queue.Declare("q", arguments={"x-unknown": 1})).error_code == 540


def test_the_session_that_deletes_a_queue_goes_on(world: World) -> None:
    """Its subscription gets nothing any more, and can be spoken of until it is cancelled; other sessions hear 408."""
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    done(client, session, message.Subscribe("q", "d"))
    other, theirs = world.session(b"other")
    done(other, theirs, message.Subscribe("q", "d"))
    done(client, session, queue.Delete("q"))
    assert [event.error_code for event in other.all(ExceptionReceived)] == [408]
    done(client, session, queue.Declare("q"))
    for word in (message.Flow("d", 0, 5), message.Flow("d", 1, 1000), message.Flush("d"), message.Stop("d")):
        done(client, session, word)
    session.publish(routing_key="q", body=b"1")
    world.run()
    assert client.all(TransferReceived) == []
    done(client, session, message.Cancel("d"))
    done(client, session, message.Subscribe("q", "d"))
    assert next(iter(world.broker._sites.values())).subscribers == 1


def test_a_flush_of_a_subscription_whose_queue_its_session_deletes_completes(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    done(client, session, message.Subscribe("q", "d"))
    flush = blurt(session, message.Flush("d"))
    blurt(session, queue.Delete("q"))
    world.run()
    assert any(flush in event.ids for event in client.all(CommandsCompleted))
    assert session.state == "attached"


def test_a_result_too_large_for_the_asker_ends_its_session_only(world: World) -> None:
    from amqp_sansio import ClientConfig

    client, session = world.session()
    arguments = {"qpid.text": "x" * 5000}
    session.send(queue.Declare("q", arguments=arguments))
    world.run()
    if client.all(ExceptionReceived):
        return  # arguments of that kind are not taken
    small = world.connect(ClientConfig(max_frame_size=4096))
    assert refused(small, small.session(b"t"), queue.Query("q")).error_code == 506
    done(client, session, queue.Query("q"))


TEMPORARY = {"qpid.exclusivity_policy": "CONNECTION", "qpid.lifetime_policy": "DELETE_ON_CONNECTION_CLOSE"}


def test_a_temporary_queue_belongs_to_its_connection_and_dies_with_it(world: World) -> None:
    """As Qpid JMS declares one: every session of the connection may use it, no other, and it outlives its session."""
    client, session = world.session()
    done(client, session, queue.Declare("temp", exclusive=True, auto_delete=True, arguments=TEMPORARY))
    done(client, session, message.Subscribe("temp", "d"))
    session.detach()
    world.run()
    own = client.session(b"own")
    done(client, own, queue.Declare("temp", exclusive=True, auto_delete=True, arguments=TEMPORARY))
    done(client, own, queue.Declare("temp", passive=True, exclusive=True))
    done(client, own, exchange.Bind("temp", "amq.fanout", ""))
    done(client, own, message.Subscribe("temp", "d"))
    other = world.connect()
    for name, word in ((b"a", message.Subscribe("temp", "d")), (b"b", queue.Delete("temp")), (b"c", queue.Purge("temp"))):
        assert refused(other, other.session(name), word).error_code == 405
    client.cut()
    theirs = other.session(b"d")
    assert done(other, theirs, queue.Query("temp")) == QueueQueryResult()
    assert other.session(b"d2").state == "attached"


def test_the_lifetime_of_a_session_deletes_a_queue_at_its_end(world: World) -> None:
    client, session = world.session()
    arguments = {"qpid.exclusivity_policy": "SESSION", "qpid.lifetime_policy": "DELETE_ON_SESSION_END"}
    done(client, session, queue.Declare("temp", arguments=arguments))
    own = client.session(b"own")
    assert refused(client, own, message.Subscribe("temp", "d")).error_code == 405
    session.detach()
    world.run()
    assert done(client, client.session(b"again"), queue.Query("temp")) == QueueQueryResult()


def test_a_broker_announces_that_it_knows_lifetimes(world: World) -> None:
    client = world.connect()
    (started,) = client.all(StartReceived)
    assert started.server_properties["qpid.queue_lifetime_supported"] is True


def test_a_query_counts_what_can_be_had() -> None:
    host = VirtualHost()
    host.declare_queue("q")
    for _ in range(3):
        publish(host, "", "q")
    host.queues["q"].take()
    host.subscribe("q", Sink())
    found = queue_result(host, "q")
    assert (found.message_count, found.subscriber_count) == (2, 1)
    assert queue_result(host, "nowhere") == queue_result(host, None) == QueueQueryResult()
    assert exchange_result(host) == ExchangeQueryResult("direct", True, False, Map())


def stage_of_bindings() -> VirtualHost:
    host = VirtualHost()
    for name in ("bound", "unbound"):
        host.declare_queue(name)
    host.bind("bound", "amq.direct", "k")
    host.bind("bound", "amq.topic", "a.*")
    host.bind("bound", "amq.match", "h", {"x-match": "all", "a": 1})
    return host


@pytest.mark.parametrize(
    ("asked", "missing"),
    [
        (("amq.direct", "bound", "k"), ()),
        (("amq.direct", "bound"), ()),
        (("amq.direct",), ()),
        (("amq.fanout",), ()),
        (("amq.direct", None, "k"), ()),
        (("amq.topic", "bound", "a.*"), ()),
        (("amq.topic", "bound", "a.b"), ("key_not_matched",)),
        (("nowhere",), ("exchange_not_found",)),
        (("nowhere", "bound"), ("exchange_not_found",)),
        (("nowhere", "neither"), ("exchange_not_found", "queue_not_found")),
        (("amq.direct", "neither", "z"), ("queue_not_found",)),
        (("amq.direct", "unbound"), ("queue_not_matched",)),
        (("amq.direct", "unbound", "k"), ("queue_not_matched",)),
        (("amq.direct", "unbound", "z"), ("queue_not_matched", "key_not_matched")),
        (("amq.direct", "bound", "z"), ("key_not_matched",)),
        (("amq.direct", None, "z"), ("key_not_matched",)),
        (("amq.match", "bound", None, {"x-match": "all", "a": 1}), ()),
        (("amq.match", "bound", "h", {"x-match": "all", "a": 1}), ()),
        (("amq.match", "bound", None, {"x-match": "all", "a": 2}), ("args_not_matched",)),
        (("amq.match", None, None, {"b": 1}), ("args_not_matched",)),
        (
            ("amq.match", "unbound", "z", {"b": 1}),
            ("queue_not_matched", "key_not_matched", "args_not_matched"),
        ),
        (("", "bound"), ()),
        (("", "bound", "bound"), ()),
        ((None, None, "bound"), ()),
        (("", "bound", "unbound"), ()),
        (("", "bound", "z"), ("key_not_matched",)),
        (("", "bound", None, {"a": 1}), ("args_not_matched",)),
        (("", "neither"), ("queue_not_found",)),
        (("amq.direct", "", "k", {}), ()),
    ],
)
def test_what_is_bound(asked: tuple[Any, ...], missing: tuple[str, ...]) -> None:
    found = bound_result(stage_of_bindings(), *asked)
    assert found == ExchangeBoundResult(**dict.fromkeys(missing, True))
