"""A client and a small broker of the older dialects over a link that delays, chops and breaks, driven by chance.

The broker keeps queues in lists, confirms late and in any order, and closes channels now and then.  The books of the world are
kept from what both applications are told, message by message, and hold nothing that either machine keeps.
"""

from __future__ import annotations

import os
from random import Random
from typing import Final

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.engine.channels.server import ServedChannel
from amqp_sansio.errors import AmqpError
from amqp_sansio.events import (
    ChannelClosed,
    Confirmed,
    ConnectionOpened,
    ContentReceived,
    DeliveriesSettled,
    Event,
    MessageDelivered,
    MessageReturned,
    MethodReceived,
    Nacked,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic, confirm, queue, tx
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.testing.link import Link

PREFETCH: Final = 7
SEEDS: Final = 1000 if os.environ.get("AMQP_PROFILE") == "soak" else 50
FIRST: Final = int(os.environ.get("AMQP_SEED", "0")) * SEEDS


def numbers(ids: RangeSet) -> set[int]:
    """The ids of a small set."""
    return {each for low, high in ids.ranges for each in range(low, high + 1)}


class Sent:
    """One channel of the client, as its application sees it."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.published: dict[int, int] = {}  # message by number
        self.told: dict[int, str] = {}  # what became of a number
        self.delivered: dict[int, int] = {}  # message by tag
        self.settled: set[int] = set()
        self.closed = False

    def fate(self, ids: RangeSet, word: str) -> None:
        """The machine tells what became of these."""
        for number in numbers(ids):
            assert number in self.published, f"{word} of {number}, which was not published"
            assert number not in self.told, f"{number} is {word} and was {self.told[number]}"
            self.told[number] = word


class World:
    """Runs `moves` moves of one seed in one dialect, and then the link until nothing happens."""

    def __init__(self, seed: int, dialect: ChannelDialect) -> None:
        self.chance: Final = Random(seed)
        self.dialect: Final = dialect
        self.extended: Final = dialect.codec.extended
        # The client.
        self.channels: dict[int, Sent] = {}
        self.all: list[Sent] = []
        self.messages = 0
        self.tags = 0
        self.returned: set[int] = set()
        # The broker.
        self.queue: list[int] = []
        self.taken: set[int] = set()
        self.refused: set[int] = set()  # mandatory, and for no queue
        self.dropped: set[int] = set()
        self.done: list[int] = []  # acknowledged
        self.served: dict[int, ServedChannel] = {}
        self.consumers: dict[int, list[str]] = {}
        self.flying: dict[int, dict[int, int]] = {}
        self.settled: dict[int, set[int]] = {}
        self.unconfirmed: dict[int, set[int]] = {}
        self.link: Final[Link[ChannelClientConnection, ChannelServerConnection]] = Link(
            self._client(), self._server(), delay=(0, 3), chunk=(1, 400), choices=self.chance, dialects=(dialect,),
            on_client=self._hear_client, on_server=self._hear_server,
        )  # fmt: skip

    def _client(self) -> ChannelClientConnection:
        return ChannelClientConnection(ClientConfig(dialect=self.dialect, max_frame_size=4096))

    def _server(self) -> ChannelServerConnection:
        return ChannelServerConnection(ServerConfig(dialects=(self.dialect,), channel_max=6, max_frame_size=4096))

    # --- the client -----------------------------------------------------------------------------------------------------------

    def _hear_client(self, connection: ChannelClientConnection, event: Event) -> None:
        if isinstance(event, ConnectionOpened):
            return
        sent = self.channels.get(getattr(event, "channel", 0))
        if sent is None:
            return
        if isinstance(event, Confirmed):
            sent.fate(event.ids, "confirmed")
        elif isinstance(event, Nacked):
            sent.fate(event.ids, "nacked")
        elif isinstance(event, MessageReturned):
            message = int(event.body[:8])
            self.returned.add(message)
            if event.number is not None:
                assert sent.published[event.number] == message
                assert event.number not in sent.told, "a return stands before its confirm"
        elif isinstance(event, MessageDelivered):
            assert event.tag not in sent.delivered
            sent.delivered[event.tag] = int(event.body[:8])
        elif isinstance(event, ChannelClosed):
            sent.fate(event.in_doubt, "in doubt")
            sent.closed = True
            del self.channels[event.channel]

    def move(self) -> None:
        """The client does something, or something happens to the link."""
        chance, client = self.chance, self.link.client
        if self.link.broken or client.closed_cause is not None:
            self.link.run(200)
            self._end_connection()
            self.link.reconnect(self._client(), self._server())
            return
        if not client.is_open:
            return
        if chance.random() < 0.01:
            self.link.cut_after(chance.choice(("client", "server")), chance.randrange(300))
        if len(self.channels) < 3 and chance.random() < 0.2:
            self._open()
        live = [each for each in self.channels.values() if each.channel.closed_cause is None]
        if not live:
            return
        sent = chance.choice(live)
        try:
            self._speak(sent)
        except AmqpError as error:
            raise AssertionError(f"the world says what it may: {error}") from error

    def _open(self) -> None:
        channel = self.link.client.channel()
        sent = self.channels[channel.number] = Sent(channel)
        self.all.append(sent)
        if self.extended and self.chance.random() < 0.7:
            channel.select_confirm(no_wait=self.chance.random() < 0.5)
        elif self.chance.random() < 0.3:
            channel.select_tx()

    def _speak(self, sent: Sent) -> None:
        chance, channel = self.chance, sent.channel
        if channel.body_left:
            channel.body(b"x" * chance.randint(1, channel.body_left))
            return
        word = chance.random()
        if word < 0.5:
            self.messages += 1
            body = b"%08d" % self.messages + b"x" * chance.choice((0, 0, 10, 5000))
            key = chance.choice(("here", "here", "nowhere"))
            mandatory = chance.random() < 0.5
            size = len(body) + chance.choice((0, 0, 3))
            number = channel.publish("", key, body, mandatory=mandatory, size=size)
            sent.published[number] = self.messages
        elif word < 0.6 and len(channel.consumers) < 2:
            self.tags += 1
            channel.consume("here", f"c{self.tags}", no_wait=chance.random() < 0.5)
        elif word < 0.63 and channel.consumers:
            channel.cancel(chance.choice(channel.consumers))
        elif word < 0.85 and channel.unsettled:
            some = {tag for tag in numbers(channel.unsettled) if chance.random() < 0.6}
            if channel.mode != "transacted":
                assert not some & sent.settled, "nothing is acknowledged twice"
                sent.settled |= some
            (channel.ack if chance.random() < 0.7 else channel.nack)(some)
        elif word < 0.9:
            channel.declare_queue("here")
        elif word < 0.95 and channel.mode == "transacted":
            (channel.commit if chance.random() < 0.6 else channel.rollback)()
        elif word > 0.985:
            channel.close()

    # --- the broker -----------------------------------------------------------------------------------------------------------

    def _hear_server(self, connection: ChannelServerConnection, event: Event) -> None:
        number = getattr(event, "channel", 0)
        served = connection._channels.used.get(number)
        if isinstance(served, ServedChannel) and self.served.get(number) is not served:
            self.served[number] = served
            self.consumers[number], self.flying[number] = [], {}
            self.settled[number], self.unconfirmed[number] = set(), set()
        if isinstance(event, MethodReceived):
            self._hear_method(number, event)
        elif isinstance(event, ContentReceived) and isinstance(event.method, basic.Publish):
            self._take(number, event)
        elif isinstance(event, DeliveriesSettled):
            for tag in numbers(event.ids):
                if self.served[number].mode == "transacted":
                    continue  # provisional; the channel's own books are what the end goes by
                assert tag not in self.settled[number], "nothing is acknowledged twice"
                self.settled[number].add(tag)
                message = self.flying[number].pop(tag)
                (self.queue if event.requeue else self.done).append(message)
        elif isinstance(event, ChannelClosed):
            self._requeue(number)
        self._dispatch()

    def _hear_method(self, number: int, event: MethodReceived) -> None:
        served, method = self.served[number], event.method
        if isinstance(method, basic.Consume):
            self.consumers[number].append(method.consumer_tag)
        elif isinstance(method, basic.Cancel) and method.consumer_tag in self.consumers[number]:
            self.consumers[number].remove(method.consumer_tag)
        if event.id is not None:
            replies: dict[type[Method], Method] = {
                queue.Declare: queue.DeclareOk("here", len(self.queue), 0),
                basic.Consume: basic.ConsumeOk(getattr(method, "consumer_tag", "")),
                basic.Cancel: basic.CancelOk(getattr(method, "consumer_tag", "")),
                confirm.Select: confirm.SelectOk(),
                tx.Select: tx.SelectOk(),
                tx.Commit: tx.CommitOk(),
                tx.Rollback: tx.RollbackOk(),
            }
            served.reply(event.id, replies[type(method)])

    def _take(self, number: int, event: ContentReceived) -> None:
        served, publish = self.served[number], event.method
        assert isinstance(publish, basic.Publish)
        message = int(event.body[:8])
        assert message not in self.taken | self.refused | self.dropped, "it came twice"
        if served.closed_cause is not None:
            return
        if publish.routing_key == "here":
            self.taken.add(message)
            self.queue.append(message)
        elif publish.mandatory:
            self.refused.add(message)
            served.return_(ReplyCode.NO_ROUTE, "NO_ROUTE", "", publish.routing_key, event.body, event.property_octets)
        else:
            self.dropped.add(message)
        if event.number is not None:
            self.unconfirmed[number].add(event.number)

    def tend(self) -> None:
        """The broker confirms some of what it has taken, and closes a channel now and then."""
        for number, served in list(self.served.items()):
            if served.closed_cause is not None or self.link.server._channels.used.get(number) is not served:
                continue
            some = {each for each in self.unconfirmed[number] if self.chance.random() < 0.5}
            if some and self.chance.random() < 0.3:
                self.unconfirmed[number] -= some
                served.confirm(some, taken=self.chance.random() < 0.9)
            if self.chance.random() < 0.003:
                served.fail(ReplyCode.NOT_FOUND, "a queue is gone", "basic.publish")
                self._requeue(number)
            elif self.extended and self.consumers[number] and self.chance.random() < 0.01:
                served.cancel_consumer(self.consumers[number].pop())
        self._dispatch()

    def _dispatch(self) -> None:
        for number, served in list(self.served.items()):
            while (
                self.queue
                and self.consumers[number]
                and len(self.flying[number]) < PREFETCH
                and served.closed_cause is None
                and self.link.server._channels.used.get(number) is served
            ):
                message = self.queue.pop(0)
                tag = served.deliver(self.consumers[number][0], b"%08d" % message, routing_key="here")
                self.flying[number][tag] = message

    def _requeue(self, number: int) -> None:
        """The channel is over: what was not settled is delivered again, to somebody."""
        served = self.served.pop(number, None)
        if served is not None:
            self.queue += self.flying.pop(number).values()
            self.consumers[number] = []

    # --- the end ----------------------------------------------------------------------------------------------------------

    def _end_connection(self) -> None:
        for number in list(self.served):
            self._requeue(number)
        assert not self.channels, "the end of a connection is that of its channels"

    def run(self, moves: int) -> None:
        """All of it."""
        for _ in range(moves):
            self.move()
            self.tend()
            self.link.step()
        self.finish()

    def finish(self) -> None:
        """What is under way comes to its end, and the invariants hold."""
        for sent in list(self.channels.values()):
            if sent.channel.closed_cause is None and sent.channel.body_left:
                sent.channel.body(b"x" * sent.channel.body_left)
        self.link.run(300)
        for sent in self.channels.values():
            sent.fate(sent.channel.in_doubt, "in doubt")
        self.check()

    def check(self) -> None:
        """The invariants of a whole run."""
        assert self.link.violations == [], self.link.violations
        had = self.taken | self.refused | self.dropped
        doubt: set[int] = set()
        for sent in self.all:
            left = set(sent.published) - set(sent.told)
            if sent.channel.mode == "confirming":
                assert not left, f"{left} were published and nothing is told of them"
            for number, message in sent.published.items():
                word = sent.told.get(number)
                assert word == "in doubt" or message in had, f"{message} is {word} and never came"
                if word == "in doubt":
                    doubt.add(message)
        assert self.returned <= self.refused
        assert self.refused - self.returned <= doubt | self.late_returns(), "a return is told, or in doubt"
        places = [*self.queue, *self.done, *[each for flying in self.flying.values() for each in flying.values()]]
        assert sorted(places) == sorted(self.taken), "what was taken waits, is on its way or is done: each once"

    def late_returns(self) -> set[int]:
        """What came back on a channel that is closed, or of a connection that is lost, is told by nobody."""
        return {
            message
            for sent in self.all
            if sent.closed or sent.channel.mode != "confirming"
            for message in sent.published.values()
        }
