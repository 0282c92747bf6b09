"""AMQP before 1.0 as pure state machines: octets and calls in; octets, events and one deadline out.

conn = ClientConnection(ClientConfig(username="guest", password="guest"))
conn.receive_data(octets)
conn.tick(now)
for event in conn.events(): ...
octets = conn.data_to_send()
moment = conn.due
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from amqp_sansio import events, spec
from amqp_sansio.config import DEFAULT_PROFILE, STRICT_PROFILE, ClientConfig, Profile, ServerConfig
from amqp_sansio.dialects import AMQP_0_8, AMQP_0_9, AMQP_0_9_1, AMQP_0_10, AMQP_0_10_FINAL, Dialect
from amqp_sansio.engine import two_phase
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.observer import Observed, Observer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.engine.transactions import Dtx, Tx
from amqp_sansio.engine.xid import xid
from amqp_sansio.errors import (
    AmqpError,
    CapabilityMissing,
    ChannelClosedError,
    ConnectionClosedError,
    DecodeError,
    EncodeError,
    FlowStopped,
    HeaderError,
    LimitError,
    LocalProtocolError,
    NoCredit,
    SessionDetachedError,
    StaleDelivery,
)
from amqp_sansio.kernel.build import VERSION
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits

if TYPE_CHECKING:
    from amqp_sansio.engine.channel_client import ChannelClientConnection
    from amqp_sansio.engine.channel_server import ChannelServerConnection
    from amqp_sansio.engine.channels.client import Channel
    from amqp_sansio.engine.channels.server import ServedChannel

__version__ = VERSION
"""The version of the library."""

__all__ = [
    "AMQP_0_8",
    "AMQP_0_9",
    "AMQP_0_9_1",
    "AMQP_0_10",
    "AMQP_0_10_FINAL",
    "DEFAULT_PROFILE",
    "STRICT_PROFILE",
    "AmqpError",
    "CapabilityMissing",
    "Channel",
    "ChannelClientConnection",
    "ChannelClosedError",
    "ChannelServerConnection",
    "ClientConfig",
    "ClientConnection",
    "Connection",
    "ConnectionClosedError",
    "DecodeError",
    "Dialect",
    "Dtx",
    "EncodeError",
    "FlowStopped",
    "HeaderError",
    "LimitError",
    "Limits",
    "LocalProtocolError",
    "NoCredit",
    "Observed",
    "Observer",
    "Profile",
    "RangeSet",
    "ServedChannel",
    "ServerConfig",
    "ServerConnection",
    "Session",
    "SessionDetachedError",
    "StaleDelivery",
    "Tx",
    "__version__",
    "events",
    "spec",
    "two_phase",
    "xid",
]

_LATER: Final = {
    "Channel": "engine.channels.client",
    "ChannelClientConnection": "engine.channel_client",
    "ChannelServerConnection": "engine.channel_server",
    "ServedChannel": "engine.channels.server",
}
"""The module of each name that only channels need; `__getattr__` imports it on first use."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = found
    return found
