"""The journal of a broker goes to its store: in a thread of its own, many entries a sync, while the loop goes on."""

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
"""Octets of entries that wait for the disk, from which on clients wait too."""
COMPACT: Final = 64 * 1024 * 1024
"""Octets of entries after which a snapshot takes their place, unless the last snapshot was larger than half of them."""
MANY: Final = 10_000
"""Messages on queues from which on the end writes no last snapshot, if the journal can say that it is the end: what the next
start reads is never more than COMPACT allows."""


class Writer:
    """Takes the entries of the broker, stores them, and says so to it.

    `woken` is called when something became possible.  When the store fails, `failed` is called, once, with the reason:
    nothing is stored any more, and nothing that depends on it ever happens.
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
        self._shrinking = False  # the file has room that the disk can have back

    @property
    def full(self) -> bool:
        """Whether so much waits for the disk that nothing more should be taken from clients."""
        return self._octets >= BACKLOG or self.failure is not None

    def gather(self) -> None:
        """Takes what the broker wrote down since the last time, and sees to it that it is stored."""
        self._take()
        if self._waiting and self._writing is None and self.failure is None:
            self._append()

    @property
    def _free(self) -> bool:
        """Whether the thread has nothing to do, and will have nothing that is in a hurry."""
        return self._writing is None and not self._finishing

    async def idle(self) -> None:
        """Until all that was gathered is stored, or nothing ever will be.  It is the end: nothing is begun that could wait."""
        self._finishing = True
        while self._writing is not None:
            await asyncio.wait([self._writing])
            await asyncio.sleep(0)  # what follows from it goes first

    async def finish(self) -> None:
        """The last snapshot, or an entry that says as much; to be called when the broker has no connection any more.

        StoreError.
        """
        try:
            self.gather()
            await self.idle()
            if self._concludes():
                self._take()
                batch, _ = self._batch()
                await self._run(self._store.append, batch)
            elif self.failure is None:
                with suppress(EncodeError):  # too large for one: then there are the entries
                    await self._run(self._take_over, self._broker.snapshot())
                    await self._run(self._shrink_all)
        finally:
            await self._run(self._store.close)
            self._threads.shutdown()

    def _concludes(self) -> bool:
        """Whether the journal now says that this is the end, instead of a snapshot."""
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
        """A snapshot of now: what waits to be written is in it."""
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
            except EncodeError:  # too large for one: the entries stay
                self._store.append(batch)

        def stored() -> None:
            self._stored(number, octets)
            self._due = max(self._compact, 2 * size)
            self._shrinking = True

        self._begin(write, stored)

    def _shrink(self) -> None:
        """One step of giving room back to the disk, while nothing waits to be written."""
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
        """In the thread: the snapshot takes the place of the entries; its size."""
        number = snapshot["journal"]
        assert isinstance(number, int)
        octets = encode_snapshot(snapshot)
        self._store.compact(number, octets)
        return len(octets)

    def _begin(self, work: Callable[[], object], then: Callable[[], None]) -> None:
        """Work in the thread, and what follows from it here."""
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
