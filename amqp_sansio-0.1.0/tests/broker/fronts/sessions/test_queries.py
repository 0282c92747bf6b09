"""What a session may ask of a virtual host."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.model.things import Sink, publish

from amqp_sansio.broker.fronts.sessions.queries import bound, query_exchange, query_queue
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.spec.exchange import ExchangeBoundResult, ExchangeQueryResult
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Map


def test_a_query_counts_what_can_be_had() -> None:
    host = VirtualHost()
    host.declare_queue("q")
    for _ in range(3):
        publish(host, "", "q")
    host.queues["q"].take()
    host.subscribe("q", Sink())
    found = query_queue(host, "q")
    assert (found.message_count, found.subscriber_count) == (2, 1)
    assert query_queue(host, "nowhere") == query_queue(host, None) == QueueQueryResult()
    assert query_exchange(host) == ExchangeQueryResult("direct", True, False, Map())


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
    found = bound(stage_of_bindings(), *asked)
    assert found == ExchangeBoundResult(**dict.fromkeys(missing, True))
