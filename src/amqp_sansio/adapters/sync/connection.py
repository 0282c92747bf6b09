"""Sessions for blocking code: `with connect("amqp://...") as connection, connection.session() as session`."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from typing import Final
from uuid import uuid4

from amqp_sansio.adapters import logs
from amqp_sansio.adapters.logs import teller
from amqp_sansio.adapters.mechanisms import proving
from amqp_sansio.adapters.sync.base_connection import CLOSE_TIMEOUT, BaseConnection
from amqp_sansio.adapters.sync.session import Session
from amqp_sansio.adapters.sync.turn import Turn
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.address import Address
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.happenings import ClientEvent
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.tracing import Tracing


class Connection(BaseConnection):
    """A client's connection: `with connect(url) as connection`, or `connection = connect(url)` and `close`; for any threads.

    A thread in the background keeps it alive, heartbeats included, until it is closed.
    """

    def __init__(
        self,
        address: Address,
        client: Client,
        tls: ssl.SSLContext | None,
        lock: threading.RLock,
        turn: Turn,
        close_timeout: float,
    ) -> None:
        super().__init__(address, client, tls, lock, turn, close_timeout)
        self._client: Final = client

    def session(self, name: bytes | str | None = None, *, keep_for: int | None = 0) -> Session:
        """A session, to be used as `with`.

        `keep_for`: seconds that the broker is asked to keep it when the connection is lost; None: for ever.
        LocalProtocolError before the connection is opened.
        """
        self._client.must_be_entered("a session")
        with self._line.turn:
            return Session(self._client.open_session(name, keep_for), self._line, self._ending)

    def open_session(
        self, name: bytes | str | None = None, *, keep_for: int | None = 0, timeout: float | None = None
    ) -> Session:
        """A session that is open, without a block: `close` it.  See `session`."""
        return self.session(name, keep_for=keep_for)._open(timeout)


def connect(
    url: str | Address,
    *,
    config: ClientConfig | None = None,
    tls: ssl.SSLContext | None = None,
    retry: RetryPolicy = NEVER,
    close_timeout: float = CLOSE_TIMEOUT,
    on_event: Callable[[ClientEvent], None] | None = None,
    log_octets: bool = False,
    tracing: Tracing | None = None,
) -> Connection:
    """A connection, open, to `amqp://user:password@host:port/vhost?heartbeat=30` or `amqps://...`.

    `with connect(url) as connection` closes it at the end; `connection = connect(url)` leaves that to `close`.

    `config` holds what the URL does not say; `tls` how certificates are checked (default: against the system's authorities);
    `retry` whether and how to come back after a loss; `close_timeout` the seconds for the clean end of a subscription, a
    session or the connection.  `on_event` is called with what happens to the client (`conversation.happenings` lists that):
    it returns soon, and calls nothing of the client.  `log_octets` logs all octets but the login at DEBUG, to
    `amqp_sansio.octets`.  `tracing` traces messages: `adapters.otel.Tracing()`.

    AddressError at once; ConnectFailed when no broker answers.
    """
    address = Address.of(url)
    lock = threading.RLock()
    turn = Turn(lock)
    client = Client(
        proving(address.config(config)), prefix=f"amqp-sansio-{uuid4()}", retry=retry, wake=turn.want, guard=turn,
        tell=teller(on_event),
        tap=logs.log_octets if log_octets else None, tracing=tracing,
    )  # fmt: skip
    return Connection(address, client, tls, lock, turn, close_timeout)._open()
