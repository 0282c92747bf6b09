"""The server side without an event loop: one thread with all sockets of a broker, or of a server of your own."""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from amqp_sansio.adapters.admission import LOG, NO_ROOM, OPENING_READ, RETRY_SECONDS, Admission, Place, checked
from amqp_sansio.adapters.settings import check_settings
from amqp_sansio.config import Accepted, Rejected, ServerConfig
from amqp_sansio.conversation.hosting import Guest, Host, load
from amqp_sansio.kernel.timers import AT_ONCE, earliest
from amqp_sansio.limits import DEFAULT_SERVER_LIMITS, ServerLimits

G = TypeVar("G", bound=Guest)

TURN: Final = 500
"""The most events before the sockets have their turn."""
READ: Final = 256 * 1024
"""Octets per read."""
CLOSE_SECONDS: Final = 5.0
"""Seconds that the remaining octets may take to be written at the end."""
_LOOK_SECONDS: Final = 1.0
"""Seconds after which `serve_forever` checks for a signal."""
_BLOCKED: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Server(Generic[G]):
    """Listens in a thread of its own, until the end of its block: `with serve(...) as server`.

    The server holds `lock` while it works on the host; hold it to look at the host from another thread.
    """

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
        """Counts connections, and those refused for lack of room."""
        self.lock: Final = threading.RLock()
        self.error: BaseException | None = None
        """The exception that the host raised, which ended the server."""
        self._connect: Final = connect
        self._tls: Final = tls
        family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        self._listener: Final = socket.create_server(where, family=family, backlog=100)
        self._listener.setblocking(False)
        self._selector: Final = selectors.DefaultSelector()
        self._poke_in, self._poke_out = socket.socketpair()
        self._sockets: Final[dict[G, _Socket[G]]] = {}
        self._paused: Final[dict[_Socket[G], None]] = {}
        self._gone: Final[list[_Socket[G]]] = []  # closed, and not yet removed from the sockets
        self._asking: Final[dict[_Socket[G], None]] = {}  # not open, and with octets that the host may not have read yet
        self._ending: Final[dict[_Socket[G], float]] = {}  # finished ones, with the deadline of their last octets
        self._checks: ThreadPoolExecutor | None = None
        self._deaf_until: float | None = None  # the system had no resources for a connection: no accepting before this
        self._stopped = False
        self._thread: Final = threading.Thread(target=self._run, name=f"serving at {where[0]}", daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """The listening address: host and port."""
        host, port = self._listener.getsockname()[:2]
        return str(host), int(port)

    def __enter__(self) -> Self:
        load(ServerConfig())
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._poke_in, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
        if error is None and self.error is not None:
            raise self.error

    def wake(self) -> None:
        """Makes the thread run a turn, because another thread has produced output."""
        with suppress(OSError):
            self._poke_out.send(b"!")

    def close(self) -> None:
        """Stops listening, and closes every socket once its octets are written.  May be called again."""
        self._stopped = True
        self.wake()
        self._thread.join()

    def cut(self) -> None:
        """Closes every socket without closing its connection, as a network failure does; new clients may connect."""
        with self.lock:
            for each in self._sockets.values():
                each.lose()
        self.wake()

    def serve_forever(self) -> None:
        """Serves until it is interrupted.  Raises the exception that the host raised, if any."""
        while self._thread.is_alive():
            self._thread.join(_LOOK_SECONDS)  # a signal just before an endless join would not end it
        if self.error is not None:
            raise self.error

    # --- the thread --------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            due: float | None = AT_ONCE
            while not self._stopped:
                due = earliest(due, self._deaf_until)
                wait = None if due is None else max(due - time.monotonic(), 0.0)
                for key, events in self._selector.select(wait):
                    self._serve(key, events)
                with self.lock:
                    due = self._turn()
        except BaseException as error:
            self.error = error
        finally:
            self._end()

    def _serve(self, key: selectors.SelectorKey, events: int) -> None:
        if key.fileobj is self._listener:
            self._accept()
        elif key.fileobj is self._poke_in:
            self._poke_in.recv(4096)
        else:
            with self.lock:
                if events & selectors.EVENT_READ:
                    key.data.read()
                    if not key.data.opened:
                        self._asking[key.data] = None
                if events & selectors.EVENT_WRITE:
                    key.data.write()

    def _accept(self) -> None:
        try:
            accepted, address = self._listener.accept()
        except OSError as error:
            if error.errno in NO_ROOM:
                LOG.warning("no connection can be accepted: %s", error.strerror)
                self._selector.unregister(self._listener)
                self._deaf_until = time.monotonic() + RETRY_SECONDS
            return  # otherwise the connection was gone before it was accepted
        place = self.admission.admit(address, time.monotonic())
        if place is None:
            accepted.close()
            return
        try:
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                accepted = self._tls.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False)
        except OSError:  # the connection was gone before it was accepted
            accepted.close()
            place.leave()
            return
        with self.lock:
            try:
                guest = self._connect()
            except Exception:  # logged, while the others go on
                LOG.exception("a connection is closed: connect raised")
                place.leave()
                accepted.close()
                return
            self._sockets[guest] = _Socket(guest, place, accepted, self._selector, self._paused, self._gone)

    def _check(self) -> None:
        """Starts password checks in threads, a few at once, so that no other client waits."""
        for joined in self._asking:
            if (decide := joined.guest.take_deferred()) is not None:
                self.admission.logins.wait(joined.place, partial(self._begin, joined.guest, decide))

    def _begin(self, guest: G, decide: Callable[[], Accepted | Rejected]) -> None:
        if self._checks is None:
            self._checks = ThreadPoolExecutor(self.admission.limits.logins, "amqp login")
        self._checks.submit(checked, decide).add_done_callback(partial(self._decided, guest))

    def _decided(self, guest: G, future: Future[Accepted | Rejected]) -> None:
        with self.lock:
            self.admission.logins.done()
            if not future.cancelled():
                guest.decided(future.result())
        self.wake()

    def _turn(self) -> float | None:
        """Runs one turn: the host ticks, handles events and sends octets.  Returns the moment of the next turn."""
        self.host.tick(time.monotonic())
        for _ in range(TURN):
            if self.host.next_event() is None:
                break
        if self._deaf_until is not None and time.monotonic() >= self._deaf_until:
            self._deaf_until = None
            self._selector.register(self._listener, selectors.EVENT_READ)
        self._check()
        for guest in self.host.ready():
            if guest in self._sockets:
                self._sockets[guest].write()
                if guest.finished:
                    self._ending[self._sockets[guest]] = time.monotonic() + CLOSE_SECONDS
        for each in list(self._paused):
            each.watch()
        now = time.monotonic()
        for each in [each for each, until in self._ending.items() if each.over or now >= until]:
            del self._ending[each]
            each.lose()
        while self._gone:
            gone = self._gone.pop()
            del self._sockets[gone.guest]
            self._asking.pop(gone, None)
            gone.place.leave()
        due = self.host.due
        if due is None or due > now:
            self._asking.clear()  # everything is read
        return earliest(due, *self._ending.values())

    def _end(self) -> None:
        self._listener.close()
        self.admission.logins.stop()
        if self._checks is not None:
            self._checks.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + CLOSE_SECONDS
        with self.lock:
            for each in self._sockets.values():
                each.finish(until)
        self._sockets.clear()
        self._selector.close()
        self._poke_in.close()
        self._poke_out.close()


class _Socket(Generic[G]):
    """One client's socket."""

    def __init__(
        self,
        guest: G,
        place: Place,
        connected: socket.socket,
        selector: selectors.BaseSelector,
        paused: dict[_Socket[G], None],
        gone: list[_Socket[G]],
    ) -> None:
        self.over = False
        self.opened = False
        """Whether the client has logged in."""
        self.guest: Final = guest
        self.place: Final = place
        self._socket: Final = connected
        self._selector: Final = selector
        self._paused: Final = paused
        self._gone: Final = gone
        self._unsent: bytes | memoryview = b""
        self._events = selectors.EVENT_READ
        self._eof = False
        selector.register(connected, self._events, self)

    def read(self) -> None:
        """Reads available octets while the guest wants data."""
        while not self.over and not self._eof and self.guest.wants_data:
            try:
                octets = self._socket.recv(READ if self.opened else OPENING_READ)
            except _BLOCKED:
                break
            except OSError:
                octets = b""
            if not octets:
                self._eof = True
                self.guest.receive_eof()
            else:
                self.guest.receive_data(octets)
            if not isinstance(self._socket, ssl.SSLSocket):
                break  # else TLS may have deciphered more already
        self.watch()

    def write(self) -> None:
        """Writes the guest's octets as far as the socket takes them; the rest stays with the guest."""
        if self.over:
            return
        try:
            while self._unsent or self._take():
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except _BLOCKED:
            pass
        except OSError:
            self._unsent = b""
            self.lose()
            return
        if not self.opened and self.guest.is_open:
            self.opened = True
            self.place.open()
        self.guest.writable = not self._unsent
        if self.guest.finished and not self._unsent:
            self.lose()
        else:
            self.watch()

    def finish(self, until: float) -> None:
        """Writes what was taken from the guest, as far as possible until the deadline, and closes the socket."""
        if self.over:
            return
        with suppress(OSError):
            self._socket.settimeout(max(until - time.monotonic(), 0.01))
            if self._unsent:
                self._socket.sendall(self._unsent)
        self.lose()

    def _take(self) -> bool:
        """Takes the next octets, as a view, so that small writes do not copy the rest each time; returns whether there are
        any."""
        self._unsent = memoryview(self.guest.data_to_send())
        return bool(self._unsent)

    def watch(self) -> None:
        """Updates what the selector waits for: reading while the guest wants data, writing while output is left."""
        if self.over:
            return
        reading = selectors.EVENT_READ if self.guest.wants_data and not self._eof else 0
        if reading or self._eof or (self._unsent and self.guest.full):  # one that waits for its socket is checked later
            self._paused.pop(self, None)
        else:
            self._paused[self] = None
        writing = selectors.EVENT_WRITE if self._unsent else 0
        events = reading | writing
        if events == self._events:
            return
        if not self._events:
            self._selector.register(self._socket, events, self)
        elif not events:
            self._selector.unregister(self._socket)
        else:
            self._selector.modify(self._socket, events, self)
        self._events = events

    def lose(self) -> None:
        """Closes the socket and notifies the guest."""
        if self.over:
            return
        self.over = True
        self._gone.append(self)
        self._paused.pop(self, None)
        if self._events:
            self._selector.unregister(self._socket)
            self._events = 0
        self._socket.close()
        self.guest.writable = True  # there is nothing to wait for
        if not self._eof:
            self._eof = True
            self.guest.receive_eof()


def serve(
    host: Host[G],
    connect: Callable[[], G],
    address: str = "127.0.0.1",
    port: int = 5672,
    *,
    tls: ssl.SSLContext | None = None,
    limits: ServerLimits = DEFAULT_SERVER_LIMITS,
) -> Server[G]:
    """Serves a broker, or a server of your own, on a socket address: `with serve(broker, broker.connect) as server`.

    Port 0 picks a free one.  Raises OSError when the address cannot be bound.
    """
    check_settings("serve", address=address, port=port, tls=tls, limits=limits)
    return Server(host, connect, (address, port), tls, limits)
