"""ANONYMOUS (RFC 4505): no identity, with an optional trace."""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.config import Accepted, ClientExchange, Rejected, ServerExchange
from amqp_sansio.engine.sasl.plain import OneMessage
from amqp_sansio.errors.checks import checked

NAME: Final = "ANONYMOUS"


class _Client(OneMessage):
    def step(self, challenge: bytes) -> bytes:
        return b""  # some servers ask again although there is nothing to send


class _Server(ServerExchange):
    def step(self, response: bytes | None) -> Accepted | Rejected:
        return Accepted("")


@attrs.frozen(field_transformer=checked())
class Anonymous:
    """The client's half.  `trace` identifies the client in the server's log; nothing verifies it."""

    trace: str = ""
    name = NAME

    def start(self) -> ClientExchange:
        """Starts an exchange."""
        return _Client(NAME, self.trace.encode())


@attrs.frozen(field_transformer=checked())
class AnonymousServer:
    """The server's half: admits every client, as user ""."""

    name = NAME

    def start(self) -> ServerExchange:
        """Starts an exchange."""
        return _Server()
