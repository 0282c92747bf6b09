"""How the threads of a connection take turns: the lock, and which thread reads the socket."""

from __future__ import annotations

import select
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, TypeVar

Value = TypeVar("Value")
Given = TypeVar("Given")

AGAIN: Final = 0.05
"""Seconds after which the background thread checks whether waiting threads still read now and then."""


class TimeIsOver(BaseException):
    """The time of a call is over; what cancellation is in asynchronous code."""


class Turn:
    """The lock that serialises the threads of a connection, used as `with turn:`; nested turns are one turn.

    At the end of a turn its output is written (`ended` is called), unless the owner has already done so (`wanted` is False).

    An interrupt (Ctrl-C) may come after any call of the main thread.  During a wait (`aside`) it leaves the state consistent.
    At any other point it does not: then `torn` is called, because the connection's next output might be wrong.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self.wanted = False
        """Whether there is output that has not been written."""
        self.ended: Callable[[], None] = lambda: None
        self.torn: Callable[[], None] = lambda: None
        self._lock: Final = lock
        self._inside: Final = _Inside()

    def want(self) -> None:
        """Notes that there is output to write at the end of the turn.  Call it under the lock."""
        self.wanted = True

    def __enter__(self) -> None:
        inside = self._inside
        if inside.depth:
            inside.depth += 1
            return
        try:
            self._lock.acquire()
            inside.depth = 1
        except BaseException:  # an interrupt, before or after the lock was acquired
            self._let_go()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        inside = self._inside
        try:
            if kind is not None and not issubclass(kind, Exception | TimeIsOver) and error is not inside.interrupt:
                inside.interrupt = error
                self.torn()
            if self.wanted and inside.depth == 1:
                self.wanted = False
                self.ended()
        finally:
            inside.depth -= 1
            if not inside.depth:
                inside.interrupt = None
                self._lock.release()

    def aside(self, wait: Callable[[Given], Value], given: Given) -> Value:
        """Releases the lock while `wait` runs, in a turn.  An interrupt leaves the state consistent, and the lock held."""
        try:
            self._lock.release()
            come = wait(given)
            self._lock.acquire()
        except BaseException as error:
            self.interrupted(error)
            raise
        return come

    def interrupted(self, error: BaseException) -> None:
        """Handles `error`, raised while this thread waited in its turn: the lock is held afterwards, whether it was or not."""
        self._let_go()
        self._lock.acquire()
        self._inside.interrupt = error

    def over(self) -> None:
        """Releases the lock, outside of all turns, in case an interrupt came just before this thread would have done so."""
        self._inside.depth = 0
        while self._let_go():
            pass

    def _let_go(self) -> bool:
        """Releases the lock once, if this thread holds it; returns whether it did."""
        with suppress(RuntimeError):
            self._lock.release()
            return True
        return False


class _Inside(threading.local):
    """How many nested `with turn:` this thread is in, and the interrupt that was handled in them.

    The lock is acquired only once, so a wait releases it completely.
    """

    depth = 0
    interrupt: BaseException | None = None


class Poller:
    """Waits for two sockets: the poke socket always, the connected one unless another thread reads it."""

    def __init__(
        self,
        poke: socket.socket,
        connected: socket.socket,
        selector: Callable[[], selectors.BaseSelector] = selectors.DefaultSelector,
    ) -> None:
        self._poke: Final = poke
        self._connected: Final = connected
        self._events = 0
        self._selector: Final = selector()
        self._selector.register(poke, selectors.EVENT_READ)
        self.shared: Final = hasattr(select, "epoll") and isinstance(self._selector, selectors.EpollSelector)
        """Whether another thread may change what is waited for during a wait, as only epoll allows."""

    def listen(self, reading: bool, writing: bool) -> None:
        """Sets what to wait for on the connected socket: octets to read, room to write, both or neither.

        With neither, not even the end of the socket is reported.
        """
        events = selectors.EVENT_READ * reading | selectors.EVENT_WRITE * writing
        if events == self._events:
            return
        if not events:
            self._selector.unregister(self._connected)
        elif not self._events:
            self._selector.register(self._connected, events)
        else:
            self._selector.modify(self._connected, events)
        self._events = events

    def wait(self, seconds: float | None) -> tuple[bool, bool]:
        """Waits for at most `seconds`; returns whether the poke came, and whether the connected socket is ready."""
        ready = {key.fileobj for key, _ in self._selector.select(seconds)}
        return self._poke in ready, self._connected in ready

    def close(self) -> None:
        """Releases its resources."""
        self._selector.close()


class Handoff:
    """Lends the socket to threads that wait for answers, as long as one of them reads between two checks of the background
    thread. Threads that wait for one answer after the other then never wake the background thread nor change what it waits for.

    Where its wait cannot be changed from another thread, `may_lend` is False and it always reads itself.  Everything but
    `listen` is called under the lock; `poke` makes the background thread check.
    """

    def __init__(self, poller: Poller, connected: socket.socket, turn: Turn, poke: Callable[[], None]) -> None:
        self.may_lend: Final = poller.shared
        self.taken = False
        """Whether a waiting thread has the socket now."""
        self._poller: Final = poller
        self._turn: Final = turn
        self._poke: Final = poke
        self.lent = False
        """Whether the socket is lent, so that the background thread must not read it."""
        self._came = False  # a waiting thread has read since the background thread's last check
        self._awaited = False  # the background thread waits for the socket to come back
        self.waiting = False
        """The waiting thread is polling, without the lock."""
        self._kick_in, self._kick_out = pipe()
        self._kicked: Final = self._kick_in.fileno()
        if self.may_lend:
            self._poll: Final = select.poll()
            self._poll.register(connected, select.POLLIN)
            self._poll.register(self._kick_in, select.POLLIN)

    def take(self, writing: bool) -> None:
        """Takes the socket for a waiting thread; the background thread waits for room to write only, if `writing`."""
        self.taken = self._came = True
        if not self.lent:
            self.lent = True
            self._poller.listen(False, writing)
            self._poke()

    def listen(self, milliseconds: float | None) -> bool | None:
        """Releases the lock and polls: returns whether the socket is ready, None when the time was over first."""
        self.waiting = True
        try:
            ready = self._turn.aside(self._poll.poll, milliseconds)
        finally:
            self.waiting = False
        if not ready:
            return None
        heard = False
        for number, _ in ready:
            if number == self._kicked:
                self._kick_in.recv(16)
            else:
                heard = True
        return heard

    def kick(self) -> None:
        """Makes the thread that has the socket check at once whether it should go on."""
        if self.waiting:
            with suppress(OSError):
                self._kick_out.send(b"!")

    def give_back(self) -> None:
        """Gives the socket back."""
        self.taken = False
        if self._awaited:
            self._awaited = False
            self._came = True
            self._poke()

    def look(self, writing: bool) -> float | None:
        """Prepares a wait of the background thread: returns the seconds after which to check again, None for no need."""
        if not self._came and not self.taken:
            self.lent = False
        self._poller.listen(not self.lent, writing)
        if not self.lent:
            return None
        self._awaited = not self._came  # had by one thread since the last check: sleep until it is given back
        self._came = False
        return None if self._awaited else AGAIN

    def close(self) -> None:
        """Releases its resources; the socket is gone."""
        self._kick_in.close()
        self._kick_out.close()
        self._poller.close()


def pipe() -> tuple[socket.socket, socket.socket]:
    """Returns a pair of connected non-blocking sockets."""
    ends = socket.socketpair()
    for each in ends:
        each.setblocking(False)
    return ends
