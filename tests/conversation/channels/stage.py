"""A client of channels and a small broker in memory: every octet goes from one to the other when `run` says so."""

from __future__ import annotations

from collections import deque
from typing import Final, TypeVar

from tests.adapters.channel_broker import ChannelBroker, Kept

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.base_client import Tap
from amqp_sansio.conversation.channels.client import ChannelClient, ChannelClientEvent
from amqp_sansio.conversation.channels.core import ChannelCore
from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.channels.topology import Chosen, everything
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.conversation.tracing import Tracing
from amqp_sansio.dialects import AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.events import Event
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.methods import basic

Value = TypeVar("Value")

AT_ONCE = RetryPolicy(first=0.0, jitter=0.0)


class Stage:
    """`client` is connected to `broker` by `connect`; `cut` is the end of the connection; `told` is what the listener heard."""

    def __init__(
        self, dialect: ChannelDialect = AMQP_0_9_1, *, retry: RetryPolicy = AT_ONCE, topology: Chosen = everything,
        tracing: Tracing | None = None, limits: Limits = DEFAULT_LIMITS, tap: Tap | None = None,
    ) -> None:  # fmt: skip
        self.broker: Final = ChannelBroker(dialect)
        self.told: Final[list[Event]] = []
        self.client: Final = ChannelClient(
            ClientConfig(dialect=dialect, username="guest", password="guest", limits=limits),
            prefix="test", retry=retry, topology=topology, tell=self._tell, tap=tap, tracing=tracing,
        )  # fmt: skip
        self.server: ChannelServerConnection | None = None
        self.now = 0.0

    def _tell(self, event: ChannelClientEvent) -> None:
        if isinstance(event, Event):
            self.told.append(event)

    def connect(self) -> None:
        """A new connection, carried on until it is silent."""
        self.client.begin()
        self.server = self.broker.connect()
        self.run()

    def run(self) -> None:
        """Carries octets both ways until both sides are silent."""
        server, machine = self.server, self.client.machine
        assert server is not None
        while True:
            self.client.tick(self.now)
            server.tick(self.now)
            self.broker.hear(server)
            out, back = machine.data_to_send(), server.data_to_send()
            if not out and not back:
                return
            if out and server.wants_data:
                server.receive_data(out)
            if back and not machine.finished:
                self.client.receive_data(back)

    def cut(self) -> None:
        """The connection is lost, with all octets that were under way."""
        server = self.lose()
        server.receive_eof()
        self.broker.hear(server)
        server.data_to_send()

    def lose(self) -> ChannelServerConnection:
        """The connection is lost, as far as the client knows: the broker still has its end of it."""
        assert self.server is not None
        self.client.receive_eof()
        self.client.tick(self.now)
        self.client.machine.data_to_send()
        return self.server

    def open(self) -> ChannelCore:
        """A channel that is open."""
        core = self.client.open_channel()
        self.run()
        assert core.is_open
        return core

    def get(self, ticket: Ticket[Value]) -> Value:
        """The value of a ticket, which the next octets bring."""
        self.run()
        assert ticket.done
        return ticket.result()

    def queue(self, name: str, *bodies: bytes) -> None:
        """A queue of the broker, with messages."""
        self.broker.queues[name] = deque([Kept("", name, body, basic.Properties()) for body in bodies])

    def bodies(self, name: str) -> list[bytes]:
        """What is on a queue of the broker."""
        return [kept.body for kept in self.broker.queues[name]]

    def fetch(self, core: ChannelCore, queue: str) -> Message:
        """A message of a queue."""
        message = self.get(core.calls.get(queue))
        assert message is not None
        return message


def staged(
    dialect: ChannelDialect = AMQP_0_9_1, *, retry: RetryPolicy = AT_ONCE, topology: Chosen = everything,
    limits: Limits = DEFAULT_LIMITS,
) -> Stage:  # fmt: skip
    """A stage whose client is connected."""
    stage = Stage(dialect, retry=retry, topology=topology, limits=limits)
    stage.connect()
    return stage
