"""The base of the servers of all adapters: one turn of the host, password checks in threads, and what a client's socket is."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Generic, TypeVar

from amqp_sansio.adapters.admission import Admission, Place, checked
from amqp_sansio.config import Accepted, Rejected
from amqp_sansio.conversation.hosting import Guest, Host
from amqp_sansio.limits import ServerLimits

G = TypeVar("G", bound=Guest)
S = TypeVar("S", bound="BaseSocket[Any]")

TURN: Final = 500
"""The most events in one turn."""
READ: Final = 256 * 1024
"""Octets per read."""
CLOSE_SECONDS: Final = 5.0
"""Seconds that the remaining octets may take to be written at the end."""


class BaseSocket(Generic[G]):
    """One client's socket."""

    guest: G

    def __init__(self, place: Place) -> None:
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
