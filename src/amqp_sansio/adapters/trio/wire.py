"""One stream of trio under one connection: feed, drain, transmit."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from typing import Final, TypeVar

import trio

from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")

READ: Final = 64 * 1024
"""Octets read at once, before others have their turn."""
LENT: Final = 0.01
"""Seconds after which the task that reads looks whether those who wait for answers still read themselves."""


class Wire:
    """Feeds what comes to the client's machine, writes what it has to say, and keeps time, each in a task of one nursery.

    While the socket takes no more octets it is not `taking`, and `writable` is not set.

    A task that waits alone for an answer reads it itself (`answer`): another task that reads and wakes it costs one
    more turn of the loop.  So that it does not cost two, the task that reads stays away in between, until it is called
    (`listen`) or nobody has read for a moment.
    """

    def __init__(self, client: BaseClient, stream: trio.abc.Stream) -> None:
        self.writable = trio.Event()
        self.writable.set()
        self.taking = True
        self._client: Final = client
        self._machine: Final = client.machine  # of this connection
        self._stream: Final = stream
        self._woken = trio.Event()
        self._idle = False  # the task that writes waits to be woken
        self._saying = False  # it need not be: what is said is written right after
        self._direct: Final = _direct(stream)  # one task less to go through than with the stream
        self._failure: OSError | None = None  # what TLS said when it ended
        self._rest = b""  # octets that were taken out of the machine and must be written first
        self._due = math.inf
        self._sooner = trio.Event()
        self._away = False  # the task that reads leaves that to others
        self._called = False  # it is to come back
        self._back = trio.Event()  # it is to look whether it should
        self._lent = False  # somebody reads himself
        self._used = False  # somebody began to since that was looked at
        self._awaited = False  # the task that reads looks again when he is done
        self._own = False  # what he read is being dealt with
        self._sending = False  # octets wait for the socket
        self._scope: Final = trio.CancelScope()

    @property
    def waiting(self) -> int:
        """At least this number of octets waits to be written."""
        return self._machine.bytes_to_send

    def wake(self) -> None:
        """There is something to send: it goes out with everything else before the loop turns."""
        if not self._saying:
            self._woken.set()

    def say(self, say: Callable[[], Ticket[Value]]) -> Ticket[Value]:
        """Says something that goes out at once where the socket takes it at once, and nobody else is about to write."""
        if self._direct is None or not self._idle or self._woken.is_set():
            return say()
        self._saying = True
        try:
            return say()
        finally:
            self._saying = False
            self._write_now(self._direct)

    def _write_now(self, direct: socket.socket) -> None:
        """Writes what the socket takes without waiting: a task of its own needs two turns of the loop for that."""
        octets = self._take()
        try:
            sent = direct.send(octets) if octets else 0
        except OSError:  # it takes nothing now, or is gone: the task that writes will see
            sent = 0
        if sent < len(octets):
            self._rest = octets[sent:]
            self.hold()
        elif self._machine.finished:
            self.wake()

    async def answer(self, ticket: Ticket[Value]) -> bool:
        """Reads until the ticket is settled; False where that is to be waited for otherwise."""
        direct = self._direct
        if direct is None or ticket.done or self._lent or not self._machine.is_open:
            return False
        if not self._away:
            self._away, self._called = True, False
            trio.lowlevel.notify_closing(direct)  # it is not closed: who waits for it is woken
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
                self.listen()  # what ended this is seen there, too
        return ticket.done

    def _answered(self) -> None:
        """The task that reads for a ticket need not do so any more."""
        if not self._own and self._direct is not None:
            trio.lowlevel.notify_closing(self._direct)

    def listen(self) -> None:
        """Somebody waits who does not read himself."""
        if self._away and not self._lent:
            self._called = True
            self._back.set()

    def hold(self) -> None:
        """There is much to send: nobody adds to it before it is written."""
        self._takes(False)
        self.wake()

    async def run(self) -> None:
        """Until the connection is over."""
        self._client.tick(trio.current_time())
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
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
        """What is to be written."""
        self._client.flush()
        octets = self._client.data_to_send()
        self._set_due()
        return octets

    def _set_due(self) -> None:
        """Sees to it that the task that keeps time does not wake too late."""
        due = self._client.due
        if due is not None and due < self._due:  # to wake too early costs less than to say so with every word
            self._due = due
            self._sooner.set()

    async def _keep_time(self) -> None:
        """Time goes on, however long the socket takes for its octets."""
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
        """Whether it is over, and nobody takes what is left."""
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
        """Octets came, or their end."""
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
        """Octets that came, none at the end of them; None when there are none now, or others read.

        A reset is how some brokers end a connection.
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
        """Until the task that reads is called, or nobody has read himself for a moment.

        While another task has been reading since it looked last, it sleeps until that one is done: it does not watch long
        waits.
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
                return  # nobody waits for an answer to that
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
            await self._woken.wait()  # the end will be read


def _direct(stream: trio.abc.Stream) -> socket.socket | None:
    """The socket under a stream once more, for what it takes without waiting; None where there is something in between."""
    if not isinstance(stream, trio.SocketStream):
        return None
    direct = socket.fromfd(stream.socket.fileno(), stream.socket.family, stream.socket.type, stream.socket.proto)
    direct.setblocking(False)
    return direct
