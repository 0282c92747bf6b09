"""One stream of trio under one connection: feed, drain, transmit."""

from __future__ import annotations

import math
from typing import Final

import trio

from amqp_sansio.conversation.client import Client

READ: Final = 256 * 1024
"""Octets read at once."""


class Wire:
    """Feeds what comes to the client's machine, writes what it has to say, and keeps time, each in a task of one nursery.

    While the socket takes no more octets `writable` is not set.
    """

    def __init__(self, client: Client, stream: trio.abc.Stream) -> None:
        self.writable = trio.Event()
        self.writable.set()
        self._client: Final = client
        self._stream: Final = stream
        self._woken = trio.Event()
        self._due = math.inf
        self._sooner = trio.Event()

    def wake(self) -> None:
        """There is something to send: it goes out with all else that is said before the loop turns."""
        self._woken.set()

    def hold(self) -> None:
        """There is much to send: nobody adds to it before it is written."""
        if self.writable.is_set():
            self.writable = trio.Event()
        self.wake()

    async def run(self) -> None:
        """Until the connection is over."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read)
                nursery.start_soon(self._keep_time, nursery.cancel_scope)
                await self._write()
                nursery.cancel_scope.cancel()
        finally:
            self.writable.set()

    def _tick(self) -> None:
        due = self._client.tick(trio.current_time())
        if due is not None and due < self._due:  # looking at the time too early costs less than saying so with every word
            self._due = due
            self._sooner.set()

    async def _keep_time(self, scope: trio.CancelScope) -> None:
        """Time goes on, however long the socket takes for its octets."""
        while True:
            self._sooner = trio.Event()
            with trio.move_on_at(self._due) as waiting:
                await self._sooner.wait()
            if waiting.cancelled_caught:
                self._due = math.inf
                self._tick()
                self.wake()
                if self._client.closed is not None and not self.writable.is_set():
                    scope.cancel()  # it is over, and nobody takes what is left

    async def _read(self) -> None:
        while not self._client.machine.finished:
            try:
                octets = await self._stream.receive_some(READ)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                octets = b""  # a reset is how some brokers end a connection
            if octets:
                self._client.receive_data(bytes(octets))
            else:
                self._client.receive_eof()
            self.wake()
            if not octets:
                return

    async def _write(self) -> None:
        while True:
            self._woken = trio.Event()
            self._tick()
            octets = self._client.machine.data_to_send()
            if octets:
                await self._send(octets)
                continue
            self.writable.set()
            if self._client.machine.finished:
                return
            await self._woken.wait()

    async def _send(self, octets: bytes) -> None:
        if self.writable.is_set():
            self.writable = trio.Event()
        try:
            await self._stream.send_all(octets)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            await self._woken.wait()  # the end will be read
