"""Which thread listens to a connected socket: the one in the background, or one that waits for an answer."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from amqp_sansio.adapters.sync.ears import Ears
from amqp_sansio.adapters.sync.turn import Turn

AGAIN: Final = 0.05
"""Seconds after which the thread looks whether somebody in front still listens now and then."""


class Shift:
    """Lends the socket to those in front from the first of them on, as long as one of them comes back before the thread looks
    again: so waiting for one answer after the other changes nothing in what the thread listens to, and never wakes it.

    Where nothing can change what the thread listens to while it waits (`may_lend`), it always listens itself.  Everything but
    `listen` is done under the lock; `poke` makes the thread look.
    """

    def __init__(self, ears: Ears, connected: socket.socket, turn: Turn, poke: Callable[[], None]) -> None:
        self.may_lend: Final = ears.shared
        self.taken = False
        """Somebody in front has it now."""
        self._ears: Final = ears
        self._turn: Final = turn
        self._poke: Final = poke
        self._lent = False  # the thread does not listen
        self._came = False  # somebody in front did since the thread looked
        self._awaited = False  # the thread waits for who has it now
        self._waiting = False  # he is at it, without the lock
        self._kick_in, self._kick_out = pipe()
        self._kicked: Final = self._kick_in.fileno()
        if self.may_lend:
            self._poll: Final = select.poll()
            self._poll.register(connected, select.POLLIN)
            self._poll.register(self._kick_in, select.POLLIN)

    def take(self, writing: bool) -> None:
        """Somebody in front listens from now on; the thread does so for room to write only, where that is wanted."""
        self.taken = self._came = True
        if not self._lent:
            self._lent = True
            self._ears.listen(False, writing)
            self._poke()

    def listen(self, milliseconds: float | None) -> bool | None:
        """Gives up the lock and waits: whether the socket is ready, None when the time is over before anything happened."""
        self._waiting = True
        try:
            ready = self._turn.aside(lambda: self._poll.poll(milliseconds))
        finally:
            self._waiting = False
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
        """The listener in front looks at once whether it still should."""
        if self._waiting:
            with suppress(OSError):
                self._kick_out.send(b"!")

    def give_back(self) -> None:
        """He does not listen any more."""
        self.taken = False
        if self._awaited:
            self._awaited = False
            self._came = True
            self._poke()

    def look(self, writing: bool) -> float | None:
        """The thread is about to listen to what is left to it; the seconds after which it should look again, None: no need."""
        if not self._came and not self.taken:
            self._lent = False
        self._ears.listen(not self._lent, writing)
        if not self._lent:
            return None
        self._awaited = not self._came  # he who has it has had it since the last look: the thread sleeps until he is done
        self._came = False
        return None if self._awaited else AGAIN

    @property
    def lent(self) -> bool:
        """Whether the socket is not the thread's to read."""
        return self._lent

    def close(self) -> None:
        """The socket is gone, and nobody has it."""
        self._kick_in.close()
        self._kick_out.close()
        self._ears.close()


def pipe() -> tuple[socket.socket, socket.socket]:
    """Two ends that never block."""
    ends = socket.socketpair()
    for each in ends:
        each.setblocking(False)
    return ends
