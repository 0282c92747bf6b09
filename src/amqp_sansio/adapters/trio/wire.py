"""One stream of trio under one connection: feed, drain, transmit."""

from __future__ import annotations

import math
from typing import Final

import trio

from amqp_sansio.conversation.client import Client

READ: Final = 256 * 1024
"""Octets read at once."""


class Wire:
    """Feeds what comes to the client's machine, writes what it has to say, and keeps time, in two tasks of one nursery.

    While the socket takes no more octets `writable` is not set.
    """

    def __init__(self, client: Client, stream: trio.abc.Stream) -> None:
        self.writable = trio.Event()
        self.writable.set()
        self._client: Final = client
        self._stream: Final = stream
        self._woken = trio.Event()

    def wake(self) -> None:
        """There is something to send: it goes out with all else that is said before the loop turns."""
        self._woken.set()

    async def run(self) -> None:
        """Until the connection is over."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read)
            await self._write()
            nursery.cancel_scope.cancel()

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
            due = self._client.tick(trio.current_time())
            octets = self._client.machine.data_to_send()
            if octets:
                await self._send(octets)
                continue
            if self._client.machine.finished:
                return
            with trio.move_on_at(math.inf if due is None else due):
                await self._woken.wait()

    async def _send(self, octets: bytes) -> None:
        self.writable = trio.Event()
        try:
            await self._stream.send_all(octets)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            await self._woken.wait()  # the end will be read
        finally:
            self.writable.set()
