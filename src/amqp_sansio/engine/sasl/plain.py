"""PLAIN (RFC 4616): a name and a password as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from amqp_sansio.config import Accepted, Challenge, ClientExchange, Rejected, SaslError, ServerExchange

NAME: Final = "PLAIN"


class _Client(ClientExchange):
    def __init__(self, message: bytes) -> None:
        self._message: Final = message
        self._asked = False

    @property
    def done(self) -> bool:
        return True

    def initial(self) -> bytes | None:
        return self._message

    def step(self, challenge: bytes) -> bytes:
        if self._asked or challenge:
            raise SaslError("PLAIN has no challenges")
        self._asked = True
        return self._message


class _Server(ServerExchange):
    def __init__(self, verify: Callable[[str, str], bool]) -> None:
        self._verify: Final = verify

    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected:
        if response is None:
            return Challenge(b"")
        parts = response.split(b"\0")
        if len(parts) != 3:
            return Rejected("a PLAIN response has three parts")
        try:
            authorize, username, password = (part.decode() for part in parts)
        except UnicodeDecodeError:
            return Rejected("a PLAIN response is UTF-8")
        if authorize not in ("", username):
            return Rejected("nobody may act for somebody else")
        if not self._verify(username, password):
            return Rejected("wrong name or password")
        return Accepted(username)


@attrs.frozen
class Plain:
    """The client's half."""

    username: str = attrs.field()
    password: str = attrs.field(repr=False)
    name: str = attrs.field(default=NAME, init=False)

    def start(self) -> ClientExchange:
        """A new exchange.  Raises SaslError for a NUL in the name or the password."""
        if "\0" in self.username or "\0" in self.password:
            raise SaslError("PLAIN cannot carry a NUL")
        return _Client(b"\0" + self.username.encode() + b"\0" + self.password.encode())


@attrs.frozen
class PlainServer:
    """The server's half.  `verify(username, password)` tells whether they belong together."""

    verify: Callable[[str, str], bool]
    name: str = attrs.field(default=NAME, init=False)

    def start(self) -> ServerExchange:
        """A new exchange."""
        return _Server(self.verify)
