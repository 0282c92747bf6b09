"""The server side on trio: sockets for a broker, or for a server of one's own."""

from __future__ import annotations

import math
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Generic, TypeVar

import trio

from amqp_sansio.conversation.hosting import Guest, Host

G = TypeVar("G", bound=Guest)

TURN: Final = 500
"""Events at most before the loop has its turn."""
READ: Final = 256 * 1024
"""Octets read at once."""
CLOSE_SECONDS: Final = 5.0
"""How long the octets that are left may take to go out, at the end."""


class Server(Generic[G]):
    """What `serve` gives: joins sockets to a host."""

    def __init__(self, host: Host[G], connect: Callable[[], G]) -> None:
        self.host: Final = host
        self.address: tuple[str, int] = ("", 0)
        """Where it listens: host and port."""
        self._connect: Final = connect
        self._sockets: Final[dict[G, _Socket[G]]] = {}
        self.paused: Final[dict[_Socket[G], None]] = {}
        """Who is not read before its guest wants more."""
        self._woken = trio.Event()

    def wake(self) -> None:
        """Something may have happened: a turn follows."""
        self._woken.set()

    async def turns(self) -> None:
        """Lets the host do what there is to do, for ever."""
        while True:
            self._woken = trio.Event()
            for _ in range(TURN):
                if self.host.next_event() is None:
                    break
            else:
                self.wake()
            due = self.host.tick(trio.current_time())
            for guest in self.host.ready():
                socket = self._sockets.get(guest)
                if socket is not None:
                    socket.wake()
            for socket in list(self.paused):
                socket.resume()
            await trio.lowlevel.checkpoint()
            with trio.move_on_at(math.inf if due is None else due):
                await self._woken.wait()

    async def attend(self, stream: trio.abc.Stream) -> None:
        """One client, from its socket to its end."""
        guest = self._connect()
        socket = self._sockets[guest] = _Socket(self, guest, stream)
        try:
            self.wake()
            await socket.run()
        finally:
            del self._sockets[guest]
            guest.receive_eof()
            self.wake()

    async def end(self) -> None:
        """What was taken is written, then the sockets are closed."""
        with trio.move_on_after(CLOSE_SECONDS):
            for socket in list(self._sockets.values()):
                await socket.finish()


class _Socket(Generic[G]):
    """One client's socket."""

    def __init__(self, server: Server[G], guest: G, stream: trio.abc.Stream) -> None:
        self._server: Final = server
        self._guest: Final = guest
        self._stream: Final = stream
        self._woken = trio.Event()
        self._wanted = trio.Event()
        self._idle = trio.Event()
        self._over = False

    def wake(self) -> None:
        """There may be octets to write."""
        self._woken.set()

    async def finish(self) -> None:
        """Until what was taken is written; nothing more is taken."""
        self._over = True
        self.wake()
        await self._idle.wait()

    async def run(self) -> None:
        """Until the socket is to be closed."""
        try:
            async with self._stream, trio.open_nursery() as nursery:
                nursery.start_soon(self._read)
                await self._write()
                nursery.cancel_scope.cancel()
        finally:
            self._idle.set()

    async def _read(self) -> None:
        while not self._guest.finished:
            if not self._guest.wants_data:
                await self._pause()
                continue
            try:
                octets = await self._stream.receive_some(READ)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                octets = b""
            if not octets:
                self._guest.receive_eof()
                self._server.wake()
                return
            self._guest.receive_data(bytes(octets))
            self._server.wake()

    async def _pause(self) -> None:
        self._wanted = trio.Event()
        self._server.paused[self] = None
        try:
            await self._wanted.wait()
        finally:
            self._server.paused.pop(self, None)

    def resume(self) -> None:
        """Reads on, if the guest wants it again."""
        if self._guest.wants_data or self._guest.finished:
            self._wanted.set()

    async def _write(self) -> None:
        while True:
            self._woken = trio.Event()
            octets = b"" if self._over else self._guest.data_to_send()
            if octets:
                try:
                    await self._stream.send_all(octets)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return  # a reset, or a client that cannot do TLS
                self._server.wake()
            elif self._guest.finished or self._over:
                return
            else:
                await self._woken.wait()


@asynccontextmanager
async def serve(
    host: Host[G], connect: Callable[[], G], address: str = "127.0.0.1", port: int = 5672, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server[G]]:
    """Serves a broker, or a server of one's own, on a socket address: `async with serve(broker, broker.connect) as server`.

    Port 0 picks a free one.  OSError when the address cannot be had.
    """
    if not 0 <= port <= 65535:
        raise OverflowError(f"a port is 0 to 65535, not {port}")  # another one would be cut to 16 bits without a word
    listeners = await trio.open_tcp_listeners(port, host=address)
    secured: list[trio.abc.Listener[Any]] = [*listeners]  # Any: of plain streams, or of streams under TLS
    if tls is not None:
        secured = [trio.SSLListener(each, tls, https_compatible=True) for each in listeners]
    server = Server(host, connect)
    found = listeners[0].socket.getsockname()
    server.address = (str(found[0]), int(found[1]))

    async def listen() -> None:
        await trio.serve_listeners(server.attend, secured)

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.turns)
            nursery.start_soon(listen)
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
