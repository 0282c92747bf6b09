"""The thread in the background: it owns the sockets, one after the other, and keeps time while the caller is busy.

Whoever waits for an answer listens to the socket himself meanwhile, where the system lets two threads take turns in that: so an
answer needs no second thread to come through.
"""

from __future__ import annotations

import random
import select
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import Final, TypeVar

from amqp_sansio.adapters.sync.dialing import dial
from amqp_sansio.adapters.sync.ears import Ears, ears
from amqp_sansio.adapters.sync.turn import Turn
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import Attempts
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.errors import ConnectionLost
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError

Value = TypeVar("Value")

READ: Final = 64 * 1024
"""Octets read at once."""
HIGH: Final = 1024 * 1024
"""Octets that wait for a slow socket, from which on a publisher waits too."""


class Driver:
    """Everything happens under one lock, whichever thread does it; whoever waits is told when what he waits for is there."""

    def __init__(self, client: Client, address: Address, tls: ssl.SSLContext | None, lock: threading.RLock, turn: Turn) -> None:
        self.client: Final = client
        self.address: Final = address
        self._tls: Final = tls
        self._lock: Final = lock
        self._turns: Final = turn
        self._changed: Final = threading.Condition(lock)
        self._thread: Final = threading.Thread(target=self._run, name=f"amqp to {address.endpoints[0]}", daemon=True)
        self._poke_in, self._poke_out = _pipe()
        self._kick_in, self._kick_out = _pipe()
        self._poked = False
        self._stopped = False
        self._socket: socket.socket | None = None
        self._ears: Ears | None = None
        self._leading = False  # somebody who waits listens to the socket, and the thread does not
        self._polling = False  # he is at it now, without the lock
        self._poll: select.poll | None = None
        self._kicked: Final = self._kick_in.fileno()
        self._outbox: Final = bytearray()
        turn.ended = self.poke

    def start(self) -> None:
        """Begins to connect, in the background."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """The end, however things stand; waits for the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            self.poke()
        if self._thread.is_alive():
            self._thread.join(timeout)
        for each in (self._poke_in, self._poke_out, self._kick_in, self._kick_out):
            each.close()

    def poke(self) -> None:
        """There is something for the thread to do: it is told, unless it was told already.  Under the lock."""
        if not self._poked:
            self._poked = True
            with suppress(OSError):  # nobody is there any more to be woken
                self._poke_out.send(b"!")

    def wait(self, ticket: Ticket[Value], timeout: float | None = None) -> Value:
        """The value of a ticket, once it is settled; raises its error, or TimeoutError.  Under the lock, which is given up."""
        if not ticket.done:
            self._transmit()
            if not ticket.done:
                self._wait(ticket, timeout)
        return ticket.result()

    def wait_writable(self) -> None:
        """Until the socket takes octets.  Under the lock."""
        if len(self._outbox) + self._pending() >= HIGH:
            self._transmit()
            self._changed.wait_for(lambda: len(self._outbox) < HIGH or self._socket is None)

    def _pending(self) -> int:
        return self.client.machine.bytes_to_send if self._socket is not None else 0

    # --- who waits -----------------------------------------------------------------------------------------------------------

    def _wait(self, ticket: Ticket[Value], timeout: float | None) -> None:
        until = None if timeout is None else time.monotonic() + timeout
        ticket.on_done(self._settled)
        try:
            while not ticket.done:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"no answer within {timeout} seconds")
                if self._may_lead and self._socket is not None and self._ears is not None:
                    self._lead(ticket, self._socket, self._ears, until)
                else:
                    self._changed.wait(left)
        finally:
            ticket.forget(self._settled)

    @property
    def _may_lead(self) -> bool:
        return not self._leading and self.client.closed is None and self._ears is not None and self._ears.shared

    def _settled(self) -> None:
        """Something that somebody waits for is there."""
        if self._polling:
            with suppress(OSError):
                self._kick_out.send(b"!")
        self._changed.notify_all()

    def _lead(self, ticket: Ticket[Value], connected: socket.socket, ears: Ears, until: float | None) -> None:
        """Listens to the socket in the place of the thread, until the ticket is settled or there is no time left."""
        self._leading = True
        poll = self._poll
        assert poll is not None  # as long as there is a socket
        more = False
        try:
            ears.listen(False, bool(self._outbox))
            while not ticket.done and self._socket is connected and self.client.closed is None:
                left = None if until is None else max(until - time.monotonic(), 0.0) * 1000
                self._polling = True
                self._lock.release()
                try:
                    ready = poll.poll(0 if more else left)
                finally:
                    self._lock.acquire()
                    self._polling = False
                if not ready and left is not None and not more:
                    break
                heard = [number for number, _ in ready]
                if self._kicked in heard:
                    self._kick_in.recv(16)
                    heard.remove(self._kicked)
                if self._socket is connected and (more or heard):
                    self._read(connected)
                    more = isinstance(connected, ssl.SSLSocket) and connected.pending() > 0
                    if self._turns.wanted or self.client.machine.bytes_to_send:
                        self._transmit()
        finally:
            self._leading = False
            if self._socket is connected:
                ears.listen(True, bool(self._outbox))
                if self.client.closed is not None or self.client.machine.finished:
                    self.poke()
            self._changed.notify_all()

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
        except BaseException as error:
            failure = ConnectionLost(f"it is broken ({type(error).__name__}: {error}); please report this")
            raise
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
        listening = ears(self._poke_in, connected)
        try:
            with self._changed:
                self._outbox.clear()
                self._socket = connected
                self._ears = listening
                if listening.shared:
                    self._poll = select.poll()
                    self._poll.register(connected, select.POLLIN)
                    self._poll.register(self._kick_in, select.POLLIN)
            self._drive(connected, listening, until)
        finally:
            with self._changed:
                self._socket = self._ears = None
                self._outbox.clear()
                if not self.client.machine.finished:
                    self.client.receive_eof()
                self._settled()
                self._changed.wait_for(lambda: not self._leading)
                self._changed.notify_all()
            listening.close()
            connected.close()

    def _drive(self, connected: socket.socket, listening: Ears, until: float) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                due = self._turn(now, until)
                if self.client.machine.finished or self.client.closed is not None or self._stopped:
                    return  # what the socket did not take now, nobody waits for
                listening.listen(not self._leading, bool(self._outbox))
                more = not self._leading and isinstance(connected, ssl.SSLSocket) and connected.pending() > 0
            poked, ready = listening.wait(0.0 if more else None if due is None else max(due - now, 0.0))
            with self._changed:
                if poked:
                    self._poked = False
                    self._poke_in.recv(16)
                if (ready or more) and not self._leading:
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
        self._turns.wanted = False
        self.client.flush()
        if len(self._outbox) < HIGH:  # else it stays in the machine, where what is owed is told in as few words as it takes
            self._outbox.extend(self.client.machine.data_to_send())
        while self._outbox:
            try:
                with memoryview(self._outbox)[:READ] as piece:
                    sent = connected.send(piece)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                if threading.current_thread() is not self._thread:
                    self.poke()  # who waits for the socket must wait for room in it from now on
                return
            except OSError:
                self._outbox.clear()  # the end will be read
                return
            del self._outbox[:sent]


def _pipe() -> tuple[socket.socket, socket.socket]:
    ends = socket.socketpair()
    for each in ends:
        each.setblocking(False)
    return ends
