"""What the thread in the background listens to: its socket, unless somebody else does that, and to being poked."""

from __future__ import annotations

import select
import selectors
import socket
from typing import Final, Protocol


class Ears(Protocol):
    """Waits for two sockets: one that is always listened to, and one that may be left to somebody else."""

    shared: bool
    """Whether another thread may change what is listened to while one waits."""

    def listen(self, reading: bool, writing: bool) -> None:
        """What of the connected socket is waited for from now on: octets to read, room to write, or nothing at all."""
        raise NotImplementedError

    def wait(self, seconds: float | None) -> tuple[bool, bool]:
        """Until something happens, at most so long: whether the poke came, and whether the connected socket is ready."""
        raise NotImplementedError

    def close(self) -> None:
        """Nobody listens any more."""
        raise NotImplementedError


class EpollEars(Ears):
    """By the system's epoll, which may be changed from another thread while one waits."""

    shared = True

    def __init__(self, poke: socket.socket, connected: socket.socket) -> None:
        self._poke: Final = poke.fileno()
        self._connected: Final = connected.fileno()
        self._events = 0
        self._epoll: Final = select.epoll()
        self._epoll.register(self._poke, select.EPOLLIN)

    def listen(self, reading: bool, writing: bool) -> None:
        """Not even the end of a socket is heard of, when nothing of it is waited for."""
        events = select.EPOLLIN * reading | select.EPOLLOUT * writing
        if events == self._events:
            return
        if not events:
            self._epoll.unregister(self._connected)
        elif not self._events:
            self._epoll.register(self._connected, events)
        else:
            self._epoll.modify(self._connected, events)
        self._events = events

    def wait(self, seconds: float | None) -> tuple[bool, bool]:
        """See `Ears`."""
        ready = {number for number, _ in self._epoll.poll(-1 if seconds is None else seconds)}
        return self._poke in ready, self._connected in ready

    def close(self) -> None:
        """See `Ears`."""
        self._epoll.close()


class PlainEars(Ears):
    """By whatever the system has: what is listened to changes only between two waits."""

    shared = False

    def __init__(self, poke: socket.socket, connected: socket.socket) -> None:
        self._poke: Final = poke
        self._connected: Final = connected
        self._events = 0
        self._selector: Final = selectors.DefaultSelector()
        self._selector.register(poke, selectors.EVENT_READ)

    def listen(self, reading: bool, writing: bool) -> None:
        """See `Ears`."""
        events = selectors.EVENT_READ * reading | selectors.EVENT_WRITE * writing
        if events == self._events:
            return
        if self._events:
            self._selector.unregister(self._connected)
        if events:
            self._selector.register(self._connected, events)
        self._events = events

    def wait(self, seconds: float | None) -> tuple[bool, bool]:
        """See `Ears`."""
        ready = {key.fileobj for key, _ in self._selector.select(seconds)}
        return self._poke in ready, self._connected in ready

    def close(self) -> None:
        """See `Ears`."""
        self._selector.close()


def ears(poke: socket.socket, connected: socket.socket) -> Ears:
    """The best that there are here."""
    return EpollEars(poke, connected) if hasattr(select, "epoll") else PlainEars(poke, connected)
