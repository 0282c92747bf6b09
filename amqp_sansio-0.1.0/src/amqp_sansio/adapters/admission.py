"""Who is let in by a server: how many connections, how many that are not open yet, and who has the right password."""

from __future__ import annotations

import errno
import ipaddress
import logging
from collections.abc import Callable
from typing import Final

from amqp_sansio.config import Accepted, Rejected
from amqp_sansio.limits import ServerLimits

PLAIN_OCTETS: Final = 128 * 1024
"""What a connection that is not open may hold at most: undecoded octets, one control, its objects, one read of its socket."""
TLS_OCTETS: Final = 768 * 1024
"""The same by TLS: with the buffers of asyncio, 256 KiB each way and twice what is deciphered, and the objects of OpenSSL."""
OPENING_READ: Final = 16 * 1024
"""Octets read at once from a connection that is not open."""
RETRY_SECONDS: Final = 1.0
"""Seconds until connections are accepted again after the system had no room for one."""
SILENT_SECONDS: Final = 1.0
"""Seconds between two words in the log about connections that were refused."""
LOG: Final = logging.getLogger("amqp_sansio.server")
NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What the system says when it has no file descriptor, or no memory, for a connection."""


class Logins:
    """Passwords that wait to be checked, each by one connection: a few at once, and addresses take turns."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running = 0
        self._waiting: Final[dict[str, dict[Place, Callable[[], object]]]] = {}  # by where they come from

    def wait(self, place: Place, begin: Callable[[], object]) -> None:
        """`begin` is called when it is the turn of this connection, perhaps at once; say `done` once the check is over."""
        self._waiting.setdefault(place.origin, {})[place] = begin
        self._go_on()

    def done(self) -> None:
        """A check is over: the next one begins."""
        self._running -= 1
        self._go_on()

    def leave(self, place: Place) -> None:
        """The connection is gone: its check is not begun any more."""
        there = self._waiting.get(place.origin, {})
        if there.pop(place, None) is not None and not there:
            del self._waiting[place.origin]

    def stop(self) -> None:
        """It is the end: none is begun any more."""
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
    """The place of one connection of a server, until it leaves."""

    def __init__(self, admission: Admission, origin: str) -> None:
        self._admission: Final = admission
        self.origin: Final = origin
        """Where the client comes from, as `origin_of`."""
        self._opened = False

    def open(self) -> None:
        """Its client has logged in."""
        self._opened = True
        self._admission._no_stranger(self.origin)

    def leave(self) -> None:
        """It is gone, having been open or not.  To be called once."""
        self._admission.connections -= 1
        if not self._opened:
            self._admission.logins.leave(self)
            self._admission._no_stranger(self.origin)


class Admission:
    """Counts the connections of one server."""

    def __init__(self, limits: ServerLimits, tls: bool) -> None:
        self.limits: Final = limits
        self.most_unopened: Final = max(limits.unopened_octets // (TLS_OCTETS if tls else PLAIN_OCTETS), 1)
        """How many connections may be there that are not open."""
        self.logins: Final = Logins(limits.logins)
        """Whose password is checked when."""
        self.connections = 0
        """Connections that were admitted and have not left."""
        self.unopened = 0
        """Those of them that are not open yet."""
        self.refused = 0
        """How many found no room so far."""
        self._strangers: Final[dict[str, int]] = {}  # connections that are not open, by where they come from
        self._told = 0  # how many refused ones the log has
        self._silent_until: float | None = None

    def admit(self, address: object, now: float) -> Place | None:
        """A place for one more, which is not open; None when there is none: close it at once.

        `address` is the other end's, as sockets tell it, `now` monotonic seconds.
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
        """Why there is no room for one more from there; "" when there is."""
        limits, there = self.limits, self._strangers.get(origin, 0)
        if self.connections >= limits.connections:
            return f"there are {self.connections}"
        if there >= limits.unopened_per_address:
            return f"{there} from {origin or 'one address'} have not logged in"
        return f"{self.unopened} have not logged in" if self.unopened >= self.most_unopened else ""

    def _refuse(self, why: str, now: float) -> None:
        """Says so, with all that were not told of, unless that was done a moment ago."""
        self.refused += 1
        if self._silent_until is None or now >= self._silent_until:
            self._silent_until = now + SILENT_SECONDS
            count, self._told = self.refused - self._told, self.refused
            LOG.warning("%d connection%s refused: %s", count, "" if count == 1 else "s", why)

    def _no_stranger(self, origin: str) -> None:
        """One that was not open is, or is gone."""
        self.unopened -= 1
        self._strangers[origin] -= 1
        if not self._strangers[origin]:
            del self._strangers[origin]


def origin_of(address: object) -> str:
    """Where a connection comes from, for whoever counts them: an IPv4 address, or the network of 64 bits of an IPv6 one.

    "" for what is neither: all of those count as one.
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
    """The verdict of a deferred check of a password (`config.Deferred`), in a thread.  Never raises: that is a no."""
    try:
        return decide()
    except Exception as error:
        return Rejected(type(error).__name__)  # its text may quote what was said
