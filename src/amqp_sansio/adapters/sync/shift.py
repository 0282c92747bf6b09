"""Decides which thread reads a connected socket: the background thread, or one that waits for an answer."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from amqp_sansio.adapters.sync.ears import Ears
from amqp_sansio.adapters.sync.turn import Turn

AGAIN: Final = 0.05
"""Seconds after which the background thread checks whether waiting threads still read now and then."""


class Shift:
    """Lends the socket to threads that wait for answers, as long as one of them reads between two checks of the background
    thread. Threads that wait for one answer after the other then never wake the background thread nor change what it waits for.

    Where its wait cannot be changed from another thread, `may_lend` is False and it always reads itself.  Everything but
    `listen` is called under the lock; `poke` makes the background thread check.
    """

    def __init__(self, ears: Ears, connected: socket.socket, turn: Turn, poke: Callable[[], None]) -> None:
        self.may_lend: Final = ears.shared
        self.taken = False
        """Whether a waiting thread has the socket now."""
        self._ears: Final = ears
        self._turn: Final = turn
        self._poke: Final = poke
        self._lent = False  # the background thread does not read
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
        if not self._lent:
            self._lent = True
            self._ears.listen(False, writing)
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
            self._lent = False
        self._ears.listen(not self._lent, writing)
        if not self._lent:
            return None
        self._awaited = not self._came  # had by one thread since the last check: sleep until it is given back
        self._came = False
        return None if self._awaited else AGAIN

    @property
    def lent(self) -> bool:
        """Whether the socket is lent, so that the background thread must not read it."""
        return self._lent

    def close(self) -> None:
        """Releases its resources; the socket is gone."""
        self._kick_in.close()
        self._kick_out.close()
        self._ears.close()


def pipe() -> tuple[socket.socket, socket.socket]:
    """Returns a pair of connected non-blocking sockets."""
    ends = socket.socketpair()
    for each in ends:
        each.setblocking(False)
    return ends
