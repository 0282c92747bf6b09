"""The server side on trio: sockets for a broker, or for a server of one's own."""

from __future__ import annotations

import math
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, Generic, TypeVar

import trio

from amqp_sansio.adapters.admission import LOG, NO_ROOM, OPENING_READ, RETRY_SECONDS, Admission, Place, checked
from amqp_sansio.config import Accepted, Rejected, ServerConfig
from amqp_sansio.conversation.hosting import Guest, Host, load
from amqp_sansio.kernel.deadlines import AT_ONCE
from amqp_sansio.limits import DEFAULT_SERVER_LIMITS, ServerLimits

G = TypeVar("G", bound=Guest)

TURN: Final = 500
"""Events at most before the loop has its turn."""
READ: Final = 256 * 1024
"""Octets read at once."""
CLOSE_SECONDS: Final = 5.0
"""How long the octets that are left may take to go out, at the end."""


class Server(Generic[G]):
    """What `serve` gives: joins sockets to a host."""

    def __init__(self, host: Host[G], connect: Callable[[], G], limits: ServerLimits, tls: bool) -> None:
        self.host: Final = host
        self.admission: Final = Admission(limits, tls)
        """How many connections there are, and how many found no room."""
        self.address: tuple[str, int] = ("", 0)
        """Where it listens: host and port."""
        self._connect: Final = connect
        self._sockets: Final[dict[G, _Socket[G]]] = {}
        self.paused: Final[dict[_Socket[G], None]] = {}
        """Sockets that are not read before their guests want more."""
        self.opening: Final[dict[_Socket[G], None]] = {}
        """Whose client has not logged in."""
        self._logins: Final = trio.CapacityLimiter(limits.logins)
        self._woken = trio.Event()
        self._now = AT_ONCE  # of the last turn
        self._ahead: Final = trio.current_time() - time.monotonic()
        """trio's clock begins at random: the host's is `time.monotonic`, so that it agrees with its `epoch`."""

    def wake(self) -> None:
        """Something may have happened: a turn follows."""
        self._woken.set()

    async def turns(self, nursery: trio.Nursery) -> None:
        """Lets the host do what there is to do, for ever."""
        while True:
            self._woken = trio.Event()
            self._turn(nursery)
            await trio.lowlevel.checkpoint()
            due = self.host.due
            with trio.move_on_at(math.inf if due is None else due + self._ahead):
                await self._woken.wait()

    def _turn(self, nursery: trio.Nursery) -> None:
        """The host ticks, what came happens, and whoever has octets to write is woken."""
        self._now = trio.current_time() - self._ahead
        self.host.tick(self._now)
        for _ in range(TURN):
            if self.host.next_event() is None:
                break
        for opening in self.opening:
            if (decide := opening.guest.take_deferred()) is not None:
                self.admission.logins.wait(opening.place, partial(nursery.start_soon, self._check, opening.guest, decide))
        for guest in self.host.ready():
            socket = self._sockets.get(guest)
            if socket is not None:
                socket.wake()
        for socket in list(self.paused):
            socket.resume()

    async def listen(self, listener: trio.abc.Listener[Any], nursery: trio.Nursery) -> None:
        """Accepts connections for ever, as many as there is room for."""
        while True:
            try:
                stream = await listener.accept()
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

    async def _check(self, guest: G, decide: Callable[[], Accepted | Rejected]) -> None:
        """Finds out in a thread whether a password is right, a few at once: nobody else waits meanwhile."""
        try:
            guest.decided(await trio.to_thread.run_sync(checked, decide, limiter=self._logins))
        finally:
            self.admission.logins.done()
        self.wake()

    def taken(self) -> None:
        """Octets are about to be sent, however long that takes: that they were taken may have set others going."""
        due = self.host.due
        if self.paused or (due is not None and due <= self._now):
            self.wake()

    async def attend(self, stream: trio.abc.Stream, place: Place) -> None:
        """One client, from its socket to its end."""
        try:
            guest = self._connect()
        except Exception:  # told to the log, and the others go on
            LOG.exception("a connection is closed: connect raised")
            place.leave()
            await trio.aclose_forcefully(stream)
            return
        socket = self._sockets[guest] = _Socket(self, guest, stream, place)
        self.opening[socket] = None
        try:
            self.wake()
            await socket.run()
        finally:
            del self._sockets[guest]
            place.leave()
            self.opening.pop(socket, None)
            guest.receive_eof()
            self.wake()

    async def end(self) -> None:
        """What was taken is written, then the sockets are closed."""
        with trio.move_on_after(CLOSE_SECONDS):
            for socket in list(self._sockets.values()):
                await socket.finish()


class _Socket(Generic[G]):
    """One client's socket."""

    def __init__(self, server: Server[G], guest: G, stream: trio.abc.Stream, place: Place) -> None:
        self._server: Final = server
        self.guest: Final = guest
        self.place: Final = place
        self._stream: Final = stream
        self._woken = trio.Event()
        self._wanted = trio.Event()
        self._idle = trio.Event()
        self._over = False
        self._pausing = False
        self._scope: Final = trio.CancelScope()

    def wake(self) -> None:
        """There may be octets to write, or it is the end: what was taken is written as far as that goes in its time."""
        self._woken.set()
        if self.guest.finished and self._scope.deadline == math.inf:
            self._scope.deadline = trio.current_time() + CLOSE_SECONDS

    async def finish(self) -> None:
        """Until what was taken is written; nothing more is taken."""
        self._over = True
        self.wake()
        await self._idle.wait()

    async def run(self) -> None:
        """Until the socket is to be closed."""
        try:
            with self._scope:
                async with self._stream, trio.open_nursery() as nursery:
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
                octets = await self._stream.receive_some(OPENING_READ if self in self._server.opening else READ)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                octets = b""
            if not octets:
                self.guest.receive_eof()
                self._server.wake()
                return
            self.guest.receive_data(bytes(octets))
            self._server.wake()

    async def _pause(self) -> None:
        self._wanted = trio.Event()
        self._pausing = True
        self._server.paused[self] = None
        try:
            await self._wanted.wait()
        finally:
            self._pausing = False
            self._server.paused.pop(self, None)

    def resume(self) -> None:
        """Reads on, if the guest wants it again.  One that waits for its socket is looked at when its octets are taken."""
        if self.guest.wants_data or self.guest.finished:
            self._wanted.set()
        elif self.guest.full and not self.guest.writable:
            self._server.paused.pop(self, None)
        elif self._pausing:
            self._server.paused[self] = None

    async def _write(self) -> None:
        while True:
            self._woken = trio.Event()
            octets = b"" if self._over else self.guest.data_to_send()
            if self in self._server.opening and self.guest.is_open:
                del self._server.opening[self]
                self.place.open()
            if octets:
                self.guest.writable = False
                self.resume()
                self._server.taken()
                try:
                    await self._stream.send_all(octets)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return  # a reset, or a client that cannot do TLS
                finally:
                    self.guest.writable = True
            elif self.guest.finished or self._over:
                return
            else:
                await self._woken.wait()


def _address(stream: trio.abc.Stream) -> object:
    """Of the other end, as sockets tell it; None when it is gone, or no socket."""
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
    """Serves a broker, or a server of one's own, on a socket address: `async with serve(broker, broker.connect) as server`.

    Port 0 picks a free one.  OSError when the address cannot be had.
    """
    if not 0 <= port <= 65535:
        raise OverflowError(f"a port is 0 to 65535, not {port}")  # another one would be cut to 16 bits without a word
    load(ServerConfig())
    listeners = await trio.open_tcp_listeners(port, host=address)
    secured: list[trio.abc.Listener[Any]] = [*listeners]  # Any: of plain streams, or of streams under TLS
    if tls is not None:
        secured = [trio.SSLListener(each, tls, https_compatible=True) for each in listeners]
    server = Server(host, connect, limits, tls is not None)
    found = listeners[0].socket.getsockname()
    server.address = (str(found[0]), int(found[1]))

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.turns, nursery)
            for each in secured:
                nursery.start_soon(server.listen, each, nursery)
            try:
                yield server
            finally:
                with trio.CancelScope(shield=True):
                    await server.end()
                nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        # What is in there alone is what the block, or the host, raised: it is told as it was raised.
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from group.exceptions[0].__cause__
        raise
