"""A connection for blocking code."""

from __future__ import annotations

import ssl
import threading
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

from amqp_sansio.adapters.mechanisms import proving
from amqp_sansio.adapters.sync.driver import Driver
from amqp_sansio.adapters.sync.session import Session
from amqp_sansio.adapters.sync.turn import Turn
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.address import Address
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.ending import Ending
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.errors import AmqpError

CLOSE_TIMEOUT: Final = 10.0
"""Seconds that a clean end may take, before the socket is just closed."""


class Connection:
    """A client's connection, to be used as `with connect(url) as connection`; by any number of threads.

    A thread in the background keeps it alive, heartbeats included, until the block is left.
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
        self.address: Final = address
        self._client: Final = client
        self._lock: Final = turn
        self._driver: Final = Driver(client, address, tls, lock, turn)
        self._ending: Final = Ending(client, close_timeout)

    def __enter__(self) -> Self:
        self._client.enter()
        self._driver.start()
        try:
            with self._lock:
                self._driver.wait(self._client.opened)
        except BaseException:
            self._driver.stop(self._ending.seconds)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection and waits until that is answered.  Saying so again does no harm."""
        try:
            with self._lock:
                self._driver.wait(self._client.close(), self._ending.timeout)
        except (TimeoutError, AmqpError):
            pass  # it is over, one way or the other
        finally:
            self._driver.stop(self._ending.seconds)

    def session(self, name: bytes | str | None = None, *, timeout: int | None = 0) -> Session:
        """A session, to be used as `with`.

        `timeout`: seconds that the broker is asked to keep it when the connection is lost; None: for ever.  LocalProtocolError
        before the block of the connection is entered.
        """
        self._client.must_be_entered("a session")
        with self._lock:
            return Session(self._client.open_session(name, timeout), self._driver, self._lock, self._ending)


def connect(
    url: str | Address,
    *,
    config: ClientConfig | None = None,
    tls: ssl.SSLContext | None = None,
    retry: RetryPolicy = NEVER,
    close_timeout: float = CLOSE_TIMEOUT,
) -> Connection:
    """A connection to `amqp://user:password@host:port/vhost?heartbeat=30` or `amqps://...`, opened by `with`.

    `config` holds what the URL does not say; `tls` how certificates are checked (default: against the system's authorities);
    `retry` whether and how to come back after a loss.  AddressError at once; ConnectFailed when no broker answers.
    """
    address = Address.parse(url) if isinstance(url, str) else url
    lock = threading.RLock()
    turn = Turn(lock)
    client = Client(proving(address.config(config)), prefix=f"amqp-sansio-{uuid4()}", retry=retry, wake=turn.want, guard=turn)
    return Connection(address, client, tls, lock, turn, close_timeout)
