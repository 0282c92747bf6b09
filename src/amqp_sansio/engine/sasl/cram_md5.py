"""CRAM-MD5 (RFC 2195): a keyed digest of the server's challenge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from amqp_sansio.config import Accepted, Challenge, ClientExchange, Rejected, SaslError, ServerExchange
from amqp_sansio.engine.sasl.plain import Login
from amqp_sansio.errors.checks import checked
from amqp_sansio.limits import USERNAME_OCTETS

NAME: Final = "CRAM-MD5"


def _digest(password: str, challenge: bytes) -> bytes:
    import hmac  # loads OpenSSL, so only the first side that needs it imports it

    return hmac.new(password.encode(), challenge, "md5").hexdigest().encode()


class _Client(ClientExchange):
    def __init__(self, username: str, password: str) -> None:
        self._username: Final = username
        self._password: Final = password
        self._done = False

    @property
    def done(self) -> bool:
        return self._done

    def initial(self) -> bytes | None:
        return None

    def step(self, challenge: bytes) -> bytes:
        if self._done:
            raise SaslError("CRAM-MD5 has one challenge")
        self._done = True
        return self._username.encode() + b" " + _digest(self._password, challenge)


class _Server(ServerExchange):
    def __init__(self, password: Callable[[str], str | None], challenge: bytes) -> None:
        self._password: Final = password
        self._challenge: Final = challenge
        self._asked = False

    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected:
        if not self._asked:
            if response:
                return Rejected("CRAM-MD5 has no initial response")
            self._asked = True
            return Challenge(self._challenge)
        name, _, digest = (response or b"").rpartition(b" ")
        if len(name) > USERNAME_OCTETS:
            return Rejected(f"a name of more than {USERNAME_OCTETS} octets")
        try:
            username = name.decode()
        except UnicodeDecodeError:
            return Rejected("a CRAM-MD5 response is UTF-8")
        password = self._password(username)
        expected = _digest("" if password is None else password, self._challenge)
        from hmac import compare_digest

        if not compare_digest(expected, digest) or password is None:
            return Rejected("wrong name or password")
        return Accepted(username)


@attrs.frozen(field_transformer=checked())
class CramMd5(Login):
    """The client's half."""

    name = NAME

    def start(self) -> ClientExchange:
        """Starts an exchange.  Raises SaslError for a name or password that is not valid UTF-8."""
        return _Client(self.username, self.password)


@attrs.frozen(field_transformer=checked())
class CramMd5Server:
    """The server's half.

    `password(username)` returns the password in clear, None for an unknown user.  `challenge()` returns a challenge that was
    never used before, such as `lambda: f"<{secrets.token_hex(16)}@host>".encode()`: the engine generates no random numbers.
    """

    password: Callable[[str], str | None]
    challenge: Callable[[], bytes]
    name = NAME

    def start(self) -> ServerExchange:
        """Starts an exchange."""
        return _Server(self.password, self.challenge())
