"""Writes a broker's journal to its store in a thread of its own, many entries per sync, while the event loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from amqp_sansio.adapters.store import Store, StoreError
from amqp_sansio.broker import Broker, encode_entry, encode_snapshot
from amqp_sansio.broker.snapshot import conclude
from amqp_sansio.errors import EncodeError

BACKLOG: Final = 16 * 1024 * 1024
"""Octets of entries that wait for the disk; from this many on, clients wait too."""
COMPACT: Final = 64 * 1024 * 1024
"""Octets of entries after which a snapshot replaces them; twice the size of the last snapshot where that is more."""
MANY: Final = 10_000
"""Messages on queues from which on no last snapshot is written at the end, if the journal can record the end instead.  What the
next start reads never exceeds what COMPACT allows."""


class Writer:
    """Takes the broker's entries, stores them, and reports them to it as stored.

    `woken` is called when something became possible.  When the store fails, `failed` is called once with the reason: nothing is
    stored from then on, and nothing that depends on it ever happens.
    """

    def __init__(
        self, broker: Broker, store: Store, woken: Callable[[], None], failed: Callable[[str], None], compact: int = COMPACT
    ) -> None:
        self.failure: str | None = None
        self._finishing = False
        self._broker: Final = broker
        self._store: Final = store
        self._woken: Final = woken
        self._failed: Final = failed
        self._threads: Final = ThreadPoolExecutor(1, "amqp journal")
        self._waiting: list[tuple[int, bytes]] = []
        self._octets = 0  # of what waits or is being written
        self._writing: asyncio.Future[None] | None = None
        self._compact: Final = compact
        self._due = max(compact, 2 * store.snapshot_octets) - store.journal_octets  # octets of entries until the next snapshot
        self._shrinking = False  # the file has free space that can go back to the disk

    @property
    def full(self) -> bool:
        """Whether so much waits for the disk that the server should read nothing more from clients."""
        return self._octets >= BACKLOG or self.failure is not None

    def gather(self) -> None:
        """Takes the broker's new entries and starts storing them."""
        self._take()
        if self._waiting and self._writing is None and self.failure is None:
            self._append()

    @property
    def _free(self) -> bool:
        """Whether the thread is idle and will get nothing urgent."""
        return self._writing is None and not self._finishing

    async def idle(self) -> None:
        """Waits until all gathered entries are stored, or never will be.  Called at the end: from now on nothing optional
        begins."""
        self._finishing = True
        while self._writing is not None:
            await asyncio.wait([self._writing])
            await asyncio.sleep(0)  # let its consequences run first

    async def finish(self) -> None:
        """Writes the last snapshot, or an entry in its place; call it when the broker has no connection any more.

        Raises StoreError.
        """
        try:
            self.gather()
            await self.idle()
            if self._concludes():
                self._take()
                batch, _ = self._batch()
                await self._run(self._store.append, batch)
            elif self.failure is None:
                with suppress(EncodeError):  # too large for a snapshot: the entries remain
                    await self._run(self._take_over, self._broker.snapshot())
                    await self._run(self._shrink_all)
        finally:
            await self._run(self._store.close)
            self._threads.shutdown()

    def _concludes(self) -> bool:
        """Whether the journal now records the end, so that no snapshot is needed."""
        if self.failure is not None or self._due <= 0:
            return False
        return sum([site.host.messages for site in self._broker._sites.values()]) >= MANY and conclude(self._broker)

    def _take(self) -> None:
        try:
            for entry in self._broker.journal():
                octets = encode_entry(entry)
                self._waiting.append((entry.number, octets))
                self._octets += len(octets)
        except EncodeError as error:
            self._fail(f"a journal entry cannot be written: {error}")

    # --- in turns -------------------------------------------------------------------------------------------------------------

    def _append(self) -> None:
        batch, octets = self._batch()
        self._begin(lambda: self._store.append(batch), lambda: self._stored(batch[-1][0], octets))

    def _batch(self) -> tuple[list[tuple[int, bytes]], int]:
        batch, self._waiting = self._waiting, []
        return batch, sum([len(each) for _, each in batch])

    def _stored(self, number: int, octets: int) -> None:
        self._octets -= octets
        self._due -= octets
        self._broker.journalled(number)

    def _snapshot(self) -> None:
        """Starts a snapshot of the present state, which includes the entries that wait to be written."""
        self._take()
        if self.failure is not None:
            return
        batch, octets = self._batch()
        snapshot = self._broker.snapshot()
        number = snapshot["journal"]
        assert isinstance(number, int)
        size = 0

        def write() -> None:
            nonlocal size
            try:
                size = self._take_over(snapshot)
            except EncodeError:  # too large for a snapshot: the entries remain
                self._store.append(batch)

        def stored() -> None:
            self._stored(number, octets)
            self._due = max(self._compact, 2 * size)
            self._shrinking = True

        self._begin(write, stored)

    def _shrink(self) -> None:
        """Starts one step of returning space to the disk, while nothing waits to be written."""
        self._shrinking = False
        more = False

        def shrink() -> None:
            nonlocal more
            more = self._store.shrink()

        def shrunk() -> None:
            self._shrinking = more

        self._begin(shrink, shrunk)

    def _shrink_all(self) -> None:
        while self._store.shrink():
            pass

    def _take_over(self, snapshot: dict[str, object]) -> int:
        """Replaces the entries by the snapshot and returns its size; runs in the thread."""
        number = snapshot["journal"]
        assert isinstance(number, int)
        octets = encode_snapshot(snapshot)
        self._store.compact(number, octets)
        return len(octets)

    def _begin(self, work: Callable[[], object], then: Callable[[], None]) -> None:
        """Runs `work` in the thread, and `then` in the event loop afterwards."""
        self._writing = future = asyncio.ensure_future(self._run(work))

        def done(_: object) -> None:
            self._writing = None
            if future.cancelled():
                return
            error = future.exception()
            if error is not None:
                self._fail(str(error) if isinstance(error, StoreError) else repr(error))
            if self.failure is not None:
                return
            then()
            if self._due <= 0 and not self._finishing:
                self._snapshot()
            else:
                self.gather()
            if self._shrinking and self._free:
                self._shrink()
            self._woken()

        future.add_done_callback(done)

    async def _run(self, work: Callable[..., object], *arguments: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def _fail(self, why: str) -> None:
        if self.failure is None:
            self.failure = why
            self._failed(why)
