"""Every limit of a broker, from the outside: what a client meets below it, at it and one beyond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs
import pytest
from tests.broker.harness import Client, World, blurt, done, front

from amqp_sansio import ClientConfig, ServerConfig, Session
from amqp_sansio.broker import Broker, Kind, Rule, Rules
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.errors import LimitError
from amqp_sansio.events import ConnectionClosed, ExceptionReceived, ProducerCreditChanged, TransferReceived
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits
from amqp_sansio.spec import dtx, exchange, message, queue, tx
from amqp_sansio.spec.codes import AcceptMode, AcquireMode
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.values import Map, Value

Room = Callable[[BrokerLimits, int], int]
"""Takes so much of something; what was answered, or how much was had."""


def begin(limits: BrokerLimits) -> tuple[Client, Session]:
    world = World(BrokerConfig(limits=limits))
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    return client, session


def code(client: Client) -> int:
    """The error code that ended the session; 0 when none did."""
    client.world.run()
    codes = [event.error_code for event in client.all(ExceptionReceived)]
    return codes[0] if codes else 0


def virtual_hosts(limits: BrokerLimits, amount: int) -> int:
    world = World(BrokerConfig(limits=limits))
    clients = [world.connect(ClientConfig(virtual_host=f"h{n}")) for n in range(amount)]
    closed = clients[-1].all(ConnectionClosed)
    return closed[0].code or -1 if closed else 0


def exchanges(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    for number in range(amount - 4):  # four are there from the beginning
        session.send(exchange.Declare(f"e{number}", "direct"))
    return code(client)


def queues(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    for number in range(amount - 1):
        session.send(queue.Declare(f"q{number}"))
    return code(client)


def bindings(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    for number in range(amount):
        session.send(exchange.Bind("q", "amq.direct", f"{number}"))
    return code(client)


def binding_words(limits: BrokerLimits, amount: int) -> int:
    """One is in the arguments of a headers exchange, the others in the key of a topic one; what is unbound counts no more."""
    client, session = begin(limits)
    session.send(exchange.Bind("q", "amq.topic", "a.b"))
    session.send(exchange.Unbind("q", "amq.topic", "a.b"))
    session.send(exchange.Bind("q", "amq.match", "", {"x-match": "all", "one": None}))
    session.send(exchange.Bind("q", "amq.topic", ".".join(["#"] * (amount - 1))))
    return code(client)


def routing_steps(limits: BrokerLimits, amount: int) -> int:
    """Each word of the key reaches one node of the pattern; the queue that is found costs nothing."""
    client, session = begin(limits)
    key = ".".join(["a"] * amount)
    session.send(exchange.Bind("q", "amq.topic", key))
    session.publish("amq.topic", routing_key=key)
    return code(client)


def subscribers(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    done(client, session, message.Subscribe("q", "cancelled"))
    done(client, session, message.Cancel("cancelled"))
    for number in range(amount):
        session.subscribe("q", f"{number}")
    return code(client)


def displacing_queues(limits: BrokerLimits, amount: int) -> int:
    """Dead letters of so many full rings that get one message; `q`, which gets them, is not full."""
    client, session = begin(limits)
    session.send(exchange.Bind("q", "amq.fanout"))
    for number in range(amount):
        arguments: dict[str, Value] = {"qpid.policy_type": "ring", "qpid.max_count": 1}
        session.send(queue.Declare(f"{number}", "amq.fanout", arguments=arguments))
        session.send(exchange.Bind(f"{number}", "amq.direct", "k"))
    for _ in range(2):
        session.publish("amq.direct", routing_key="k")
    client.world.run()
    return client.world.broker.host().queues["q"].available


def letter_copies(limits: BrokerLimits, amount: int) -> int:
    """Of so many letters on a queue that is deleted, each for two others: what comes to the second of them."""
    client, session = begin(limits)
    session.send(queue.Declare("second"))
    for name in ("q", "second"):
        session.send(exchange.Bind(name, "amq.fanout"))
    session.send(queue.Declare("deleted", "amq.fanout"))
    for _ in range(amount):
        session.publish(routing_key="deleted")
    session.send(queue.Delete("deleted"))
    client.world.run()
    here = client.world.broker.host().queues
    assert here["q"].available == amount
    return here["second"].available


def costly_letters(limits: BrokerLimits, amount: int) -> int:
    """Of so many letters on a queue that is deleted, each with a key of many words: what comes through a topic exchange."""
    client, session = begin(limits)
    key = ".".join("a" * 120)
    for pattern in ("#.a", "#.a.a"):
        session.send(exchange.Bind("q", "amq.topic", pattern))
    session.send(queue.Declare("deleted", "amq.topic"))
    session.send(exchange.Bind("deleted", "amq.direct", key))
    for _ in range(amount):
        session.publish("amq.direct", routing_key=key)
    session.send(queue.Delete("deleted"))
    client.world.run()
    return client.world.broker.host().queues["q"].available


def numbered_octets(limits: BrokerLimits, amount: int) -> int:
    """Whether a message with so many octets of header gets a number; `q` gets it as it is."""
    client, session = begin(limits)
    session.send(queue.Declare("numbering", arguments={"qpid.queue_msg_sequence": "n"}))
    here = client.world.broker.host().queues
    for name in ("q", "numbering"):
        done(client, session, exchange.Bind(name, "amq.fanout"))
    session.publish("amq.fanout", content_type="t")
    client.world.run()
    (plain,) = here["q"].all()
    session.publish("amq.fanout", content_type="t" * (amount - len(plain.message.envelope.header) + 1))
    client.world.run()
    (_, plain), (_, last) = here["q"].all(), here["numbering"].all()
    assert len(plain.message.envelope.header) == amount
    return len(last.message.application_headers)


def browsers(limits: BrokerLimits, amount: int) -> int:
    """Half of them do not acquire, the others have a selector.  Those that do neither do not count, nor do other queues."""
    client, session = begin(limits)
    done(client, session, queue.Declare("other"))
    session.subscribe("other", "other", acquire_mode=AcquireMode.NOT_ACQUIRED)
    for number in range(amount):
        session.subscribe("q", f"taker {number}")
    session.subscribe("q", "cancelled", acquire_mode=AcquireMode.NOT_ACQUIRED).cancel()
    for number in range(amount):
        selector = {"x-apache-selector": "a = 1"} if number % 2 else None
        session.subscribe("q", f"{number}", acquire_mode=AcquireMode(1 - number % 2), arguments=selector)
    return code(client)


def consumer_priorities(limits: BrokerLimits, amount: int) -> int:
    """Two subscriptions with each; none is 0, and other queues have their own."""
    client, session = begin(limits)
    done(client, session, queue.Declare("other"))
    session.subscribe("q", "without")
    for number in range(2 * amount):
        session.subscribe("q", f"{number}", arguments={"x-priority": number // 2})
    session.subscribe("other", "other", arguments={"x-priority": 77})
    return code(client)


def selector_octets(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    session.subscribe("q", "d", arguments={"x-apache-selector": "a".ljust(amount)})
    return code(client)


def selector_depth(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    session.subscribe("q", "d", arguments={"x-apache-selector": "(" * amount + "a" + ")" * amount})
    return code(client)


def like_characters(limits: BrokerLimits, amount: int) -> int:
    """What only the ends of a text say is not limited, nor is a part without `_`."""
    client, session = begin(limits)
    text = "ab".rjust(amount, "x")
    for number, pattern in enumerate(["%a_%", "%_b", "%ab%"]):
        arguments = {"x-apache-selector": f"text LIKE '{pattern}'"}
        session.subscribe("q", f"{number}", acquire_mode=AcquireMode.NOT_ACQUIRED, arguments=arguments).grant(5)
    session.publish(routing_key="q", application_headers=Map({"text": text}))
    client.world.run()
    return len(client.all(TransferReceived))


def messages(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    for _ in range(amount):
        session.publish(routing_key="q")
    return code(client)


def octets(limits: BrokerLimits, amount: int) -> int:
    """The header that is kept has 11 octets: exchange and key."""
    client, session = begin(limits)
    session.publish(routing_key="q", body=bytes(amount - 11))
    return code(client)


def body_octets(limits: BrokerLimits, amount: int) -> int:
    return octets(limits, amount + 11)


def argument_octets(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    session.send(exchange.Bind("q", "amq.fanout", "", {"x-apache-selector": b" " * (amount - 29)}))
    return code(client)


def throttle_messages(limits: BrokerLimits, amount: int) -> int:
    world = World(BrokerConfig(limits=limits))
    client = world.connect(ClientConfig(properties={"qpid.session_flow": 1}))
    session = client.session()
    done(client, session, queue.Declare("q"))
    for _ in range(amount):
        session.publish(routing_key="q")
    world.run()
    return len(client.all(ProducerCreditChanged))


def branches(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    session.send(dtx.Select())
    for number in range(amount):
        blurt(session, dtx.Start(Xid(1, b"g", b"%d" % number)))
        blurt(session, dtx.End(Xid(1, b"g", b"%d" % number)))
    return code(client)


def transaction_messages(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    session.send(tx.Select())
    for _ in range(amount):
        session.publish(routing_key="q")
    return code(client)


def transaction_octets(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    session.send(tx.Select())
    session.publish(routing_key="q", body=bytes(amount - 11))
    return code(client)


def held_messages(limits: BrokerLimits, amount: int) -> int:
    """One in each of several transactions; what is rolled back counts no more."""
    client, _ = begin(limits)
    for number in range(amount):
        other = client.session(b"%d" % number)
        other.select_tx()
        other.publish(routing_key="q")
        other.tx.rollback()
        other.publish(routing_key="q")
    return code(client)


def held_octets(limits: BrokerLimits, amount: int) -> int:
    client, _ = begin(limits)
    for number, size in enumerate((0, amount - 22)):
        other = client.session(b"%d" % number)
        other.select_tx()
        other.publish(routing_key="q", body=bytes(size))
    return code(client)


def outbox_octets(limits: BrokerLimits, amount: int) -> int:
    """Two deliveries of `amount` octets together before, and then one more: how many come without a take."""
    client, session = begin(limits)
    frames = 12 + 9 + 1 + 12 + 11 + 12  # of a transfer with a destination of one octet
    for size in (amount - frames, 1):
        session.publish(routing_key="q", body=bytes(size))
    client.world.run()
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE)
    client.world.run()
    (holder,) = front(client.world.broker).sessions.values()
    consumer = holder.consumers["d"]
    consumer.subscriber._book.grant(0, 10)
    consumer.subscriber._book.grant(1, 0xFFFFFFFF)
    blank = client.peer.bytes_to_send
    assert blank == 0
    holder.session._outbound.position = 0  # the command-point is said already
    consumer.wake()
    client.world.broker._hosts[""].dispatch(100)
    return 2 - consumer.queue.available


def unaccepted_transfers(limits: BrokerLimits, amount: int) -> int:
    client, session = begin(limits)
    for _ in range(amount):
        session.publish(routing_key="q")
    session.subscribe("q", "d").grant(100)
    client.world.run()
    return len(client.all(TransferReceived))


def kept_sessions(limits: BrokerLimits, amount: int) -> int:
    world = World(BrokerConfig(limits=limits))
    client = world.connect(server=ServerConfig(session_timeout=60))
    for number in range(amount):
        client.session(b"%d" % number, 60)
    client.cut()
    return len(front(world.broker).sessions)


def rules(limits: BrokerLimits, amount: int) -> int:
    try:
        Broker(BrokerConfig(limits=limits, access=Rules([Rule(allow=True, kind=Kind.QUEUE)] * amount)))
    except LimitError as error:
        return -1 if error.limit == "rules" else 0
    return 0


REFUSED: Final = (0, 0, 506)
ROWS: Final[dict[str, tuple[int, tuple[int, int, int], Room]]] = {
    "virtual_hosts": (3, (0, 0, 320), virtual_hosts),
    "exchanges": (8, REFUSED, exchanges),
    "queues": (4, REFUSED, queues),
    "bindings": (4, REFUSED, bindings),
    "binding_words": (4, REFUSED, binding_words),
    "routing_steps": (4, REFUSED, routing_steps),
    "subscribers": (4, REFUSED, subscribers),
    "displacing_queues": (4, (3, 4, 4), displacing_queues),
    "letter_copies": (4, (3, 4, 4), letter_copies),
    "costly_letters": (4, (3, 4, 4), costly_letters),
    "numbered_octets": (100, (1, 1, 0), numbered_octets),
    "browsers": (4, REFUSED, browsers),
    "consumer_priorities": (4, REFUSED, consumer_priorities),
    "body_octets": (50, REFUSED, body_octets),
    "queue_messages": (4, REFUSED, messages),
    "queue_octets": (50, REFUSED, octets),
    "host_messages": (4, REFUSED, messages),
    "host_octets": (50, REFUSED, octets),
    "argument_octets": (60, REFUSED, argument_octets),
    "throttle_messages": (4, (0, 1, 1), throttle_messages),
    "branches": (4, REFUSED, branches),
    "transaction_messages": (4, REFUSED, transaction_messages),
    "transaction_octets": (50, REFUSED, transaction_octets),
    "held_messages": (4, REFUSED, held_messages),
    "held_octets": (50, REFUSED, held_octets),
    "outbox_octets": (100, (2, 1, 1), outbox_octets),
    "unaccepted_transfers": (4, (3, 4, 4), unaccepted_transfers),
    "selector_octets": (20, (0, 0, 531), selector_octets),
    "selector_depth": (4, (0, 0, 531), selector_depth),
    "like_characters": (8, (3, 3, 2), like_characters),
    "rules": (3, (0, 0, -1), rules),
    "kept_sessions": (3, (2, 3, 3), kept_sessions),
}
"""By limit: its value here, what is had below, at and beyond it, and how."""


@pytest.mark.parametrize("name", ROWS)
def test_below_at_and_beyond_the_limit(name: str) -> None:
    value, expected, room = ROWS[name]
    limits = attrs.evolve(DEFAULT_BROKER_LIMITS, **{name: value})
    assert tuple([room(limits, amount) for amount in (value - 1, value, value + 1)]) == expected


def test_every_limit_has_its_row() -> None:
    assert {field.name for field in attrs.fields(BrokerLimits)} == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_a_default_is_positive_and_can_be_replaced(name: str) -> None:
    assert getattr(DEFAULT_BROKER_LIMITS, name) > 0
    assert getattr(attrs.evolve(DEFAULT_BROKER_LIMITS, **{name: 1}), name) == 1
