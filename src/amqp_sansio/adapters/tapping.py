"""A connection of a broker with a listener that gets the octets of both speakers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from amqp_sansio.config import Accepted, Rejected
from amqp_sansio.conversation.hosting import Guest


class Listener(Protocol):
    """Receives the octets of one connection."""

    def hear(self, speaker: str, octets: bytes) -> None:
        """Called with octets that `speaker`, "client" or "server", sent."""
        raise NotImplementedError

    def note(self, text: str) -> None:
        """Called with a remark that neither speaker sent."""
        raise NotImplementedError


class Tapped:
    """A guest whose octets, in both directions, also go to a listener."""

    def __init__(self, guest: Guest, listener: Listener) -> None:
        self.guest: Final = guest
        self.listener: Final = listener
        self._eof = False

    def receive_data(self, data: bytes) -> None:
        """Stores octets from the client."""
        self.listener.hear("client", data)
        self.guest.receive_data(data)

    def receive_eof(self) -> None:
        """Notes that the client sends nothing more."""
        if not self._eof:
            self._eof = True
            self.listener.note("the client's octets have ended")
        self.guest.receive_eof()

    def data_to_send(self) -> bytes:
        """Takes everything that is to be written now."""
        octets = self.guest.data_to_send()
        if octets:
            self.listener.hear("server", octets)
        return octets

    @property
    def wants_data(self) -> bool:
        """Whether the socket should be read now."""
        return self.guest.wants_data

    @property
    def writable(self) -> bool:
        """Whether the socket takes octets."""
        return self.guest.writable

    @writable.setter
    def writable(self, writable: bool) -> None:
        self.guest.writable = writable

    @property
    def full(self) -> bool:
        """See `Guest`."""
        return self.guest.full

    @property
    def finished(self) -> bool:
        """Whether the socket must be closed."""
        return self.guest.finished

    @property
    def is_open(self) -> bool:
        """Whether the client has logged in and opened a virtual host."""
        return self.guest.is_open

    def take_deferred(self) -> Callable[[], Accepted | Rejected] | None:
        """See `Guest`."""
        return self.guest.take_deferred()

    def decided(self, verdict: Accepted | Rejected) -> None:
        """See `Guest`."""
        self.guest.decided(verdict)
