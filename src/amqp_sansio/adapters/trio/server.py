"""The server side on trio: sockets for a broker, or for a server of your own."""

from __future__ import annotations

import math
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import trio

from amqp_sansio.adapters.base_server import (
    CLOSE_SECONDS,
    LOG,
    NO_ROOM,
    OPENING_READ,
    READ,
    RETRY_SECONDS,
    TURN,
    AdmittedConnection,
    BaseServer,
    BaseSocket,
    G,
)
from amqp_sansio.adapters.settings import check_settings
from amqp_sansio.adapters.trio.nurseries import hidden_nursery
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.hosting import Host, load
from amqp_sansio.kernel.timers import AT_ONCE
from amqp_sansio.limits import DEFAULT_SERVER_LIMITS, ServerLimits

__all__ = ["CLOSE_SECONDS", "READ", "TURN", "G", "Server", "serve"]


class Server(BaseServer[G, "_Socket[G]"]):
    """Connects sockets to a host; `serve` returns it."""

    def __init__(self, host: Host[G], connect: Callable[[], G], limits: ServerLimits, tls: bool) -> None:
        super().__init__(host, connect, limits, tls)
        self.address: tuple[str, int] = ("", 0)
        """The listening address: host and port."""
        self._token: Final = trio.lowlevel.current_trio_token()
        self._woken = trio.Event()
        self._now = AT_ONCE  # the time of the last turn
        self._ahead: Final = trio.current_time() - time.monotonic()
        """trio's clock starts at a random value; the host's is `time.monotonic`, which matches its `epoch`."""

    def wake(self) -> None:
        """Schedules a turn, because something may have happened."""
        self._woken.set()

    def _call(self, work: Callable[[], None]) -> None:
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(work)

    async def turns(self) -> None:
        """Runs turns for ever."""
        while True:
            self._woken = trio.Event()
            self._turn()
            await trio.lowlevel.checkpoint()
            due = self._next_turn(self._now)
            with trio.move_on_at(math.inf if due is None else due + self._ahead):
                await self._woken.wait()

    def _turn(self) -> None:
        self._now = trio.current_time() - self._ahead
        self._run_turn(self._now)

    async def listen(self, listener: trio.abc.Listener[Any], nursery: trio.Nursery) -> None:
        """Accepts connections until the listener is closed, as many as the limits allow."""
        while True:
            try:
                stream = await listener.accept()
            except trio.ClosedResourceError:
                return
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
                LOG.warning("no connection can be accepted: %s", error.strerror)
                await trio.sleep(RETRY_SECONDS)
                continue
            place = self.admission.admit(_address(stream), trio.current_time())
            if place is None:
                await trio.aclose_forcefully(stream)
            else:
                nursery.start_soon(self.attend, stream, place)

    def taken(self) -> None:
        """Called when octets were taken to be sent, which may let the host or paused guests go on."""
        due = self.host.due
        if self._paused or (due is not None and due <= self._now):
            self.wake()

    async def attend(self, stream: trio.abc.Stream, place: AdmittedConnection) -> None:
        """Runs one client, from its socket to its end."""
        try:
            guest = self._connect()
        except Exception:  # logged, while the others go on
            LOG.exception("a connection is closed: connect raised")
            place.leave()
            await trio.aclose_forcefully(stream)
            return
        socket = self._sockets[guest] = _Socket(self, guest, stream, place)
        try:
            self.wake()
            await socket.run()
        finally:
            self._forget(socket)
            guest.receive_eof()
            self.wake()

    async def end(self) -> None:
        """Writes the octets taken from guests, then closes the sockets."""
        self._stop_checks()
        with trio.move_on_after(CLOSE_SECONDS):
            for socket in list(self._sockets.values()):
                await socket.finish()


class _Socket(BaseSocket[G]):
    """One client's socket."""

    def __init__(self, server: Server[G], guest: G, stream: trio.abc.Stream, place: AdmittedConnection) -> None:
        super().__init__(place)
        self.guest = guest
        self._server: Final = server
        self._stream: Final = stream
        self._woken = trio.Event()
        self._wanted = trio.Event()
        self._idle = trio.Event()
        self._over = False
        self._pausing = False
        self._scope: Final = trio.CancelScope()

    def transmit(self) -> None:
        """Wakes the writer: there may be octets to write, or the guest has finished, which sets a deadline for the rest."""
        self._woken.set()
        if self.guest.finished and self._scope.deadline == math.inf:
            self._scope.deadline = trio.current_time() + CLOSE_SECONDS

    async def finish(self) -> None:
        """Waits until the octets taken are written; no more are taken."""
        self._over = True
        self.transmit()
        await self._idle.wait()

    async def run(self) -> None:
        """Runs until the socket is to be closed."""
        try:
            with self._scope:
                async with self._stream, hidden_nursery() as nursery:
                    nursery.start_soon(self._read)
                    await self._write()
                    nursery.cancel_scope.cancel()
        finally:
            self._idle.set()

    async def _read(self) -> None:
        while not self.guest.finished:
            if not self.guest.wants_data:
                await self._pause()
                continue
            try:
                octets = await self._stream.receive_some(READ if self.opened else OPENING_READ)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                octets = b""
            if not octets:
                self.guest.receive_eof()
                self._server.wake()
                return
            self.guest.receive_data(bytes(octets))
            if not self.opened:
                self._server._asking[self] = None
            self._server.wake()

    async def _pause(self) -> None:
        self._wanted = trio.Event()
        self._pausing = True
        self._server._paused[self] = None
        try:
            await self._wanted.wait()
        finally:
            self._pausing = False
            self._server._paused.pop(self, None)

    def look(self) -> None:
        """Reads again if the guest wants data.  One that waits for its socket is checked when its octets are taken."""
        if self.guest.wants_data or self.guest.finished:
            self._wanted.set()
        elif self.guest.full and not self.guest.writable:
            self._server._paused.pop(self, None)
        elif self._pausing:
            self._server._paused[self] = None

    async def _write(self) -> None:
        while True:
            self._woken = trio.Event()
            octets = b"" if self._over else self.guest.data_to_send()
            self.has_opened()
            if octets:
                self.guest.writable = False
                self.look()
                self._server.taken()
                try:
                    await self._stream.send_all(octets)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return  # a reset, or a client that does not speak TLS
                finally:
                    self.guest.writable = True
            elif self.guest.finished or self._over:
                return
            else:
                await self._woken.wait()


def _address(stream: trio.abc.Stream) -> object:
    """Returns the client's socket address; None when the socket is gone, or the stream has none."""
    inner = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
    try:
        return inner.socket.getpeername() if isinstance(inner, trio.SocketStream) else None
    except OSError:
        return None


@asynccontextmanager
async def serve(
    host: Host[G],
    connect: Callable[[], G],
    address: str = "127.0.0.1",
    port: int = 5672,
    *,
    tls: ssl.SSLContext | None = None,
    limits: ServerLimits = DEFAULT_SERVER_LIMITS,
) -> AsyncIterator[Server[G]]:
    """Serves a broker, or a server of your own, on a socket address: `async with serve(broker, broker.connect) as server`.

    Port 0 picks a free one.  Raises OSError when the address cannot be bound.
    """
    check_settings("serve", address=address, port=port, tls=tls, limits=limits)
    load(ServerConfig())
    listeners = await trio.open_tcp_listeners(port, host=address)
    secured: list[trio.abc.Listener[Any]] = [*listeners]  # Any: of plain streams, or of streams under TLS
    if tls is not None:
        secured = [trio.SSLListener(each, tls, https_compatible=True) for each in listeners]
    server = Server(host, connect, limits, tls is not None)
    found = listeners[0].socket.getsockname()
    server.address = (str(found[0]), int(found[1]))

    try:
        async with hidden_nursery() as nursery:
            nursery.start_soon(server.turns)
            for each in secured:
                nursery.start_soon(server.listen, each, nursery)
            try:
                yield server
            finally:
                with trio.CancelScope(shield=True):
                    for each in secured:
                        await each.aclose()
                    await server.end()
                nursery.cancel_scope.cancel()
    finally:
        server._hear_out()
