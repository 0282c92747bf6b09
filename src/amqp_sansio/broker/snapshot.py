"""A broker as a plain value, and back again.

The value holds builtins only (dict, tuple, str, bytes, int, float, bool, None).  `encode_snapshot` makes octets of it.  What is
not in it is lost with a restart: connections, sessions that are attached or that nobody keeps, what is transient and no session
needs, and transactions that are not prepared and belong to none of the sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.broker import encoding
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.fronts.sessions import keeping
from amqp_sansio.broker.ledger import HostLedger, Ledger
from amqp_sansio.broker.model.entry import AVAILABLE
from amqp_sansio.broker.operations import OPERATIONS, Closed, Entry, Marks, Operation
from amqp_sansio.broker.survey import Needed, Rebuilding, survey
from amqp_sansio.errors import DecodeError, RestoreError
from amqp_sansio.kernel.serials import whole
from amqp_sansio.spec.values import List, Map, Value
from amqp_sansio.wire.encoding import encode_map
from amqp_sansio.wire.types import decode_map

if TYPE_CHECKING:
    from amqp_sansio.broker.broker import Broker
    from amqp_sansio.broker.fronts.sessions.holder import Holder
    from amqp_sansio.broker.model.queue import Queue

_WHAT: Final = "snapshot"
_KINDS: Final = {kind.__name__: kind for kind in OPERATIONS}
_MOST: Final = (1 << 63) - 1


def take(broker: Broker) -> dict[str, object]:
    """The broker as a plain value."""
    kept = [holder for holder in broker._sessions.values() if keeping.keepable(holder)]
    return {
        "version": encoding.VERSION,
        "journal": broker._journals.last,
        "message": broker._intake.last,
        "clean": not broker.peers,
        "hosts": tuple([_host(broker, name, [each for each in kept if each.key[0] == name]) for name in broker._sites]),
        "sessions": tuple([keeping.take(holder) for holder in kept]),
    }


def conclude(broker: Broker) -> bool:
    """The clean end as one journal entry, which costs less than a last snapshot: no message is written once more.

    Once it is stored, snapshot and entries say as much as a snapshot of now.  False, and nothing is written, when they would
    not: without a journal, while somebody is connected or a session is kept, or when the time of a message began after it was
    written down.
    """
    hosts = [site.host for site in broker._sites.values()]
    if broker.peers or broker._sessions or not broker._journals.enabled or any(host.late for host in hosts):
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


def _host(broker: Broker, name: str, kept: Iterable[Holder]) -> dict[str, object]:
    site = broker._sites[name]
    needed = Needed()
    for holder in kept:
        keeping.need(holder, needed)
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
    """Puts what is in a snapshot, and in the journal entries after it, into a broker in which nothing is yet.

    RestoreError, and the broker is of no use, when it cannot be done.
    """
    try:
        ledger, clean, sessions = _read(snapshot)
        for entry in entries:
            if not isinstance(entry, Entry):
                raise RestoreError("journal entry", f"an Entry, not {type(entry).__name__}")
            ledger.enter(entry)
        broker._journals.begin(ledger.number)
        broker._intake.last = max(broker._intake.last, ledger.last_message)
        there = [each for each in sessions if (each["host"], each["identity"], each["name"]) not in ledger.left]
        clean = ledger.closed or (clean and not ledger.entered)
        _build(broker, ledger, there, not clean)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, Refused, DecodeError) as why:
        if isinstance(why, RestoreError):
            raise
        raise RestoreError(_WHAT, f"what this library has made: {type(why).__name__} {why}") from None
    broker._clean = clean


def _read(snapshot: Mapping[str, Any] | None) -> tuple[Ledger, bool, tuple[Mapping[str, Any], ...]]:
    """What a snapshot says; None is one of a broker in which nothing ever was."""
    if snapshot is None:
        return Ledger(), True, ()
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
    return ledger, snapshot["clean"], tuple(snapshot["sessions"])


def _build(broker: Broker, ledger: Ledger, sessions: Iterable[Mapping[str, Any]], redelivered: bool) -> None:
    by_host: dict[str, list[Mapping[str, Any]]] = {name: [] for name in ledger.hosts}
    for session in sessions:
        by_host[session["host"]].append(session)
    for name, host in ledger.hosts.items():
        _strip(host, by_host[name])
        site = broker._open(name)
        if site is None:
            raise RestoreError(f"virtual host {name!r}", "the config has no such virtual host, or too many are there")
        rebuilding = Rebuilding(site.host, site.coordinator, redelivered, broker.config.epoch or 0.0, broker._forms)
        rebuilding.build(host)
        journal = broker._journals
        enabled, journal.enabled = journal.enabled, False
        for session in by_host[name]:
            holder = keeping.restore(broker, session, rebuilding)
            broker._remembered[holder.key] = None
        journal.enabled = enabled
        orphans: list[Queue] = [
            site.host.queues[each.queue]
            for each in host.queues.values()
            if site.host.unused(site.host.queues[each.queue], each.exclusive)
        ]
        for queue in orphans:  # they go with their owners, who are no more
            site.host.left(queue)


def _strip(host: HostLedger, sessions: Iterable[Mapping[str, Any]]) -> None:
    """Takes away what is there for the sake of sessions that are not restored."""
    queues: set[str] = set()
    entries: set[tuple[str, int]] = set()
    for session in sessions:
        queues.update(session["owned"])
        queues.update([name for _, name, *_ in session["consumers"]])
        for _, queue, number, acquired, _ in (*session["unsettled"], *session["pledged"]):
            queues.add(queue)
            if acquired:
                entries.add((queue, number))
        for _, names in session["published"] or ():
            queues.update(names)
    for name in host.transient - queues:
        host.delete_queue(name)
    for queue, number in host.volatile:
        if (queue, number) not in entries and number in host.contents.get(queue, ()):
            host.leave(queue, number)


# --- octets -----------------------------------------------------------------------------------------------------------------


def encode_snapshot(snapshot: Mapping[str, object]) -> bytes:
    """A snapshot as octets that an adapter can store as they are.  EncodeError for what no wire type can carry."""
    return encoding.pack(encoding.SNAPSHOT, snapshot)  # type: ignore[arg-type]  # the encoder says what it cannot write


def decode_snapshot(octets: bytes) -> dict[str, object]:
    """The snapshot again.  RestoreError for octets that `encode_snapshot` has not made, or not in this version."""
    value = encoding.unpack(encoding.SNAPSHOT, _WHAT, octets)
    return {key: _unwired(item) for key, item in value.items()}


def _unwired(value: Value) -> object:
    if isinstance(value, Map):
        return {key: _unwired(item) for key, item in value.items()}
    if isinstance(value, List):
        return tuple([_unwired(item) for item in value])
    return value
