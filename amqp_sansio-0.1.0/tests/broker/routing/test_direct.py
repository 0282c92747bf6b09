"""Direct exchanges look at the whole key; the default one at the names of queues."""

from __future__ import annotations

from tests.broker.model.things import message

from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.routing.direct import Default, Direct


def test_the_key_is_that_of_the_binding() -> None:
    exchange, a, b = Direct("x"), Queue("a"), Queue("b")
    exchange.bind(a, "k")
    exchange.bind(b, "k")
    exchange.bind(b, "l")
    exchange.bind(b, "")
    assert list(exchange.route(message("k"))) == [a, b]
    assert list(exchange.route(message("l"))) == [b]
    assert list(exchange.route(message(""))) == [b]
    assert list(exchange.route(message("*"))) == []
    exchange.unbind(a, "k")
    exchange.unbind(b, "l")
    assert list(exchange.route(message("k"))) == [b]
    assert list(exchange.route(message("l"))) == []


def test_the_default_exchange_knows_every_queue_by_its_name() -> None:
    queues = {"a": Queue("a")}
    exchange = Default(queues)
    assert list(exchange.route(message("a"))) == [queues["a"]]
    assert list(exchange.route(message("b"))) == []
    queues["b"] = Queue("b")
    assert list(exchange.route(message("b"))) == [queues["b"]]
    assert len(exchange) == 2
    assert queues["a"] in exchange
    assert exchange.has(queues["a"], "a", None)
    assert not exchange.has(queues["a"], "b", None)
    assert exchange.has(queues["a"], None, None)
    assert exchange.has(None, "b", None)
    assert exchange.has(None, None, None)
    assert not Default({}).has(None, None, None)
