"""The background thread of a connection: it owns the sockets, one after the other, and keeps time while the program is busy.

A thread that waits for an answer reads the socket itself, where the system lets two threads take turns in that, so that an
answer needs no switch of threads.
"""

from __future__ import annotations

import errno
import os
import random
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from amqp_sansio.adapters.sync.turns import Handoff, Poller, Turn, pipe
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import Attempt, Attempts
from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.handshake import ClientHandshake
from amqp_sansio.errors import AmqpError, ConnectionLost
from amqp_sansio.kernel.timers import earliest

LOOK: Final = 0.1
"""Seconds after which a waiting caller checks whether it should go on."""


Value = TypeVar("Value")
READ: Final = 64 * 1024
"""Octets per read."""
A_DAY: Final = 24.0 * 60 * 60
"""The longest single wait in seconds; longer ones are repeated, because the system rejects waits of a year or for ever."""
HIGH: Final = 1024 * 1024
"""Octets that wait for a slow socket; from this many on, a publisher waits too."""


def dial(
    endpoint: Endpoint, tls: ssl.SSLContext | None, until: float, given_up: Callable[[], bool], server_name: str | None = None
) -> socket.socket:
    """Returns a non-blocking socket that is connected to an endpoint, by TLS where it asks for that.

    `server_name` is the name that the certificate must have (None: the endpoint's).  `until` is in monotonic seconds.  Raises
    OSError, of which TimeoutError is one, when no connection can be made.
    """
    addresses = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    error: OSError = OSError("the name stands for no address")
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        now = time.monotonic()
        share = now + (until - now) / (len(addresses) - number)
        connected = socket.socket(family, kind, protocol)
        try:
            connected.setblocking(False)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = connected.connect_ex(address)
            if code in (errno.EINPROGRESS, errno.EWOULDBLOCK):
                _wait(connected, True, share, given_up)
                code = connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, os.strerror(code))
            if not endpoint.tls:
                return connected
            return _secure(connected, server_name or endpoint.host, tls, until, given_up)
        except ssl.SSLError:
            connected.close()
            raise
        except OSError as failure:
            connected.close()
            error = failure
        except BaseException:
            connected.close()
            raise
    raise error


def _secure(
    connected: socket.socket, server_name: str, tls: ssl.SSLContext | None, until: float, given_up: Callable[[], bool]
) -> ssl.SSLSocket:
    context = tls or ssl.create_default_context()
    secured = context.wrap_socket(connected, server_hostname=server_name, do_handshake_on_connect=False)
    try:
        while True:
            try:
                secured.do_handshake()
            except ssl.SSLWantReadError:
                _wait(secured, False, until, given_up)
            except ssl.SSLWantWriteError:
                _wait(secured, True, until, given_up)
            else:
                return secured
    except BaseException:
        secured.close()
        raise


def _wait(waiting: socket.socket, writing: bool, until: float, given_up: Callable[[], bool]) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(waiting, selectors.EVENT_WRITE if writing else selectors.EVENT_READ)
        while not selector.select(LOOK):
            if given_up():
                raise OSError("given up")
            if time.monotonic() >= until:
                raise TimeoutError("no answer in time")


class Driver:
    """Runs a client on sockets, under one lock, in any thread; a waiting thread wakes when its answer arrives."""

    def __init__(
        self, client: BaseClient, address: Address, tls: ssl.SSLContext | None, lock: threading.RLock, turn: Turn
    ) -> None:
        self.client: Final = client
        self.address: Final = address
        self._tls: Final = tls
        self._turns: Final = turn
        self._changed: Final = threading.Condition(lock)
        self._thread: Final = threading.Thread(target=self._run, name=f"amqp to {address.endpoints[0]}", daemon=True)
        self._poke_in, self._poke_out = pipe()
        self._poked = False
        self._stopped = False
        self._abandoned = False
        self._socket: socket.socket | None = None
        self._machine: ClientHandshake  # of the present connection; set with the first socket
        self._handoff: Handoff | None = None  # set while there is a socket
        self._standing_by = 0  # threads that wait for a change
        self._outbox: Final = bytearray()
        turn.ended = self.poke
        turn.torn = self._torn

    def start(self) -> None:
        """Starts to connect, in the background."""
        try:
            self._thread.start()
        except RuntimeError as error:
            if isinstance(error.__context__, KeyboardInterrupt):  # CPython's `start` releases a lock that it does not hold then
                raise error.__context__ from None
            raise

    def stop(self, timeout: float) -> None:
        """Ends the connection in any state and waits for the thread.  Call it outside of all turns; it may be called again."""
        self._turns.over()
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            self.poke()
        if self._thread.is_alive():
            self._thread.join(timeout)
        self._poke_in.close()
        self._poke_out.close()

    def abandon(self) -> None:
        """Makes the thread end a connection that the program no longer references.  In any thread, at any time."""
        self._stopped = self._abandoned = True
        with suppress(OSError):  # it was stopped
            self._poke_out.send(b"!")

    def _torn(self) -> None:
        """Ends the connection after an interrupt in the middle of a call: nothing more is sent.

        The state may be half updated: a command without its id, or octets sent twice, would break the protocol.
        """
        self._stopped = True
        self._socket = None
        with suppress(Exception):  # whatever is wrong with the state: the thread tries again at its end
            self.client.give_up(ConnectionLost("a call was interrupted in the middle"))
        self.client.closing = True
        self._settled()
        self.poke()

    def poke(self) -> None:
        """Wakes the thread, which has something to do, unless it was woken already.  Call it under the lock."""
        if not self._poked:
            self._poked = True
            try:
                self._poke_out.send(b"!")
            except OSError:
                pass  # the thread is gone
            except BaseException:  # an interrupt: the next call wakes it
                self._poked = False
                raise

    def free(self, timeout: float | None = None) -> bool:
        """Whether `wait_writable` can be skipped.  Call it under the lock."""
        if not self._poked and not self._outbox:
            return True  # the thread knows of all output, and the socket took it
        return self._socket is None or len(self._outbox) + self._machine.bytes_to_send < HIGH

    def wait_writable(self, until: float | None) -> bool:
        """Waits until the socket takes octets; False if not by `until`.  Called under the lock, released meanwhile."""
        if not self.free():
            self._transmit()
            while len(self._outbox) >= HIGH and self._socket is not None:
                left = None if until is None else _left(until)
                if left is not None and left <= 0:
                    return False
                self._stand_by(left)
        return True

    def wait(self, ticket: Ticket[Value], until: float | None) -> bool:
        """Waits until a ticket is settled; False if not by `until`.  Called under the lock, released meanwhile."""
        self._transmit()
        ticket.on_done(self._settled)
        try:
            while not ticket.done:
                left = None if until is None else _left(until)
                if left is not None and left <= 0:
                    return False
                reader, connected = self._handoff, self._socket
                if reader is None or connected is None or reader.taken or not reader.may_lend or self.client.closed is not None:
                    self._stand_by(left)
                else:
                    self._lead(ticket, connected, reader, until)
            return True
        finally:
            if not ticket.done:
                ticket.forget(self._settled)

    # --- waiting threads ------------------------------------------------------------------------------------------------------

    def _stand_by(self, seconds: float | None) -> None:
        """Waits until something has changed."""
        self._standing_by += 1
        try:
            self._changed.wait(seconds)
        except BaseException as error:  # an interrupt can come before `wait` has reacquired the lock
            self._turns.interrupted(error)
            raise
        finally:
            self._standing_by -= 1

    def _settled(self) -> None:
        """Wakes the threads that wait for a ticket."""
        if self._handoff is not None and self._handoff.waiting:
            self._handoff.kick()
        if self._standing_by:
            self._changed.notify_all()

    def _lead(self, ticket: Ticket[Value], connected: socket.socket, handoff: Handoff, until: float | None) -> None:
        """Reads the socket in place of the background thread, until the ticket is settled or the time is over."""
        client = self.client
        machine = self._machine
        try:  # an interrupt can come after any call; a socket that is not given back would never be read again
            handoff.take(bool(self._outbox))
            tls = connected if isinstance(connected, ssl.SSLSocket) else None
            more = tls is not None and tls.pending() > 0
            while not ticket.done and self._socket is connected and client.closed is None:
                left = None if until is None else _left(until)
                if left is not None and left <= 0:
                    break  # whatever arrives
                heard = handoff.listen(0 if more else None if left is None else left * 1000)
                if heard is None and not more:
                    break
                if self._socket is connected and (heard or more):
                    self._read(connected)
                    more = tls is not None and tls.pending() > 0
                    if self._turns.wanted or machine.bytes_to_send:
                        self._transmit()
        finally:
            try:
                handoff.give_back()
            except BaseException:  # an interrupt came first: give the socket back all the same
                handoff.give_back()
                raise
            if client.closed is not None and self._socket is connected:
                self.poke()
            if self._standing_by:
                self._changed.notify_all()

    # --- the thread --------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        attempts = Attempts(self.client, self.address, random.random)
        attempt: Attempt | None = attempts.first()
        try:
            while attempt is not None and not self._stopped:
                error: Exception | None = None
                self._sleep(attempt.delay)
                try:
                    self._connection(attempt.endpoint)
                except (OSError, AmqpError) as raised:  # TimeoutError and ssl's errors are OSErrors
                    error = raised
                with self._changed:
                    self.client.closing = self.client.closing or self._abandoned
                    attempt = attempts.after(error)
        except Exception as bug:
            attempts.broken(bug)
            attempt = None
        finally:
            with self._changed:
                self.client.give_up(attempts.error if attempt is None else ConnectionLost("it was closed here"))
                self._changed.notify_all()
            if self._abandoned:
                self._poke_in.close()
                self._poke_out.close()

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        with self._changed:
            while not (self._stopped or self.client.closing) and (left := until - time.monotonic()) > 0:
                self._stand_by(left)

    def _connection(self, endpoint: Endpoint) -> None:
        """Runs one connection, from its socket to its end."""
        until = time.monotonic() + self.address.connect_timeout
        with self._changed:
            machine = self.client.begin()
        try:
            connected = dial(endpoint, self._tls, until, lambda: self._stopped, self.address.server_name)
        except TimeoutError:
            raise self._too_late() from None
        with connected:
            listening = Poller(self._poke_in, connected)
            handoff = Handoff(listening, connected, self._turns, self.poke)
            try:
                with self._changed:
                    self._outbox.clear()
                    self._machine = machine
                    self._socket = connected
                    self._handoff = handoff
                self._drive(connected, listening, handoff, until)
            finally:
                try:
                    with self._changed:
                        self._socket = None
                        self._outbox.clear()
                        if not self.client.machine.finished:
                            self.client.receive_eof()
                            self.client.tick(time.monotonic())
                        self._settled()
                        while handoff.taken:
                            self._stand_by(None)
                        self._handoff = None
                        self._changed.notify_all()
                finally:
                    handoff.close()

    def _drive(self, connected: socket.socket, listening: Poller, handoff: Handoff, until: float) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                now = time.monotonic()
                due = self._turn(now, until)
                if self.client.machine.finished or self.client.closed is not None or self._stopped:
                    return  # what the socket did not take by now is dropped
                seconds = earliest(None if due is None else max(due - now, 0.0), handoff.look(bool(self._outbox)))
                more = not handoff.lent and isinstance(connected, ssl.SSLSocket) and connected.pending() > 0
            poked, ready = listening.wait(0.0 if more else seconds)
            with self._changed:
                if poked:
                    self._poked = False
                    self._poke_in.recv(16)
                if (ready or more) and not handoff.lent:
                    self._read(connected)

    def _turn(self, now: float, until: float) -> float | None:
        """Ticks, writes, wakes waiting threads; returns when to run again."""
        self.client.tick(now)
        self._transmit()
        due = self.client.due
        self._changed.notify_all()
        if self.client.opened.done or self.client.closed is not None:
            return due
        if now >= until:
            raise self._too_late()
        return until if due is None else min(due, until)

    def _too_late(self) -> TimeoutError:
        return TimeoutError(f"no open connection within {self.address.connect_timeout} seconds")

    def _read(self, connected: socket.socket) -> None:
        failure: OSError | None = None
        try:
            octets = connected.recv(READ)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError as error:
            octets, failure = b"", error  # a reset is how some brokers end a connection
        if octets:
            self.client.receive_data(octets)
        else:
            self.client.receive_eof(failure)
            self._outbox.clear()
        self.client.tick(time.monotonic())
        if self.client.awaits_end:
            self.poke()  # the thread may have to wake sooner than it planned

    def _transmit(self) -> None:
        """Writes pending output, as far as the socket takes it."""
        connected = self._socket
        if connected is None:
            return
        self._turns.wanted = False
        outbox = self._outbox
        self.client.flush()
        if len(outbox) < HIGH:  # else output stays in the machine, which merges its acknowledgements
            octets = self.client.data_to_send()
            if not outbox and len(octets) <= READ:  # the common case: written without a copy
                sent = self._write(connected, octets) if octets else 0
                if sent is None or sent == len(octets):
                    return
                octets = octets[sent:]
            outbox.extend(octets)
        while outbox:
            with memoryview(outbox)[:READ] as piece:
                sent = self._write(connected, piece)
            if sent is None:
                outbox.clear()
            elif sent:
                del outbox[:sent]
            else:
                return

    def _write(self, connected: socket.socket, octets: bytes | memoryview) -> int | None:
        """Writes octets; returns how many the socket took, None when it is gone, which the next read will report."""
        try:
            return connected.send(octets)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if threading.current_thread() is not self._thread:
                self.poke()  # the thread must wait for room in the socket from now on
            return 0
        except OSError:
            return None


def _left(until: float) -> float:
    """Returns the seconds until a moment, at most A_DAY."""
    return min(until - time.monotonic(), A_DAY)
