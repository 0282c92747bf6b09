"""SASL mechanisms, both halves of each, one file per mechanism.

A mechanism is anything with the shape of `ClientMechanism` or `ServerMechanism`, so applications can add their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
from amqp_sansio.engine.sasl.anonymous import Anonymous, AnonymousServer
from amqp_sansio.engine.sasl.cram_md5 import CramMd5, CramMd5Server
from amqp_sansio.engine.sasl.external import External, ExternalServer
from amqp_sansio.engine.sasl.plain import Plain, PlainServer
from amqp_sansio.engine.sasl.scram import Scram, ScramServer, scram_secret

if TYPE_CHECKING:
    from amqp_sansio.engine.sasl.amqplain import AmqPlain, AmqPlainServer

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
"""Mechanisms that send the password in clear."""


def __getattr__(name: str) -> object:
    """Imports on demand what only the older dialects use."""
    if name not in ("AmqPlain", "AmqPlainServer"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from amqp_sansio.engine.sasl import amqplain

    found: object = getattr(amqplain, name)
    return found


def client_mechanisms(config: ClientConfig) -> tuple[ClientMechanism, ...]:
    """Returns the mechanisms with which the client can authenticate, best first."""
    if config.mechanisms:
        return config.mechanisms
    if config.username is not None:
        return (Plain(config.username, config.password),)
    return (Anonymous(),)


def server_mechanisms(config: ServerConfig) -> tuple[ServerMechanism, ...]:
    """Returns the mechanisms that the server offers, in its order."""
    return config.mechanisms or (AnonymousServer(),)
