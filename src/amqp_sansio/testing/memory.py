"""A broker and its clients in one process, without sockets, for tests of programs that embed a connection."""

from __future__ import annotations

from typing import Final

from amqp_sansio.broker import Broker, BrokerConfig, Peer
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.events import Event

ROUNDS: Final = 100_000
"""The most rounds of `run`; a conversation that is not over by then is an error."""


class MemoryClient:
    """A client of a `MemoryBroker`: its connection and the events of it."""

    def __init__(self, memory: MemoryBroker, connection: ClientConnection, peer: Peer) -> None:
        self.connection: Final = connection
        """The machine: the test calls it or its sessions, and `MemoryBroker.run` carries the octets."""
        self.events: Final[list[Event]] = []
        """All its events, in order.  The test may clear the list."""
        self._memory: Final = memory
        self._peer: Final = peer
        self._cut = False

    def session(self, name: bytes | str = b"test", timeout: int | None = 0) -> Session:
        """Returns a new session, already attached.  Raises what `ClientConnection.session` raises."""
        session = self.connection.session(name, timeout)
        self._memory.run()
        return session

    def cut(self) -> None:
        """Loses the connection, for both sides."""
        self._cut = True
        self.connection.receive_eof()
        self._peer.receive_eof()
        self._memory.run()

    def _carry(self) -> bool:
        """Carries octets both ways once; returns whether there were any."""
        if self._cut:
            return False
        said = self.connection.data_to_send()
        if said:
            self._peer.receive_data(said)
        answered = self._peer.data_to_send()
        if answered:
            self.connection.receive_data(answered)
        if self._peer.finished:
            self._cut = True
            self.connection.receive_eof()
        return bool(said or answered)


class MemoryBroker:
    """A broker and its clients.  Octets move and time passes only in `run` and `advance`, and in methods that call them."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.broker: Final = Broker(config or BrokerConfig())
        self.clients: Final[list[MemoryClient]] = []
        self.now = 0.0
        """Seconds since the start."""

    def connect(self, config: ClientConfig | None = None, server: ServerConfig | None = None) -> MemoryClient:
        """Returns a new client whose connection is open.

        `server` configures the server half; the default accepts any login.
        """
        client = MemoryClient(self, ClientConnection(config), self.broker.connect(server))
        self.clients.append(client)
        self.run()
        return client

    def run(self) -> None:
        """Carries octets until no side has any to send; each client's events are appended to its `events`."""
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
        """Carries all output, then advances the clock for all.  Raises ValueError when `seconds` is negative."""
        if not seconds >= 0:
            raise ValueError(f"time goes forward: at least 0 seconds, not {seconds!r}")
        self.run()
        self.now += seconds
        self.run()
