"""Whatever the other side says on channels, nothing raises, and the end is told once (law 1)."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any, TypeAlias

import pytest
from tests.conversation.channels.stage import Stage as Conversation
from tests.conversation.channels.stage import staged
from tests.engine.channels.stage import DIALECTS, Stage
from tests.families.channels import content
from tests.properties.channel_world import FIRST, SEEDS

from amqp_sansio.conversation.channels.consumers import Inbox
from amqp_sansio.conversation.channels.core import ChannelCore
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.dialects import AMQP_0_9_1, AMQP_0_9_RABBITMQ, ChannelDialect
from amqp_sansio.errors import AmqpError, ConnectionLost
from amqp_sansio.events import ChannelClosed, ConnectionClosed
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import BodyContent, Method
from amqp_sansio.spec.methods import basic, queue
from amqp_sansio.spec.methods import channel as words
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.wire.method_frames import put_frame

VALUES: dict[str, list[object]] = {
    "str8": ["", "t", "q", "here"], "uint8": [0, 1], "uint16": [0, 1, 200, 404], "uint32": [0, 1],
    "uint64": [0, 1, 2, 3, 1 << 33],
    "bit": [False, True], "table": [{}, {"k": 1}], "vbin8": [b""], "vbin32": [b"", b"r"], "text32": ["", "r"],
}  # fmt: skip


LIKELY = {
    "client": ("basic.deliver", "basic.deliver", "basic.return", "basic.ack", "basic.nack", "basic.cancel", "channel.flow"),
    "server": (
        "basic.publish", "basic.consume", "basic.cancel", "basic.ack", "basic.reject", "basic.nack", "basic.recover",
        "basic.qos", "tx.select", "tx.commit", "tx.rollback", "confirm.select", "channel.flow", "queue.declare",
    ),
}  # fmt: skip
"""What does not end the conversation at once, by who hears it."""


def anything(chance: Random, dialect: ChannelDialect, who: str, tag: int, consumer: str = "t") -> bytes:
    """A method with likely arguments, with or without a content, now and then on a channel that is not open or cut short."""
    codec = dialect.codec
    kinds = [kind for kind in codec.kinds.values() if issubclass(kind, Method)]
    likely = [kind for kind in kinds if kind.VERB in LIKELY[who]]
    kind = chance.choice(likely if chance.random() < 0.9 else kinds)
    said: dict[str, object] = {}
    for name, of, send in codec.arguments[kind]:
        if send is None and isinstance(of, str):
            said[name] = chance.choice(VALUES.get(of, [None]))
    if kind.VERB == "basic.deliver" and chance.random() < 0.9:
        said.update(consumer_tag=consumer, delivery_tag=tag + 4)
    elif kind.VERB == "basic.cancel" and chance.random() < 0.5:
        said.update(consumer_tag=consumer)
    if "body" in kind.FIELDS:
        said["body"] = BodyContent(b"m")
    try:
        payload = codec.encode(kind(**{name: value for name, value in said.items() if value is not None}))
    except (TypeError, ValueError):
        return b""
    if chance.random() < 0.02:
        payload = payload[: chance.randint(0, len(payload))]
    channel = chance.choice((1, 1, 1, 2, 2, 2, 2, 2, 3) if chance.random() < 0.2 else (1, 2))
    octets = put_frame(1, channel, payload)
    if kind.VERB in codec.carrying or chance.random() < 0.02:
        of_class = int.from_bytes(payload[:2], "big") if len(payload) >= 2 else 60
        octets += content(b"m" * chance.choice((0, 3)), channel, of=of_class)
    return octets


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("who", ["client", "server"])
def test_no_word_of_the_peer_raises(dialect: ChannelDialect, who: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(150):
        chance = Random(seed)
        stage = Stage(dialect, limits=Limits(calls=20, deliveries=20, subscriptions=20))
        for _ in range(2):
            client, served = stage.open()
            client.consume("q", "t", no_wait=True)
            client.publish("x", "k", b"m", mandatory=True)
            client.qos(1)
            client.get("q")
            if dialect.codec.extended and chance.random() < 0.5:
                client.select_confirm(no_wait=True)
            stage.run()
            for _ in range(4):
                served.deliver("t", b"m")
            stage.run()
        heard = stage.client if who == "client" else stage.server
        events = [*stage.take()[who == "server"]]
        for tag in range(1, 60):
            heard.receive_data(anything(chance, dialect, who, tag))
            events += heard.events()
            heard.data_to_send()
        heard.receive_eof()
        events += heard.events()
        seen.update([type(event).__name__ for event in events])
        assert [type(event) for event in events].count(ConnectionClosed) == 1
        assert isinstance(events[-1], ConnectionClosed)
        ends = Counter([event.channel for event in events if isinstance(event, ChannelClosed)])
        assert ends[1] >= 1
    assert len(seen) > (5 if who == "client" else 4), seen


Tickets: TypeAlias = "list[tuple[str, Ticket[Any]]]"


def acts(chance: Random, core: ChannelCore, inboxes: list[Inbox], tickets: Tickets) -> None:
    """What a program may do at any time; what it may not do now raises an error of ours."""
    inbox = chance.choice(inboxes)
    message = inbox.take() if chance.random() < 0.5 else None
    if message is not None:
        chance.choice((message.accept, message.release, message.reject))()
    match chance.randrange(12):
        case 0 | 1 | 2:
            tickets.append(
                ("core.publish", core.publish("", chance.choice(("a", "none")), b"m", {"mandatory": chance.random() < 0.5}))
            )
        case 3:
            tickets.append(
                ("core.execute", core.execute(queue.Declare("q", False, False, False, chance.random() < 0.5, False, {}, 0)))
            )
        case 4:
            tickets.append(("core.get", core.calls.get("q")))
        case 5:
            tickets.append(("core.sync", core.sync()))
        case 6:
            inboxes.append(core.consumers.subscribe("q", prefetch=3, resubscribe=chance.random() < 0.5))
        case 7:
            tickets.append(("core.requests.publish", core.requests.publish("", "q", b"m", {})))
        case 8:
            tickets.append(("core.execute", core.execute(basic.Recover(True))))
        case 9:
            tickets.append(("inbox.cancel", inbox.cancel(keep=chance.random() < 0.5)))
        case 10 if core.transaction.open:
            tickets.append(("core.transaction.commit", core.transaction.commit()))
        case 11 if chance.random() < 0.1:
            tickets.append(("core.close", core.close()))
        case _:
            pass


def goes_wild(chance: Random, stage: Conversation) -> None:
    """What a server may say at any time, and a broker would not."""
    sides = list(stage.broker.sides.values())
    if not sides:
        return
    channel = chance.choice(sides).channel
    match chance.randrange(9):
        case 0 | 1 | 2:
            channel.deliver(chance.choice(channel.consumers or ("nobody",)), b"m" * chance.choice((0, 3)))
        case 3:
            channel.cancel_consumer(chance.choice(channel.consumers or ("nobody",)))
        case 4:
            channel.return_(ReplyCode.NO_ROUTE, "NO_ROUTE", "", "none", b"m")
        case 5:
            channel.send(words.Flow(chance.random() < 0.7))
        case 6 if chance.random() < 0.1:
            channel.fail(ReplyCode.NOT_FOUND, "NOT_FOUND", "basic.publish")
        case 7 if chance.random() < 0.2:
            stage.broker.mute = True
        case 8 if channel.unconfirmed:
            channel.confirm([channel.unconfirmed.last], taken=chance.random() < 0.5)
        case _:
            pass


@pytest.mark.parametrize("dialect", [AMQP_0_9_1, AMQP_0_9_RABBITMQ], ids=lambda dialect: dialect.name)
def test_no_word_of_the_server_raises_in_a_client_of_the_adapters(dialect: ChannelDialect) -> None:
    """Whatever the server says and the program does, nothing raises in the background, and every ticket ends.

    50 seeds in `make test`, 1,000 in `make soak`.
    """
    ends: Counter[str] = Counter()
    heard: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + SEEDS):
        chance = Random(seed)
        stage = staged(dialect, limits=Limits(calls=20, deliveries=20, subscriptions=20, ranges=4))
        stage.queue("q", b"1", b"2")
        stage.queue("a")
        cores = [stage.open(), stage.open()]
        inboxes = [core.consumers.subscribe("q", prefetch=3, resubscribe=chance.random() < 0.5) for core in cores]
        tickets: Tickets = []
        if chance.random() < 0.3:
            cores[0].transaction.begin()
        for step in range(60):
            with suppress(AmqpError):
                acts(chance, chance.choice(cores), inboxes, tickets)
            with suppress(AmqpError):
                goes_wild(chance, stage)
            if chance.random() < 0.5:
                stage.run()
            elif chance.random() < 0.02:
                stage.client.receive_data(anything(chance, dialect, "client", step))
            elif chance.random() < (0.3 if stage.broker.mute else 0.04):
                stage.cut()
            if stage.client.closed is not None:
                stage.broker.mute = False
                stage.connect()
        heard.update([type(event).__name__ for event in stage.told])
        stage.client.closing = True  # nobody comes back
        stage.cut()
        stage.client.give_up(ConnectionLost("it is over"))
        undone = [name for name, ticket in tickets if not ticket.done]
        assert not undone, (seed, undone)
        assert all(inbox.closed for inbox in inboxes), seed
        assert all(core.ended.done for core in cores), seed
        ends.update([type(ticket.error).__name__ for _, ticket in tickets])
    assert ends.keys() >= {"ChannelClosed", "InDoubt", "NoneType", "MessageReturned", "MessageNacked"}, ends
    assert heard.keys() >= {"ChannelClosed", "ConsumerCancelled", "MessageReturned"}, heard
