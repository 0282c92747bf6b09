"""The model broker on sockets of asyncio, with its journal on the disk."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Literal, Self

import attrs

from amqp_sansio.adapters.asyncio.server import Server, _Socket
from amqp_sansio.adapters.asyncio.writing import COMPACT, Writer
from amqp_sansio.adapters.store import Store
from amqp_sansio.adapters.tapping import Listener, Tapped
from amqp_sansio.broker import Broker, Peer
from amqp_sansio.broker.model.hints import Hint
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.hosting import Guest, load
from amqp_sansio.engine.sasl import ExternalServer, server_mechanisms
from amqp_sansio.errors import AmqpError
from amqp_sansio.events import Event
from amqp_sansio.kernel.timers import AT_ONCE
from amqp_sansio.limits import DEFAULT_SERVER_LIMITS, ServerLimits
from amqp_sansio.spec.codes import CloseCode

LOOK: Final = 0.25
"""Seconds until the broker is asked again what is due, while reading is suspended."""


def common_name(certificate: Mapping[str, Any] | None) -> str | None:  # Any: as ssl returns it
    """Returns the common name in a verified certificate; None without one, or where it cannot be the name of a user."""
    parts = [part for group in (certificate or {}).get("subject", ()) for part in group]
    names = [value for name, value in parts if name == "commonName"]
    return names[0] if len(names) == 1 and names[0].isprintable() else None


class Front:
    """The broker as its sockets see it: connections may be tapped, and reading is suspended while `held` returns True."""

    def __init__(
        self,
        broker: Broker,
        config: Callable[[], ServerConfig],
        held: Callable[[], bool],
        listen: Callable[[], Listener] | None,
    ) -> None:
        self.broker: Final = broker
        self.configure: Final = config
        """Returns the settings for the next client."""
        self._held: Final = held
        self._listen: Final = listen
        self._tapped: Final[dict[Peer, Tapped]] = {}
        self._now = AT_ONCE

    def connect(self, proved: str | None = None) -> Guest:
        """Returns a new connection; `proved` is the name that the client's certificate has proved, for EXTERNAL."""
        config = self.configure()
        if proved is not None:
            config = attrs.evolve(config, mechanisms=(ExternalServer(proved), *server_mechanisms(config)))
        peer = self.broker.connect(config)
        if self._listen is None:
            return peer
        tapped = self._tapped[peer] = Tapped(peer, self._listen())
        return tapped

    def forget(self, guest: Guest) -> None:
        """Forgets a connection whose socket is gone."""
        if isinstance(guest, Tapped) and isinstance(guest.guest, Peer):
            self._tapped.pop(guest.guest, None)

    def next_event(self) -> tuple[Guest, Event] | None:
        """Returns the next event; None also while reading is suspended."""
        return None if self._held() else self.broker.next_event()

    def ready(self) -> tuple[Guest, ...]:
        """Returns the guests that have octets to send now, or have ended."""
        ready = self.broker.ready()
        return ready if self._listen is None else tuple([self._tapped[each] for each in ready if each in self._tapped])

    def tick(self, now: float) -> float | None:
        """Tells the broker the time; returns `due`."""
        self._now = now
        self.broker.tick(now)
        return self.due

    @property
    def due(self) -> float | None:
        """The moment of the next turn; while reading is suspended, work on received octets does not count."""
        due = self.broker.due
        return self._now + LOOK if due is not None and due <= self._now and self._held() else due


class BrokerServer(Server[Guest]):
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
        listen: Callable[[], Listener] | None = None,
        hinted: Callable[[Hint], None] = lambda hint: None,
        compact: int = COMPACT,
        limits: ServerLimits = DEFAULT_SERVER_LIMITS,
    ) -> None:
        self.broker: Final = broker
        self.writer: Final = None if store is None else Writer(broker, store, self.wake, failed, compact)
        self._hinted: Final = hinted
        self._front: Final = Front(broker, config, self._held, listen)
        self._phase: Literal["open", "quiet", "closing", "over"] = "open"
        super().__init__(self._front, self._front.connect, (address, port), tls, limits)

    async def __aenter__(self) -> Self:
        load(self._front.configure())
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

    def join(self, connect: Callable[[], Guest], transport: asyncio.Transport) -> Guest:
        """Returns a new connection: a client with a certificate that TLS has verified may log in by it."""
        return self._front.connect(common_name(transport.get_extra_info("peercert")))

    def entered(self, guest: Guest, socket: _Socket[Guest]) -> None:
        """Registers a new client."""
        super().entered(guest, socket)
        if isinstance(guest, Tapped):
            guest.listener.note(f"connected from {socket.client}")

    def left(self, guest: Guest) -> None:
        """Forgets a client whose socket is gone."""
        super().left(guest)
        self._front.forget(guest)

    async def stop(self, text: str) -> None:
        """Stops cleanly: stores and answers what was read, closes connections with 320 and `text`, writes the last snapshot.

        Raises StoreError when that fails; the sockets are closed in any case.  May be called again.
        """
        if self._phase != "open" or not self._acceptor.listening:
            return
        self._phase = "quiet"
        await self._acceptor.close()
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
