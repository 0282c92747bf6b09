"""One socket of asyncio under one connection: feed, drain, transmit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from amqp_sansio.adapters.asyncio.waiting import Waiting
from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")

READ: Final = 64 * 1024
"""Octets read at once, before others have their turn."""


class Wire(asyncio.BufferedProtocol):
    """Feeds what comes to the client's machine, writes what it has to say, and keeps its one timer.

    `over` is done when the socket is gone.  While that takes no more octets it is not `taking`, and `writable` is not set.
    """

    def __init__(self, client: BaseClient) -> None:
        loop = asyncio.get_running_loop()
        self.over: Final[asyncio.Future[None]] = loop.create_future()
        self.taking = True
        self.writable: Final = asyncio.Event()
        self.writable.set()
        self._client: Final = client
        self._machine: Final = client.machine  # of this connection
        self._loop: Final = loop
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0  # when the timer goes off
        self._scheduled = False
        self._waiting: Waiting | None = None  # who waits alone for an answer
        self._answered = False  # it is there
        self._feeding = False
        self._buffer: Final = memoryview(bytearray(READ))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a socket: the client begins."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._timed()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where octets are to arrive."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """`nbytes` octets came."""
        self._feeding = True
        try:
            self._client.receive_data(bytes(self._buffer[:nbytes]))
            self._client.tick(self._loop.time())
        finally:
            self._feeding = False
        if self._answered:
            self._answered, waiting = False, self._waiting
            self._scheduled = True  # what is said now goes out below
            try:
                if waiting is not None and not waiting.done():
                    waiting.go()
            finally:
                self.transmit()
        else:
            self.transmit()

    def eof_received(self) -> bool:
        """The other side sends nothing more."""
        self._client.receive_eof()
        self._timed()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """The socket is gone."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._machine.finished:
            self._client.receive_eof(error if isinstance(error, OSError) else None)
            self._client.tick(self._loop.time())
        self._takes()
        if not self.over.done():
            self.over.set_result(None)

    def pause_writing(self) -> None:
        """The socket is slower than we are."""
        self.taking = False
        self.writable.clear()

    def resume_writing(self) -> None:
        """The socket takes octets again: those that were kept back go out."""
        self._takes()
        self.transmit()

    def _takes(self) -> None:
        self.taking = True
        self.writable.set()

    @property
    def waiting(self) -> int:
        """At least this number of octets waits to be written."""
        return self._machine.bytes_to_send

    def say(self, say: Callable[[], Ticket[Value]]) -> Ticket[Value]:
        """Says something that goes out at once, unless something is about to go out anyway."""
        if self._scheduled:
            return say()
        self._scheduled = True  # it is, by ourselves
        try:
            return say()
        finally:
            self.transmit()

    async def answer(self, ticket: Ticket[Value]) -> None:
        """Waits for a ticket that is not settled, and goes on in the turn of the loop in which the answer comes.

        One task at a time; it goes on once all that came with the answer has happened.
        """
        self._waiting = waiting = Waiting(loop=self._loop)
        ticket.on_done(self._settle)
        try:
            await waiting
        finally:
            self._waiting = None
            if not ticket.done:
                ticket.forget(self._settle)

    def _settle(self) -> None:
        if self._feeding:
            self._answered = True
        elif self._waiting is not None:
            self._waiting.go_soon()

    def wake(self) -> None:
        """There is something to send: it goes out with everything else before the loop turns."""
        if not self._scheduled and not self.over.done():
            self._scheduled = True
            self._loop.call_soon(self.transmit)

    def transmit(self) -> None:
        """Writes what is to be written, and sees to it that the timer does not go off too late.

        What a slow socket does not take stays in the machine, which reports what it owes in as few words as possible.
        """
        self._scheduled = False
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        client = self._client
        client.flush()
        if self.taking and (octets := self._client.data_to_send()):
            transport.write(octets)
        due = client.due
        if client.closed is not None and (not self._machine.finished or transport.get_write_buffer_size()):
            transport.abort()  # it is over: nobody waits for an answer to that, nor takes what is left
        elif self._machine.finished:
            transport.close()
        elif due is not None and (self._timer is None or due < self._due):
            self._set_timer(due)

    def _set_timer(self, due: float) -> None:
        """One that goes off too early costs less than one that is set with every word."""
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at(due, self._timed)

    def _timed(self) -> None:
        """The client is to tick, whatever came."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._client.tick(self._loop.time())
        self.transmit()

    def abort(self) -> None:
        """Nobody waits for the other side any more."""
        if self._transport is not None:
            self._transport.abort()
