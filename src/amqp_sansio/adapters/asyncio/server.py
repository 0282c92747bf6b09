"""The server side on asyncio: sockets for a broker, or for a server of your own."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from amqp_sansio.adapters.base_server import (
    CLOSE_SECONDS,
    NO_ROOM,
    OPENING_READ,
    RETRY_SECONDS,
    TURN,
    AdmittedConnection,
    BaseServer,
    BaseSocket,
    G,
)
from amqp_sansio.adapters.settings import check_settings
from amqp_sansio.conversation.hosting import Host
from amqp_sansio.limits import DEFAULT_SERVER_LIMITS, ServerLimits

__all__ = ["CLOSE_SECONDS", "QUIET_SECONDS", "TURN", "G", "Server", "serve"]

_BACKLOG: Final = 1024
"""Connections that may wait to be accepted."""
_ACCEPTS: Final = 64
"""The most connections accepted in one turn of the event loop."""
_SOON_SECONDS: Final = 0.01
"""Seconds until the next one is accepted when the last ones have taken all file descriptors: they may be gone by then."""
_ABSENT: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


QUIET_SECONDS: Final = 1.0
"""Seconds without any progress after which a stopping server no longer waits for silent clients."""


class Server(BaseServer[G, "_Socket[G]"]):
    """Listens and connects sockets to the host passed to `serve`; to be used as `async with serve(...) as server`."""

    def __init__(
        self,
        host: Host[G],
        connect: Callable[[], G],
        where: tuple[str, int],
        tls: ssl.SSLContext | None,
        limits: ServerLimits = DEFAULT_SERVER_LIMITS,
    ) -> None:
        super().__init__(host, connect, limits, tls is not None)
        self.buffer: Final = memoryview(bytearray(OPENING_READ))
        """The read buffer that all connections that are not open share."""
        self._tls: Final = tls
        self._listeners: Final[list[socket.socket]] = []
        self._accepting: Final[set[asyncio.Task[None]]] = set()  # accept, or run a TLS handshake
        self._where: Final = where
        self._loop: asyncio.AbstractEventLoop  # set when the block is entered
        self._timer: asyncio.TimerHandle | None = None
        self._scheduled = False

    def _socket(self, place: AdmittedConnection) -> _Socket[G]:
        return _Socket(self, place)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self._listen(*self._where)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def address(self) -> tuple[str, int]:
        """The listening address: host and port."""
        host, port = self._listeners[0].getsockname()[:2]
        return str(host), int(port)

    async def close(self) -> None:
        """Stops listening, and closes every socket once its octets are written."""
        try:
            await self._stop_accepting()
            if self._timer is not None:
                self._timer.cancel()
            self._stop_checks()
            for each in self._open_ones():
                each.close()
            await self._all_over()
        finally:  # even if it was cancelled
            for each in (stuck := self._open_ones()):
                each.abort()
        if stuck:
            await asyncio.wait([each.over for each in stuck])  # a turn, in which the host hears of it, comes before

    def _open_ones(self) -> list[_Socket[G]]:
        return [each for each in self._sockets.values() if not each.over.done()]

    async def _all_over(self) -> None:
        """Waits until all sockets are gone, as long as some of them make progress; at most CLOSE_SECONDS in all."""
        until = self._loop.time() + CLOSE_SECONDS
        before = None
        while (left := until - self._loop.time()) > 0 and (waiting := self._open_ones()):
            now = len(waiting), sum([each.unwritten for each in waiting])
            if now == before:
                return
            before = now
            await asyncio.wait([each.over for each in waiting], timeout=min(left, QUIET_SECONDS))

    async def serve_forever(self) -> None:
        """Serves until it is cancelled."""
        await asyncio.get_running_loop().create_future()

    # --- accepting -----------------------------------------------------------------------------------------------------------

    async def _listen(self, host: str, port: int) -> None:
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
                    listener = socket.create_server(address, family=family, backlog=_BACKLOG)
                except OSError as error:
                    if error.errno in _ABSENT and len(found) > 1 and (self._listeners or address != found[-1][4]):
                        continue  # an address of an IP version that this machine lacks
                    raise
                listener.setblocking(False)
                self._listeners.append(listener)
        except BaseException:
            self._close_listeners()
            raise
        for listener in self._listeners:
            self._start(self._accept(listener))

    async def _stop_accepting(self) -> None:
        """Stops accepting, and drops connections in their TLS handshake.  May be called again."""
        for task in self._accepting:
            task.cancel()
        try:
            if self._accepting:
                await asyncio.wait(self._accepting)
        finally:
            self._close_listeners()

    def _close_listeners(self) -> None:
        for listener in self._listeners:
            listener.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._accepting.add(task)
        task.add_done_callback(self._accepting.discard)
        return task

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            for number in range(_ACCEPTS):
                try:
                    accepted, address = await loop.sock_accept(listener)
                except OSError as error:
                    if error.errno in NO_ROOM and number:
                        await asyncio.sleep(_SOON_SECONDS)
                    elif error.errno in NO_ROOM:
                        loop.call_exception_handler({"message": "no connection can be accepted", "exception": error})
                        await asyncio.sleep(RETRY_SECONDS)
                    break  # otherwise the connection was gone before it was accepted
                place = self.admission.admit(address, loop.time())
                if place is None:
                    accepted.close()
                else:
                    joined = self._socket(place)
                    self._start(self._welcome(accepted, joined)).add_done_callback(partial(self._welcomed, accepted, joined))
            await asyncio.sleep(0)  # so that fast arrivals do not starve the event loop

    async def _welcome(self, accepted: socket.socket, joined: _Socket[G]) -> None:
        seconds = None if self._tls is None else self.admission.limits.tls_seconds
        with suppress(OSError):  # no TLS, or not in time: ssl's errors are OSErrors
            await asyncio.get_running_loop().connect_accepted_socket(
                joined.opening, accepted, ssl=self._tls, ssl_handshake_timeout=seconds
            )

    def _welcomed(self, accepted: socket.socket, joined: _Socket[G], task: asyncio.Task[None]) -> None:
        """Called when the task is over, even if it was cancelled before it began."""
        if not joined.made:
            accepted.close()
            joined.place.leave()

    # --- turns ---------------------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Schedules a turn, because something may have happened."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _call(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(work)

    def _turn(self) -> None:
        """Runs one turn, and schedules the next one: at once, or by a timer."""
        self._scheduled = False
        now = self._loop.time()
        try:
            self._run_turn(now)
        except BaseException:  # raised by the host: reported to the event loop, while the others go on
            self.wake()
            raise
        due = self._next_turn(now)
        if due is None or self._scheduled:
            return
        if due <= now:
            self.wake()
        elif self._timer is None or due < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(due, self._timed)

    def _timed(self) -> None:
        """Runs a turn when the timer fires.  A timer that fires too early costs less than setting one in every turn."""
        self._timer = None
        self.wake()

    def join(self, transport: asyncio.Transport) -> G:
        """Returns the guest for a new socket."""
        return self._connect()


class _Opening(asyncio.BufferedProtocol):
    """The protocol of one client's socket before its login: small reads, all into one shared buffer."""

    def __init__(self, socket: asyncio.Protocol, buffer: memoryview) -> None:
        self._buffer: Final = buffer
        self._socket: Final = socket
        self.connection_made: Final = socket.connection_made
        self.connection_lost: Final = socket.connection_lost
        self.eof_received: Final = socket.eof_received
        self.pause_writing: Final = socket.pause_writing
        self.resume_writing: Final = socket.resume_writing

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._socket.data_received(bytes(self._buffer[:nbytes]))


class _Socket(asyncio.Protocol, BaseSocket[G]):
    """One client's socket."""

    def __init__(self, server: Server[G], place: AdmittedConnection) -> None:
        super().__init__(place)
        self.over: Final[asyncio.Future[None]] = asyncio.get_running_loop().create_future()
        self.made = False
        """Whether it has its transport, and will be notified when the connection is lost."""
        self._server: Final = server
        self._transport: asyncio.Transport | None = None
        self._writable = True
        self._reading = True
        self._eof = False
        self._last: asyncio.TimerHandle | None = None  # aborts a closed socket whose octets are not all written

    def opening(self) -> asyncio.BaseProtocol:
        """Returns the transport's protocol until the client has logged in."""
        return _Opening(self, self._server.buffer)

    @property
    def client(self) -> str:
        """The client's address, as host:port; "?" when it is unknown."""
        name = None if self._transport is None else self._transport.get_extra_info("peername")
        return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "?"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.made = True
        self._transport = transport
        try:
            self.guest = self._join(transport)
        except BaseException:  # reported to the event loop, while the others go on
            transport.set_protocol(asyncio.Protocol())  # there is no guest to notify
            transport.abort()
            self.place.leave()
            raise
        self._server._sockets[self.guest] = self
        self._server.wake()

    def _join(self, transport: asyncio.Transport) -> G:
        return self._server.join(transport)

    def data_received(self, data: bytes) -> None:
        self.guest.receive_data(data)
        if not self.opened:
            self._server._asking[self] = None
        if not self.guest.wants_data and self._reading and self._transport is not None:
            self._transport.pause_reading()
            self._reading = False
            self._server._paused[self] = None
        self._server.wake()

    def eof_received(self) -> bool:
        self._end()
        tls = self._transport is not None and self._transport.get_extra_info("sslcontext") is not None
        return not tls  # half-closed: the rest is still written; TLS has no half-close

    def connection_lost(self, error: Exception | None) -> None:
        self._end()
        self.guest.writable = True  # there is nothing to wait for
        if self._last is not None:
            self._last.cancel()
        if not self.over.done():
            self.over.set_result(None)
        self._server._forget(self)

    def pause_writing(self) -> None:
        self.guest.writable = self._writable = False

    def resume_writing(self) -> None:
        self.guest.writable = self._writable = True
        if not self._reading:
            self._server._paused[self] = None
        self.transmit()
        self._server.wake()

    def transmit(self) -> None:
        """Writes the guest's octets while the socket takes them; the rest stays with the guest."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        while self._writable and not transport.is_closing() and (octets := self._take()):
            transport.write(octets)
        if self.has_opened():
            transport.set_protocol(self)
        if self.guest.finished:
            transport.close()
            self._last = asyncio.get_running_loop().call_later(CLOSE_SECONDS, transport.abort)  # if the client stops reading
        else:
            self.resume()

    def _take(self) -> bytes:
        return self.guest.data_to_send()

    def resume(self) -> None:
        """Reads again if the guest wants data."""
        if not self._reading and self.guest.wants_data and self._transport is not None:
            self._reading = True
            self._server._paused.pop(self, None)
            self._transport.resume_reading()

    def look(self) -> None:
        """Reads again if the guest wants data.  One that waits for its socket is checked when the socket takes octets again."""
        self.resume()
        if not self._writable and self.guest.full:
            self._server._paused.pop(self, None)

    @property
    def unwritten(self) -> int:
        """Octets handed to the transport and not yet written."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Closes the socket once the octets handed to it are written."""
        if self._transport is not None and not self._transport.is_closing():  # closed twice, asyncio's TLS forgets its socket
            self._transport.close()

    def abort(self) -> None:
        """Closes the socket at once."""
        if self._transport is not None:
            self._transport.abort()

    def _end(self) -> None:
        if not self._eof:
            self._eof = True
            self.guest.receive_eof()
            self._server.wake()


def serve(
    host: Host[G],
    connect: Callable[[], G],
    address: str = "127.0.0.1",
    port: int = 5672,
    *,
    tls: ssl.SSLContext | None = None,
    limits: ServerLimits = DEFAULT_SERVER_LIMITS,
) -> Server[G]:
    """Serves a broker, or a server of your own, on a socket address: `serve(broker, broker.connect)`.

    Port 0 picks a free one.  Raises OSError when the address cannot be bound.
    """
    check_settings("serve", address=address, port=port, tls=tls, limits=limits)
    return Server(host, connect, (address, port), tls, limits)
