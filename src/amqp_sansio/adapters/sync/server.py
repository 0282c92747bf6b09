"""The server side without an event loop: one thread with all sockets of a broker, or of a server of your own."""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

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
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.hosting import Host, load
from amqp_sansio.kernel.timers import AT_ONCE, earliest
from amqp_sansio.limits import DEFAULT_SERVER_LIMITS, ServerLimits

__all__ = ["CLOSE_SECONDS", "READ", "TURN", "G", "Server", "serve"]

_LOOK_SECONDS: Final = 1.0
"""Seconds after which `serve_forever` checks for a signal."""
_BLOCKED: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Server(BaseServer[G, "_Socket[G]"]):
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
        super().__init__(host, connect, limits, tls is not None)
        self.lock: Final = threading.RLock()
        self.error: BaseException | None = None
        """The exception that the host raised, which ended the server."""
        self._tls: Final = tls
        family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        self._listener: Final = socket.create_server(where, family=family, backlog=100)
        self._listener.setblocking(False)
        self._selector: Final = selectors.DefaultSelector()
        self._poke_in, self._poke_out = socket.socketpair()
        self._ending: Final[dict[_Socket[G], float]] = {}  # finished ones, with the deadline of their last octets
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
        if self.error is None:
            return
        if error is None:
            raise self.error
        LOG.error("the server has ended: its host raised", exc_info=self.error)  # maybe that is why the block raised

    def wake(self) -> None:
        """Makes the thread run a turn, because another thread has produced output."""
        with suppress(OSError):
            self._poke_out.send(b"!")

    def _call(self, work: Callable[[], None]) -> None:
        with self.lock:
            work()

    def close(self) -> None:
        """Stops listening, and closes every socket once its octets are written.  May be called again."""
        self._stopped = True
        self.wake()
        self._thread.join()
        if self.error is None:
            with self.lock:
                self._hear_out()

    def cut(self) -> None:
        """Closes every socket without closing its connection, as a network failure does; new clients may connect."""
        with self.lock:
            for each in list(self._sockets.values()):
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
                    key.data.transmit()

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
            self._sockets[guest] = _Socket(self, guest, place, accepted)

    def _turn(self) -> float | None:
        """Runs one turn; returns the moment of the next one."""
        self._run_turn(time.monotonic())
        now = time.monotonic()
        if self._deaf_until is not None and now >= self._deaf_until:
            self._deaf_until = None
            self._selector.register(self._listener, selectors.EVENT_READ)
        for each in [each for each, until in self._ending.items() if each.over or now >= until]:
            del self._ending[each]
            each.lose()
        return earliest(self._next_turn(now), *self._ending.values())

    def _end(self) -> None:
        self._listener.close()
        self._stop_checks()
        until = time.monotonic() + CLOSE_SECONDS
        with self.lock:
            for each in list(self._sockets.values()):
                each.finish(until)
        self._selector.close()
        self._poke_in.close()
        self._poke_out.close()


class _Socket(BaseSocket[G]):
    """One client's socket."""

    def __init__(self, server: Server[G], guest: G, place: AdmittedConnection, connected: socket.socket) -> None:
        super().__init__(place)
        self.guest = guest
        self.over = False
        self._server: Final = server
        self._socket: Final = connected
        self._unsent: bytes | memoryview = b""
        self._events = selectors.EVENT_READ
        self._eof = False
        server._selector.register(connected, self._events, self)

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
        self.look()

    def transmit(self) -> None:
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
        self.has_opened()
        self.guest.writable = not self._unsent
        if not self.guest.finished:
            self.look()
        elif self._unsent:
            self._server._ending[self] = time.monotonic() + CLOSE_SECONDS
            self.look()
        else:
            self.lose()

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

    def look(self) -> None:
        """Updates what the selector waits for: reading while the guest wants data, writing while output is left."""
        if self.over:
            return
        reading = selectors.EVENT_READ if self.guest.wants_data and not self._eof else 0
        if reading or self._eof or (self._unsent and self.guest.full):  # one that waits for its socket is checked later
            self._server._paused.pop(self, None)
        else:
            self._server._paused[self] = None
        writing = selectors.EVENT_WRITE if self._unsent else 0
        events = reading | writing
        if events == self._events:
            return
        if not self._events:
            self._server._selector.register(self._socket, events, self)
        elif not events:
            self._server._selector.unregister(self._socket)
        else:
            self._server._selector.modify(self._socket, events, self)
        self._events = events

    def lose(self) -> None:
        """Closes the socket and notifies the guest."""
        if self.over:
            return
        self.over = True
        self._server._forget(self)
        if self._events:
            self._server._selector.unregister(self._socket)
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
