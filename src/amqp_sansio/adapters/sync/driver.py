"""The thread in the background: it owns the sockets, one after the other, and keeps time while the caller is busy.

A thread that waits for an answer listens to the socket itself, where the system lets two threads take turns in that: so an
answer needs no second thread.
"""

from __future__ import annotations

import random
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import Final, TypeVar

from amqp_sansio.adapters.sync.dialing import dial
from amqp_sansio.adapters.sync.ears import Ears, ears
from amqp_sansio.adapters.sync.shift import Shift, pipe
from amqp_sansio.adapters.sync.turn import Turn
from amqp_sansio.conversation.address import Address, Endpoint
from amqp_sansio.conversation.attempts import Attempts
from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.client_handshake import ClientHandshake
from amqp_sansio.errors import AmqpError, ConnectionLost
from amqp_sansio.kernel.deadlines import earliest

Value = TypeVar("Value")

READ: Final = 64 * 1024
"""Octets read at once."""
A_DAY: Final = 24.0 * 60 * 60
"""Seconds of one wait at most, and then of the next one: the system refuses to wait for a year, or for ever, at once."""
HIGH: Final = 1024 * 1024
"""Octets that wait for a slow socket, from which on a publisher waits too."""


class Driver:
    """Everything happens under one lock, in any thread; a waiting thread wakes when its answer is there."""

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
        self._machine: ClientHandshake  # of the present connection, from the first socket on
        self._shift: Shift | None = None  # as long as there is a socket
        self._standing_by = 0  # threads that wait until something has changed
        self._outbox: Final = bytearray()
        turn.ended = self.poke
        turn.torn = self._torn

    def start(self) -> None:
        """Begins to connect, in the background."""
        try:
            self._thread.start()
        except RuntimeError as error:
            if isinstance(
                error.__context__, KeyboardInterrupt
            ):  # CPython's `start` gives back a lock that it does not have then
                raise error.__context__ from None
            raise

    def stop(self, timeout: float) -> None:
        """The end, however things stand; waits for the thread.  Outside of all turns; a second time does no harm."""
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
        """Nobody holds the connection any more, so nobody will close it: the thread ends it.  In any thread, at any time."""
        self._stopped = self._abandoned = True
        with suppress(OSError):  # it was stopped
            self._poke_out.send(b"!")

    def _torn(self) -> None:
        """An interrupt broke off what was being done: nothing more is sent, and the thread ends the connection.

        Which of the books were kept and which not is unknown: a command without its id, or octets sent twice, would spoil all
        that follows.
        """
        self._stopped = True
        self._socket = None
        with suppress(Exception):  # whatever is wrong with the books: the thread tries again, at its end
            self.client.give_up(ConnectionLost("a call was interrupted in the middle"))
        self.client.closing = True
        self._settled()
        self.poke()

    def poke(self) -> None:
        """Wakes the thread, which has something to do, unless that was done already.  Under the lock."""
        if not self._poked:
            self._poked = True
            try:
                self._poke_out.send(b"!")
            except OSError:
                pass  # nobody is there any more to be woken
            except BaseException:  # an interrupt: the next one wakes it
                self._poked = False
                raise

    def free(self) -> bool:
        """Whether `wait_writable` need not be called.  Under the lock."""
        if not self._poked and not self._outbox:
            return True  # nothing was said that the thread is not told of, or that the socket did not take
        return self._socket is None or len(self._outbox) + self._machine.bytes_to_send < HIGH

    def wait_writable(self, until: float | None) -> bool:
        """Until the socket takes octets; False when it does not at `until`.  Under the lock, which it releases meanwhile."""
        if not self.free():
            self._transmit()
            while len(self._outbox) >= HIGH and self._socket is not None:
                left = _left(until)
                if left is not None and left <= 0:
                    return False
                self._stand_by(left)
        return True

    def wait(self, ticket: Ticket[Value], until: float | None) -> bool:
        """Until a ticket is settled; False when it is not at `until`.  Under the lock, which it releases meanwhile."""
        self._transmit()
        ticket.on_done(self._settled)
        try:
            while not ticket.done:
                left = _left(until)
                if left is not None and left <= 0:
                    return False
                shift, connected = self._shift, self._socket
                if shift is None or connected is None or shift.taken or not shift.may_lend or self.client.closed is not None:
                    self._stand_by(left)
                else:
                    self._lead(ticket, connected, shift, until)
            return True
        finally:
            if not ticket.done:
                ticket.forget(self._settled)

    # --- who waits -----------------------------------------------------------------------------------------------------------

    def _stand_by(self, seconds: float | None) -> None:
        """Until something has changed."""
        self._standing_by += 1
        try:
            self._changed.wait(seconds)
        except BaseException as error:  # an interrupt can come before `wait` takes the lock again
            self._turns.interrupted(error)
            raise
        finally:
            self._standing_by -= 1

    def _tell(self) -> None:
        """Something has changed."""
        if self._standing_by:
            self._changed.notify_all()

    def _settled(self) -> None:
        """Something that somebody waits for is there."""
        if self._shift is not None:
            self._shift.kick()
        self._tell()

    def _lead(self, ticket: Ticket[Value], connected: socket.socket, shift: Shift, until: float | None) -> None:
        """Listens to the socket in the place of the thread, until the ticket is settled or there is no time left."""
        client = self.client
        machine = self._machine
        try:  # from here on, for an interrupt can come behind any call: nobody listens to a socket that is not given back
            shift.take(bool(self._outbox))
            tls = connected if isinstance(connected, ssl.SSLSocket) else None
            more = tls is not None and tls.pending() > 0
            while not ticket.done and self._socket is connected and client.closed is None:
                left = _left(until)
                if left is not None and left <= 0:
                    break  # whatever comes
                heard = shift.listen(0 if more else None if left is None else left * 1000)
                if heard is None and not more:
                    break
                if self._socket is connected and (heard or more):
                    self._read(connected)
                    more = tls is not None and tls.pending() > 0
                    if self._turns.wanted or machine.bytes_to_send:
                        self._transmit()
        finally:
            try:
                shift.give_back()
            except BaseException:  # an interrupt came first: the thread would wait for ever for what was not given back
                shift.give_back()
                raise
            if client.closed is not None and self._socket is connected:
                self.poke()
            self._tell()

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
                    self.client.closing = self.client.closing or self._abandoned
                    following = attempts.after(error)
                if following is None:
                    failure = attempts.error
                    break
                attempt = following
        except Exception as error:
            attempts.broken(error)
            failure = attempts.error
        finally:
            with self._changed:
                self.client.give_up(failure or ConnectionLost("it was closed here"))
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
        """One connection, from its socket to its end."""
        until = time.monotonic() + self.address.connect_timeout
        with self._changed:
            machine = self.client.begin()
        try:
            connected = dial(endpoint, self._tls, until, lambda: self._stopped, self.address.server_name)
        except TimeoutError:
            raise self._too_late() from None
        listening = ears(self._poke_in, connected)
        shift = Shift(listening, connected, self._turns, self.poke)
        try:
            with self._changed:
                self._outbox.clear()
                self._machine = machine
                self._socket = connected
                self._shift = shift
            self._drive(connected, listening, shift, until)
        finally:
            try:
                with self._changed:
                    self._socket = None
                    self._outbox.clear()
                    if not self.client.machine.finished:
                        self.client.receive_eof()
                        self.client.tick(time.monotonic())
                    self._settled()
                    while shift.taken:
                        self._stand_by(None)
                    self._shift = None
                    self._changed.notify_all()
            finally:
                shift.close()
                connected.close()

    def _drive(self, connected: socket.socket, listening: Ears, shift: Shift, until: float) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                now = time.monotonic()
                due = self._turn(now, until)
                if self.client.machine.finished or self.client.closed is not None or self._stopped:
                    return  # what the socket did not take now, nobody waits for
                seconds = earliest(None if due is None else max(due - now, 0.0), shift.look(bool(self._outbox)))
                more = not shift.lent and isinstance(connected, ssl.SSLSocket) and connected.pending() > 0
            poked, ready = listening.wait(0.0 if more else seconds)
            with self._changed:
                if poked:
                    self._poked = False
                    self._poke_in.recv(16)
                if (ready or more) and not shift.lent:
                    self._read(connected)

    def _turn(self, now: float, until: float) -> float | None:
        """Ticks, writes, tells the others; when to look again."""
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
            self.poke()  # the thread may have to look sooner than it knows

    def _transmit(self) -> None:
        """Writes what there is to write, as far as the socket takes it."""
        connected = self._socket
        if connected is None:
            return
        self._turns.wanted = False
        outbox = self._outbox
        self.client.flush()
        if len(outbox) < HIGH:  # else it stays in the machine, where what is owed is told in as few words as it takes
            octets = self.client.data_to_send()
            if not outbox and len(octets) <= READ:  # nearly always: it goes out as it is
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
        """How many of them the socket takes now; None when it is gone: that will be read."""
        try:
            return connected.send(octets)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if threading.current_thread() is not self._thread:
                self.poke()  # who waits for the socket must wait for room in it from now on
            return 0
        except OSError:
            return None


def _left(until: float | None) -> float | None:
    """Seconds until a moment, A_DAY at most; None: it never comes."""
    return None if until is None else min(until - time.monotonic(), A_DAY)
