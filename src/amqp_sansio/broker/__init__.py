"""A broker without I/O, in memory: the model (queues, exchanges, bindings), and a server-role connection joined to it."""

from __future__ import annotations

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.peer.peer import Peer

__all__ = ["Broker", "BrokerConfig", "Peer"]
