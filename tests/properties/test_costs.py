"""What a client can make grow costs no more than what it says: each attack, twice as long, runs at most 2.2 times the steps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Final, TypeAlias

import pytest
from tests.broker.attacker import BEAT, Attacker, Words, assert_free, publish
from tests.broker.harness import front
from tests.broker.model.things import Sink, refusal
from tests.broker.model.things import publish as enqueue
from tests.steps import assert_linear, steps

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.subscribers import SESSION, Owner
from amqp_sansio.config import ServerConfig
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import ConnectionClosed
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits, Limits
from amqp_sansio.spec import dtx, exchange, execution, message, queue, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.values import List, Value

INFINITE: Final = 0xFFFFFFFF
ALL: Final = RangeSet([(0, 0x7FFFFFF0)])
FEW: Final = BrokerLimits(unaccepted_transfers=4)

Attack: TypeAlias = Callable[[int], tuple[BrokerLimits, Words, Words]]
"""For a size: the limits, what is said at first, and what is said then, each of it in a turn of its own."""


def subscribe(
    destination: str, accept_mode: int = 0, acquire_mode: int = 0, credit: int = INFINITE, selector: str = ""
) -> Words:
    arguments = {"x-apache-selector": selector} if selector else None
    said = message.Subscribe("q", destination, accept_mode, acquire_mode, arguments=arguments)
    return [said, message.Flow(destination, 0, credit), message.Flow(destination, 1, INFINITE)]


def delivered(count: int, accept_mode: int = 0, acquire_mode: int = 0) -> Words:
    """So many transfers to the client, from id 0 on."""
    return [queue.Declare("q"), *subscribe("d", accept_mode, acquire_mode), *[publish("q")] * count]


def browsed(browsers: int) -> Words:
    """A queue with a few messages, which so many have seen."""
    subscriptions = [word for number in range(browsers) for word in subscribe(f"b{number}", 1, 1)]
    return [queue.Declare("q"), *[publish("q")] * 4, *subscriptions]


def holes(count: int) -> Words:
    return [word for n in range(count) for word in (c.CommandPoint(2 * n + 1, 0), queue.Query("q"))]


def xid(number: int) -> Xid:
    return Xid(1, b"%d" % number, b"")


def settling(verb: type[message.Accept | message.Reject | message.Release | message.Acquire], high: int) -> Attack:
    """Ids of transfers that there are not, as a few or as billions of them, while others are unsettled."""
    return lambda n: (DEFAULT_BROKER_LIMITS, delivered(n), [verb(RangeSet([(10 * n, high or 12 * n)]))] * n)


ATTACKS: Final[dict[str, Attack]] = {
    **{
        f"{verb.VERB} of ids {'in a row' if high else 'without end'} that are not there": settling(verb, high)
        for verb in (message.Accept, message.Reject, message.Release, message.Acquire)
        for high in (0, 0x7FFFFFF0)
    },
    "message.acquire of what is acquired": lambda n: (DEFAULT_BROKER_LIMITS, delivered(n), [message.Acquire(ALL)] * n),
    "message.reject of what was only shown": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [*delivered(8 * n, acquire_mode=1)],
        [message.Reject(ALL)] * n,
    ),
    "message.reject of what was only shown, between what is settled": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [*delivered(8 * n, acquire_mode=1), *[message.Release(RangeSet.of(2 * number)) for number in range(4 * n)]],
        [message.Reject(ALL)] * n,
    ),
    "message.acquire of what somebody else has, between what is settled": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [
            queue.Declare("q"),
            *subscribe("browser", 0, 1),
            *[publish("q")] * (8 * n),
            *subscribe("taker"),
            *[message.Release(RangeSet.of(2 * number)) for number in range(4 * n)],
        ],
        [message.Acquire(RangeSet([(0, 8 * n - 1)]))] * n,
    ),
    "message.acquire of what somebody else has": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [queue.Declare("q"), *subscribe("browser", 0, 1), *[publish("q")] * n, *subscribe("taker")],
        [message.Acquire(ALL)] * n,
    ),
    "releases beside browsers that have seen the message": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [
            queue.Declare("q"),
            *[publish("q")] * n,
            *[word for number in range(n) for word in subscribe(f"b{number}", 1, 1)],
            *subscribe("taker"),
        ],
        [message.Release(RangeSet.of(n * n + number)) for number in range(n)],
    ),
    "credit beside browsers that have seen everything": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [*browsed(2 * n), message.Subscribe("q", "taker", 0, 0)],
        [message.Flow("taker", 0, 0)] * n,
    ),
    "completions beside browsers that have seen everything": lambda n: (
        DEFAULT_BROKER_LIMITS,
        browsed(2 * n),
        [c.Completed(RangeSet.of(number)) for number in range(n)],
    ),
    "subscriptions beside browsers that have seen everything": lambda n: (
        DEFAULT_BROKER_LIMITS,
        browsed(2 * n),
        [message.Subscribe("q", "another", 0, 0), message.Cancel("another")] * n,
    ),
    "messages that nobody takes": lambda n: (DEFAULT_BROKER_LIMITS, [queue.Declare("q")], [publish("q")] * n),
    "messages that somebody takes": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [queue.Declare("q"), *subscribe("d")],
        [publish("q")] * n,
    ),
    "flushes that wait while credit is granted": lambda n: (
        FEW,
        [*delivered(n), *[message.Flush("d")] * n],
        [message.Flow("d", 0, 1)] * n,
    ),
    "changes of flow mode beside another window": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [*delivered(n), message.Subscribe("q", "e", 0, 0)],
        [message.SetFlowMode("e", number % 2) for number in range(n)],
    ),
    "every second transfer completed": lambda n: (
        DEFAULT_BROKER_LIMITS,
        delivered(2 * n),
        [c.Completed(RangeSet.of(2 * number + 1), True) for number in range(n)],
    ),
    "every second transfer confirmed": lambda n: (
        DEFAULT_BROKER_LIMITS,
        delivered(2 * n),
        [c.Confirmed(RangeSet.of(2 * number + 1)) for number in range(n)],
    ),
    "holes, and then commands": lambda n: (DEFAULT_BROKER_LIMITS, holes(n), [queue.Query("q")] * n),
    "holes, and then flushes": lambda n: (DEFAULT_BROKER_LIMITS, holes(n), [c.Flush(True, True, True)] * n),
    "holes, and then syncs": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [],
        [word for number in range(n) for word in (c.CommandPoint(2 * number + 1, 0), execution.Sync())],
    ),
    "gaps one by one": lambda n: (DEFAULT_BROKER_LIMITS, [], [c.Gap(RangeSet.of(2 * number + 2)) for number in range(n)]),
    "known-completed one by one": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [queue.Query("q")] * (2 * n),
        [c.KnownCompleted(RangeSet.of(2 * number + 1)) for number in range(n)],
    ),
    "many subscriptions wait for room": lambda n: (
        FEW,
        [*delivered(4 * n), *[word for number in range(n) for word in subscribe(f"d{number}")]],
        [message.Accept(RangeSet.of(number)) for number in range(n)],
    ),
    "many prepared branches are recovered": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [
            dtx.Select(),
            queue.Declare("q"),
            *[
                word
                for number in range(200 + n)
                for word in (dtx.Start(xid(number)), publish("q"), dtx.End(xid(number)), dtx.Prepare(xid(number)))
            ],
        ],
        [dtx.Recover()] * n,
    ),
    "immediate messages past many without credit": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [queue.Declare("q"), *[message.Subscribe("q", f"d{number}", 0, 0) for number in range(70 + n)]],
        [publish("q", immediate=True)] * n,
    ),
    "accepted and released in a transaction": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [*delivered(n), tx.Select(), message.Accept(ALL)],
        [message.Release(RangeSet.of(number)) for number in range(n)],
    ),
    "accepted and rolled back, again and again": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [*delivered(n), tx.Select()],
        [tx.Rollback(), message.Accept(ALL)] * n,
    ),
    "accepted and rolled back between others that are settled": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [*delivered(2 * n), message.Accept(RangeSet.of(*range(0, 2 * n, 2))), tx.Select()],
        [tx.Rollback(), message.Accept(ALL)] * n,
    ),
    "accepted one by one and rolled back": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [*delivered(n), tx.Select()],
        [word for at in range(n) for word in (message.Accept(RangeSet.of(2 * at, 2 * at + 1)), tx.Rollback())],
    ),
    "accepted, released in part and rolled back": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [*delivered(2 * n, acquire_mode=0), message.Stop("d"), tx.Select()],
        [word for at in range(n) for word in (message.Accept(ALL), message.Release(RangeSet.of(2 * at)), tx.Rollback())],
    ),
    "accepts of ids that are not there, in a transaction": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [*delivered(n), tx.Select(), message.Accept(ALL)],
        [message.Accept(RangeSet.of(0x7FFFFFF4 + 2 * at, 0x7FFFFFF8 + 4 * at)) for at in range(n)],
    ),
    "ten subscriptions with selectors on a full queue": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [queue.Declare("q"), *[publish("q", shop=number % 10) for number in range(4 * n)]],
        [word for shop in range(10) for word in subscribe(f"d{shop}", selector=f"shop = {shop}")],
    ),
    "a full ring and its dead letters": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [
            queue.Declare("dead"),
            exchange.Bind("dead", "amq.fanout"),
            queue.Declare("q", "amq.fanout", arguments={"qpid.policy_type": "ring", "qpid.max_count": n}),
            *[publish("q")] * n,
        ],
        [publish("q")] * n,
    ),
    "queues that linger, used and left again": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [queue.Declare(name, arguments={"qpid.auto_delete_timeout": 5}) for name in ("q", *[f"q{at}" for at in range(n)])],
        [word for number in range(n) for word in (message.Subscribe("q", "d", 0, 0), message.Cancel("d"))],
    ),
    "exchange.bound of a binding with many arguments": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [queue.Declare("q"), exchange.Bind("q", "amq.match", "k", {"x-match": "any", "h": List([None] * 30 * n)})],
        [exchange.Bound("amq.match", "q", "k", {"a": 1})] * n,
    ),
    "credit for one of many subscriptions whose octets are too few": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [
            queue.Declare("q"),
            publish("q"),
            *[
                word
                for at in range(n)
                for word in (message.Subscribe("q", f"b{at}", 1, 1), message.Flow(f"b{at}", 0, 9), message.Flow(f"b{at}", 1, 0))
            ],
        ],
        [message.Flow("b0", 0, 1)] * n,
    ),
    "bound and unbound": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [queue.Declare("q"), *[exchange.Bind("q", "amq.topic", f"a.{number}.#") for number in range(n)]],
        [exchange.Unbind("q", "amq.topic", f"a.{number}.#") for number in range(n)],
    ),
    "attached again and again with much in doubt": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [c.RequestTimeout(100), *delivered(n)],
        [c.Detach(b"s1"), c.Attach(b"s1"), c.Expected(RangeSet.of(n)), c.CommandPoint(n + 4, 0)] * n,
    ),
    "attached again and again with much in doubt that is not kept": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [c.RequestTimeout(0), *delivered(2 * n), c.Completed(RangeSet.of(*range(0, 2 * n, 2)))],
        [c.RequestTimeout(100), c.Detach(b"s1"), c.Attach(b"s1"), c.Expected(RangeSet.of(2 * n)), c.CommandPoint(2 * n + 4, 0)]
        * n,
    ),
    "attached again and again with many subscriptions": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [c.RequestTimeout(100), queue.Declare("q"), *[word for number in range(n) for word in subscribe(f"d{number}")]],
        [c.Detach(b"s1"), c.Attach(b"s1"), c.Expected(RangeSet.of(0)), c.CommandPoint(3 * n + 1, 0)] * n,
    ),
    "lifetimes that come and go with much in doubt": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [c.RequestTimeout(100), *delivered(2 * n), c.Confirmed(RangeSet.of(*range(0, 2 * n, 2)))],
        [c.RequestTimeout(0), c.RequestTimeout(100)] * n,
    ),
    "subscriptions cancelled and made anew": lambda n: (
        DEFAULT_BROKER_LIMITS,
        [queue.Declare("q"), *[word for number in range(n) for word in subscribe(f"d{number}")]],
        [word for number in range(n) for word in (message.Cancel(f"d{number}"), message.Subscribe("q", f"e{number}", 0, 0))],
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_twice_the_attack_costs_twice_the_steps(name: str) -> None:
    def prepared(size: int) -> Callable[[], object]:
        limits, before, words = ATTACKS[name](size)
        attacker = Attacker(Broker(BrokerConfig(limits=limits)))
        attacker.say(before)
        attacker.turn()
        assert attacker.attached, "it was thrown out before it attacked"

        def work() -> None:
            for word in words:
                attacker.say([word])
                attacker.turn()
            assert attacker.attached, "it was thrown out while it attacked"

        return work

    assert_linear(prepared, 60)


def test_one_message_to_rings_that_drop_into_one_another_costs_no_more_than_its_limits() -> None:
    """Each of n rings drops a letter for it, which goes to n - 1 of them."""

    def prepared(size: int) -> Callable[[], object]:
        attacker = Attacker(Broker())
        for at in range(size):
            arguments: dict[str, Value] = {"qpid.policy_type": "ring", "qpid.max_count": 1}
            attacker.say([queue.Declare(f"q{at}", "amq.fanout", arguments=arguments), exchange.Bind(f"q{at}", "amq.fanout")])
        attacker.say([publish("", to="amq.fanout")])
        attacker.turn()

        def work() -> None:
            attacker.say([publish("", to="amq.fanout")])
            attacker.turn()
            assert attacker.attached, "it was thrown out while it attacked"

        return work

    assert steps(prepared(300)) < 1.5 * steps(prepared(150)) < 3_000_000  # without them 16 and 48 millions


def test_a_dead_letter_costs_little_however_long_its_exchange_would_look() -> None:
    """One queue.delete with many letters, each of which meets hundreds of patterns."""

    def prepared(size: int, most: int) -> Callable[[], object]:
        host, key = VirtualHost(limits=BrokerLimits(costly_letters=most)), ".".join("a" * 60)
        host.declare_queue("dead")
        for words in product("*a", repeat=8):
            host.bind("dead", "amq.topic", "#." + ".".join(words))
        host.declare_queue(key, "amq.topic")
        for _ in range(size):
            enqueue(host, "", key)

        def work() -> None:
            host.delete_queue(key)
            while host.leaving:
                host.move_some()

        return work

    if COMPILED:
        pytest.skip("the steps of compiled code cannot be counted")
    each = (steps(prepared(20, 1)) - steps(prepared(10, 1))) / 10
    costly = (steps(prepared(4, 4)) - steps(prepared(2, 2))) / 2
    assert 10 * each < costly, (each, costly)


def test_a_dead_letter_does_not_look_at_all_queues_that_are_full() -> None:
    def prepared(size: int) -> Callable[[], object]:
        host = VirtualHost(limits=BrokerLimits(letter_copies=1))
        for number in range(200):
            host.declare_queue(f"full {number}", arguments={"qpid.max_count": 0})
            host.bind(f"full {number}", "amq.fanout")
        host.declare_queue("q", "amq.fanout")
        for _ in range(size):
            enqueue(host, "", "q")
        return lambda: host.delete_queue("q")

    if COMPILED:
        pytest.skip("the steps of compiled code cannot be counted")
    each = (steps(prepared(20)) - steps(prepared(10))) / 10
    assert each < 1000, each  # 4,900 when each looked at all of them


def test_an_exclusive_declaration_of_a_queue_with_many_subscribers_is_refused_at_once() -> None:
    def prepared(size: int) -> Callable[[], object]:
        host = VirtualHost()
        host.declare_queue("q")
        for _ in range(size):
            host.subscribe("q", Sink(owner=Owner(SESSION)))

        def work() -> None:
            for _ in range(size):
                refusal(host.declare_queue, "q", exclusive=True, owner=Owner(SESSION))

        return work

    assert_linear(prepared, 60)


def beats(attacker: Attacker, count: int) -> Callable[[], object]:
    """What sends heartbeats, behind each of which the broker has nothing to do at once."""

    def work() -> None:
        for _ in range(count):
            attacker.say([BEAT])
            attacker.turn()
            assert attacker.broker.due != attacker.broker.now

    return work


def test_a_heartbeat_wakes_nobody_while_as_much_is_kept_for_replay() -> None:
    """Twelve octets: the subscriptions that wait for room are looked at when the client has confirmed something."""

    def prepared(size: int) -> Callable[[], object]:
        attacker = Attacker(Broker(), Limits(replay_commands=1))
        attacker.say([c.RequestTimeout(100), queue.Declare("q"), *[publish("q")] * 3])
        attacker.say([word for at in range(size) for word in subscribe(f"d{at}")])
        attacker.turn()
        assert attacker.attached

        return beats(attacker, size)

    assert_linear(prepared, 60)


def test_a_heartbeat_looks_at_no_session_while_as_much_is_kept_for_replay() -> None:
    def prepared(size: int) -> Callable[[], object]:
        attacker = Attacker(Broker(), Limits(replay_commands=1))
        attacker.say([queue.Declare("q"), *[publish("q")] * (2 * size)])
        for channel in range(2, size + 2):
            attacker.say([c.Attach(b"s%d" % channel), c.CommandPoint(0, 0), c.RequestTimeout(100)], channel)
            attacker.say(subscribe("d"), channel)
        attacker.turn()
        assert len(front(attacker.broker).sessions) == size + 1

        return beats(attacker, size)

    assert_linear(prepared, 60)


def test_a_heartbeat_looks_at_no_queue_that_holds_up_publishers() -> None:
    def prepared(size: int) -> Callable[[], object]:
        attacker = Attacker(Broker(BrokerConfig(limits=BrokerLimits(throttle_messages=2))), properties={"qpid.session_flow": 1})
        attacker.say([word for at in range(size) for word in (queue.Declare(f"q{at}"), exchange.Bind(f"q{at}", "amq.fanout"))])
        attacker.say([publish("", to="amq.fanout")] * 2)
        attacker.turn()
        assert len(front(attacker.broker).throttle.queues) == size

        return beats(attacker, size)

    assert_linear(prepared, 60)


def test_another_virtual_host_is_opened_beside_many_connections() -> None:
    """Those that nobody uses are removed for it: nobody asks each connection which it uses."""

    def prepared(size: int) -> Callable[[], object]:
        broker = Broker(BrokerConfig(limits=BrokerLimits(virtual_hosts=2)))
        for _ in range(size):
            Attacker(broker).turn()

        def work() -> None:
            for number in range(8):
                guest = Attacker(broker, host=f"host {number}")
                guest.turn()
                assert guest.attached
                guest.peer.receive_eof()
                guest.turn()

        return work

    assert_free(prepared)


def test_a_frame_behind_our_close_costs_next_to_nothing() -> None:
    """A stranger that has broken the protocol may send 64 KiB more: its answer is looked for among them, and no more."""

    def prepared(count: int) -> Callable[[], object]:
        server = ServerConnection(ServerConfig())
        server.receive_data(AMQP_0_10.header)
        for channel in range(1, count):  # the frames of controls that do not end, and may not be said yet
            server.receive_data(b"\x0a\x00\x00\x10\x00\x00" + channel.to_bytes(2, "big") + bytes(4) + b"\1\n\0\0")

        def work() -> None:
            assert [type(event) for event in server.events()][-1] is ConnectionClosed
            assert server.lingers

        return work

    if COMPILED:
        pytest.skip("the steps of compiled code cannot be counted")
    each = (steps(prepared(2000)) - steps(prepared(1000))) / 1000
    assert 10 < each < 100, each  # 418 when each was judged
