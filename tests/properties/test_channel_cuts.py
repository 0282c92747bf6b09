"""A scripted conversation on channels, cut at every octet of what either side says, from the protocol header to close-ok.

A client and the small broker of the tests: declarations, a consumer, a get, messages that are confirmed, nacked and returned,
deliveries and their acknowledgements, a transaction, and the ends of channels and connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, Final

import pytest
from tests.adapters.channel_broker import ChannelBroker
from tests.engine.channels.stage import DIALECTS
from tests.properties.channel_world import FIRST, SEEDS

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.channels.client import ChannelClient
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.dialects import AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.errors import ChannelClosed as ChannelIsClosed
from amqp_sansio.errors import ConnectionLost, InDoubt, MessageNacked, MessageReturned, TransactionFailed
from amqp_sansio.events import (
    ChannelClosed,
    Confirmed,
    ConnectionClosed,
    ConnectionOpened,
    ContentReceived,
    Event,
    MessageDelivered,
    MessageGot,
    MethodAnswered,
    Nacked,
)
from amqp_sansio.events import (
    MessageReturned as Returned,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.methods import queue
from amqp_sansio.spec.values import Map
from amqp_sansio.testing.link import SPEAKERS, Link, Speaker


def config_of(dialect: ChannelDialect) -> ClientConfig:
    """Settings of a client that says little about itself: every octet costs a conversation."""
    return ClientConfig(dialect=dialect, username="guest", password="guest", properties={"capabilities": Map()})


def broker_of(dialect: ChannelDialect) -> ChannelBroker:
    """A broker that says little, too; it takes nothing for one of its queues."""
    broker = ChannelBroker(dialect)
    broker.capabilities = {"publisher_confirms": True}
    broker.full.add("full")
    return broker


class Unwritten(Link[ChannelClientConnection, ChannelServerConnection]):
    """A link without a record: that would cost more than all else here."""

    def __init__(self, client: ChannelClientConnection, server: ChannelServerConnection, **more: Any) -> None:
        super().__init__(client, server, strict=None, **more)
        self.transcript.hear = lambda moment, speaker, octets: None  # type: ignore[method-assign]


class Told:
    """What became of each call or message, by channel and number."""

    def __init__(self) -> None:
        self.fates: Final[dict[tuple[int, int], str]] = {}

    def begin(self, channel: int, number: int) -> None:
        """It was sent."""
        self.fates[channel, number] = ""

    def end(self, channel: int, ids: RangeSet, word: str) -> None:
        """This became of them; nothing was told of them before."""
        for low, high in ids.ranges:
            for number in range(low, high + 1):
                before = self.fates[channel, number]
                assert not before, f"{number} of channel {channel} is {word}, and was {before}"
                self.fates[channel, number] = word

    def words(self, channel: int) -> dict[int, str]:
        """Those of one channel."""
        return {number: word for (each, number), word in self.fates.items() if each == channel}


class Conversation:
    """Both applications, joined by a link that breaks behind so many octets of one side; None: never."""

    def __init__(
        self, dialect: ChannelDialect, speaker: Speaker = "client", octets: int | None = None, chance: Random | None = None
    ) -> None:
        """`chance`: octets fly for a while, and arrive in pieces."""
        self.extended: Final = dialect.codec.extended
        self.broker: Final = broker_of(dialect)
        self.came: Final[list[bytes]] = []  # bodies, to the broker
        self.calls: Final = Told()
        self.messages: Final = Told()
        self.bodies: Final[dict[tuple[int, int], bytes]] = {}
        self.returned: Final[list[int | None]] = []
        self.acked = 0
        self.ends: Final[dict[str, list[Event]]] = {"client": [], "server": []}
        self.open: Final[dict[int, Channel]] = {}
        self.link: Final = Unwritten(
            ChannelClientConnection(config_of(dialect)),
            self.broker.connect(),
            on_client=self._hear_client,
            on_server=self._hear_server,
            **({} if chance is None else {"delay": (0, 3), "chunk": (1, 100), "choices": chance}),
        )
        if octets is not None:
            self.link.cut_after(speaker, octets)
        self.link.run()

    def _hear_server(self, connection: ChannelServerConnection, event: Event) -> None:
        if isinstance(event, ContentReceived):
            self.came.append(event.body)
        self.ends["server"].append(event)
        self.broker._hear(connection, event)

    def _hear_client(self, connection: ChannelClientConnection, event: Event) -> None:
        self.ends["client"].append(event)
        match event:
            case ConnectionOpened():
                self._begin(connection)
            case MethodAnswered(channel=channel, id=id):
                self.calls.end(channel, RangeSet.of(id), "answered")
            case MessageGot(channel=channel, id=id):
                self.calls.end(channel, RangeSet.of(id), "answered")
                self._ack(channel, event.tag)
            case MessageDelivered(channel=channel):
                self._ack(channel, event.tag)
            case Confirmed(channel=channel, ids=ids):
                self.messages.end(channel, ids, "confirmed")
            case Nacked(channel=channel, ids=ids):
                self.messages.end(channel, ids, "nacked")
            case Returned(number=number):
                self.returned.append(number)
            case ChannelClosed(channel=channel):
                self.calls.end(channel, event.calls, "ended")
                self.messages.end(channel, event.in_doubt, "in doubt")
                self.open.pop(channel)
                if not self.open and connection.is_open:
                    connection.close()
            case _:
                pass
        self._go_on()

    def _begin(self, connection: ChannelClientConnection) -> None:
        first, second = self.open[1], self.open[2] = connection.channel(), connection.channel()
        for name in ("q", "full"):
            self._call(first, first.declare_queue(name))
        if self.extended:
            self._call(first, first.select_confirm())
        self._call(first, first.consume("q", "t"))
        for body, key in ((b"taken", "q"), (b"back", "nowhere"), (b"refused", "full"), (b"taken too", "q")):
            self._publish(first, first.publish("", key, body, mandatory=True), body)
        self._call(second, second.select_tx())
        self._publish(second, second.publish("", "q", b"together"), b"together")
        self._call(second, second.get("full"))
        self._call(second, second.commit())

    def _call(self, channel: Channel, id: int) -> None:
        self.calls.begin(channel.number, id)

    def _publish(self, channel: Channel, number: int, body: bytes) -> None:
        self.messages.begin(channel.number, number)
        self.bodies[channel.number, number] = body

    def _ack(self, channel: int, tag: int) -> None:
        self.open[channel].ack(tag)
        self.acked += 1

    def _go_on(self) -> None:
        """Closes each channel once nothing is waited for there."""
        for number, channel in list(self.open.items()):
            waits = not all(self.calls.words(number).values())
            waits = waits or (number == 1 and self.acked < 3)
            waits = waits or (number == 1 and self.extended and not all(self.messages.words(number).values()))
            if not waits and channel.closed_cause is None:
                channel.close()


@cache
def whole(dialect: ChannelDialect) -> Conversation:
    """The conversation without a cut."""
    return Conversation(dialect)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_conversation_comes_to_its_end(dialect: ChannelDialect) -> None:
    """Without a cut: every call is answered, and each kind of fate of a message is met."""
    talk = whole(dialect)
    assert set(talk.calls.fates.values()) == {"answered"}
    words = [talk.messages.words(1)[number] for number in (1, 2, 3, 4)]
    assert words == (["confirmed", "confirmed", "nacked", "confirmed"] if talk.extended else [""] * 4)
    assert talk.returned == [2]
    assert talk.acked == 3
    assert not talk.broker.queues["q"]
    assert not talk.broker.queues["full"]
    assert not talk.link.broken


@pytest.mark.parametrize("speaker", SPEAKERS)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_both_sides_report_each_pending_call_and_message_once_after_a_cut(dialect: ChannelDialect, speaker: Speaker) -> None:
    """Wherever the link breaks, nothing raises, both sides are finished, a call that waits ends once, and every message is
    confirmed, nacked or in doubt, or else it has come to the broker."""
    seen: set[str] = set()
    for octets in range(len(whole(dialect).link.said[speaker])):
        talk = Conversation(dialect, speaker, octets)
        check(talk, f"{octets} octets of the {speaker}")
        seen |= {*talk.calls.fates.values(), *talk.messages.fates.values()}
    assert seen >= {"answered", "ended", "in doubt", *(("confirmed", "nacked") if whole(dialect).extended else ())}


def check(talk: Conversation, at: str) -> None:
    """Both sides are finished, and everything that was under way has ended once."""
    assert talk.link.broken, at
    for side, connection in (("client", talk.link.client), ("server", talk.link.server)):
        assert connection.finished, (at, side)
        ends = [event for event in talk.ends[side] if isinstance(event, ConnectionClosed)]
        assert ends == talk.ends[side][-1:], (at, side)
    assert not talk.open, at
    assert all(talk.calls.fates.values()), (at, talk.calls.fates)
    for key, fate in talk.messages.fates.items():
        assert fate or (key[0] == 2 or not talk.extended), (at, key)
        assert fate == "in doubt" or talk.bodies[key] in talk.came, (at, key, fate)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_delay_and_pieces_change_nothing_of_that(dialect: ChannelDialect) -> None:
    """The same where octets fly for a while and arrive in pieces: 50 seeds in `make test`, 1,000 in `make soak`."""
    for seed in range(FIRST, FIRST + SEEDS):
        chance = Random(seed)
        speaker = chance.choice(SPEAKERS)
        octets = chance.randrange(len(whole(dialect).link.said[speaker]))
        check(Conversation(dialect, speaker, octets, chance), f"seed {seed}")


# --- the same with tickets ----------------------------------------------------------------------------------------------------


class Tickets:
    """A client of the adapters, without its adapter, and the broker; the link breaks behind so many octets of one side."""

    def __init__(self, dialect: ChannelDialect, speaker: Speaker = "client", octets: int | None = None) -> None:
        self.made: Final[dict[str, Ticket[Any]]] = {}
        self.ended: Final[list[str]] = []
        self.broker: Final = broker_of(dialect)
        self.client: Final = ChannelClient(config_of(dialect), prefix="p")
        self.said: Final = dict.fromkeys(SPEAKERS, 0)
        self.client.begin()
        self._server: Final = self.broker.connect()
        self._left: Final = {each: octets if each == speaker else None for each in SPEAKERS}
        self._script: Final = self._steps()
        self._awaited: Ticket[Any] | None = None
        self._run()

    def _note(self, name: str, ticket: Ticket[Any]) -> Ticket[Any]:
        self.made[name] = ticket
        ticket.on_done(lambda: self.ended.append(name))
        return ticket

    def _steps(self) -> Iterator[Ticket[Any]]:
        """The script: what each step waits for."""
        client = self.client
        yield self._note("connection", client.opened)
        core, other = client.open_channel(), client.open_channel()
        yield self._note("channel", core.opened)
        for name in ("q", "full"):
            yield self._note(f"declare {name}", core.execute(queue.Declare(name, False, False, False, False, False, {}, 0)))
        inbox = core.consumers.subscribe("q", prefetch=2)
        self._note("returned", core.publish("", "nowhere", b"1", {"mandatory": True}))
        self._note("refused", core.publish("", "full", b"2", {}))
        self._note("taken", core.publish("", "q", b"3", {}))
        self._note("got", core.calls.get("full"))
        yield self._note("sync", core.sync())
        message = inbox.take()
        assert message is not None
        message.accept()
        yield self._note("cancelled", inbox.cancel())
        other.transaction.begin()
        self._note("together", other.publish("", "q", b"4", {}))
        yield self._note("commit", other.transaction.commit())
        yield self._note("closed", core.close())
        self._note("end", client.close())

    def _go_on(self) -> None:
        while self._awaited is None or (self._awaited.done and self._awaited.error is None):
            self._awaited = next(self._script, Ticket())

    def _run(self) -> None:
        client, server, machine = self.client, self._server, self.client.machine
        over = False
        while not machine.finished:
            client.tick(0.0)
            if not over and client.closed is None:
                self._go_on()
            client.flush()
            self.broker.hear(server)
            out, back = client.data_to_send(), server.data_to_send()
            if not over:
                over = self._carry("client", out, server.receive_data) or self._carry("server", back, client.receive_data)
                if over or not (out or back):
                    client.receive_eof()
                    server.receive_eof()
                    over = True
        self.broker.hear(server)
        client.give_up(ConnectionLost("cut"))

    def _carry(self, speaker: Speaker, octets: bytes, to: Callable[[bytes], None]) -> bool:
        """What one side has said arrives; whether the link breaks in it."""
        left = self._left[speaker]
        cut = left is not None and len(octets) >= left and bool(octets)
        arrives = octets[:left] if cut else octets
        self.said[speaker] += len(arrives)
        if left is not None:
            self._left[speaker] = left - len(arrives)
        if arrives:
            to(arrives)
        return cut


FATES: Final = {
    "taken": (None, InDoubt),
    "returned": (MessageReturned, InDoubt),
    "refused": (MessageNacked, InDoubt),
    "together": (None, InDoubt),
    "commit": (None, TransactionFailed),
}
"""How a message, or a transaction, may end: as the broker says, or in doubt."""


def test_the_script_comes_to_its_end() -> None:
    talk = Tickets(AMQP_0_9_1)
    assert len(talk.ended) == len(talk.made) == 14
    for name, ticket in talk.made.items():
        wanted = FATES.get(name, (None,))[0]
        assert ticket.error is None if wanted is None else isinstance(ticket.error, wanted), (name, ticket.error)


@pytest.mark.parametrize("speaker", SPEAKERS)
def test_every_ticket_ends_once_wherever_the_link_breaks(speaker: Speaker) -> None:
    """A call that waits ends once, with its answer or the end of its channel; a message as the broker says, or in doubt."""
    seen: set[tuple[str, type[BaseException] | None]] = set()
    for octets in range(Tickets(AMQP_0_9_1).said[speaker]):
        talk = Tickets(AMQP_0_9_1, speaker, octets)
        assert sorted(talk.ended) == sorted(talk.made), octets
        for name, ticket in talk.made.items():
            ends = FATES.get(name, (None, ChannelIsClosed, ConnectionLost))
            fine = None in ends if ticket.error is None else isinstance(ticket.error, tuple(each for each in ends if each))
            assert fine, (octets, name, ticket.error)
            seen.add((name, None if ticket.error is None else type(ticket.error)))
        assert not talk.client.cores
    for name, ends in FATES.items():
        assert {(name, end) for end in ends} <= seen
