"""Which endpoint to try next, when, and when to stop; used by every adapter's connection loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from amqp_sansio.conversation.address import Address, Endpoint, known_hosts
from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.causes import cause_of, of_text, offered, reason_of, when_ended, when_silent
from amqp_sansio.conversation.happenings import AttemptFailed, ConnectionEnded, LoginRefused, Reconnecting
from amqp_sansio.errors import AddressError, ConnectFailed, ConnectionLost
from amqp_sansio.errors.core import quoted
from amqp_sansio.events import ConnectionClosed, Origin

FORBIDDEN: Final = 403
"""The code of connection.close for a user that may not log in."""
REDIRECTS: Final = 5
"""The most consecutive redirects that are followed."""


_SECRETLESS: Final = ("ANONYMOUS", "EXTERNAL")
"""Mechanisms that give a server nothing that it could use elsewhere."""


class Attempt(NamedTuple):
    """Wait `delay` seconds, then try `endpoint`."""

    endpoint: Endpoint
    delay: float


class Attempts:
    """Goes through the endpoints of an address, then those that the broker named, with the delays of the client's policy.

    A first connection is tried once at each endpoint; after a loss the client reconnects as the policy says.

    A connection that is lost within the longest delay, before it was of any use, counts as a failed attempt, so that a broker
    that accepts us and then crashes is not tried for ever.  After a useful one the attempts are counted anew, but the delays go
    on from the last one, so that a broker that crashes on each second command is not tried ten times a second.
    """

    def __init__(self, client: BaseClient, address: Address, chance: Callable[[], float]) -> None:
        self.client: Final = client
        self.address: Final = address
        self.error: Exception = ConnectionLost("it was closed here")
        """Why there is no further attempt, once there is none."""
        self._chance: Final = chance
        self._waiting: list[Endpoint] = list(address.endpoints)
        self._delays: Iterator[float] | None = None
        self._waited = 0.0  # before the last attempt that followed a loss
        self._at: Endpoint = address.endpoints[0]
        self._seen = 0
        self._redirects = 0
        self._named = 0  # hosts that were tried because a redirect named them
        self._failures: dict[str, str] = {}  # the result of the last attempt at each endpoint

    def first(self) -> Attempt:
        """Returns the first attempt, without delay."""
        return self._try(self._waiting.pop(0), 0.0)

    def after(self, error: Exception | None = None) -> Attempt | None:
        """Returns the next attempt after a connection ended or (`error`) could not be made; None when there is none."""
        client = self.client
        if client.closing:
            if client.connections > self._seen:
                client.tell(ConnectionEnded(str(self._at), "it was closed here", False))
            self.error = ConnectionLost("it was closed here")
            return None
        if client.redirected is not None and error is None:
            return self._redirect()
        opened = client.connections > self._seen
        closed = client.closed
        cause = reason_of(error) if error is not None else cause_of(closed) if closed is not None else "it was lost"
        if not opened:
            cause = self._not_opened(cause, closed, error)
        self._tell(opened, cause)
        if opened:
            self._failures = {}
        self._failures[str(self._at)] = cause
        self.error = ConnectionLost(cause) if opened else self._failed()
        if opened:
            self._seen = client.connections
            self._redirects = self._named = 0
            if client.lasted(client.retry.longest):
                self._waited = 0.0
            if self._delays is None or client.useful or not self._waited:
                self._delays = client.retry.delays(self._chance, self._waited)
            self._waiting = []
        if self._waiting:
            return self._try(self._waiting.pop(0), 0.0)
        if not client.comes_back:
            return None
        delay = next(self._delays, None) if self._delays is not None else None
        if delay is None:
            return None
        self._waited = delay
        self._waiting = self._known()
        return self._try(self._waiting.pop(0), delay)

    def broken(self, error: Exception) -> None:
        """Stops because of a bug in the library: all pending calls fail with its location."""
        self.error = ConnectionLost(f"it is broken ({type(error).__name__}: {error}); please report this")
        self.error.__cause__ = error

    def _not_opened(self, cause: str, closed: ConnectionClosed | None, error: Exception | None) -> str:
        """Extends the cause of a failed connection by what the peer sent."""
        said = self.client.said
        if isinstance(error, TimeoutError):
            return f"{cause}: {when_silent(said)}"
        if error is not None or closed is None:
            return cause
        if closed.origin == Origin.EOF:
            failure = self.client.failure
            if failure is not None and isinstance(getattr(failure, "reason", None), str):
                return reason_of(failure)  # TLS knows more than the end of the octets: the peer's alert
            return when_ended(said, self._at.tls)
        return cause + of_text(said) + self.client.right_door

    def _failed(self) -> ConnectFailed:
        """Returns the error for all endpoints that were tried in a row."""
        where = self._failures
        answered = offered(self.client.said)
        if len(where) == 1:
            return ConnectFailed(*next(iter(where.items())), answered)
        return ConnectFailed(", ".join(where), "; ".join([f"{each}: {cause}" for each, cause in where.items()]), answered)

    def _try(self, endpoint: Endpoint, delay: float) -> Attempt:
        self._at = endpoint
        self.client.confidential = endpoint.confidential
        self.client.endpoint = str(endpoint)
        if self.client.connections:
            self.client.tell(Reconnecting(str(endpoint), delay))
        return Attempt(endpoint, delay)

    def _tell(self, opened: bool, cause: str) -> None:
        """Reports the end of the last attempt as an event."""
        closed, where = self.client.closed, str(self._at)
        if opened:
            self.client.tell(ConnectionEnded(where, cause, True))
        elif closed is not None and (closed.code == FORBIDDEN or "authentication" in cause.lower()):
            self.client.tell(LoginRefused(where, cause))
        else:
            self.client.tell(AttemptFailed(where, cause))

    def _known(self) -> list[Endpoint]:
        """Returns all known endpoints, each once: the user's, then those that the broker named."""
        own = self.address.endpoints
        hints = [each for each in dict.fromkeys(self._hints(self.client.known_hosts)) if each not in own and self._may(each)]
        return [*dict.fromkeys(own), *hints[: self.client.config.limits.named_hosts]]

    def _may(self, endpoint: Endpoint) -> bool:
        """Whether a broker may redirect us there: a client with a secret only to hosts of its address, unless configured."""
        config = self.client.config
        secret = config.username is not None or any(each.name not in _SECRETLESS for each in config.mechanisms)
        return not secret or config.trust_redirects or endpoint.host in [each.host for each in self.address.endpoints]

    def _hints(self, texts: tuple[str, ...]) -> list[Endpoint]:
        found: list[Endpoint] = []
        for text in texts:
            try:
                found += known_hosts(text, self._at.tls)
            except AddressError:
                continue  # a hint that cannot be parsed
        return found

    def _redirect(self) -> Attempt | None:
        redirected = self.client.redirected
        assert redirected is not None
        self._redirects += 1
        if self._redirects > REDIRECTS:
            return self._stop(f"redirected more than {REDIRECTS} times, at last to {quoted(redirected.host)!r}")
        try:
            hosts = [*known_hosts(redirected.host, self._at.tls)]
        except AddressError as error:
            return self._stop(f"redirected to what cannot be understood: {quoted(str(error))}")
        named = [each for each in dict.fromkeys([*hosts, *self._hints(redirected.known_hosts)]) if self._may(each)]
        if not named:
            return self._stop(
                f"redirected to {quoted(redirected.host)!r}, which the address does not name: the password goes there only with"
                " ?trust_redirects=1 in the URL or ClientConfig(trust_redirects=True)"
            )
        most = self.client.config.limits.named_hosts
        named = named[: most - self._named]
        if not named:
            return self._stop(f"redirected to more than {most} hosts (limit named_hosts)")
        self._named += len(named)
        first, *self._waiting = named
        return self._try(first, 0.0)

    def _stop(self, why: str) -> Attempt | None:
        """Makes no further attempt, because a redirect cannot be followed."""
        self.error = ConnectFailed(str(self._at), why)
        return None
