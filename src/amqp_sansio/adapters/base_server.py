"""The base of the servers of all adapters: admission of clients, turns of the host, password checks, and their sockets."""

from __future__ import annotations

import errno
import ipaddress
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Generic, TypeVar

from amqp_sansio.config import Accepted, Rejected
from amqp_sansio.conversation.hosting import Guest, Host
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


G = TypeVar("G", bound=Guest)
S = TypeVar("S", bound="BaseSocket[Any]")
TURN: Final = 500
"""The most events in one turn."""
READ: Final = 256 * 1024
"""Octets per read."""
CLOSE_SECONDS: Final = 5.0
"""Seconds that the remaining octets may take to be written at the end."""
HEAR_SECONDS: Final = 1.0
"""Seconds that the host may take to hear the end of the last clients."""


class Logins:
    """A queue of password checks, one per connection: a few run at once, and client addresses take turns."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running = 0
        self._waiting: Final[
            dict[str, dict[AdmittedConnection, Callable[[], object]]]
        ] = {}  # by the origin of their connections

    def wait(self, place: AdmittedConnection, begin: Callable[[], object]) -> None:
        """Queues a check: calls `begin` when it is this connection's turn, perhaps at once.  Call `done` after the check."""
        self._waiting.setdefault(place.origin, {})[place] = begin
        self._go_on()

    def done(self) -> None:
        """Notes that a check is over and begins the next one."""
        self._running -= 1
        self._go_on()

    def leave(self, place: AdmittedConnection) -> None:
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


class AdmittedConnection:
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

    def admit(self, address: object, now: float) -> AdmittedConnection | None:
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
        return AdmittedConnection(self, origin)

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


class BaseSocket(Generic[G]):
    """One client's socket."""

    guest: G

    def __init__(self, place: AdmittedConnection) -> None:
        self.place: Final = place
        self.opened = False
        """Whether the client has logged in."""

    def transmit(self) -> None:
        """Sends the guest's octets as far as the socket takes them."""
        raise NotImplementedError

    def look(self) -> None:
        """Reads again if the guest wants data; called in each turn for a paused socket."""
        raise NotImplementedError

    def has_opened(self) -> bool:
        """Whether the client has logged in since the last call."""
        if self.opened or not self.guest.is_open:
            return False
        self.opened = True
        self.place.open()
        return True


class BaseServer(Generic[G, S]):
    """Base of a server, which connects sockets to a host."""

    def __init__(self, host: Host[G], connect: Callable[[], G], limits: ServerLimits, tls: bool) -> None:
        self.host: Final = host
        self.admission: Final = Admission(limits, tls)
        """Counts connections, and those refused for lack of room."""
        self._connect: Final = connect
        self._sockets: Final[dict[G, S]] = {}
        self._paused: Final[dict[S, None]] = {}  # that are not read until their guests want data again
        self._asking: Final[dict[S, None]] = {}  # not open, and with octets that the host may not have read yet
        self._checks: ThreadPoolExecutor | None = None

    def wake(self) -> None:
        """Schedules a turn, because something may have happened."""
        raise NotImplementedError

    def _call(self, work: Callable[[], None]) -> None:
        """Calls `work`, from any thread, between two turns; does nothing once the server is over."""
        raise NotImplementedError

    def settle(self) -> None:
        """Called between events and output; does nothing here."""

    def _run_turn(self, now: float) -> None:
        """Runs one turn: the host ticks, handles events and sends octets; paused sockets are looked at."""
        self.host.tick(now)
        for _ in range(TURN):
            if self.host.next_event() is None:
                break
        for asking in self._asking:
            if (decide := asking.guest.take_deferred()) is not None:
                self.admission.logins.wait(asking.place, partial(self._begin, asking.guest, decide))
        self.settle()
        self.transmit()
        for paused in list(self._paused):
            paused.look()

    def transmit(self) -> None:
        """Sends the octets of guests whose sockets take them."""
        for guest in self.host.ready():
            found = self._sockets.get(guest)
            if found is not None:
                found.transmit()

    def _next_turn(self, now: float) -> float | None:
        """Returns the moment of the next turn.  Asked at the end of one."""
        due = self.host.due
        if due is None or due > now:
            self._asking.clear()  # everything is read
        return due

    def _forget(self, gone: S) -> None:
        """Forgets a client whose socket is gone."""
        self._sockets.pop(gone.guest, None)
        self._paused.pop(gone, None)
        self._asking.pop(gone, None)
        gone.place.leave()

    def _hear_out(self) -> None:
        """Lets the host hear that its last clients are gone, unless they have left it too much to read."""
        until = time.monotonic() + HEAR_SECONDS
        while self.host.next_event() is not None and time.monotonic() < until:
            pass

    # --- password checks, a few at once, so that no other client waits -------------------------------------------------------

    def _begin(self, guest: G, decide: Callable[[], Accepted | Rejected]) -> None:
        if self._checks is None:
            self._checks = ThreadPoolExecutor(self.admission.limits.logins, "amqp login")
        self._checks.submit(checked, decide).add_done_callback(partial(self._checked, guest))

    def _checked(self, guest: G, verdict: Future[Accepted | Rejected]) -> None:
        """Passes on a verdict, from the thread of the check."""
        self._call(partial(self._decided, guest, verdict))

    def _decided(self, guest: G, verdict: Future[Accepted | Rejected]) -> None:
        self.admission.logins.done()
        if not verdict.cancelled():
            guest.decided(verdict.result())
        self.wake()

    def _stop_checks(self) -> None:
        self.admission.logins.stop()
        if self._checks is not None:
            self._checks.shutdown(wait=False, cancel_futures=True)
