"""The made-up family at a broker: `put` on line n publishes to queue line-n, `ask` for a queue subscribes the line to it.

Deliveries are `put`s of the header, a blank and the body, which the client settles one after the other with `done`.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from tests.families.made_up import ASK, DONE, PUT, LineServer

from amqp_sansio.broker.broker import Peer
from amqp_sansio.broker.fronts.front import Front, Service
from amqp_sansio.broker.model.arguments import NOTHING_ASKED
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import Envelope, Form, Message, NeutralProperties, QueueEntry
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.subscribers import Owner
from amqp_sansio.events import ConnectionClosed, Event, TimeoutGranted
from amqp_sansio.spec.codes import CloseCode


class Keys(Form):
    """A header is the routing key, behind a ! when the message is redelivered."""

    def properties(self, header: bytes) -> NeutralProperties:
        return NeutralProperties("", header.removeprefix(b"!").decode(), True, None, header[:1] == b"!")

    def marked(self, header: bytes) -> bytes:
        return b"!" + header

    def envelope(self, header: bytes, empty_body: bool) -> Envelope:
        return Envelope(self, header, "", self.properties(header).routing_key, persistent=True, redelivered=header[:1] == b"!")

    def written(self, properties: NeutralProperties) -> bytes:
        return b"!" * properties.redelivered + properties.routing_key.encode()


KEYS: Final = Keys("made-up")


class LineConsumer:
    """A line that gets what is on a queue."""

    explicit = acquires = True
    exclusive = selective = False
    priority = NOTHING_ASKED.priority
    octets_left = None

    def __init__(self, service: LineService, line: int, queue: str) -> None:
        self.owner: Final[Owner] = service.peer._owner
        self.sent: Final[deque[QueueEntry]] = deque()
        self._line: Final = line
        self._say: Final = service.say
        self._peer: Final = service.peer
        self.queue: Final[Queue] = service.host.subscribe(queue, self)

    def offer(self, entry: QueueEntry) -> bool:
        if self._peer.full:
            self._peer._stalled[self] = None
            return False
        self.sent.append(entry)
        self._say(self._line, PUT + entry.header_in(KEYS) + b" " + entry.message.body)
        return True

    def able(self, message: Message) -> bool:
        return not self._peer.full

    def selects(self, entry: QueueEntry) -> bool:
        return True

    def size(self, entry: QueueEntry) -> int:
        return len(entry.message.body)

    def gone(self, queue: Queue, by: Owner | None) -> None:
        self._peer.close(CloseCode.CONNECTION_FORCED, f"{queue.name} was deleted")

    def wake(self) -> None:
        self.queue.wake(self)


class LineService(Service):
    """Acts on the verbs of a connection."""

    serves = True

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        assert isinstance(peer._connection, LineServer)
        peer._connection.lines.hosted = True
        self.say: Final = peer._connection.lines._say
        self.consumers: Final[dict[int, LineConsumer]] = {}

    @property
    def host(self) -> VirtualHost:
        assert self.peer._host is not None
        return self.peer._host

    def act_on(self, event: Event) -> None:
        if isinstance(event, TimeoutGranted):
            self._act(event.seconds or 0, event.session[:1], event.session[1:])
            return
        if isinstance(event, ConnectionClosed):
            for consumer in self.consumers.values():
                self.host.release(consumer.sent, True)
                self.host.unsubscribe(consumer.queue, consumer)
        super().act_on(event)

    def _act(self, line: int, verb: bytes, octets: bytes) -> None:
        broker, host = self.peer._broker, self.host
        if verb == ASK:
            self.consumers[line] = LineConsumer(self, line, octets.decode())
            self.consumers[line].wake()
        elif verb == DONE:
            host.dequeue((self.consumers[line].sent.popleft(),))
        elif verb == PUT:
            host.declare_queue(f"line-{line}", durable=True)
            envelope = KEYS.envelope(b"line-%d" % line, not octets)
            message = broker._intake.made(envelope, octets, broker.now or 0.0, self.peer.number)
            number = host.enqueue(message, host.route(host.destination(""), message).queues)
            broker._journals.after(number, lambda: self._done(line))

    def _done(self, line: int) -> None:
        self.say(line, DONE)
        self.peer._broker._ready[self.peer] = None


class Lines(Front):
    """Keeps nothing of a connection that is over."""

    CONNECTION = LineServer
    FORM = KEYS

    def serve(self, peer: Peer) -> LineService:
        return LineService(peer)
