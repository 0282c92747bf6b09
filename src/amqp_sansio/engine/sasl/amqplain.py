"""AMQPLAIN: a name and a password in clear, in a field table without its size (RabbitMQ's and Qpid's, in 0-8 to 0-9-1)."""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.config import Accepted, Challenge, ClientExchange, Deferred, Rejected, ServerExchange
from amqp_sansio.engine.sasl import Login, OneMessage, PasswordExchange, PlainServer
from amqp_sansio.errors import AmqpError
from amqp_sansio.errors.checks import checked
from amqp_sansio.wire.layouts.profiles import PROFILES
from amqp_sansio.wire.primitives import put_u32

_TABLES: Final = PROFILES["rabbitmq"]
_SIZE: Final = 4


class _Server(PasswordExchange):
    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected | Deferred:
        if not response:
            return Rejected("an AMQPLAIN response has a login and a password")
        try:
            table, _ = _TABLES.read(put_u32(len(response)) + response, 0, len(response) + _SIZE)
        except AmqpError:  # its text may quote the password
            return Rejected("an AMQPLAIN response is a field table without its size")
        username, password = table.get("LOGIN"), table.get("PASSWORD")
        if not isinstance(username, str) or not isinstance(password, str):
            return Rejected("an AMQPLAIN response has a login and a password, texts in UTF-8")
        return self.judge(username, password)


@attrs.frozen(field_transformer=checked())
class AmqPlain(Login):
    """The client's half."""

    name = "AMQPLAIN"

    def start(self) -> ClientExchange:
        """Starts an exchange.  Raises SaslError for a name or password that is not valid UTF-8."""
        return OneMessage(self.name, _TABLES.write({"LOGIN": self.username, "PASSWORD": self.password})[_SIZE:])


@attrs.frozen(field_transformer=checked())
class AmqPlainServer(PlainServer):
    """The server's half, with the `verify`, `slow` and `known` of `PlainServer`."""

    name = "AMQPLAIN"

    def start(self) -> ServerExchange:
        """Starts an exchange."""
        return _Server(self)
