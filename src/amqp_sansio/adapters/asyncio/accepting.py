"""Accepts connections on asyncio, as many as the limits allow, and runs their TLS handshakes."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, Protocol

from amqp_sansio.adapters.admission import NO_ROOM, RETRY_SECONDS, Admission, Place

BACKLOG: Final = 1024
"""Connections that may wait to be accepted."""
ACCEPTS: Final = 64
"""The most connections accepted in one turn of the event loop."""
SOON_SECONDS: Final = 0.01
"""Seconds until the next one is accepted when the last ones have taken all file descriptors: they may be gone by then."""
_ABSENT: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class Accepted(Protocol):
    """The server's object for one accepted connection."""

    made: bool
    """Whether it has its transport, and will be notified when the connection is lost."""

    def opening(self) -> asyncio.BaseProtocol:
        """Returns the transport's first protocol."""
        raise NotImplementedError


class Acceptor:
    """The listening sockets of one server."""

    def __init__(self, join: Callable[[Place], Accepted], tls: ssl.SSLContext | None, admission: Admission) -> None:
        self.admission: Final = admission
        self._join: Final = join
        self._tls: Final = tls
        self._listeners: Final[list[socket.socket]] = []
        self._tasks: Final[set[asyncio.Task[None]]] = set()

    async def listen(self, host: str, port: int) -> None:
        """Listens on all addresses that the name resolves to.  Raises OSError when one of them cannot be bound."""
        loop = asyncio.get_running_loop()
        kind, flags = socket.SOCK_STREAM, socket.AI_PASSIVE
        try:  # a numeric address needs no resolver thread
            found = socket.getaddrinfo(host or None, port, type=kind, flags=flags | socket.AI_NUMERICHOST)
        except socket.gaierror:
            found = await loop.getaddrinfo(host, port, type=kind, flags=flags)
        try:
            for family, address in dict.fromkeys([(each[0], each[4]) for each in found]):
                try:
                    listener = socket.create_server(address, family=family, backlog=BACKLOG)
                except OSError as error:
                    if error.errno in _ABSENT and len(found) > 1 and (self._listeners or address != found[-1][4]):
                        continue  # an address of an IP version that this machine lacks
                    raise
                listener.setblocking(False)
                self._listeners.append(listener)
        except BaseException:
            self._close()
            raise
        for listener in self._listeners:
            self._start(self._accept(listener))

    @property
    def listening(self) -> bool:
        """Whether `listen` was called."""
        return bool(self._listeners)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the first listening socket."""
        host, port = self._listeners[0].getsockname()[:2]
        return str(host), int(port)

    async def close(self) -> None:
        """Stops accepting, and drops connections in their TLS handshake.  May be called again."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._close()

    def _close(self) -> None:
        for listener in self._listeners:
            listener.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            for number in range(ACCEPTS):
                try:
                    accepted, address = await loop.sock_accept(listener)
                except OSError as error:
                    if error.errno in NO_ROOM and number:
                        await asyncio.sleep(SOON_SECONDS)
                    elif error.errno in NO_ROOM:
                        loop.call_exception_handler({"message": "no connection can be accepted", "exception": error})
                        await asyncio.sleep(RETRY_SECONDS)
                    break  # otherwise the connection was gone before it was accepted
                place = self.admission.admit(address, loop.time())
                if place is None:
                    accepted.close()
                else:
                    self._start(self._begin(accepted, place))
            await asyncio.sleep(0)  # so that fast arrivals do not starve the event loop

    async def _begin(self, accepted: socket.socket, place: Place) -> None:
        joined = self._join(place)
        seconds = None if self._tls is None else self.admission.limits.tls_seconds
        try:
            with suppress(OSError):  # no TLS, or not in time: ssl's errors are OSErrors
                await asyncio.get_running_loop().connect_accepted_socket(
                    joined.opening, accepted, ssl=self._tls, ssl_handshake_timeout=seconds
                )
        finally:
            if not joined.made:
                accepted.close()
                place.leave()
