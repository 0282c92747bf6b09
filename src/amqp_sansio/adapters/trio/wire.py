"""The trio stream of one connection: it carries octets and time to the client; sessions send and wait on it."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import trio

from amqp_sansio.adapters.trio.nurseries import hidden_nursery
from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors.checks import check_timeout

Value = TypeVar("Value")

READ: Final = 64 * 1024
"""Octets per read, before other tasks have their turn."""
LENT: Final = 0.01
"""Seconds after which the reading task checks whether tasks that wait for answers still read themselves."""
MANY: Final = 256 * 1024
"""Octets waiting to be written; from this many on, a publisher waits until they are written."""


async def settled(ticket: Ticket[Value]) -> None:
    """Waits until a ticket is settled; a checkpoint in any case."""
    if ticket.done:
        await trio.lowlevel.checkpoint()
        return
    event = trio.Event()
    ticket.on_done(event.set)
    try:
        await event.wait()
    finally:
        if not ticket.done:
            ticket.forget(event.set)


class Wire:
    """Passes input to the client's machine, writes its output, and keeps time, each in a task of one nursery.

    While the socket takes no more octets, `taking` is False and `writable` is not set.

    A single task that waits for an answer reads it itself (`answer`): being woken by another task that reads would cost one
    more turn of the event loop.  To save a second one, the reading task stays away in between, until `listen` calls it or no
    task has read for a moment.
    """

    def __init__(self, client: BaseClient, stream: trio.abc.Stream) -> None:
        self.writable = trio.Event()
        self.writable.set()
        self.taking = True
        self._client: Final = client
        self._machine: Final = client.machine  # the one of this connection
        self._stream: Final = stream
        self._woken = trio.Event()
        self._idle = False  # the writing task waits to be woken
        self._saying = False  # the writing task need not wake: output is written right after
        self._direct: Final = _direct(stream)  # bypasses the stream, and with it one task switch
        self._failure: OSError | None = None  # the error with which TLS ended
        self._rest = b""  # octets taken from the machine that must be written first
        self._due = math.inf
        self._sooner = trio.Event()
        self._away = False  # the reading task leaves reading to others
        self._called = False  # the reading task must come back
        self._back = trio.Event()  # wakes the reading task for a check
        self._lent = False  # another task is reading
        self._used = False  # another task has read since the last check
        self._awaited = False  # the reading task checks again when the other one is done
        self._own = False  # what the other task read is being handled
        self._sending = False  # octets wait for the socket
        self._scope: Final = trio.CancelScope()

    @property
    def waiting(self) -> int:
        """Octets that wait to be written; a lower bound."""
        return self._machine.bytes_to_send

    def wake(self) -> None:
        """Schedules output, which is written with everything else before the event loop's next turn."""
        if not self._saying:
            self._woken.set()

    def say(self, say: Callable[[], Ticket[Value]]) -> Ticket[Value]:
        """Sends something, and writes it at once where the socket takes it at once and no other task is about to write."""
        if self._direct is None or not self._idle or self._woken.is_set():
            return say()
        self._saying = True
        try:
            return say()
        finally:
            self._saying = False
            self._write_now(self._direct)

    def _write_now(self, direct: socket.socket) -> None:
        """Writes what the socket takes at once, which saves the two turns of the event loop that the writing task needs."""
        octets = self._take()
        try:
            sent = direct.send(octets) if octets else 0
        except OSError:  # the socket is full or gone: the writing task will notice
            sent = 0
        if sent < len(octets):
            self._rest = octets[sent:]
            self.hold()
        elif self._machine.finished:
            self.wake()

    async def answer(self, ticket: Ticket[Value]) -> bool:
        """Reads until the ticket is settled; returns False where the caller has to wait in another way."""
        direct = self._direct
        if direct is None or ticket.done or self._lent or not self._machine.is_open:
            return False
        if not self._away:
            self._away, self._called = True, False
            trio.lowlevel.notify_closing(direct)  # not closed: this only wakes the task that waits for it
        self._lent = self._used = True
        fileno = direct.fileno()
        ticket.on_done(self._answered)
        try:
            while not ticket.done:
                await trio.lowlevel.wait_readable(fileno)
                try:
                    octets = direct.recv(READ)
                except BlockingIOError:
                    continue
                if not octets:
                    break
                self._own = True
                self._feed(octets)
                self._own = False
        except (trio.ClosedResourceError, OSError):
            pass
        finally:
            self._lent = False
            if self._awaited:
                self._awaited, self._used = False, True
                self._back.set()
            if not ticket.done:
                ticket.forget(self._answered)
                self.listen()  # which also notices whatever ended this
        return ticket.done

    def _answered(self) -> None:
        """Wakes the task that reads for a ticket: it need not read any more."""
        if not self._own and self._direct is not None:
            trio.lowlevel.notify_closing(self._direct)

    def listen(self) -> None:
        """Calls the reading task back, because a task waits that does not read itself."""
        if self._away and not self._lent:
            self._called = True
            self._back.set()

    def hold(self) -> None:
        """Makes publishers wait until the pending output is written."""
        self._takes(False)
        self.wake()

    async def run(self) -> None:
        """Runs until the connection is over."""
        self._client.tick(trio.current_time())
        try:
            with self._scope:
                async with hidden_nursery() as nursery:
                    nursery.start_soon(self._read)
                    nursery.start_soon(self._keep_time)
                    await self._write()
                    nursery.cancel_scope.cancel()
        finally:
            self._takes(True)
            if self._direct is not None:
                trio.lowlevel.notify_closing(self._direct)
                self._direct.close()

    def _takes(self, taking: bool) -> None:
        if taking:
            self.writable.set()
        elif self.taking:
            self.writable = trio.Event()
        self.taking = taking

    def _take(self) -> bytes:
        """Takes the pending output."""
        self._client.flush()
        octets = self._client.data_to_send()
        self._set_due()
        return octets

    def _set_due(self) -> None:
        """Keeps the timer task from waking too late."""
        due = self._client.due
        if due is not None and due < self._due:  # waking too early costs less than setting it with every output
            self._due = due
            self._sooner.set()

    async def _keep_time(self) -> None:
        """Ticks the client when it is due, however long the socket blocks."""
        while True:
            self._sooner = trio.Event()
            with trio.move_on_at(self._due) as waiting:
                await self._sooner.wait()
            if waiting.cancelled_caught:
                self._due = math.inf
                self._client.tick(trio.current_time())
                self._set_due()
                self.wake()
                self._look()

    def _look(self) -> None:
        """Cancels the tasks when the connection is over and the peer does not take the rest."""
        if self._client.closed is not None and self._sending:
            self._scope.cancel()

    async def _read(self) -> None:
        while not self._machine.finished:
            if self._away:
                await self._stay_away()
            octets = await self._receive()
            if octets is None:
                continue
            self._feed(octets)
            if not octets:
                return

    def _feed(self, octets: bytes) -> None:
        """Passes octets, or their end, to the client."""
        client = self._client
        if octets:
            client.receive_data(octets)
        else:
            client.receive_eof(self._failure)
        client.tick(trio.current_time())
        self._set_due()
        if self.waiting or not self._machine.is_open:
            self.wake()
            self._look()

    async def _receive(self) -> bytes | None:
        """Returns received octets, b"" at their end; None when there are none now, or another task reads.

        A reset counts as the end: some brokers end a connection with one.
        """
        direct = self._direct
        try:
            if direct is None:
                return bytes(await self._stream.receive_some(READ))
            await trio.lowlevel.wait_readable(direct)
            return direct.recv(READ)
        except BlockingIOError:
            return None
        except (trio.BrokenResourceError, trio.ClosedResourceError, OSError) as error:
            self._failure = error.__cause__ if isinstance(error.__cause__, OSError) else None
            return None if self._away else b""

    async def _stay_away(self) -> None:
        """Waits until the reading task is called, or no other task has read for a moment.

        While another task has been reading since the last check, it sleeps until that one is done, so that it does not poll
        during long waits.
        """
        while self._lent or (self._used and not self._called):
            self._awaited = self._lent and not self._used
            self._used = False
            self._back = trio.Event()
            with trio.move_on_after(math.inf if self._awaited else LENT):
                await self._back.wait()
        self._away = False

    async def _write(self) -> None:
        while True:
            self._woken = trio.Event()
            octets, self._rest = self._rest + self._take(), b""
            if octets:
                await self._send(octets)
                continue
            self._takes(True)
            if self._client.closed is not None:
                return  # no answer to that is expected
            self._idle = True
            await self._woken.wait()
            self._idle = False

    async def _send(self, octets: bytes) -> None:
        self._takes(False)
        self._sending = True
        try:
            await self._stream.send_all(octets)
            self._sending = False
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            if self._client.closed is None:
                await self._woken.wait()  # the reading task will notice the end, unless it has


def _direct(stream: trio.abc.Stream) -> socket.socket | None:
    """Duplicates the socket under a stream, for writes that do not wait; None where TLS is in between."""
    if not isinstance(stream, trio.SocketStream):
        return None
    direct = socket.fromfd(stream.socket.fileno(), stream.socket.family, stream.socket.type, stream.socket.proto)
    direct.setblocking(False)
    return direct


class Line:
    """See `conversation.line`.  `wire` is the socket of the present connection, None while there is none."""

    def __init__(self) -> None:
        self.wire: Wire | None = None
        self._asking = 0
        self._waiting = 0

    def wake(self) -> None:
        """Notes that there is something to send."""
        if self.wire is not None:
            self.wire.wake()

    def free(self, timeout: float | None = None) -> bool:
        """Returns False, so that every publish passes a checkpoint in `writable`, where it can be cancelled; True only for a
        publish with a timeout of 0, which has no time for it, and only while few octets wait to be written."""
        return timeout is not None and timeout <= 0 and (self.wire is None or self.wire.waiting < MANY)

    async def writable(self) -> None:
        """See `conversation.line`."""
        wire = self.wire
        if wire is not None and wire.waiting >= MANY:
            wire.hold()
        if wire is not None and not wire.taking:
            await wire.writable.wait()
        else:
            await trio.lowlevel.checkpoint_if_cancelled()

    async def wait(self, ticket: Ticket[Value], /, timeout: float | None = None) -> Value:
        """See `conversation.line`.  Cancelling the wait does not undo what was sent."""
        self._waiting += 1
        try:
            self._listen()
            if timeout is None:
                await settled(ticket)
            else:
                with trio.move_on_after(max(timeout, 0)) as scope:
                    await settled(ticket)
                if scope.cancelled_caught and not ticket.done:
                    raise TimeoutError(f"no answer within {timeout} seconds")
            return ticket.result()
        finally:
            self._waiting -= 1

    async def asked(self, say: Callable[[], Ticket[Value]], /) -> Value:
        """See `conversation.line`."""
        wire = self.wire
        ticket = say() if wire is None or self._asking else wire.say(say)
        self._asking += 1
        try:
            if wire is None or self._asking > 1 or self._waiting or not await wire.answer(ticket):
                self._listen()
                await settled(ticket)
        finally:
            self._asking -= 1
            if self._asking or self._waiting:
                self._listen()
        return ticket.result()

    async def within(self, seconds: float, work: Callable[[], Coroutine[Any, Any, Value]], /) -> Value:
        """See `conversation.line`."""
        check_timeout(seconds)
        if seconds <= 0:
            await trio.lowlevel.checkpoint()
        else:
            with trio.move_on_after(seconds):
                return await work()
        raise TimeoutError(f"no answer within {seconds} seconds")

    def _listen(self) -> None:
        if self.wire is not None:
            self.wire.listen()
