"""Admission to a server: limits on connections, on connections that are not open yet, and on concurrent password checks."""

from __future__ import annotations

import errno
import ipaddress
import logging
from collections.abc import Callable
from typing import Final

from amqp_sansio.config import Accepted, Rejected
from amqp_sansio.limits import ServerLimits

PLAIN_OCTETS: Final = 128 * 1024
"""Octets that a connection may hold before it is open: undecoded input, one control, its objects, one read of its socket."""
TLS_OCTETS: Final = 768 * 1024
"""The same with TLS: also asyncio's buffers, 256 KiB each way and twice the deciphered octets, and OpenSSL's objects."""
OPENING_READ: Final = 16 * 1024
"""Octets per read from a connection that is not open."""
RETRY_SECONDS: Final = 1.0
"""Seconds until the server accepts connections again after the operating system had no resources for one."""
SILENT_SECONDS: Final = 1.0
"""Seconds between two log lines about refused connections."""
LOG: Final = logging.getLogger("amqp_sansio.server")
NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""The errors of the operating system when it has no file descriptor or no memory for a connection."""


class Logins:
    """A queue of password checks, one per connection: a few run at once, and client addresses take turns."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running = 0
        self._waiting: Final[dict[str, dict[Place, Callable[[], object]]]] = {}  # by the origin of their connections

    def wait(self, place: Place, begin: Callable[[], object]) -> None:
        """Queues a check: calls `begin` when it is this connection's turn, perhaps at once.  Call `done` after the check."""
        self._waiting.setdefault(place.origin, {})[place] = begin
        self._go_on()

    def done(self) -> None:
        """Notes that a check is over and begins the next one."""
        self._running -= 1
        self._go_on()

    def leave(self, place: Place) -> None:
        """Removes a connection that is gone, so that its check does not begin."""
        there = self._waiting.get(place.origin, {})
        if there.pop(place, None) is not None and not there:
            del self._waiting[place.origin]

    def stop(self) -> None:
        """Stops the queue: no further check begins."""
        self._most = 0

    def _go_on(self) -> None:
        while self._running < self._most and self._waiting:
            origin = next(iter(self._waiting))
            there = self._waiting.pop(origin)
            begin = there.pop(next(iter(there)))
            if there:
                self._waiting[origin] = there  # behind all others
            self._running += 1
            begin()


class Place:
    """One admitted connection of a server, until `leave`."""

    def __init__(self, admission: Admission, origin: str) -> None:
        self._admission: Final = admission
        self.origin: Final = origin
        """The client's address or network, as `origin_of` returns it."""
        self._opened = False

    def open(self) -> None:
        """Notes that the client has logged in."""
        self._opened = True
        self._admission._no_stranger(self.origin)

    def leave(self) -> None:
        """Notes that the connection is gone, whether it was open or not.  Must be called exactly once."""
        self._admission.connections -= 1
        if not self._opened:
            self._admission.logins.leave(self)
            self._admission._no_stranger(self.origin)


class Admission:
    """Counts the connections of one server and decides whether there is room for another."""

    def __init__(self, limits: ServerLimits, tls: bool) -> None:
        self.limits: Final = limits
        self.most_unopened: Final = max(limits.unopened_octets // (TLS_OCTETS if tls else PLAIN_OCTETS), 1)
        """How many connections may exist that are not open."""
        self.logins: Final = Logins(limits.logins)
        """The queue of password checks."""
        self.connections = 0
        """Connections that were admitted and have not left."""
        self.unopened = 0
        """The admitted connections that are not open yet."""
        self.refused = 0
        """How many connections were refused so far."""
        self._strangers: Final[dict[str, int]] = {}  # connections that are not open, by origin
        self._told = 0  # how many refused connections the log has reported
        self._silent_until: float | None = None

    def admit(self, address: object, now: float) -> Place | None:
        """Returns a place for a new connection that is not open yet, or None when there is no room: close it at once then.

        `address` is the client's socket address, `now` is in monotonic seconds.
        """
        origin = origin_of(address)
        full = self._full(origin)
        if full:
            self._refuse(full, now)
            return None
        self.connections += 1
        self.unopened += 1
        self._strangers[origin] = self._strangers.get(origin, 0) + 1
        return Place(self, origin)

    def _full(self, origin: str) -> str:
        """Returns why there is no room for another connection from this origin; "" when there is room."""
        limits, there = self.limits, self._strangers.get(origin, 0)
        if self.connections >= limits.connections:
            return f"there are {self.connections}"
        if there >= limits.unopened_per_address:
            return f"{there} from {origin or 'one address'} have not logged in"
        return f"{self.unopened} have not logged in" if self.unopened >= self.most_unopened else ""

    def _refuse(self, why: str, now: float) -> None:
        """Counts a refusal, and logs all since the last log line unless that line is less than SILENT_SECONDS old."""
        self.refused += 1
        if self._silent_until is None or now >= self._silent_until:
            self._silent_until = now + SILENT_SECONDS
            count, self._told = self.refused - self._told, self.refused
            LOG.warning("%d connection%s refused: %s", count, "" if count == 1 else "s", why)

    def _no_stranger(self, origin: str) -> None:
        """Uncounts a connection that was not open: it has opened or is gone."""
        self.unopened -= 1
        self._strangers[origin] -= 1
        if not self._strangers[origin]:
            del self._strangers[origin]


def origin_of(address: object) -> str:
    """Returns the origin that a client address is counted under: an IPv4 address, or the /64 network of an IPv6 address.

    Returns "" for anything else, so that all of those count together.
    """
    host = address[0] if isinstance(address, tuple) and address else None
    try:
        found = ipaddress.ip_address(host.partition("%")[0]) if isinstance(host, str) else None
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address):
        found = found.ipv4_mapped or ipaddress.IPv6Address(int(found) >> 64 << 64)
    return "" if found is None else str(found)


def checked(decide: Callable[[], Accepted | Rejected]) -> Accepted | Rejected:
    """Runs a deferred password check (`config.Deferred`) in a thread.  Never raises: an exception counts as a rejection."""
    try:
        return decide()
    except Exception as error:
        return Rejected(type(error).__name__)  # not its text, which may quote the password
