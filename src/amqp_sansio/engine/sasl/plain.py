"""PLAIN (RFC 4616): a name and a password in clear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

from amqp_sansio.config import Accepted, Challenge, ClientExchange, Deferred, Rejected, SaslError, ServerExchange
from amqp_sansio.errors.checks import checked
from amqp_sansio.limits import USERNAME_OCTETS

NAME: Final = "PLAIN"


class OneMessage(ClientExchange):
    """The exchange of a client that sends one message, at once or when asked."""

    def __init__(self, name: str, message: bytes) -> None:
        self._name: Final = name
        self._message: Final = message
        self._asked = False

    @property
    def done(self) -> bool:
        return True

    def initial(self) -> bytes | None:
        return self._message

    def step(self, challenge: bytes) -> bytes:
        if self._asked or challenge:
            raise SaslError(f"{self._name} has no challenges")
        self._asked = True
        return self._message


Check: TypeAlias = Callable[[str, str], bool]
"""Returns whether a password is that of a user name."""


class PasswordExchange(ServerExchange):
    """The exchange of a server that receives a name and a password and asks its mechanism to verify them."""

    def __init__(self, mechanism: PlainServer) -> None:
        self._mechanism: Final = mechanism

    def judge(self, username: str, password: str) -> Accepted | Rejected | Deferred:
        """Returns the verdict, or a deferred check when `slow` is set and the pair is not `known`."""
        mechanism = self._mechanism
        if len(username.encode()) > USERNAME_OCTETS:
            return Rejected(f"a name of more than {USERNAME_OCTETS} octets")
        if mechanism.known is not None and mechanism.known(username, password):
            return Accepted(username)

        def decide() -> Accepted | Rejected:
            return Accepted(username) if mechanism.verify(username, password) else Rejected("wrong name or password")

        return Deferred(decide) if mechanism.slow else decide()


class _Server(PasswordExchange):
    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected | Deferred:
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
        return self.judge(username, password)


@attrs.frozen(field_transformer=checked())
class Login:
    """What a client says of itself in mechanisms with a password."""

    username: str = attrs.field()
    password: str = attrs.field(repr=False)


@attrs.frozen(field_transformer=checked())
class Plain(Login):
    """The client's half."""

    name = NAME

    def start(self) -> ClientExchange:
        """Starts an exchange.  Raises SaslError for a NUL in the name or password, and for invalid UTF-8."""
        if "\0" in self.username or "\0" in self.password:
            raise SaslError("PLAIN cannot carry a NUL")
        return OneMessage(NAME, b"\0" + self.username.encode() + b"\0" + self.password.encode())


@attrs.frozen(field_transformer=checked())
class PlainServer:
    """The server's half.

    `verify(username, password)` returns whether they match; names have at most `limits.USERNAME_OCTETS` octets.  `slow` defers
    the check (`config.Deferred`): the application runs it in a thread, as the server side of the adapters does.  `known`
    returns True for a pair that was verified before, which then waits for no other check; False decides nothing.
    """

    verify: Check
    slow: bool = False
    known: Check | None = None
    name = NAME

    def start(self) -> ServerExchange:
        """Starts an exchange."""
        return _Server(self)
