"""Maintenance of a store: check its integrity, back it up, compact it."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final

import attrs

from amqp_sansio.adapters.store import FILE, LOCK, Store, StoreError, connect_to_read
from amqp_sansio.adapters.store_files import CLOSED, MARK, Mark
from amqp_sansio.broker import Broker, BrokerConfig, encode_snapshot
from amqp_sansio.errors import RestoreError

_FILES: Final = (FILE, f"{FILE}-wal")


@attrs.frozen(kw_only=True)
class Content:
    """Summary of the contents of a store."""

    virtual_hosts: int
    queues: int
    messages: int
    """Messages on all queues; one that is on several counts in each."""
    journal_octets: int
    """Octets of the entries that no snapshot has replaced."""
    snapshot_octets: int
    disk_octets: int
    """Octets of its files."""


def check(directory: str) -> Content:
    """Reads a whole store and rebuilds its broker.  Raises StoreError for damage, and while a broker has it open."""
    with _existing(directory) as store:
        store.check()
        return _content(store, _broker(store))


def compact(directory: str) -> tuple[Content, Content]:
    """Replaces the journal by a new snapshot and returns free space to the disk.  Returns the contents before and after.

    Raises StoreError for damage, and while a broker has it open.
    """
    with _existing(directory) as store:
        broker = _broker(store)
        before = _content(store, broker)
        snapshot = broker.snapshot()
        number = snapshot["journal"]
        assert isinstance(number, int)
        store.compact(number, encode_snapshot(snapshot))
        while store.shrink():
            pass
    with _existing(directory) as store:
        return before, _content(store, broker)


def backup(directory: str, target: str) -> Content:
    """Copies a store, even while a broker has it open, as it is at one moment, into a new or empty directory.

    Checks the copy as `check` does before it returns.  Raises StoreError.
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
        alone: Store | None = Store(directory)  # finds what sqlite would silently ignore
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
    """Copies all pages as of one moment; writers go on meanwhile, in the write-ahead log."""
    with closing(connect_to_read(source)) as origin, closing(sqlite3.connect(target)) as copy:
        origin.backup(copy)


def _existing(directory: str) -> closing[Store]:
    """Opens a store for the duration of a block.  Raises StoreError when there is none."""
    _must_exist(directory)
    return closing(Store(directory))


def _must_exist(directory: str) -> None:
    """Raises StoreError when there is no store, so that a mistyped name does not create one."""
    if not any((Path(directory) / name).exists() for name in (*_FILES, LOCK, MARK)):
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
