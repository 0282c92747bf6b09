"""The asyncio socket of one connection: it carries octets and time to the client; sessions send and wait on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Final, TypeVar

from amqp_sansio.conversation.base_client import BaseClient
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors.checks import check_timeout

Value = TypeVar("Value")

READ: Final = 64 * 1024
"""Octets per read, before other tasks have their turn."""
MANY: Final = 256 * 1024
"""Octets waiting to be written; from this many on, a publisher waits until they are written."""


async def settled(ticket: Ticket[Value]) -> None:
    """Waits until a pending ticket is settled."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle() -> None:
        if not future.done():
            future.set_result(None)

    ticket.on_done(settle)
    try:
        await future
    finally:
        if not ticket.done:
            ticket.forget(settle)


class Waiting(asyncio.Future[None]):
    """A future for one awaiting task, which continues inside `go` instead of in the next turn of the event loop."""

    _then: tuple[Callable[[Any], object], Context | None] | None = None  # Any: the Future itself

    def add_done_callback(self, fn: Callable[[Any], object], /, *, context: Context | None = None) -> None:
        """Stores the callback of the awaiting task."""
        self._then = (fn, context)

    def go(self) -> None:
        """Completes the future and runs the awaiting task at once, up to its next wait.  Must not be called from a task."""
        self.set_result(None)
        if self._then is not None:
            fn, context = self._then
            if context is None:
                fn(self)
            else:
                context.run(fn, self)

    def go_soon(self) -> None:
        """Completes the future; the awaiting task continues in the next turn of the event loop."""
        if not self.done():
            self.set_result(None)
            self._tell()

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancels the future, as for any future."""
        if not super().cancel(msg):
            return False
        self._tell()
        return True

    def _tell(self) -> None:
        if self._then is not None:
            fn, context = self._then
            self.get_loop().call_soon(fn, self, context=context)


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
        if self._machine is self._client.machine and not self._machine.finished:  # else the next connection has begun
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


class Line:
    """See `conversation.line`.  `wire` is the socket of the present connection, None while there is none."""

    def __init__(self) -> None:
        self.wire: Wire | None = None
        self._asking = 0

    def wake(self) -> None:
        """Notes that there is something to send."""
        if self.wire is not None:
            self.wire.wake()

    def free(self, timeout: float | None = None) -> bool:
        """See `conversation.line`."""
        wire = self.wire
        return wire is None or (wire.taking and wire.waiting < MANY)

    async def writable(self) -> None:
        """See `conversation.line`."""
        wire = self.wire
        if wire is None:
            return
        if wire.waiting >= MANY:
            wire.transmit()
        if not wire.taking:
            await wire.writable.wait()

    async def wait(self, ticket: Ticket[Value], /, timeout: float | None = None) -> Value:
        """See `conversation.line`.  Cancelling the wait does not undo what was sent."""
        if not ticket.done:
            if timeout is None:
                await settled(ticket)
            else:
                try:
                    async with asyncio.timeout(timeout):
                        await settled(ticket)
                except TimeoutError:
                    raise TimeoutError(f"no answer within {timeout} seconds") from None
        return ticket.result()

    async def asked(self, say: Callable[[], Ticket[Value]], /) -> Value:
        """See `conversation.line`."""
        wire = self.wire
        alone = wire is not None and not self._asking
        ticket = wire.say(say) if wire is not None and alone else say()
        if not ticket.done:
            self._asking += 1
            try:
                await (wire.answer(ticket) if wire is not None and alone else settled(ticket))
            finally:
                self._asking -= 1
        return ticket.result()

    async def within(self, seconds: float, work: Callable[[], Coroutine[Any, Any, Value]], /) -> Value:
        """See `conversation.line`."""
        check_timeout(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            raise TimeoutError(f"no answer within {seconds} seconds")
        try:
            async with asyncio.timeout(seconds):
                return await work()
        except TimeoutError:
            raise TimeoutError(f"no answer within {seconds} seconds") from None
