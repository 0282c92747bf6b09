"""A broker and clients of it in one process, joined without sockets: for tests of what a program does with its connection."""

from __future__ import annotations

from typing import Final

from amqp_sansio.broker import Broker, BrokerConfig, Peer
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.events import Event

ROUNDS: Final = 100_000
"""Rounds after which a conversation that does not come to rest is an error."""


class MemoryClient:
    """A client of a `MemoryBroker`: its machine, and what has happened to it."""

    def __init__(self, memory: MemoryBroker, connection: ClientConnection, peer: Peer) -> None:
        self.connection: Final = connection
        """Say on it, or on its sessions, what the test is about; `MemoryBroker.run` carries it."""
        self.events: Final[list[Event]] = []
        """All its events, in order; the test may clear them."""
        self._memory: Final = memory
        self._peer: Final = peer
        self._cut = False

    def session(self, name: bytes | str = b"test", timeout: int | None = 0) -> Session:
        """A new session, attached.  Raises what `ClientConnection.session` raises."""
        session = self.connection.session(name, timeout)
        self._memory.run()
        return session

    def cut(self) -> None:
        """The connection is lost, for both sides."""
        self._cut = True
        self.connection.receive_eof()
        self._peer.receive_eof()
        self._memory.run()

    def _carry(self) -> bool:
        """Octets both ways, once; whether there were any."""
        if self._cut:
            return False
        said = self.connection.data_to_send()
        if said:
            self._peer.receive_data(said)
        answered = self._peer.data_to_send()
        if answered:
            self.connection.receive_data(answered)
        if self._peer.finished and not self._cut:
            self._cut = True
            self.connection.receive_eof()
        return bool(said or answered)


class MemoryBroker:
    """A broker and its clients.  Nothing happens but in `run` and `advance`, and in what calls them."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.broker: Final = Broker(config or BrokerConfig())
        self.clients: Final[list[MemoryClient]] = []
        self.now = 0.0
        """Seconds since the beginning."""

    def connect(self, config: ClientConfig | None = None, server: ServerConfig | None = None) -> MemoryClient:
        """A new client, its connection open.  `server` says what it meets, None: anybody is let in."""
        client = MemoryClient(self, ClientConnection(config), self.broker.connect(server))
        self.clients.append(client)
        self.run()
        return client

    def run(self) -> None:
        """Until nobody has anything to send; the clients' events stand in their `events`."""
        for _ in range(ROUNDS):
            for client in self.clients:
                client.connection.tick(self.now)
            self.broker.tick(self.now)
            moved = [client._carry() for client in self.clients]
            happened = sum(1 for _ in self.broker.events())
            for client in self.clients:
                told = list(client.connection.events())
                client.events.extend(told)
                happened += len(told)
            if not happened and not any(moved):
                return
        raise AssertionError(f"they go on for more than {ROUNDS} rounds")

    def advance(self, seconds: float) -> None:
        """Output arrives, then time passes, for all.  ValueError below 0."""
        if not seconds >= 0:
            raise ValueError(f"time goes forward: at least 0 seconds, not {seconds!r}")
        self.run()
        self.now += seconds
        self.run()
