"""The server side on asyncio: sockets for a broker, or for a server of one's own."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from amqp_sansio.adapters.admission import OPENING_READ, Admission, Place, checked
from amqp_sansio.adapters.asyncio.accepting import Acceptor
from amqp_sansio.config import Accepted, Rejected
from amqp_sansio.conversation.hosting import Guest, Host
from amqp_sansio.limits import DEFAULT_SERVER_LIMITS, ServerLimits

G = TypeVar("G", bound=Guest)

TURN: Final = 500
"""Events at most before the loop has its turn."""
CLOSE_SECONDS: Final = 5.0
"""How long the octets that are left may take to go out, at the end."""
QUIET_SECONDS: Final = 1.0
"""Seconds without any progress, after which the server no longer waits for silent clients at its end."""


class Server(Generic[G]):
    """Listens, and joins sockets to what `serve` was given; to be used as `async with serve(...) as server`."""

    def __init__(
        self,
        host: Host[G],
        connect: Callable[[], G],
        where: tuple[str, int],
        tls: ssl.SSLContext | None,
        limits: ServerLimits = DEFAULT_SERVER_LIMITS,
    ) -> None:
        self.host: Final = host
        self.admission: Final = Admission(limits, tls is not None)
        """How many connections there are, and how many found no room."""
        self.buffer: Final = memoryview(bytearray(OPENING_READ))
        """Where the octets of all connections that are not open arrive, one after another."""
        self._acceptor: Final = Acceptor(lambda place: _Socket(self, connect, place), tls, self.admission)
        self._where: Final = where
        self._sockets: Final[dict[G, _Socket[G]]] = {}
        self._opening: Final[dict[_Socket[G], None]] = {}  # those that are not open
        self._checks: ThreadPoolExecutor | None = None
        self._loop: asyncio.AbstractEventLoop  # from the begin on
        self._timer: asyncio.TimerHandle | None = None
        self._scheduled = False
        self._paused: Final[dict[_Socket[G], None]] = {}

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self._acceptor.listen(*self._where)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens: host and port."""
        return self._acceptor.address

    async def close(self) -> None:
        """Listens no more, and closes every socket once its octets are written."""
        await self._acceptor.close()
        if self._timer is not None:
            self._timer.cancel()
        self.admission.logins.stop()
        if self._checks is not None:
            self._checks.shutdown(wait=False, cancel_futures=True)
        for each in self._open_ones():
            each.close()
        await self._all_over()
        for each in self._open_ones():
            each.abort()
        await asyncio.sleep(0)

    def _open_ones(self) -> list[_Socket[G]]:
        return [each for each in self._sockets.values() if not each.over.done()]

    async def _all_over(self) -> None:
        """Until all sockets are gone, as long as some of them get on: CLOSE_SECONDS in all."""
        until = self._loop.time() + CLOSE_SECONDS
        before = None
        while (left := until - self._loop.time()) > 0 and (waiting := self._open_ones()):
            now = len(waiting), sum([each.unwritten for each in waiting])
            if now == before:
                return
            before = now
            await asyncio.wait([each.over for each in waiting], timeout=min(left, QUIET_SECONDS))

    async def serve_forever(self) -> None:
        """Until it is cancelled."""
        await asyncio.get_running_loop().create_future()

    # --- turns ---------------------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Something may have happened: a turn follows."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """The host ticks, what came happens, octets go out; then the next turn is set up."""
        self._scheduled = False
        now = self._loop.time()
        self.host.tick(now)
        try:
            for _ in range(TURN):
                if self.host.next_event() is None:
                    break
        except BaseException:  # of a server of one's own: told to the loop, and the others go on
            self.wake()
            raise
        self._check()
        self.settle()
        self.transmit()
        for socket in list(self._paused):
            socket.look()
        self._wait(now)

    def _wait(self, now: float) -> None:
        """Sees to it that the next turn comes when the host wants it: at once, or by a timer."""
        due = self.host.due
        if due is None or self._scheduled:
            return
        if due <= now:
            self.wake()
        elif self._timer is None or due < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(due, self._timed)

    def _timed(self) -> None:
        """One that goes off too early costs less than one that is set in every turn."""
        self._timer = None
        self.wake()

    def _check(self) -> None:
        """Passwords are checked in threads, a few at once: the loop goes on meanwhile, and so does everybody else."""
        for socket in self._opening:
            decide = socket.guest.take_deferred()
            if decide is not None:
                self.admission.logins.wait(socket.place, partial(self._begin, socket, decide))

    def _begin(self, socket: _Socket[G], decide: Callable[[], Accepted | Rejected]) -> None:
        if self._checks is None:
            self._checks = ThreadPoolExecutor(self.admission.limits.logins, "amqp login")
        self._loop.run_in_executor(self._checks, checked, decide).add_done_callback(socket.decided)

    def settle(self) -> None:
        """What is to be done between events and octets: nothing here."""

    def transmit(self) -> None:
        """Sends what there is to guests whose sockets take it."""
        for guest in self.host.ready():
            socket = self._sockets.get(guest)
            if socket is not None:
                socket.transmit()

    def entered(self, guest: G, socket: _Socket[G]) -> None:
        """A client came."""
        self._sockets[guest] = socket
        self._opening[socket] = None

    def opened(self, socket: _Socket[G]) -> None:
        """It has logged in."""
        del self._opening[socket]
        socket.place.open()

    def left(self, guest: G) -> None:
        """Its socket is gone."""
        socket = self._sockets.pop(guest, None)
        if socket is not None:
            self._paused.pop(socket, None)
            socket.place.leave()
            self._opening.pop(socket, None)

    def paused(self, socket: _Socket[G]) -> None:
        """It is not read before its guest wants more: the server looks in every turn whether it does."""
        self._paused[socket] = None

    def left_alone(self, socket: _Socket[G]) -> None:
        """It is read again, or will look itself."""
        self._paused.pop(socket, None)


class _Opening(asyncio.BufferedProtocol):
    """One client's socket before the client has logged in: what comes is read in small pieces, and by all into one buffer."""

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


class _Socket(asyncio.Protocol, Generic[G]):
    """One client's socket."""

    def __init__(self, server: Server[G], connect: Callable[[], G], place: Place) -> None:
        self.over: Final[asyncio.Future[None]] = asyncio.get_running_loop().create_future()
        self.made = False
        self.place: Final = place
        self.guest: G  # from connection_made on
        self._server: Final = server
        self._connect: Final = connect
        self._transport: asyncio.Transport | None = None
        self._open = False
        self._writable = True
        self._reading = True
        self._eof = False
        self._last: asyncio.TimerHandle | None = None  # when it is closed though not all is written

    def opening(self) -> asyncio.BaseProtocol:
        """What the transport speaks to until the client has logged in."""
        return _Opening(self, self._server.buffer)

    @property
    def client(self) -> str:
        """The client's address, as host:port; "?" when nobody knows."""
        name = None if self._transport is None else self._transport.get_extra_info("peername")
        return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "?"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.made = True
        self._transport = transport
        try:
            self.guest = self._connect()
        except BaseException:  # told to the loop, and the others go on
            transport.set_protocol(asyncio.Protocol())  # nobody is there to hear of it
            transport.abort()
            self.place.leave()
            raise
        self._server.entered(self.guest, self)
        self._server.wake()

    def data_received(self, data: bytes) -> None:
        self.guest.receive_data(data)
        if not self.guest.wants_data and self._reading and self._transport is not None:
            self._transport.pause_reading()
            self._reading = False
            self._server.paused(self)
        self._server.wake()

    def eof_received(self) -> bool:
        self._end()
        tls = self._transport is not None and self._transport.get_extra_info("sslcontext") is not None
        return not tls  # what is still to be written is written; TLS has no such half

    def connection_lost(self, error: Exception | None) -> None:
        self._end()
        self.guest.writable = True  # there is nothing to wait for
        if self._last is not None:
            self._last.cancel()
        if not self.over.done():
            self.over.set_result(None)
        self._server.left(self.guest)

    def decided(self, future: asyncio.Future[Accepted | Rejected]) -> None:
        """The password was checked."""
        self._server.admission.logins.done()
        if not future.cancelled():
            self.guest.decided(future.result())
            self._server.wake()

    def pause_writing(self) -> None:
        self.guest.writable = self._writable = False

    def resume_writing(self) -> None:
        self.guest.writable = self._writable = True
        if not self._reading:
            self._server.paused(self)
        self.transmit()
        self._server.wake()

    def transmit(self) -> None:
        """Writes what there is, if the socket takes it: else the octets stay, and the host makes no more of them."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        while self._writable and not transport.is_closing() and (octets := self.guest.data_to_send()):
            transport.write(octets)
        if not self._open and self.guest.is_open:
            self._open = True
            self._server.opened(self)
            transport.set_protocol(self)
        if self.guest.finished:
            transport.close()
            self._last = asyncio.get_running_loop().call_later(CLOSE_SECONDS, transport.abort)  # where nobody reads the rest
        else:
            self.resume()

    def resume(self) -> None:
        """Reads on, if the guest wants it again."""
        if not self._reading and self.guest.wants_data and self._transport is not None:
            self._reading = True
            self._server.left_alone(self)
            self._transport.resume_reading()

    def look(self) -> None:
        """Reads on, if the guest wants it again.  One that waits for its socket is looked at when that takes octets."""
        self.resume()
        if not self._writable and self.guest.full:
            self._server.left_alone(self)

    @property
    def unwritten(self) -> int:
        """Octets that were taken and not written."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def close(self) -> None:
        """What was taken is written, then the socket is closed."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """The socket is closed at once."""
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
    """Serves a broker, or a server of one's own, on a socket address: `serve(broker, broker.connect)`.

    Port 0 picks a free one.  OSError when the address cannot be had.
    """
    return Server(host, connect, (address, port), tls, limits)
