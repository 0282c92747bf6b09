"""The interface that a simulation needs of a broker, a part of that of `amqp_sansio.broker.Broker`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.journal import Entry
from amqp_sansio.config import ServerConfig


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
