"""Waits of the background thread: for its socket, unless another thread reads that, and for a wake-up by another thread."""

from __future__ import annotations

import select
import selectors
import socket
from collections.abc import Callable
from typing import Final


class Ears:
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
