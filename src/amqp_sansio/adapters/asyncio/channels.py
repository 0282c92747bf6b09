"""AMQP 0-9-1, 0-9 and 0-8 on asyncio: `async with connect("amqp://...") as connection, connection.channel() as channel`."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from uuid import uuid4

import amqp_sansio.errors as errors  # else pyright takes `__all__` of the package
from amqp_sansio.adapters import logs
from amqp_sansio.adapters.asyncio.base_connection import BaseConnection
from amqp_sansio.adapters.logs import teller
from amqp_sansio.adapters.settings import CLOSE_TIMEOUT, check_settings, trust
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.channels.address import ChannelAddress
from amqp_sansio.conversation.channels.channel import Channel, ChannelConnection, Subscription
from amqp_sansio.conversation.channels.client import ChannelClient, ChannelClientEvent
from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.channels.topology import Chosen, everything, nothing
from amqp_sansio.conversation.line import Pending
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.tracing import Tracing
from amqp_sansio.errors import *  # noqa: F403  # all of them, for `except`

__all__ = [
    "NEVER", "Channel", "ChannelClientEvent", "Connection", "Message", "Pending", "RetryPolicy", "Subscription", "connect",
    "everything", "nothing",
]  # fmt: skip
__all__ += errors.__all__


class Connection(BaseConnection[ChannelClient], ChannelConnection):
    """A client's connection: `async with connect(url) as connection`, or `connection = await connect(url)` and `close`.

    A background task runs it, heartbeats included; pending calls raise the error that ends it.
    """


def connect(
    url: str | ChannelAddress,
    *,
    config: ClientConfig | None = None,
    tls: ssl.SSLContext | None = None,
    retry: RetryPolicy = NEVER,
    topology: Chosen = everything,
    close_timeout: float = CLOSE_TIMEOUT,
    on_event: Callable[[ChannelClientEvent], None] | None = None,
    log_octets: bool = False,
    tracing: Tracing | None = None,
) -> Connection:
    """Returns a connection to `amqp://user:password@host:port/vhost?heartbeat=30` or `amqps://...`.

    `async with connect(url) as connection` closes it at the end; `connection = await connect(url)` leaves that to `close`.

    `config` has the settings that the URL does not have, such as the dialect (default: 0-9-1); `tls` says how certificates are
    checked (default: against the system's authorities), `retry` whether and how to reconnect after a loss, and `topology` what
    is declared again then; `close_timeout` limits the clean end of a subscription, a channel or the connection, in seconds.
    The client calls `on_event` with each of its events (`ChannelClientEvent` lists them); it must return soon and must not call
    the client.  `log_octets` logs all octets except the login at DEBUG, to `amqp_sansio.octets`.  `tracing` traces messages:
    `adapters.otel.Tracing()`.

    Raises AddressError or EncodeError at once for a wrong URL or setting, and ConnectFailed when no broker answers.
    """
    check_settings(
        config=config,
        tls=tls,
        retry=retry,
        topology=topology,
        close_timeout=close_timeout,
        on_event=on_event,
        log_octets=log_octets,
        tracing=tracing,
    )
    address = ChannelAddress.of(url)
    client = ChannelClient(
        address.config(config),
        prefix=f"amqp-sansio-{uuid4()}",
        retry=retry,
        topology=topology,
        tell=teller(on_event),
        tap=logs.log_octets if log_octets else None,
        tracing=tracing,
    )
    return Connection(address, client, tls or trust(address), close_timeout)
