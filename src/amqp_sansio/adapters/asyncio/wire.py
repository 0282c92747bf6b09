"""One asyncio socket of one connection: passes input to the client, writes its output, keeps its timer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from amqp_sansio.adapters.asyncio.waiting import Waiting
from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")

READ: Final = 64 * 1024
"""Octets per read, before other tasks have their turn."""


class Wire(asyncio.BufferedProtocol):
    """Passes input to the client's machine, writes its output, and runs its one timer.

    `over` is done when the socket is gone.  While the socket takes no more octets, `taking` is False and `writable` is not set.
    """

    def __init__(self, client: BaseClient) -> None:
        loop = asyncio.get_running_loop()
        self.over: Final[asyncio.Future[None]] = loop.create_future()
        self.taking = True
        self.writable: Final = asyncio.Event()
        self.writable.set()
        self._client: Final = client
        self._machine: Final = client.machine  # the one of this connection
        self._loop: Final = loop
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0  # when the timer fires
        self._scheduled = False
        self._waiting: Waiting | None = None  # the one task that waits for an answer
        self._answered = False  # its answer has arrived
        self._feeding = False
        self._buffer: Final = memoryview(bytearray(READ))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the client on the new socket."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._timed()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Returns the buffer for arriving octets."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Passes `nbytes` octets from the buffer to the client."""
        self._feeding = True
        try:
            self._client.receive_data(bytes(self._buffer[:nbytes]))
            self._client.tick(self._loop.time())
        finally:
            self._feeding = False
        if self._answered:
            self._answered, waiting = False, self._waiting
            self._scheduled = True  # output of this block is written below
            try:
                if waiting is not None and not waiting.done():
                    waiting.go()
            finally:
                self.transmit()
        else:
            self.transmit()

    def eof_received(self) -> bool:
        """Notes that the peer sends nothing more."""
        self._client.receive_eof()
        self._timed()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """Ends the connection: the socket is gone."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._machine.finished:
            self._client.receive_eof(error if isinstance(error, OSError) else None)
            self._client.tick(self._loop.time())
        self._takes()
        if not self.over.done():
            self.over.set_result(None)

    def pause_writing(self) -> None:
        """Pauses output: the socket is slower than we are."""
        self.taking = False
        self.writable.clear()

    def resume_writing(self) -> None:
        """Resumes output: the socket takes octets again."""
        self._takes()
        self.transmit()

    def _takes(self) -> None:
        self.taking = True
        self.writable.set()

    @property
    def waiting(self) -> int:
        """Octets that wait to be written; a lower bound."""
        return self._machine.bytes_to_send

    def say(self, say: Callable[[], Ticket[Value]]) -> Ticket[Value]:
        """Sends something at once, unless output is about to be written anyway."""
        if self._scheduled:
            return say()
        self._scheduled = True  # by this method itself
        try:
            return say()
        finally:
            self.transmit()

    async def answer(self, ticket: Ticket[Value]) -> None:
        """Waits for a pending ticket, and continues in the same turn of the event loop in which the answer arrives.

        One task at a time; it continues once everything that arrived with the answer has been handled.
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
        """Schedules output, which is written with everything else before the event loop's next turn."""
        if not self._scheduled and not self.over.done():
            self._scheduled = True
            self._loop.call_soon(self.transmit)

    def transmit(self) -> None:
        """Writes pending output, and keeps the timer from firing too late.

        What a slow socket does not take stays in the machine, which then merges its acknowledgements.
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
            transport.abort()  # it is over: no answer to that will come, and the rest is dropped
        elif self._machine.finished:
            transport.close()
        elif due is not None and (self._timer is None or due < self._due):
            self._set_timer(due)

    def _set_timer(self, due: float) -> None:
        """Sets the timer.  One that fires too early costs less than setting one with every output."""
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at(due, self._timed)

    def _timed(self) -> None:
        """Ticks the client when the timer fires."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._client.tick(self._loop.time())
        self.transmit()

    def abort(self) -> None:
        """Closes the socket at once, without waiting for the peer."""
        if self._transport is not None:
            self._transport.abort()
