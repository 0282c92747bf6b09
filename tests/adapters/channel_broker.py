"""A small broker with channels in memory: queues, direct and fanout exchanges, confirms, returns, gets and transactions.

Each connection is a `ChannelServerConnection`; `hear` does what its events ask.  What it cannot do it refuses with 540.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final, NamedTuple

from amqp_sansio.config import ServerConfig, ServerMechanism
from amqp_sansio.dialects import AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.channels.server import ServedChannel
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.events import ConnectionClosed, Event
from amqp_sansio.events import channel as events
from amqp_sansio.kernel.serials import pick
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic, confirm, exchange, queue, tx
from amqp_sansio.spec.methods import channel as channels
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.spec.values import Map

DIRECT_REPLY_TO = "amq.rabbitmq.reply-to"
CAPABILITIES = {
    "publisher_confirms": True, "basic.nack": True, "consumer_cancel_notify": True, "connection.blocked": True,
    "exchange_exchange_bindings": True, "authentication_failure_close": True, "direct_reply_to": True,
}  # fmt: skip


class Kept(NamedTuple):
    """A message on a queue."""

    exchange: str
    routing_key: str
    body: bytes
    properties: basic.Properties
    redelivered: bool = False


class Consumer(NamedTuple):
    """Who consumes from a queue."""

    connection: ChannelServerConnection
    channel: ServedChannel
    tag: str
    no_ack: bool
    exclusive: bool


class Side:
    """What the broker keeps of one channel."""

    def __init__(self, channel: ServedChannel) -> None:
        self.channel: Final = channel
        self.prefetch = 0
        self.unsettled: Final[dict[int, tuple[str, Kept]]] = {}
        self.transacted = False
        self.published: Final[list[events.ContentReceived]] = []
        self.settled: Final[list[events.DeliveriesSettled]] = []


class ChannelBroker:
    """`connect` gives a connection; feed it, `hear` it, take its octets."""

    def __init__(self, dialect: ChannelDialect = AMQP_0_9_1) -> None:
        self.dialect: Final = dialect
        self.queues: Final[dict[str, deque[Kept]]] = {}
        self.exclusive: Final[dict[str, ChannelServerConnection]] = {}
        self.exchanges: Final[dict[str, str]] = {"amq.direct": "direct", "amq.fanout": "fanout"}
        self.bindings: Final[set[tuple[str, str, str]]] = set()
        self.consumers: Final[dict[str, list[Consumer]]] = {}
        self.sides: Final[dict[tuple[ChannelServerConnection, int], Side]] = {}
        self.full: Final[set[str]] = set()
        """Queues that take nothing: publishes to them are nacked."""
        self.channel_max = 2047
        self.capabilities: Mapping[str, bool] = CAPABILITIES
        self.mechanisms: tuple[ServerMechanism, ...] = (PlainServer(lambda user, password: user == password == "guest"),)
        self.mute = False
        """Confirms nothing, and answers nothing."""
        self.refusals = 0
        """Channels that are refused, from the next one on."""
        self.heard: Final[list[Event]] = []
        self.secrets: Final[list[bytes | None]] = []
        self._names = 0

    def connect(self) -> ChannelServerConnection:
        return ChannelServerConnection(
            ServerConfig(
                dialects=(self.dialect,), mechanisms=self.mechanisms,
                properties=Map([("product", "channel broker"), ("capabilities", Map(self.capabilities))]), heartbeat_max=0,
                channel_max=self.channel_max,
            )
        )  # fmt: skip

    def hear(self, connection: ChannelServerConnection) -> None:
        """Does what the events of a connection ask."""
        while (event := connection.next_event()) is not None:
            self.heard.append(event)
            if not self.mute or isinstance(event, ConnectionClosed | events.ChannelClosed):
                self._hear(connection, event)

    def lose(self, connection: ChannelServerConnection) -> None:
        """A connection is gone: what it did not settle is back, and what was its own is deleted."""
        for key, side in list(self.sides.items()):
            if key[0] is connection:
                self._leave(connection, side)
        for name, owner in list(self.exclusive.items()):
            if owner is connection:
                self._delete(name)

    def depth(self, name: str) -> int:
        return len(self.queues[name])

    def _hear(self, connection: ChannelServerConnection, event: Event) -> None:
        match event:
            case events.ChannelRequested(channel=number) if self.refusals:
                self.refusals -= 1
                connection.refuse(number)
            case events.ChannelRequested(channel=number):
                self.sides[connection, number] = Side(connection.accept(number))
            case events.ChannelClosed(channel=number):
                if (side := self.sides.pop((connection, number), None)) is not None:
                    self._leave(connection, side)
            case events.MethodReceived(channel=number, id=id, method=method):
                self._method(connection, self.sides[connection, number], id, method)
            case events.ContentReceived(channel=number):
                side = self.sides[connection, number]
                if side.transacted:
                    side.published.append(event)
                else:
                    self._published(side, event)
            case events.DeliveriesSettled(channel=number):
                side = self.sides[connection, number]
                if side.transacted:
                    side.settled.append(event)
                else:
                    self._settled(side, event)
            case ConnectionClosed():
                self.lose(connection)
            case _:
                secret = connection.take_secret()
                if secret is not None:
                    self.secrets.append(secret)
        self._deliver()

    def _leave(self, connection: ChannelServerConnection, side: Side) -> None:
        for consumers in self.consumers.values():
            consumers[:] = [each for each in consumers if each.channel is not side.channel]
        for name, kept in reversed(list(side.unsettled.values())):
            if name in self.queues:
                self.queues[name].appendleft(kept._replace(redelivered=True))
        side.unsettled.clear()
        self.sides.pop((connection, side.channel.number), None)

    def _method(self, connection: ChannelServerConnection, side: Side, id: int | None, method: Method) -> None:
        channel = side.channel
        name = getattr(method, "queue", "")
        if name and name not in self.queues and name != DIRECT_REPLY_TO and not isinstance(method, queue.Declare):
            channel.fail(ReplyCode.NOT_FOUND, f"NOT_FOUND - no queue '{name}'", method.VERB)
            return
        answer: Method
        match method:
            case queue.Declare(passive=True) if name not in self.queues:
                channel.fail(ReplyCode.NOT_FOUND, f"NOT_FOUND - no queue '{name}'", method.VERB)
                return
            case queue.Declare() if self.exclusive.get(name, connection) is not connection:
                channel.fail(ReplyCode.RESOURCE_LOCKED, f"RESOURCE_LOCKED - queue '{name}'", method.VERB)
                return
            case queue.Declare():
                if not name:
                    self._names += 1
                    name = f"amq.gen-{self._names}"
                self.queues.setdefault(name, deque())
                if method.exclusive:
                    self.exclusive[name] = connection
                answer = queue.DeclareOk(name, self.depth(name), len(self.consumers.get(name, ())))
            case queue.Bind():
                self.bindings.add((method.exchange, method.routing_key, name))
                answer = queue.BindOk()
            case queue.Unbind():
                self.bindings.discard((method.exchange, method.routing_key, name))
                answer = queue.UnbindOk()
            case queue.Purge():
                answer = queue.PurgeOk(self.depth(name))
                self.queues[name].clear()
            case queue.Delete():
                answer = queue.DeleteOk(self.depth(name))
                self._delete(name)
            case exchange.Declare(passive=True) if method.exchange not in self.exchanges:
                channel.fail(ReplyCode.NOT_FOUND, f"NOT_FOUND - no exchange '{method.exchange}'", method.VERB)
                return
            case exchange.Declare():
                self.exchanges[method.exchange] = method.type_
                answer = exchange.DeclareOk()
            case exchange.Delete():
                self.exchanges.pop(method.exchange, None)
                answer = exchange.DeleteOk()
            case basic.Qos():
                side.prefetch = method.prefetch_count
                answer = basic.QosOk()
            case basic.Consume() if self.consumers.get(name) and (method.exclusive or self.consumers[name][0].exclusive):
                channel.fail(ReplyCode.ACCESS_REFUSED, f"ACCESS_REFUSED - queue '{name}' in exclusive use", method.VERB)
                return
            case basic.Consume():
                consumer = Consumer(connection, channel, method.consumer_tag, method.no_ack, method.exclusive)
                self.consumers.setdefault(name, []).append(consumer)
                answer = basic.ConsumeOk(method.consumer_tag)
            case basic.Cancel():
                for consumers in self.consumers.values():
                    consumers[:] = [each for each in consumers if (each.channel, each.tag) != (channel, method.consumer_tag)]
                answer = basic.CancelOk(method.consumer_tag)
            case basic.Recover():
                answer = basic.RecoverOk()
            case basic.Get():
                self._get(side, id, method)
                return
            case confirm.Select():
                answer = confirm.SelectOk()
            case tx.Select():
                side.transacted = True
                answer = tx.SelectOk()
            case tx.Commit():
                for published in side.published:
                    self._published(side, published)
                if channel.closed_cause is not None:
                    return
                for settled in side.settled:
                    self._settled(side, settled)
                side.published.clear()
                side.settled.clear()
                answer = tx.CommitOk()
            case tx.Rollback():
                side.published.clear()
                side.settled.clear()
                answer = tx.RollbackOk()
            case channels.Flow():
                answer = channels.FlowOk(method.active)
            case _:
                channel.fail(ReplyCode.NOT_IMPLEMENTED, f"NOT_IMPLEMENTED - {method.VERB}", method.VERB)
                return
        if id is not None:
            channel.reply(id, answer)

    def _get(self, side: Side, id: int | None, method: basic.Get) -> None:
        assert id is not None  # basic.get is always answered
        kept = self.queues[method.queue]
        if not kept:
            side.channel.reply(id, basic.GetEmpty())
            return
        said = kept.popleft()
        tag = side.channel.got(
            id, said.body, said.properties, exchange=said.exchange, routing_key=said.routing_key,
            redelivered=said.redelivered, message_count=len(kept),
        )  # fmt: skip
        if not method.no_ack:
            side.unsettled[tag] = method.queue, said

    def _published(self, side: Side, event: events.ContentReceived) -> None:
        method, channel = event.method, side.channel
        assert isinstance(method, basic.Publish)
        kept = Kept(method.exchange, method.routing_key, event.body, event.properties)
        if method.exchange and method.exchange not in self.exchanges:
            channel.fail(ReplyCode.NOT_FOUND, f"NOT_FOUND - no exchange '{method.exchange}'", method.VERB)
            return
        if self._answers(kept):
            pass
        elif not (names := self._routes(method)):
            if method.mandatory:
                channel.return_(
                    ReplyCode.NO_ROUTE, "NO_ROUTE", method.exchange, method.routing_key, event.body, event.properties
                )
        elif names & self.full:
            if event.number is not None:
                channel.confirm([event.number], taken=False)
            return
        else:
            for name in sorted(names):
                self.queues[name].append(kept)
        if event.number is not None:
            channel.confirm([event.number])

    def _answers(self, kept: Kept) -> bool:
        """An answer by direct reply-to."""
        for consumer in self.consumers.get(DIRECT_REPLY_TO, ()):
            if kept.exchange == "" and kept.routing_key == f"{DIRECT_REPLY_TO}.{consumer.channel.number}":
                consumer.channel.deliver(consumer.tag, kept.body, kept.properties, routing_key=kept.routing_key)
                return True
        return False

    def _routes(self, method: basic.Publish) -> set[str]:
        if not method.exchange:
            return {method.routing_key} & self.queues.keys()
        fanout = self.exchanges[method.exchange] == "fanout"
        return {
            name for source, key, name in self.bindings if source == method.exchange and (fanout or key == method.routing_key)
        }

    def _settled(self, side: Side, event: events.DeliveriesSettled) -> None:
        for tag in reversed(pick(event.ids, side.unsettled)):
            name, kept = side.unsettled.pop(tag)
            if event.requeue and name in self.queues:
                self.queues[name].appendleft(kept._replace(redelivered=True))

    def _deliver(self) -> None:
        for name, consumers in self.consumers.items():
            waiting = self.queues.get(name, ())
            for consumer in list(consumers):
                side = self.sides.get((consumer.connection, consumer.channel.number))
                alive = consumer.channel.closed_cause is None and consumer.tag in consumer.channel.consumers
                while waiting and alive and side is not None and (not side.prefetch or len(side.unsettled) < side.prefetch):
                    said = self.queues[name].popleft()
                    properties = said.properties
                    if properties.reply_to == DIRECT_REPLY_TO and self.consumers.get(DIRECT_REPLY_TO):
                        properties = self._with_reply_to(properties)
                    tag = consumer.channel.deliver(
                        consumer.tag, said.body, properties, exchange=said.exchange, routing_key=said.routing_key,
                        redelivered=said.redelivered,
                    )  # fmt: skip
                    if not consumer.no_ack:
                        side.unsettled[tag] = name, said

    def _with_reply_to(self, properties: basic.Properties) -> basic.Properties:
        consumer = self.consumers[DIRECT_REPLY_TO][0]
        said = {name: getattr(properties, name) for name in properties.FIELDS}
        return basic.Properties(**said | {"reply_to": f"{DIRECT_REPLY_TO}.{consumer.channel.number}"})

    def _delete(self, name: str) -> None:
        """A queue is gone: the server cancels its consumers."""
        self.queues.pop(name, None)
        self.exclusive.pop(name, None)
        for binding in [each for each in self.bindings if each[2] == name]:
            self.bindings.discard(binding)
        for consumer in self.consumers.pop(name, ()):
            if consumer.channel.state == "open" and not consumer.connection.finished:
                consumer.channel.cancel_consumer(consumer.tag)
