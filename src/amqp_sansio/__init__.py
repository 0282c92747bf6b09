"""AMQP before 1.0 as pure state machines: octets and calls in; octets, events and one deadline out.

Your program owns the socket and the clock:

conn = ClientConnection(ClientConfig(username="guest", password="guest"))
conn.receive_data(octets)     # what the socket received
conn.tick(now)                # seconds, by a clock that never goes back
for event in conn.events(): ...
octets = conn.data_to_send()  # write them to the socket
moment = conn.due             # when to tick again, unless octets arrive earlier; None: no timer runs
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from amqp_sansio.kernel.build import VERSION

if TYPE_CHECKING:
    from amqp_sansio import events, spec
    from amqp_sansio.config import DEFAULT_PROFILE, STRICT_PROFILE, ClientConfig, Profile, ServerConfig
    from amqp_sansio.dialects import AMQP_0_8, AMQP_0_9, AMQP_0_9_1, AMQP_0_10, AMQP_0_10_FINAL, Dialect
    from amqp_sansio.engine import two_phase
    from amqp_sansio.engine.channel_client import ChannelClientConnection
    from amqp_sansio.engine.channel_server import ChannelServerConnection
    from amqp_sansio.engine.channels.client import Channel
    from amqp_sansio.engine.channels.server import ServedChannel
    from amqp_sansio.engine.client import ClientConnection
    from amqp_sansio.engine.connection import Connection
    from amqp_sansio.engine.observer import Observed, Observer
    from amqp_sansio.engine.server import ServerConnection
    from amqp_sansio.engine.session import Session
    from amqp_sansio.engine.transactions import Dtx, Tx
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
    from amqp_sansio.kernel.serials import RangeSet
    from amqp_sansio.limits import Limits
    from amqp_sansio.spec.xids import xid

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

_HOMES: Final = {
    "config": "DEFAULT_PROFILE STRICT_PROFILE ClientConfig Profile ServerConfig",
    "dialects": "AMQP_0_8 AMQP_0_9 AMQP_0_9_1 AMQP_0_10 AMQP_0_10_FINAL Dialect",
    "engine.channel_client": "ChannelClientConnection",
    "engine.channel_server": "ChannelServerConnection",
    "engine.channels.client": "Channel",
    "engine.channels.server": "ServedChannel",
    "engine.client": "ClientConnection",
    "engine.connection": "Connection",
    "engine.observer": "Observed Observer",
    "engine.server": "ServerConnection",
    "engine.session": "Session",
    "engine.transactions": "Dtx Tx",
    "spec.xids": "xid",
    "errors": "AmqpError CapabilityMissing ChannelClosedError ConnectionClosedError DecodeError EncodeError FlowStopped "
    "HeaderError LimitError LocalProtocolError NoCredit SessionDetachedError StaleDelivery",
    "kernel.serials": "RangeSet",
    "limits": "Limits",
}
"""Each module with its public names.  It is imported when a program asks for one of them, so that a command starts early."""
_MODULES: Final = {"events": "events", "spec": "spec", "two_phase": "engine.two_phase"}


def __getattr__(name: str) -> object:
    home = _MODULES.get(name) or next((home for home, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    loaded = import_module(f"{__name__}.{home}")
    found: object = loaded if name in _MODULES else getattr(loaded, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
