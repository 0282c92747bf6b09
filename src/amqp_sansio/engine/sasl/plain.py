"""PLAIN (RFC 4616): a name and a password in clear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

from amqp_sansio.config import Accepted, Challenge, ClientExchange, Deferred, Rejected, SaslError, ServerExchange
from amqp_sansio.limits import USERNAME_OCTETS

NAME: Final = "PLAIN"


def must_be_text(*texts: str) -> None:
    """SaslError for a name or a password that UTF-8 cannot carry.  Python's own error would quote it."""
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError:
        raise SaslError("a name or a password is a text that UTF-8 can carry") from None


class OneMessage(ClientExchange):
    """The exchange of a client that says one message, at once or when it is asked."""

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
"""Whether a name and a password belong together."""


class PasswordExchange(ServerExchange):
    """The exchange of a server that gets a name and a password and asks its mechanism about them."""

    def __init__(self, mechanism: PlainServer) -> None:
        self._mechanism: Final = mechanism

    def judge(self, username: str, password: str) -> Accepted | Rejected | Deferred:
        """What the server thinks of them, or how it finds out where that is `slow` and they are not `known`."""
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


@attrs.frozen
class Plain:
    """The client's half."""

    username: str = attrs.field()
    password: str = attrs.field(repr=False)
    name: str = attrs.field(default=NAME, init=False)

    def start(self) -> ClientExchange:
        """A new exchange.  Raises SaslError for a NUL in the name or the password, and for what is no UTF-8."""
        must_be_text(self.username, self.password)
        if "\0" in self.username or "\0" in self.password:
            raise SaslError("PLAIN cannot carry a NUL")
        return OneMessage(NAME, b"\0" + self.username.encode() + b"\0" + self.password.encode())


@attrs.frozen
class PlainServer:
    """The server's half.

    `verify(username, password)` tells whether they belong together; names have at most `limits.USERNAME_OCTETS`.  `slow` defers
    it (`config.Deferred`): the program then runs it in a thread, as the server sides of the adapters do. `known` says yes at
    once to a pair that was verified before, so that it waits for no other check; a no is no verdict.
    """

    verify: Check
    slow: bool = False
    known: Check | None = None
    name: str = attrs.field(default=NAME, init=False)

    def start(self) -> ServerExchange:
        """A new exchange."""
        return _Server(self)
