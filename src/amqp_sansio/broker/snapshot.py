"""Converts a broker to a plain value and back.

The value consists of builtins (dict, tuple, str, bytes, int, float, bool, None).  `encode_snapshot` encodes it.  A restart
loses what it leaves out: connections; sessions that are attached or not kept; transient things that no kept session needs; and
unprepared transactions outside kept sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.broker import encoding
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.durable_fold import HostLedger, Ledger
from amqp_sansio.broker.durable_state import Needed, Rebuilding, survey
from amqp_sansio.broker.journal import OPERATIONS, Closed, Entry, Marks, Operation
from amqp_sansio.broker.model.message import AVAILABLE
from amqp_sansio.errors import DecodeError, RestoreError
from amqp_sansio.kernel.serials import whole
from amqp_sansio.spec.values import List, Map, Value
from amqp_sansio.wire.encoding import encode_map
from amqp_sansio.wire.types import decode_map

if TYPE_CHECKING:
    from amqp_sansio.broker.broker import Broker
    from amqp_sansio.broker.fronts.front import Front, Plain
    from amqp_sansio.broker.model.queue import Queue

_WHAT: Final = "snapshot"
_PARTS: Final = frozenset({"version", "journal", "message", "clean", "hosts"})
_KINDS: Final = {kind.__name__: kind for kind in OPERATIONS}
_MOST: Final = (1 << 63) - 1


def take(broker: Broker) -> dict[str, object]:
    """Returns the broker as a plain value."""
    return {
        "version": encoding.VERSION,
        "journal": broker._journals.last,
        "message": broker._intake.last,
        "clean": not broker.peers,
        "hosts": tuple([_host(broker, name) for name in broker._sites]),
        **{front.FORM.name: front.take() for front in broker._fronts if front.KEEPS},
    }


def conclude(broker: Broker) -> bool:
    """Writes the clean end as one journal entry, which is cheaper than a last snapshot: it repeats no message.

    Once it is stored, snapshot and entries are equivalent to a snapshot taken now.  Returns False, and writes nothing, when
    they would not be: without a journal, while a client is connected or a session is kept, or when the lifetime of a message
    started after it was journalled.
    """
    hosts = [site.host for site in broker._sites.values()]
    if (
        broker.peers
        or any(front.alive for front in broker._fronts)
        or not broker._journals.enabled
        or any(host.late for host in hosts)
    ):
        return False
    marks = [
        Marks(host.name, queue.name, [
            entry.message.number for entry in queue.all()
            if entry.message.persistent and (entry.redelivered or entry.state != AVAILABLE)
        ])
        for host in hosts for queue in host.queues.values() if queue.durable
    ]  # fmt: skip
    broker._journals.write(*marks, Closed(""))
    broker._clean = True
    return True


def _host(broker: Broker, name: str) -> dict[str, object]:
    site = broker._sites[name]
    needed = Needed()
    for front in broker._fronts:
        front.need(name, needed)
    ledger = survey(site.host, site.coordinator, needed)
    return {
        "name": name,
        "operations": tuple([_plain(operation) for operation in ledger.operations()]),
        "transient": tuple(sorted(ledger.transient)),
        "volatile": tuple([
            (entry.queue.name, entry.message.number)
            for entry in needed.entries
            if entry.queue.durable and not entry.queue.deleted and not entry.message.persistent
        ]),
    }  # fmt: skip


def _plain(operation: Operation) -> tuple[object, ...]:
    values = [encode_map(value, -encoding.DEEPER) if isinstance(value, Map) else value for value in operation.values()]
    return type(operation).__name__, *values


def _operation(plain: tuple[Any, ...]) -> Operation:
    name, *values = plain
    kind = _KINDS[name]
    for at, field in enumerate(kind.FIELDS):
        if field == "arguments":
            values[at] = decode_map(values[at], 0, len(values[at]), reading=encoding.READING)[0]
    return encoding.operation_of(List((OPERATIONS.index(kind), *values)))


# --- restoring ------------------------------------------------------------------------------------------------------------


def restore(broker: Broker, snapshot: Mapping[str, Any] | None, entries: Iterable[Entry]) -> None:
    """Restores a snapshot and the later journal entries into an empty broker.

    Raises RestoreError when that fails, which leaves the broker unusable.
    """
    try:
        ledger, clean = _read(snapshot)
        for entry in entries:
            if not isinstance(entry, Entry):
                raise RestoreError("journal entry", f"an Entry, not {type(entry).__name__}")
            ledger.enter(entry)
        broker._journals.begin(ledger.number)
        broker._intake.last = max(broker._intake.last, ledger.last_message)
        clean = ledger.closed or (clean and not ledger.entered)
        _build(broker, ledger, _kept(broker, snapshot, ledger), not clean)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, Refused, DecodeError) as why:
        if isinstance(why, RestoreError):
            raise
        raise RestoreError(_WHAT, f"what this library has made: {type(why).__name__} {why}") from None
    broker._clean = clean


def _read(snapshot: Mapping[str, Any] | None) -> tuple[Ledger, bool]:
    """Reads a snapshot; None is that of an empty broker."""
    if snapshot is None:
        return Ledger(), True
    version = snapshot["version"]
    encoding.refuse_version(_WHAT, version)
    for name in ("journal", "message"):
        if not whole(snapshot[name], _MOST):
            raise RestoreError(_WHAT, f"{name} is a number, not {snapshot[name]!r}")
    if type(snapshot["clean"]) is not bool:
        raise RestoreError(_WHAT, f"clean is True or False, not {snapshot['clean']!r}")
    ledger = Ledger(snapshot["journal"], snapshot["message"])
    for host in snapshot["hosts"]:
        ledger.host(host["name"])
        ledger.add([_operation(each) for each in host["operations"]], f"{_WHAT} of virtual host {host['name']!r}")
        of = ledger.hosts[host["name"]]
        of.lend()
        if not set(host["transient"]) <= of.queues.keys():
            raise RestoreError(_WHAT, "a transient queue of a session is missing")
        of.transient.update(host["transient"])
        of.volatile.update(dict.fromkeys(host["volatile"]))
    return ledger, snapshot["clean"]


def _kept(broker: Broker, snapshot: Mapping[str, Any] | None, ledger: Ledger) -> dict[str, list[tuple[Front, Plain]]]:
    """Returns, by virtual host, what outlived the broker and is still to be restored, with its front."""
    kept: dict[str, list[tuple[Front, Plain]]] = {name: [] for name in ledger.hosts}
    if snapshot is None:
        return kept
    keeping = [front for front in broker._fronts if front.KEEPS]
    if unknown := snapshot.keys() - _PARTS - {front.FORM.name for front in keeping}:
        raise RestoreError(_WHAT, f"there are {', '.join(sorted(unknown))}, and this broker has no front for them")
    for front in keeping:
        for plain in snapshot[front.FORM.name]:
            if front.outlived(plain, ledger.left):
                kept[plain["host"]].append((front, plain))
    return kept


def _build(broker: Broker, ledger: Ledger, kept: Mapping[str, list[tuple[Front, Plain]]], redelivered: bool) -> None:
    for name, host in ledger.hosts.items():
        _strip(host, kept[name])
        site = broker._open(name)
        if site is None:
            raise RestoreError(f"virtual host {name!r}", "the config has no such virtual host, or too many are there")
        rebuilding = Rebuilding(site.host, site.coordinator, redelivered, broker.config.epoch or 0.0, broker._forms)
        rebuilding.build(host)
        journal = broker._journals
        enabled, journal.enabled = journal.enabled, False
        for front, plain in kept[name]:
            front.restore(plain, rebuilding)
        journal.enabled = enabled
        orphans: list[Queue] = [
            site.host.queues[each.queue]
            for each in host.queues.values()
            if site.host.unused(site.host.queues[each.queue], each.exclusive)
        ]
        for queue in orphans:  # their owners no longer exist
            site.host.left(queue)


def _strip(host: HostLedger, kept: Iterable[tuple[Front, Plain]]) -> None:
    """Removes transient queues and messages that no restored session (`kept`) needs."""
    queues: set[str] = set()
    entries: set[tuple[str, int]] = set()
    for front, plain in kept:
        claimed = front.claims(plain)
        queues |= claimed[0]
        entries |= claimed[1]
    for name in host.transient - queues:
        host.delete_queue(name)
    for queue, number in host.volatile:
        if (queue, number) not in entries and number in host.contents.get(queue, ()):
            host.leave(queue, number)


# --- octets -----------------------------------------------------------------------------------------------------------------


def encode_snapshot(snapshot: Mapping[str, object]) -> bytes:
    """Encodes a snapshot for an adapter to store.  Raises EncodeError for what no wire type can carry."""
    return encoding.pack(encoding.SNAPSHOT, snapshot)  # type: ignore[arg-type]  # the encoder says what it cannot write


def decode_snapshot(octets: bytes) -> dict[str, object]:
    """Decodes a snapshot.  Raises RestoreError for octets that are not a snapshot of a supported version."""
    value = encoding.unpack(encoding.SNAPSHOT, _WHAT, octets)
    return {key: _unwired(item) for key, item in value.items()}


def _unwired(value: Value) -> object:
    if isinstance(value, Map):
        return {key: _unwired(item) for key, item in value.items()}
    if isinstance(value, List):
        return tuple([_unwired(item) for item in value])
    return value
