"""EXTERNAL (RFC 4422 appendix A): something outside the protocol, such as a TLS certificate, has proved the identity."""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.config import Accepted, Challenge, ClientExchange, Rejected, ServerExchange
from amqp_sansio.engine.sasl.plain import OneMessage
from amqp_sansio.errors.checks import checked

NAME: Final = "EXTERNAL"


class _Server(ServerExchange):
    def __init__(self, identity: str | None) -> None:
        self._identity: Final = identity

    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected:
        if response is None:
            return Challenge(b"")
        if self._identity is None:
            return Rejected("nothing was proved outside")
        if response not in (b"", self._identity.encode()):
            return Rejected("nobody may act for somebody else")
        return Accepted(self._identity)


@attrs.frozen(field_transformer=checked())
class External:
    """The client's half.  `authorize` is the identity to act as; "" for the proved one."""

    authorize: str = ""
    name = NAME

    def start(self) -> ClientExchange:
        """Starts an exchange."""
        return OneMessage(NAME, self.authorize.encode())


@attrs.frozen(field_transformer=checked())
class ExternalServer:
    """The server's half.  `identity` is the client's identity as the transport proved it; None for none."""

    identity: str | None
    name = NAME

    def start(self) -> ServerExchange:
        """Starts an exchange."""
        return _Server(self.identity)
