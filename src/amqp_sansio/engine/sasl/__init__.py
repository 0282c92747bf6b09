"""SASL mechanisms, both halves of each.

A mechanism is anything with the shape of `ClientMechanism` or `ServerMechanism`, so applications can add their own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs

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
from amqp_sansio.errors.checks import checked
from amqp_sansio.errors.extras import of_extra
from amqp_sansio.limits import USERNAME_OCTETS

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


# --- PLAIN (RFC 4616): a name and a password in clear ---------------------------------------------------------------------


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


PasswordCheck: TypeAlias = Callable[[str, str], bool]
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


class _PlainServerExchange(PasswordExchange):
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
    """The client's half of PLAIN."""

    name = "PLAIN"

    def start(self) -> ClientExchange:
        """Starts an exchange.  Raises SaslError for a NUL in the name or password, and for invalid UTF-8."""
        if "\0" in self.username or "\0" in self.password:
            raise SaslError("PLAIN cannot carry a NUL")
        return OneMessage(self.name, b"\0" + self.username.encode() + b"\0" + self.password.encode())


@attrs.frozen(field_transformer=checked())
class PlainServer:
    """The server's half of PLAIN.

    `verify(username, password)` returns whether they match; names have at most `limits.USERNAME_OCTETS` octets.  `slow` defers
    the check (`config.Deferred`): the application runs it in a thread, as the server side of the adapters does.  `known`
    returns True for a pair that was verified before, which then waits for no other check; False decides nothing.
    """

    verify: PasswordCheck
    slow: bool = False
    known: PasswordCheck | None = None
    name = "PLAIN"

    def start(self) -> ServerExchange:
        """Starts an exchange."""
        return _PlainServerExchange(self)


# --- ANONYMOUS (RFC 4505): no identity, with an optional trace ------------------------------------------------------------


class _AnonymousClientExchange(OneMessage):
    def step(self, challenge: bytes) -> bytes:
        return b""  # some servers ask again although there is nothing to send


class _AnonymousServerExchange(ServerExchange):
    def step(self, response: bytes | None) -> Accepted | Rejected:
        return Accepted("")


@attrs.frozen(field_transformer=checked())
class Anonymous:
    """The client's half of ANONYMOUS.  `trace` identifies the client in the server's log; nothing verifies it."""

    trace: str = ""
    name = "ANONYMOUS"

    def start(self) -> ClientExchange:
        """Starts an exchange."""
        return _AnonymousClientExchange(self.name, self.trace.encode())


@attrs.frozen(field_transformer=checked())
class AnonymousServer:
    """The server's half of ANONYMOUS: admits every client, as user ""."""

    name = "ANONYMOUS"

    def start(self) -> ServerExchange:
        """Starts an exchange."""
        return _AnonymousServerExchange()


# --- EXTERNAL (RFC 4422 appendix A) ----------------------------------------------------------------------------------
# EXTERNAL (RFC 4422 appendix A): something outside the protocol, such as a TLS certificate, has proved the identity.


class _ExternalServerExchange(ServerExchange):
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
    """The client's half of EXTERNAL.  `authorize` is the identity to act as; "" for the proved one."""

    authorize: str = ""
    name = "EXTERNAL"

    def start(self) -> ClientExchange:
        """Starts an exchange."""
        return OneMessage(self.name, self.authorize.encode())


@attrs.frozen(field_transformer=checked())
class ExternalServer:
    """The server's half of EXTERNAL.  `identity` is the client's identity as the transport proved it; None for none."""

    identity: str | None
    name = "EXTERNAL"

    def start(self) -> ServerExchange:
        """Starts an exchange."""
        return _ExternalServerExchange(self.identity)


# --- CRAM-MD5 (RFC 2195): a keyed digest of the server's challenge --------------------------------------------------------


def _digest(password: str, challenge: bytes) -> bytes:
    import hmac  # loads OpenSSL, so only the first side that needs it imports it

    return hmac.new(password.encode(), challenge, "md5").hexdigest().encode()


class _CramMd5ClientExchange(ClientExchange):
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


class _CramMd5ServerExchange(ServerExchange):
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
    """The client's half of CRAM-MD5."""

    name = "CRAM-MD5"

    def start(self) -> ClientExchange:
        """Starts an exchange.  Raises SaslError for a name or password that is not valid UTF-8."""
        return _CramMd5ClientExchange(self.username, self.password)


@attrs.frozen(field_transformer=checked())
class CramMd5Server:
    """The server's half of CRAM-MD5.

    `password(username)` returns the password in clear, None for an unknown user.  `challenge()` returns a challenge that was
    never used before, such as `lambda: f"<{secrets.token_hex(16)}@host>".encode()`: the engine generates no random numbers.
    """

    password: Callable[[str], str | None]
    challenge: Callable[[], bytes]
    name = "CRAM-MD5"

    def start(self) -> ServerExchange:
        """Starts an exchange."""
        return _CramMd5ServerExchange(self.password, self.challenge())


# --- SCRAM-SHA-1 (RFC 5802) and SCRAM-SHA-256 (RFC 7677), by the library `scramp` (extra [scram]) -------------------------
# Unless the caller supplies a nonce, scramp draws one from the operating system: the engine's only source of randomness.  The
# server's final message travels as one more challenge, which gets an empty response, since 0-10 has no outcome to carry it.


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


class _ScramClientExchange(ClientExchange):
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


class _ScramServerExchange(ServerExchange):
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
    """The client's half of SCRAM.

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
            return _ScramClientExchange(
                scramp, scramp.ScramClient([self.name], self.username, self.password, c_nonce=nonce), self.max_iterations
            )
        except scramp.ScramException:
            raise SaslError("SCRAM cannot encode the name, the password or the nonce") from None


@attrs.frozen(field_transformer=checked())
class ScramServer:
    """The server's half of SCRAM.

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
        return _ScramServerExchange(_scramp(), self.name, self._secret_of, None if self.nonce is None else self.nonce())

    def _secret_of(self, username: str) -> ScramSecret:
        secret = self.secret(username)
        if secret is None:
            if not self.key and not self._drawn:
                self._drawn.append(_scramp().ScramMechanism(self.name).make_auth_info("a new salt")[0])
            secret = made_up_secret(self.key or self._drawn[0], username, self.name, self.iterations)
        return secret


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
