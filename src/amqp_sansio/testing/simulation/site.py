"""A broker with its disk and its clock, which can crash and restart from what the disk holds, and the wires to it.

Octets stay in flight on a wire until the simulation delivers them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

import attrs

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.encoding import decode_entry, encode_entry
from amqp_sansio.broker.journal import Entry
from amqp_sansio.broker.snapshot import decode_snapshot, encode_snapshot
from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.errors import RestoreError


class ServedPeer(Protocol):
    """A connection at a broker; hashable."""

    def receive_data(self, data: bytes, /) -> None: ...

    def receive_eof(self) -> None: ...

    def data_to_send(self) -> bytes: ...

    @property
    def finished(self) -> bool:
        """Whether it is over and all its output was taken."""
        ...


class Served(Protocol):
    """A broker; its methods are those of the same names in `amqp_sansio.broker.Broker`."""

    def connect(self, config: ServerConfig | None = None, /) -> ServedPeer: ...

    def events(self) -> Iterator[object]: ...

    def ready(self) -> Sequence[ServedPeer]: ...

    def tick(self, now: float, /) -> float | None: ...

    def journal(self) -> Sequence[Entry]: ...

    def journalled(self, number: int, /) -> None: ...

    def snapshot(self) -> Mapping[str, object]: ...


Maker: TypeAlias = Callable[[BrokerConfig, Mapping[str, object] | None, Sequence[Entry]], Served]
"""A function that makes a broker from a snapshot (None: empty) and the journal entries after it."""


def model_broker(config: BrokerConfig, snapshot: Mapping[str, object] | None, entries: Sequence[Entry]) -> Broker:
    """Makes the broker of this library."""
    return Broker.restore(snapshot, entries, config=config)


@attrs.define(eq=False)
class Pipe:
    """One direction of a connection: what was sent and has not arrived at the hearer."""

    _hearer: ClientConnection | ServedPeer
    flying: bytearray = attrs.field(factory=bytearray)
    ended: bool = False
    """Whether nothing more is written: the end of the stream follows the octets in flight."""
    heard: bool = False
    """Whether the end of the stream has arrived."""
    until: int = 0
    """The number of the step before which nothing arrives."""

    def put(self, octets: bytes) -> None:
        """Sends octets; after the end of the stream they are lost."""
        if not self.ended:
            self.flying.extend(octets)

    def take(self, most: int) -> bytes:
        """Removes and returns the next octets to arrive."""
        octets = bytes(self.flying[:most])
        del self.flying[: len(octets)]
        return octets

    def arrive(self, most: int, moment: int) -> bool:
        """Delivers up to `most` octets, or the end of the stream; returns whether anything arrived."""
        if self.until > moment or self.heard:
            return False
        if self.flying:
            self._hearer.receive_data(self.take(most))
        elif self.ended:
            self.heard = True
            self._hearer.receive_eof()
        else:
            return False
        return True

    @property
    def due(self) -> bool:
        """Whether anything is left to arrive."""
        return bool(self.flying) or (self.ended and not self.heard)


class PipePair:
    """A connection of a client, in both directions."""

    def __init__(self, client: ClientConnection, peer: ServedPeer) -> None:
        self.client: Final = client
        self.up: Final = Pipe(peer)
        """From the client to the broker."""
        self.down: Final = Pipe(client)
        self.harmed = False
        """Whether one of its ends may have taken it for lost."""

    def say(self) -> bytes:
        """Sends the client's output, and returns it."""
        octets = self.client.data_to_send()
        self.up.put(octets)
        if self.client.finished:
            self.close_from_client()
        return octets

    def close_from_client(self) -> None:
        """Closes the client's socket: it reads no more, and its end of stream is sent to the broker."""
        self.harmed = True
        self.up.ended = True
        self.down.flying.clear()
        self.down.ended = self.down.heard = True

    def close_from_broker(self) -> None:
        """Closes the broker's socket."""
        self.harmed = True
        self.down.ended = True
        self.up.flying.clear()
        self.up.ended = self.up.heard = True

    def half_close(self) -> None:
        """Ends the client's output; the broker receives the end of stream after the octets in flight."""
        self.harmed = True
        self.up.ended = True

    def cut(self) -> None:
        """Cuts the connection: octets in flight are lost, and both sides receive the end of stream."""
        self.harmed = True
        for pipe in (self.up, self.down):
            pipe.flying.clear()
            pipe.ended = True


PATIENCE: Final = 120
"""Seconds after which an unprepared branch times out."""
CONFIG: Final = BrokerConfig(journal=True, branch_timeout=PATIENCE, most_branch_timeout=PATIENCE, epoch=0.0)


class SimulatedBroker:
    """One broker with its disk.

    Its journal reaches the disk in three stages: entries are taken, written and synced, and reported to the broker.  A crash
    may come between any two; it loses what was not synced, but a part of the first such entry may be on the disk.
    """

    def __init__(self, name: str, number: int, rate: float, maker: Maker) -> None:
        self.name: Final = name
        self.number: Final = number
        self.rate: Final = rate
        self._maker: Final = maker
        self.stored: list[tuple[int, bytes]] = []
        """On the disk: entries, by number."""
        self.kept: tuple[int, bytes] | None = None
        """On the disk: a snapshot, and the number of the last entry that it includes."""
        self.taken: list[tuple[int, bytes]] = []
        """In memory: entries that are not on the disk yet."""
        self.fresh: tuple[int, bytes] | None = None
        """In memory: a snapshot that is not on the disk yet."""
        self.synced = 0
        """The number up to which all entries are on the disk."""
        self.told = 0
        """The number up to which the broker knows that."""
        self.crashes = 0
        self.wires: Final[dict[ServedPeer, PipePair]] = {}
        self.broker: Served = maker(CONFIG, None, ())

    def tick(self, now: float) -> None:
        """Advances the broker's clock."""
        self.broker.tick(now * self.rate)

    def turn(self, now: float) -> list[tuple[PipePair, bytes]]:
        """Ticks the broker, lets it do all that it can, and sends its output; returns the wires and octets."""
        self.tick(now)
        for _ in self.broker.events():
            pass
        said: list[tuple[PipePair, bytes]] = []
        for peer in self.broker.ready():
            octets = peer.data_to_send()
            wire = self.wires.get(peer)
            if wire is None:
                continue
            if octets:
                wire.down.put(octets)
                said.append((wire, octets))
            if peer.finished:
                wire.close_from_broker()
                del self.wires[peer]
        return said

    # --- the disk -----------------------------------------------------------------------------------------------------------

    def gather(self) -> None:
        """Takes the broker's new journal entries."""
        self.taken += [(entry.number, encode_entry(entry)) for entry in self.broker.journal()]

    def snap(self) -> None:
        """Makes a snapshot, which reaches the disk with the next sync."""
        self.gather()
        snapshot = self.broker.snapshot()
        number = snapshot["journal"]
        assert isinstance(number, int)
        self.fresh = number, encode_snapshot(snapshot)

    def sync(self, most: int | None = None) -> bool:
        """Syncs up to `most` entries to the disk, or else all, with the snapshot; returns whether there was anything."""
        self.gather()
        happened = bool(self.taken) or self.fresh is not None
        part = self.taken[:most]
        del self.taken[: len(part)]
        self.stored += part
        if part:
            self.synced = part[-1][0]
        if most is None and self.fresh is not None:
            number = self.fresh[0]
            self.kept, self.fresh = self.fresh, None
            self.stored = [(n, octets) for n, octets in self.stored if n > number]
        return happened

    def tell(self) -> bool:
        """Reports to the broker what is on the disk; returns whether that was news."""
        if self.told >= self.synced:
            return False
        self.told = self.synced
        self.broker.journalled(self.told)
        return True

    def crash(self, torn: bool) -> None:
        """Crashes the broker: all that is not on the disk is lost, and a new one starts from the disk.

        With `torn`, a part of the first entry that was not synced is on the disk, too.
        """
        self.crashes += 1
        disk = [octets for _, octets in self.stored]
        if torn and self.taken:
            octets = self.taken[0][1]
            disk.append(octets[: len(octets) // 2])
        entries = []
        for octets in disk:
            try:
                entries.append(decode_entry(octets))
            except RestoreError:
                break
        self.taken.clear()
        self.fresh = None
        for wire in self.wires.values():
            wire.cut()
            wire.up.heard = True
        self.wires.clear()
        self.broker = self._maker(CONFIG, None if self.kept is None else decode_snapshot(self.kept[1]), entries)
        self.told = self.synced = max(entries[-1].number if entries else 0, 0 if self.kept is None else self.kept[0])
