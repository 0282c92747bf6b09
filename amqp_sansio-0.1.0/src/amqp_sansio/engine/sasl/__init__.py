"""SASL mechanisms, both halves of each, one file per mechanism.

A mechanism is anything with the shape of `ClientMechanism` or `ServerMechanism`: users add their own.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.config import (
    Accepted,
    Challenge,
    ClientConfig,
    ClientExchange,
    ClientMechanism,
    Deferred,
    Rejected,
    SaslError,
    ServerConfig,
    ServerExchange,
    ServerMechanism,
)
from amqp_sansio.engine.sasl.amqplain import AmqPlain, AmqPlainServer
from amqp_sansio.engine.sasl.anonymous import Anonymous, AnonymousServer
from amqp_sansio.engine.sasl.cram_md5 import CramMd5, CramMd5Server
from amqp_sansio.engine.sasl.external import External, ExternalServer
from amqp_sansio.engine.sasl.plain import Plain, PlainServer
from amqp_sansio.engine.sasl.scram import Scram, ScramServer, scram_secret

__all__ = [
    "Accepted",
    "AmqPlain",
    "AmqPlainServer",
    "Anonymous",
    "AnonymousServer",
    "Challenge",
    "ClientExchange",
    "ClientMechanism",
    "CramMd5",
    "CramMd5Server",
    "Deferred",
    "External",
    "ExternalServer",
    "Plain",
    "PlainServer",
    "Rejected",
    "SaslError",
    "Scram",
    "ScramServer",
    "ServerExchange",
    "ServerMechanism",
    "client_mechanisms",
    "scram_secret",
    "server_mechanisms",
]


IN_CLEAR: Final = frozenset(("PLAIN", "LOGIN", "AMQPLAIN"))
"""Mechanisms that say the password as it is."""


def client_mechanisms(config: ClientConfig) -> tuple[ClientMechanism, ...]:
    """What the client can authenticate with, best first."""
    if config.mechanisms:
        return config.mechanisms
    if config.username is not None:
        return (Plain(config.username, config.password),)
    return (Anonymous(),)


def server_mechanisms(config: ServerConfig) -> tuple[ServerMechanism, ...]:
    """What the server offers, in its order."""
    return config.mechanisms or (AnonymousServer(),)
