"""A client and the model broker in memory: every octet goes from one to the other when `run` says so."""

from __future__ import annotations

from typing import TypeVar

from tests.broker.harness import service

from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.conversation.session_core import SessionCore
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.spec import execution
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_command

Value = TypeVar("Value")

AT_ONCE = RetryPolicy(first=0.0, jitter=0.0)


class Stage:
    """`client` is connected to `broker` by `connect`; `cut` is the end of the connection."""

    def __init__(
        self, *, retry: RetryPolicy = AT_ONCE, server: ServerConfig | None = None, config: ClientConfig | None = None
    ) -> None:
        self.broker = Broker()
        self.server = server or ServerConfig(session_timeout=600)
        self.client = Client(config or ClientConfig(), prefix="test", retry=retry)
        self.peer: Peer | None = None
        self.now = 0.0

    def connect(self) -> None:
        """A new connection, carried on until it is silent."""
        self.client.begin()
        self.peer = self.broker.connect(self.server)
        self.run()

    def greet(self) -> None:
        """A new connection, carried on until it is open; what the client says then is on its way."""
        self.client.begin()
        self.peer = self.broker.connect(self.server)
        self.run(opening=True)

    def run(self, opening: bool = False) -> None:
        """Carries octets both ways until both sides are silent; or, `opening`, no further than the connection is open."""
        peer, machine = self.peer, self.client.machine
        assert peer is not None
        while not (opening and self.client.opened.done):
            self.client.tick(self.now)
            self.broker.tick(self.now)
            out, back = machine.data_to_send(), peer.data_to_send()
            if not out and not back:
                return
            if out and not peer._eof:
                peer.receive_data(out)
            for _ in self.broker.events():
                pass
            if back and not machine.finished:
                self.client.receive_data(back)

    def cut(self) -> None:
        """The connection is lost, with all octets that were under way."""
        assert self.peer is not None
        self.client.receive_eof()
        self.client.tick(self.now)
        self.client.machine.data_to_send()
        self.peer.receive_eof()
        for _ in self.broker.events():
            pass
        self.peer.data_to_send()

    def open(self, name: str | None = None, timeout: int | None = 0) -> SessionCore:
        """A session that is attached."""
        core = self.client.open_session(name, timeout)
        self.run()
        assert core.speakable
        return core

    def get(self, ticket: Ticket[Value]) -> Value:
        """The value of a ticket, which the next octets bring."""
        self.run()
        assert ticket.done
        return ticket.result()

    def depth(self, queue: str) -> int:
        """Messages that are available on a queue."""
        return self.broker.host("").queues[queue].available


def staged(**settings: object) -> Stage:
    """A stage whose client is connected."""
    stage = Stage(**settings)  # type: ignore[arg-type]
    stage.connect()
    return stage


def refuse(stage: Stage, core: SessionCore) -> None:
    """The other side refuses something, nobody knows what, and does not detach the session."""
    stage.run()
    assert stage.peer is not None
    session = service(stage.peer).connection.session_named(core.name)
    assert session is not None
    session.sync()  # behind a command-point
    stage.run()
    assert session._channel is not None
    said = LAYOUT.encode_command(execution.Exception_(542, description="no"), False)
    stage.client.receive_data(b"".join(frame_command(session._channel.number, said)))
    stage.client.tick(stage.now)
