"""The upkeep of a store: is it whole, a copy of it, no more octets on the disk than it needs."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Final

import attrs

from amqp_sansio.adapters.mark import CLOSED, Mark
from amqp_sansio.adapters.store import FILE, LOCK, Store, StoreError, connect_to_read
from amqp_sansio.broker import Broker, BrokerConfig, encode_snapshot
from amqp_sansio.errors import RestoreError

_FILES: Final = (FILE, f"{FILE}-wal")


@attrs.frozen(kw_only=True)
class Content:
    """What is in a store."""

    virtual_hosts: int
    queues: int
    messages: int
    """Messages on all queues; one that is on several counts in each."""
    journal_octets: int
    """Octets of the entries that no snapshot has taken the place of."""
    snapshot_octets: int
    disk_octets: int
    """Octets of its files."""


def check(directory: str) -> Content:
    """Reads all of a store and rebuilds the broker that is in it.  StoreError for damage, and while a broker has it."""
    with _Having(directory) as store:
        store.check()
        return _content(store, _broker(store))


def compact(directory: str) -> tuple[Content, Content]:
    """A new snapshot takes the place of the journal, and what is free goes back to the disk: before and after.

    StoreError for damage, and while a broker has it.
    """
    with _Having(directory) as store:
        broker = _broker(store)
        before = _content(store, broker)
        snapshot = broker.snapshot()
        number = snapshot["journal"]
        assert isinstance(number, int)
        store.compact(number, encode_snapshot(snapshot))
        while store.shrink():
            pass
    with _Having(directory) as store:
        return before, _content(store, broker)


def backup(directory: str, target: str) -> Content:
    """A copy of a store, also while a broker has it: as it is at one moment, in a directory that is new or empty.

    The copy is read as `check` does before this returns.  StoreError.
    """
    _must_exist(directory)
    place = Path(target)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise StoreError(target, "is not empty: a backup goes into a new directory")
        os.close(os.open(place / FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise StoreError(target, f"cannot be written: {error.strerror}") from None
    try:
        alone: Store | None = Store(directory)  # looks at what sqlite would pass over
    except StoreError as error:
        if not error.in_use:
            raise
        alone = None
    try:
        _copy(Path(directory) / FILE, place / FILE)
    except sqlite3.Error as error:
        raise StoreError(directory, f"cannot be copied: {error}") from None
    finally:
        if alone is not None:
            alone.close()
    try:
        Mark(place).write(CLOSED)
    except OSError as error:
        raise StoreError(target, f"cannot be written: {error.strerror}") from None
    return check(target)


def _copy(source: Path, target: Path) -> None:
    """All pages at one moment: who writes meanwhile goes on, in the write-ahead log."""
    origin = connect_to_read(source)
    try:
        copy = sqlite3.connect(target)
        try:
            origin.backup(copy)
        finally:
            copy.close()
    finally:
        origin.close()


class _Having:
    """A store that is there, for as long as the block lasts."""

    def __init__(self, directory: str) -> None:
        _must_exist(directory)
        self._store: Final = Store(directory)

    def __enter__(self) -> Store:
        return self._store

    def __exit__(self, *_: object) -> None:
        self._store.close()


def _must_exist(directory: str) -> None:
    """A slip in a name must not make a store."""
    if not any((Path(directory) / name).exists() for name in (*_FILES, LOCK)):
        raise StoreError(directory, "there is no store in it")


def _broker(store: Store) -> Broker:
    snapshot, entries = store.load()
    try:
        return Broker.restore(snapshot, entries, config=BrokerConfig(journal=True, epoch=time.time() - time.monotonic()))
    except RestoreError as error:
        raise StoreError(store.directory, f"the store is damaged: {error}") from None


def _content(store: Store, broker: Broker) -> Content:
    place = Path(store.directory)
    hosts = [site.host for site in broker._sites.values()]
    return Content(
        virtual_hosts=len(hosts),
        queues=sum([len(host.queues) for host in hosts]),
        messages=sum([queue.available for host in hosts for queue in host.queues.values()]),
        journal_octets=store.journal_octets,
        snapshot_octets=store.snapshot_octets,
        disk_octets=sum([(place / name).stat().st_size for name in _FILES if (place / name).exists()]),
    )
