"""The thread in the background: it owns the sockets, one after the other, and keeps time while the caller is busy."""

from __future__ import annotations

import random
import selectors
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import Final, TypeVar

from amqp_sansio.adapters.sync.dialing import dial
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import Attempts
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.errors import ConnectionLost
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError

Value = TypeVar("Value")

READ: Final = 256 * 1024
"""Octets read at once."""
HIGH: Final = 1024 * 1024
"""Octets that wait for a slow socket, from which on a publisher waits too."""


class Driver:
    """Everything happens under one lock, whichever thread does it; whoever waits is told of every change."""

    def __init__(self, client: Client, address: Address, tls: ssl.SSLContext | None, lock: threading.RLock) -> None:
        self.client: Final = client
        self.address: Final = address
        self._tls: Final = tls
        self._changed: Final = threading.Condition(lock)
        self._thread: Final = threading.Thread(target=self._run, name=f"amqp to {address.endpoints[0]}", daemon=True)
        self._poke_in, self._poke_out = socket.socketpair()
        self._poke_in.setblocking(False)
        self._poke_out.setblocking(False)
        self._poked = False
        self._stopped = False
        self._socket: socket.socket | None = None
        self._outbox: Final = bytearray()

    def start(self) -> None:
        """Begins to connect, in the background."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """The end, however things stand; waits for the thread."""
        with self._changed:
            self._stopped = True
            self.wake()
        if self._thread.is_alive():
            self._thread.join(timeout)
        self._poke_in.close()
        self._poke_out.close()

    def wake(self) -> None:
        """There is something to send: the thread is told, unless it was told already.  Under the lock."""
        if not self._poked:
            self._poked = True
            with suppress(OSError):  # nobody is there any more to be woken
                self._poke_out.send(b"!")

    def wait(self, ticket: Ticket[Value], timeout: float | None = None) -> Value:
        """The value of a ticket, once it is settled; raises its error, or TimeoutError.  Under the lock, which is given up."""
        if not ticket.done:
            self._transmit()
        if not self._changed.wait_for(lambda: ticket.done, timeout):
            raise TimeoutError(f"no answer within {timeout} seconds")
        return ticket.result()

    def wait_writable(self) -> None:
        """Until the socket takes octets.  Under the lock."""
        if len(self._outbox) + self._pending() >= HIGH:
            self._transmit()
            self._changed.wait_for(lambda: len(self._outbox) < HIGH or self._socket is None)

    def _pending(self) -> int:
        return self.client.machine.bytes_to_send if self._socket is not None else 0

    # --- the thread --------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        attempts = Attempts(self.client, self.address, random.random)
        attempt = attempts.first()
        failure: Exception | None = None
        try:
            while not self._stopped:
                error: Exception | None = None
                self._sleep(attempt.delay)
                try:
                    self._connection(attempt.endpoint)
                except (OSError, AmqpError) as raised:  # TimeoutError and ssl's are OSErrors
                    error = raised
                with self._changed:
                    following = attempts.after(error)
                if following is None:
                    failure = attempts.error
                    break
                attempt = following
        finally:
            with self._changed:
                self.client.give_up(failure or ConnectionLost("it was closed here"))
                self._changed.notify_all()

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self.client.closing, until - time.monotonic())

    def _connection(self, endpoint: Endpoint) -> None:
        """One connection, from its socket to its end."""
        until = time.monotonic() + self.address.connect_timeout
        with self._changed:
            self.client.begin()
        try:
            connected = dial(endpoint, self._tls, until, lambda: self._stopped)
        except TimeoutError:
            raise self._too_late() from None
        try:
            with self._changed:
                self._outbox.clear()
                self._socket = connected
            self._drive(connected, until)
        finally:
            with self._changed:
                self._socket = None
                self._outbox.clear()
                if not self.client.machine.finished:
                    self.client.receive_eof()
                self._changed.notify_all()
            connected.close()

    def _drive(self, connected: socket.socket, until: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._poke_in, selectors.EVENT_READ)
            selector.register(connected, selectors.EVENT_READ)
            while True:
                with self._changed:
                    now = time.monotonic()
                    due = self._turn(now, until)
                    if self.client.machine.finished or self.client.closed is not None or self._stopped:
                        return  # what the socket did not take now, nobody waits for
                    writing = selectors.EVENT_WRITE if self._outbox else 0
                    more = isinstance(connected, ssl.SSLSocket) and connected.pending() > 0
                selector.modify(connected, selectors.EVENT_READ | writing)
                wait = 0.0 if more else None if due is None else max(due - now, 0.0)
                ready = {key.fileobj for key, _ in selector.select(wait)}
                with self._changed:
                    if self._poke_in in ready:
                        self._poked = False
                        self._poke_in.recv(16)
                    if connected in ready or more:
                        self._read(connected)

    def _turn(self, now: float, until: float) -> float | None:
        """Tells the time, writes, tells the others; when to look again."""
        due = self.client.tick(now)
        self._transmit()
        self._changed.notify_all()
        if self.client.opened.done or self.client.closed is not None:
            return due
        if now >= until:
            raise self._too_late()
        return until if due is None else min(due, until)

    def _too_late(self) -> TimeoutError:
        return TimeoutError(f"no open connection within {self.address.connect_timeout} seconds")

    def _read(self, connected: socket.socket) -> None:
        try:
            octets = connected.recv(READ)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            octets = b""  # a reset is how some brokers end a connection
        if octets:
            self.client.receive_data(octets)
        else:
            self.client.receive_eof()
            self._outbox.clear()

    def _transmit(self) -> None:
        """Writes what there is to write, as far as the socket takes it."""
        connected = self._socket
        if connected is None:
            return
        self.client.flush()
        if len(self._outbox) < HIGH:  # else it stays in the machine, where what is owed is told in as few words as it takes
            self._outbox.extend(self.client.machine.data_to_send())
        while self._outbox:
            try:
                sent = connected.send(memoryview(self._outbox)[:READ])
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                if threading.current_thread() is not self._thread:
                    self.wake()  # who waits for the socket must wait for room in it from now on
                return
            except OSError:
                self._outbox.clear()  # the end will be read
                return
            del self._outbox[:sent]
