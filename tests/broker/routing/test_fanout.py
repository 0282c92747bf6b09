"""Fanout exchanges look at nothing."""

from __future__ import annotations

import pytest
from tests.broker.model.things import message

from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.routing.fanout import Fanout


@pytest.mark.rule("exchange.bind.multiple-bindings")
def test_every_queue_gets_it_once() -> None:
    exchange, a, b = Fanout("x"), Queue("a"), Queue("b")
    for key in ("", "k", "l"):
        exchange.bind(a, key)
    exchange.bind(b, "m")
    assert list(exchange.route(message("whatever"))) == [a, b]
    exchange.unbind(a, "k")
    exchange.unbind(b, "m")
    assert list(exchange.route(message())) == [a]
