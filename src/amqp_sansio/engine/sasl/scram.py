"""SCRAM-SHA-1 (RFC 5802) and SCRAM-SHA-256 (RFC 7677), by the library `scramp` (extra [scram]).

Unless the caller supplies a nonce, scramp draws one from the operating system: the engine's only source of randomness.  The
server's final message travels as one more challenge, which gets an empty response, since 0-10 has no outcome to carry it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Literal, TypeAlias

import attrs

from amqp_sansio.config import Accepted, Challenge, ClientExchange, Rejected, SaslError, ServerExchange
from amqp_sansio.engine.sasl.plain import Login
from amqp_sansio.errors.checks import checked
from amqp_sansio.errors.extras import of_extra
from amqp_sansio.limits import USERNAME_OCTETS

_SALT: Final = 16
"""Octets of the salt for unknown users."""

ScramName: TypeAlias = Literal["SCRAM-SHA-1", "SCRAM-SHA-256"]
ScramSecret: TypeAlias = tuple[bytes, bytes, bytes, int]
"""Salt, stored key, server key and iteration count, as `scram_secret` makes them."""


def _scramp() -> ModuleType:
    with of_extra("scram"):
        return import_module("scramp")


def scram_secret(password: str, mechanism: ScramName = "SCRAM-SHA-256", *, salt: bytes, iterations: int = 4096) -> ScramSecret:
    """Returns what a server stores instead of a password.  `salt` has at least 12 octets and differs between users."""
    made = _scramp().ScramMechanism(mechanism).make_auth_info(password, iteration_count=iterations, salt=salt)
    octets, stored_key, server_key, count = made
    return octets, stored_key, server_key, count


def made_up_secret(key: bytes, username: str, mechanism: ScramName, iterations: int) -> ScramSecret:
    """Returns a substitute for the secret of an unknown user: constant for a key and a name, and no password matches it.

    A client that asks for the salt of a name cannot tell it from that of a real user.
    """

    def derived(purpose: bytes) -> bytes:
        from hmac import digest as keyed  # loads OpenSSL, so only the first server that needs it imports it

        return keyed(key, purpose + b"\0" + username.encode("utf-8", "surrogatepass"), digest)

    digest = "sha1" if mechanism == "SCRAM-SHA-1" else "sha256"
    return derived(b"salt")[:_SALT], derived(b"stored key"), derived(b"server key"), iterations


class _Client(ClientExchange):
    def __init__(self, scramp: ModuleType, client: Any, max_iterations: int) -> None:  # Any: scramp has no types
        self._max_iterations: Final = max_iterations
        self._error: Final[type[Exception]] = scramp.ScramException
        self._client: Final = client
        self._round = 0

    @property
    def done(self) -> bool:
        return self._round == 2

    def initial(self) -> bytes | None:
        first: bytes = self._client.get_client_first().encode()
        return first

    def step(self, challenge: bytes) -> bytes:
        try:
            text = challenge.decode()
            if self._round == 0:
                count = text.rpartition(",i=")[2].partition(",")[0]
                if len(count) > 9 or (count.isdecimal() and int(count) > self._max_iterations):  # about a microsecond each
                    raise SaslError(f"the server asks for more than {self._max_iterations} iterations")
                self._client.set_server_first(text)
                answer: bytes = self._client.get_client_final().encode()
            elif self._round == 1:
                self._client.set_server_final(text)
                answer = b""
            else:
                raise SaslError("SCRAM has two challenges")
        except (self._error, UnicodeDecodeError):
            # Not the library's own text, which may quote the message.
            raise SaslError("the server's SCRAM message is not valid, or it does not know the password") from None
        self._round += 1
        return answer


class _Server(ServerExchange):
    def __init__(
        self, scramp: ModuleType, mechanism: ScramName, secret: Callable[[str], ScramSecret], nonce: str | None
    ) -> None:
        self._error: Final[type[Exception]] = scramp.ScramException
        self._secret: Final = secret
        self._username = ""
        self._round = 0
        self._server: Final = scramp.ScramMechanism(mechanism).make_server(self._look_up, s_nonce=nonce)

    def _look_up(self, username: str) -> ScramSecret:
        if len(username.encode("utf-8", "surrogatepass")) > USERNAME_OCTETS:
            raise SaslError(f"a name of more than {USERNAME_OCTETS} octets")
        self._username = username
        return self._secret(username)

    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected:
        if response is None:
            return Challenge(b"") if self._round == 0 else Rejected("a SCRAM response is missing")
        try:
            text = response.decode()
            if self._round == 0:
                self._server.set_client_first(text)
                verdict: Challenge | Accepted = Challenge(self._server.get_server_first().encode())
            elif self._round == 1:
                self._server.set_client_final(text)
                verdict = Challenge(self._server.get_server_final().encode())
            elif response:
                return Rejected("the answer to the server's final SCRAM message is empty")
            else:
                verdict = Accepted(self._username)
        except (self._error, UnicodeDecodeError):
            return Rejected("wrong name or password, or a SCRAM message that is not valid")
        self._round += 1
        return verdict


@attrs.frozen(field_transformer=checked())
class Scram(Login):
    """The client's half.

    `nonce()` returns printable ASCII without commas that was never used before; None lets scramp draw it.  `max_iterations`
    bounds what the server may ask for, at about a microsecond each.
    """

    name: ScramName = "SCRAM-SHA-256"
    nonce: Callable[[], str] | None = None
    max_iterations: int = 1_000_000

    def start(self) -> ClientExchange:
        """Starts an exchange.  Raises ImportError, naming the extra, without scramp; SaslError for a name that it refuses."""
        scramp = _scramp()
        nonce = None if self.nonce is None else self.nonce()
        try:
            return _Client(
                scramp, scramp.ScramClient([self.name], self.username, self.password, c_nonce=nonce), self.max_iterations
            )
        except scramp.ScramException:
            raise SaslError("SCRAM cannot encode the name, the password or the nonce") from None


@attrs.frozen(field_transformer=checked())
class ScramServer:
    """The server's half.

    `secret(username)` returns what `scram_secret` made of the password, None for an unknown user; names have at most
    `limits.USERNAME_OCTETS` octets.  `nonce` is that of `Scram`.

    An unknown user gets a made-up salt, always the same for a name, and the same `iterations` as the others, so that clients
    cannot find out which users exist.  The salt is derived from `key`, which must be secret; with b"" each object draws its
    own, and the salts change with each restart.
    """

    secret: Callable[[str], ScramSecret | None]
    name: ScramName = "SCRAM-SHA-256"
    nonce: Callable[[], str] | None = None
    key: bytes = attrs.field(default=b"", repr=False)
    iterations: int = 4096
    _drawn: list[bytes] = attrs.field(factory=list, init=False, repr=False, eq=False)

    def start(self) -> ServerExchange:
        """Starts an exchange.  Raises ImportError, naming the extra, without scramp."""
        return _Server(_scramp(), self.name, self._secret_of, None if self.nonce is None else self.nonce())

    def _secret_of(self, username: str) -> ScramSecret:
        secret = self.secret(username)
        if secret is None:
            if not self.key and not self._drawn:
                self._drawn.append(_scramp().ScramMechanism(self.name).make_auth_info("a new salt")[0])
            secret = made_up_secret(self.key or self._drawn[0], username, self.name, self.iterations)
        return secret
