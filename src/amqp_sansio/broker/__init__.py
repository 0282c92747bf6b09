"""A broker in memory, without I/O: the model (queues, exchanges, bindings), and server-role connections to it."""

from __future__ import annotations

from amqp_sansio.broker.access import Decision, Kind, Request, Rule, Rules, RulesError, Verb, parse_rules
from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.encoding import decode_entry, encode_entry
from amqp_sansio.broker.journal import Entry
from amqp_sansio.broker.snapshot import decode_snapshot, encode_snapshot

__all__ = [
    "Broker", "BrokerConfig", "Decision", "Entry", "Kind", "Peer", "Request", "Rule", "Rules", "RulesError", "Verb",
    "decode_entry", "decode_snapshot", "encode_entry", "encode_snapshot", "parse_rules",
]  # fmt: skip
