"""Waits of the background thread: for its socket, unless another thread reads that, and for a wake-up by another thread."""

from __future__ import annotations

import select
import selectors
import socket
from typing import Final, Protocol


class Ears(Protocol):
    """Waits for two sockets: the poke socket always, the connected one unless another thread reads it."""

    shared: bool
    """Whether another thread may change what is waited for during a wait."""

    def listen(self, reading: bool, writing: bool) -> None:
        """Sets what to wait for on the connected socket: octets to read, room to write, both or neither."""
        raise NotImplementedError

    def wait(self, seconds: float | None) -> tuple[bool, bool]:
        """Waits for at most `seconds`; returns whether the poke came, and whether the connected socket is ready."""
        raise NotImplementedError

    def close(self) -> None:
        """Releases its resources."""
        raise NotImplementedError


class EpollEars(Ears):
    """By epoll, whose set can be changed from another thread during a wait."""

    shared = True

    def __init__(self, poke: socket.socket, connected: socket.socket) -> None:
        self._poke: Final = poke.fileno()
        self._connected: Final = connected.fileno()
        self._events = 0
        self._epoll: Final = select.epoll()
        self._epoll.register(self._poke, select.EPOLLIN)

    def listen(self, reading: bool, writing: bool) -> None:
        """Without `reading` and `writing`, not even the end of the socket is reported."""
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
    """By the platform's selector: what is waited for changes only between two waits."""

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
    """Returns the best implementation for this platform."""
    return EpollEars(poke, connected) if hasattr(select, "epoll") else PlainEars(poke, connected)
