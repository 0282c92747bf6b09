"""How much is in the queues of a virtual host, and whether more may be."""

from __future__ import annotations

import attrs
import pytest
from tests.broker.model.things import bodies, message, publish, refusal

from amqp_sansio.broker import conditions
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS

PERSISTENT = 2


def with_queues(host: VirtualHost, *names: str) -> VirtualHost:
    for name in names or ("q",):
        host.declare_queue(name, durable=True)
    return host


@pytest.mark.parametrize("name", ["queue_messages", "queue_octets", "host_messages", "host_octets"])
@pytest.mark.parametrize("count", [3, 4, 5])
def test_messages_below_at_and_beyond_a_limit(name: str, count: int) -> None:
    size = message("q", b"body").size
    value = 4 * size if name.endswith("octets") else 4
    host = with_queues(VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, **{name: value})))
    for _ in range(min(count, 4)):
        publish(host, "", "q", b"body")
    if count > 4:
        refused = refusal(publish, host, "", "q", b"body")
        assert refused.condition is conditions.TRANSFER_LIMIT
        assert f"limit {name} is {value}" in refused.text
    assert host.messages == min(count, 4)


@pytest.mark.rule("message.no-persistent-message-discard")
def test_a_full_queue_refuses_and_throws_nothing_away() -> None:
    host = with_queues(VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, queue_messages=2)), "q", "r")
    for name in ("q", "r"):
        host.bind(name, "amq.fanout")
    for at in range(2):
        publish(host, "", "q", b"%d" % at, delivery_mode=PERSISTENT)
    for mode in (1, PERSISTENT):
        assert refusal(publish, host, "amq.fanout", "", b"new", delivery_mode=mode).condition is conditions.TRANSFER_LIMIT
    assert bodies(host.queues["q"]) == [b"0", b"1"]
    assert bodies(host.queues["r"]) == []
    assert host.messages == 2


def test_a_queue_may_have_a_lower_limit_of_its_own() -> None:
    host = VirtualHost()
    host.declare_queue("q", arguments={"qpid.max_count": 1})
    publish(host, "", "q")
    assert refusal(publish, host, "", "q").condition is conditions.TRANSFER_LIMIT


@pytest.mark.parametrize(("copies", "room"), [(3, True), (4, True), (5, False)])
@pytest.mark.parametrize("name", ["host_messages", "host_octets"])
def test_what_the_host_takes_besides(name: str, copies: int, room: bool) -> None:
    sent = message("q", b"body")
    value = 5 * (sent.size if name == "host_octets" else 1)
    host = with_queues(VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, **{name: value})))
    publish(host, "", "q", b"body")
    assert host.takes(sent, copies) is room


def test_what_the_host_has_no_room_for_is_refused_before_the_rest_is_looked_at() -> None:
    host = with_queues(VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, host_messages=5)), "q", "r")
    rest = iter([(message("k"), list(host.queues.values()))] * 9)
    assert refusal(host.admit, rest).condition is conditions.TRANSFER_LIMIT
    assert len(list(rest)) == 6
    host.admit([])
