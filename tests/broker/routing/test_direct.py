"""Direct exchanges look at the whole key."""

from __future__ import annotations

from tests.broker.model.things import message

from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.routing.direct import Direct


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
