"""Sessions on asyncio: `async with connect("amqp://...") as connection, connection.session() as session`."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from uuid import uuid4

from amqp_sansio.adapters import logs
from amqp_sansio.adapters.asyncio.base_connection import BaseConnection
from amqp_sansio.adapters.logs import teller
from amqp_sansio.adapters.settings import CLOSE_TIMEOUT, check_settings, proving
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.address import Address
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.happenings import ClientEvent
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.session import SessionConnection
from amqp_sansio.conversation.tracing import Tracing


class Connection(BaseConnection[Client], SessionConnection):
    """A client's connection: `async with connect(url) as connection`, or `connection = await connect(url)` and `close`.

    A background task runs it, heartbeats included; pending calls raise the error that ends it.
    """


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
    """Returns a connection to `amqp://user:password@host:port/vhost?heartbeat=30` or `amqps://...`.

    `async with connect(url) as connection` closes it at the end; `connection = await connect(url)` leaves that to `close`.

    `config` has the settings that the URL does not have; `tls` says how certificates are checked (default: against the
    system's authorities), `retry` whether and how to reconnect after a loss; `close_timeout` limits the clean end of a
    subscription, a session or the connection, in seconds.  The client calls `on_event` with each of its events
    (`conversation.happenings` lists them); it must return soon and must not call the client.  `log_octets` logs all octets
    except the login at DEBUG, to `amqp_sansio.octets`.  `tracing` traces messages: `adapters.otel.Tracing()`.

    Raises AddressError or EncodeError at once for a wrong URL or setting, and ConnectFailed when no broker answers.
    """
    check_settings(
        config=config,
        tls=tls,
        retry=retry,
        close_timeout=close_timeout,
        on_event=on_event,
        log_octets=log_octets,
        tracing=tracing,
    )
    address = Address.of(url)
    client = Client(
        proving(address.config(config)), prefix=f"amqp-sansio-{uuid4()}", retry=retry, tell=teller(on_event),
        tap=logs.log_octets if log_octets else None, tracing=tracing,
    )  # fmt: skip
    return Connection(address, client, tls, close_timeout)
