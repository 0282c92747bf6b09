"""The model broker on sockets of asyncio, and its journal, which a thread writes to the disk while the event loop goes on."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Literal, Protocol, Self, TypeVar

import attrs

from amqp_sansio.adapters.asyncio.server import Server, _Socket
from amqp_sansio.adapters.base_server import AdmittedConnection
from amqp_sansio.adapters.store import Store, StoreError
from amqp_sansio.broker import Broker, Peer, encode_entry, encode_snapshot
from amqp_sansio.broker.model.arguments import Hint
from amqp_sansio.broker.snapshot import conclude
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.hosting import load
from amqp_sansio.engine.sasl import ExternalServer, server_mechanisms
from amqp_sansio.errors import AmqpError, EncodeError
from amqp_sansio.events import Event
from amqp_sansio.kernel.timers import AT_ONCE
from amqp_sansio.limits import DEFAULT_SERVER_LIMITS, ServerLimits
from amqp_sansio.spec.codes import CloseCode

T = TypeVar("T")

BACKLOG: Final = 16 * 1024 * 1024
"""Octets of entries that wait for the disk; from this many on, clients wait too."""
COMPACT: Final = 64 * 1024 * 1024
"""Octets of entries after which a snapshot replaces them; twice the size of the last snapshot where that is more."""
MANY: Final = 10_000
"""Messages on queues from which on no last snapshot is written at the end, if the journal can record the end instead.  What the
next start reads never exceeds what COMPACT allows."""


LOOK: Final = 0.25
"""Seconds until the broker is asked again what is due, while reading is suspended."""


class JournalWriter:
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
        self._writing: asyncio.Future[Any] | None = None
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
        return sum([host.messages for host in self._broker._hosts.values()]) >= MANY and conclude(self._broker)

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
        self._begin(lambda: self._store.append(batch), lambda _: self._stored(batch[-1][0], octets))

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

        def write() -> int:
            try:
                return self._take_over(snapshot)
            except EncodeError:  # too large for a snapshot: the entries remain
                self._store.append(batch)
                return 0

        def stored(size: int) -> None:
            self._stored(number, octets)
            self._due = max(self._compact, 2 * size)
            self._shrinking = True

        self._begin(write, stored)

    def _shrink(self) -> None:
        """Starts one step of returning space to the disk, while nothing waits to be written."""
        self._shrinking = False

        def shrunk(more: bool) -> None:
            self._shrinking = more

        self._begin(self._store.shrink, shrunk)

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

    def _begin(self, work: Callable[[], T], then: Callable[[T], None]) -> None:
        """Runs `work` in the thread, and `then` in the event loop afterwards, with its result."""
        future = asyncio.ensure_future(self._run(work))
        self._writing = future

        def done(_: object) -> None:
            self._writing = None
            if future.cancelled():
                return
            error = future.exception()
            if error is not None:
                self._fail(str(error) if isinstance(error, StoreError) else repr(error))
            if self.failure is not None:
                return
            then(future.result())
            if self._due <= 0 and not self._finishing:
                self._snapshot()
            else:
                self.gather()
            if self._shrinking and self._free:
                self._shrink()
            self._woken()

        future.add_done_callback(done)

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def _fail(self, why: str) -> None:
        if self.failure is None:
            self.failure = why
            self._failed(why)


def common_name(certificate: Mapping[str, Any] | None) -> str | None:  # Any: as ssl returns it
    """Returns the common name in a verified certificate; None without one, or where it cannot be the name of a user."""
    parts = [part for group in (certificate or {}).get("subject", ()) for part in group]
    names = [value for name, value in parts if name == "commonName"]
    return names[0] if len(names) == 1 and names[0].isprintable() else None


class OctetListener(Protocol):
    """Receives the octets of one connection."""

    def hear(self, speaker: str, octets: bytes) -> None:
        """Called with octets that `speaker`, "client" or "server", sent."""

    def note(self, text: str) -> None:
        """Called with a remark that neither speaker sent."""


class _Front:
    """The broker as its sockets see it: reading is suspended while `held` returns True."""

    def __init__(self, broker: Broker, held: Callable[[], bool]) -> None:
        self._broker: Final = broker
        self._held: Final = held
        self.ready: Final = broker.ready
        self._now = AT_ONCE

    def next_event(self) -> tuple[Peer, Event] | None:
        """Returns the next event; None also while reading is suspended."""
        return None if self._held() else self._broker.next_event()

    def tick(self, now: float) -> float | None:
        """Tells the broker the time; returns `due`."""
        self._now = now
        self._broker.tick(now)
        return self.due

    @property
    def due(self) -> float | None:
        """The moment of the next turn; while reading is suspended, work on received octets does not count."""
        due = self._broker.due
        return self._now + LOOK if due is not None and due <= self._now and self._held() else due


class _TappedSocket(_Socket[Peer]):
    """A client's socket whose octets, in both directions, also go to a listener."""

    def __init__(self, server: BrokerServer, place: AdmittedConnection, listen: Callable[[], OctetListener]) -> None:
        super().__init__(server, place)
        self._listen: Final = listen
        self._listener: OctetListener  # set in connection_made

    def _join(self, transport: asyncio.Transport) -> Peer:
        peer = super()._join(transport)
        self._listener = self._listen()
        self._listener.note(f"connected from {self.client}")
        return peer

    def data_received(self, data: bytes) -> None:
        self._listener.hear("client", data)
        super().data_received(data)

    def _take(self) -> bytes:
        octets = super()._take()
        if octets:
            self._listener.hear("server", octets)
        return octets

    def _end(self) -> None:
        if not self._eof:
            self._listener.note("the client's octets have ended")
        super()._end()


class BrokerServer(Server[Peer]):
    """A broker on a socket address, to be used as `async with` and ended by `stop`.

    With a store, the journal is kept in it: the broker must be the one that was restored from the store, with `journal=True` in
    its config.  `failed` is called when the store fails: from then on the server reads nothing and sends nothing that depends
    on the disk, and only `stop` is left to call.  `hinted` is called once for each argument of clients that the broker ignores.
    """

    def __init__(
        self,
        broker: Broker,
        config: Callable[[], ServerConfig] = ServerConfig,
        address: str = "127.0.0.1",
        port: int = 5672,
        *,
        tls: ssl.SSLContext | None = None,
        store: Store | None = None,
        failed: Callable[[str], None] = lambda why: None,
        listen: Callable[[], OctetListener] | None = None,
        hinted: Callable[[Hint], None] = lambda hint: None,
        compact: int = COMPACT,
        limits: ServerLimits = DEFAULT_SERVER_LIMITS,
    ) -> None:
        self.broker: Final = broker
        self.writer: Final = None if store is None else JournalWriter(broker, store, self.wake, failed, compact)
        self._hinted: Final = hinted
        self.configure: Final = config
        """Returns the settings for the next client."""
        self.listen: Final = listen
        """Returns a listener for the next client, if any."""
        self._phase: Literal["open", "quiet", "closing", "over"] = "open"
        super().__init__(_Front(broker, self._held), broker.connect, (address, port), tls, limits)

    async def __aenter__(self) -> Self:
        load(self.configure())
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop("the broker is stopped")

    def _held(self) -> bool:
        """Whether reading is suspended: the disk has to catch up, or the server is stopping."""
        if self._phase == "open":
            return self.writer is not None and self.writer.full
        return self._phase == "quiet"

    def settle(self) -> None:
        """Passes new entries to the store and new hints to `hinted`."""
        for hint in self.broker.hints.take():
            self._hinted(hint)
        if self.writer is not None:
            self.writer.gather()

    def _socket(self, place: AdmittedConnection) -> _Socket[Peer]:
        return _Socket(self, place) if self.listen is None else _TappedSocket(self, place, self.listen)

    def join(self, transport: asyncio.Transport) -> Peer:
        """Returns a new connection: a client with a certificate that TLS has verified may log in by it."""
        config, proved = self.configure(), common_name(transport.get_extra_info("peercert"))
        if proved is not None:
            config = attrs.evolve(config, mechanisms=(ExternalServer(proved), *server_mechanisms(config)))
        return self.broker.connect(config)

    async def stop(self, text: str) -> None:
        """Stops cleanly: stores and answers what was read, closes connections with 320 and `text`, writes the last snapshot.

        Raises StoreError when that fails; the sockets are closed in any case.  May be called again.
        """
        if self._phase != "open" or not self._listeners:
            return
        self._phase = "quiet"
        await self._stop_accepting()
        if self.writer is not None:
            self.writer.gather()
            await self.writer.idle()
        self.transmit()
        await self._dismiss(text)
        await self.close()
        self._phase = "over"
        for peer in self.broker.peers:
            peer.receive_eof()
        for _ in self.broker.events():
            pass
        if self.writer is not None:
            await self.writer.finish()

    async def _dismiss(self, text: str) -> None:
        """Closes every connection and waits for the answers, but not for ever."""
        for peer in self.broker.peers:
            with suppress(AmqpError):  # it is closing already
                peer.close(CloseCode.CONNECTION_FORCED, text)
        self._phase = "closing"  # the answers must be read; clients can send nothing else any more
        self.wake()
        await self._all_over()
