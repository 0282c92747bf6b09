"""Who is let in by a server: how many connections, how many that are not open yet, and who has the right password."""

from __future__ import annotations

import errno
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
NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What the system says when it has no file descriptor, or no memory, for a connection."""


class Admission:
    """Counts the connections of one server."""

    def __init__(self, limits: ServerLimits, tls: bool) -> None:
        self.limits: Final = limits
        self.most_unopened: Final = max(limits.unopened_octets // (TLS_OCTETS if tls else PLAIN_OCTETS), 1)
        """How many connections may be there that are not open."""
        self.connections = 0
        """Connections that were admitted and have not left."""
        self.unopened = 0
        """Those of them that are not open yet."""
        self.refused = 0
        """How many found no room so far."""

    def admit(self) -> bool:
        """Counts one more, which is not open; False when there is no room for it: close it at once."""
        if self.connections >= self.limits.connections or self.unopened >= self.most_unopened:
            self.refused += 1
            return False
        self.connections += 1
        self.unopened += 1
        return True

    def opened(self) -> None:
        """One of them is open now."""
        self.unopened -= 1

    def left(self, opened: bool) -> None:
        """One of them is gone, which was open or never came to it."""
        self.connections -= 1
        if not opened:
            self.unopened -= 1


def checked(decide: Callable[[], Accepted | Rejected]) -> Accepted | Rejected:
    """The verdict of a deferred check of a password (`config.Deferred`), in a thread.  Never raises: that is a no."""
    try:
        return decide()
    except Exception as error:
        return Rejected(type(error).__name__)  # its text may quote what was said
