"""Converts a broker, with its virtual hosts, to a plain value and back.

The value consists of builtins (dict, tuple, str, bytes, int, float, bool, None).  `encode_snapshot` encodes it.  A restart
loses what it leaves out: connections; sessions that are attached or not kept; transient things that no kept session needs; and
unprepared transactions outside kept sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.broker import encoding
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.durable_fold import FoldedState, HostLedger
from amqp_sansio.broker.journal import (
    OPERATIONS,
    Bound,
    BranchDecided,
    BranchPrepared,
    Closed,
    Enqueued,
    Entry,
    Marks,
    MessageStored,
    Operation,
)
from amqp_sansio.broker.model.message import AVAILABLE
from amqp_sansio.broker.transactions import Work, prepared
from amqp_sansio.errors import DecodeError, RestoreError
from amqp_sansio.kernel.serials import whole
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.values import List, Map, Value
from amqp_sansio.wire.encoding import encode_map
from amqp_sansio.wire.types import decode_map

if TYPE_CHECKING:
    from amqp_sansio.broker.broker import Broker
    from amqp_sansio.broker.fronts.front import Front, Plain
    from amqp_sansio.broker.model.host import VirtualHost
    from amqp_sansio.broker.model.message import Form, Message
    from amqp_sansio.broker.model.message import QueueEntry as Standing
    from amqp_sansio.broker.model.queue import Queue


class Needed:
    """What sessions that outlive the broker need of a host besides its durable state."""

    def __init__(self) -> None:
        self.queues: Final[dict[Queue, None]] = {}
        """Transient queues that they own or subscribe to, with all their messages."""
        self.entries: Final[dict[Standing, None]] = {}
        """The messages that they hold, durable or not."""
        self.messages: Final[dict[Message, None]] = {}
        """The messages that their transactions hold back."""


def survey(host: VirtualHost, needed: Needed | None = None) -> HostLedger:
    """Returns the durable state of a host, including entries not journalled yet, and what is needed besides."""
    needed = Needed() if needed is None else needed
    ledger = HostLedger(host.name)
    for exchange in host.exchanges.values():
        if exchange.durable and not exchange.name.startswith("amq."):
            ledger.apply(host.exchange_declared(exchange))
    queues = [queue for queue in host.queues.values() if queue.durable or queue in needed.queues]
    stored: dict[int, Message] = {message.number: message for message in needed.messages}
    branches = host.coordinator.doubtful
    accepted = {entry: None for branch in branches for entry in branch.work.accepted}
    standing: list[Enqueued] = []
    for queue in queues:
        ledger.apply(host.queue_declared(queue))
        for binding in queue.bindings.values():
            if binding.exchange.durable:
                ledger.apply(Bound(host.name, binding.exchange.name, queue.name, binding.key, binding.arguments))
        for entry in sorted(queue.all(), key=lambda entry: entry.position):
            lasts = entry.message.envelope.persistent and queue.durable
            # A transient message accepted in a branch in doubt belongs to no session any more: the branch forgets it.
            if lasts or entry in needed.entries or (not queue.durable and entry not in accepted):
                stored[entry.message.number] = entry.message
                # Its holder is not in the snapshot and will not have it again: another consumer will, marked.
                lost = entry.state != AVAILABLE and entry not in needed.entries
                standing.append(Enqueued(host.name, queue.name, entry.message.number, entry.redelivered or lost))
    for branch in branches:
        stored.update({message.number: message for message in branch.stored})
    for _, message in sorted(stored.items()):
        ledger.apply(host.stored(message))
    for enqueued in standing:
        ledger.apply(enqueued)
    for branch in branches:
        ledger.apply(prepared(host.name, branch))
        if branch.decided is not None:
            ledger.apply(BranchDecided(host.name, branch.xid, int(branch.decided)))
    ledger.transient.update([queue.name for queue in queues if not queue.durable])
    return ledger


class Rebuilding:
    """Rebuilds an empty virtual host from its durable state, without journalling.

    `redelivered`: every message counts as delivered before, for it may have been.  `epoch` is the broker's current one; `forms`
    are those of its families, by name.
    """

    def __init__(self, host: VirtualHost, redelivered: bool, epoch: float, forms: Mapping[str, Form]) -> None:
        self.host: Final = host
        self.messages: Final[dict[int, Message]] = {}
        self.entries: Final[dict[tuple[str, int], Standing]] = {}
        """By queue and number."""
        self.queues: Final[dict[str, Queue]] = {}
        """The messages that a restored session may refer to by that number."""
        self._redelivered: Final = redelivered
        self._epoch: Final = epoch
        self._forms: Final = forms

    def build(self, ledger: HostLedger) -> None:
        """Builds it.  Raises RestoreError when the host refuses something: its limits or rules have changed."""
        journal = self.host.journal
        enabled, journal.enabled = journal.enabled, False
        try:
            self._topology(ledger)
            self.queues.update({name: q for name, q in self.host.queues.items() if name not in ledger.deleted})
            for message in ledger.messages.values():
                self.restore(message)
            for name, contents in ledger.contents.items():
                for number, redelivered in contents.items():
                    self.stand(name, number, redelivered or self._redelivered)
            for branch in ledger.branches.values():
                self._branch(branch, ledger.decided.get(branch.xid))
        except (Refused, DecodeError) as why:
            raise RestoreError(f"virtual host {ledger.name!r}", str(why)) from None
        except KeyError as why:
            raise RestoreError(f"virtual host {ledger.name!r}", f"there is no {why.args[0]!r}") from None
        finally:
            journal.enabled = enabled

    def _topology(self, ledger: HostLedger) -> None:
        host = self.host
        for exchange in ledger.exchanges.values():
            alternate = exchange.alternate or None
            host.declare_exchange(
                exchange.exchange, exchange.type, alternate, False, True, exchange.auto_delete, exchange.arguments
            )  # fmt: skip
        for queue in ledger.queues.values():
            host.declare_queue(
                queue.queue,
                queue.alternate or None,
                False,
                queue.queue not in ledger.transient,
                False,
                queue.auto_delete,
                queue.arguments,
            )  # fmt: skip
        for bindings in ledger.bindings.values():
            for bound in bindings.values():
                host.bind(bound.queue, bound.exchange, bound.key, bound.arguments, restored=True)

    def restore(self, stored: MessageStored) -> None:
        """Adds a message that is on no queue yet."""
        expires = None if stored.expires is None else stored.expires - self._epoch
        form = self._forms.get(stored.form)
        if form is None:
            text = f"its form is {stored.form!r}, and this broker knows {', '.join(self._forms)}"
            raise RestoreError(f"message {stored.number}", text)
        envelope = form.envelope(stored.header, stored.body == b"")
        message = self.host.intake.restored(stored.number, envelope, stored.body or b"", expires)
        if expires is None and message.envelope.ttl is not None:
            self.host.begin_ttl(message)
        self.messages[stored.number] = message

    def stand(self, queue: str, number: int, redelivered: bool) -> None:
        """Puts a known message on a queue."""
        message = self.messages[number]
        entry = self.host.restore(self.host.queues[queue], message, redelivered)
        if not (entry.queue.durable and message.envelope.persistent):
            message.stored -= 1  # the journal does not count this place
        self.entries[queue, number] = entry

    def _branch(self, operation: BranchPrepared, decided: int | None) -> None:
        work = Work(self.host)
        for number, queues in operation.published:
            work.hold(self.messages[number], [self.host.queues[name] for name in queues])
        for name, number in operation.accepted:
            entry = self.entries[name, number]
            self.host.queues[name].acquire(entry)
            work.accepted[entry] = None
        status = None if decided is None else XaStatus(decided)
        branch = self.host.coordinator.restore(operation.xid, work, operation.timeout, status, operation.began_by)
        for message, _ in work.published:
            branch.keep(message)


# --- brokers --------------------------------------------------------------------------------------------------------------

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
        "hosts": tuple([_host(broker, host) for host in broker._hosts.values()]),
        **{front.FORM.name: front.take() for front in broker._fronts if front.KEEPS},
    }


def conclude(broker: Broker) -> bool:
    """Writes the clean end as one journal entry, which is cheaper than a last snapshot: it repeats no message.

    Once it is stored, snapshot and entries are equivalent to a snapshot taken now.  Returns False, and writes nothing, when
    they would not be: without a journal, while a client is connected or a session is kept, or when the lifetime of a message
    started after it was journalled.
    """
    hosts = broker._hosts.values()
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
            if entry.message.envelope.persistent and (entry.redelivered or entry.state != AVAILABLE)
        ])
        for host in hosts for queue in host.queues.values() if queue.durable
    ]  # fmt: skip
    broker._journals.write(*marks, Closed(""))
    broker._clean = True
    return True


def _host(broker: Broker, host: VirtualHost) -> dict[str, object]:
    needed = Needed()
    for front in broker._fronts:
        front.need(host.name, needed)
    ledger = survey(host, needed)
    return {
        "name": host.name,
        "operations": tuple([_plain(operation) for operation in ledger.operations()]),
        "transient": tuple(sorted(ledger.transient)),
        "volatile": tuple([
            (entry.queue.name, entry.message.number)
            for entry in needed.entries
            if entry.queue.durable and not entry.queue.deleted and not entry.message.envelope.persistent
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


def _read(snapshot: Mapping[str, Any] | None) -> tuple[FoldedState, bool]:
    """Reads a snapshot; None is that of an empty broker."""
    if snapshot is None:
        return FoldedState(), True
    version = snapshot["version"]
    encoding.refuse_version(_WHAT, version)
    for name in ("journal", "message"):
        if not whole(snapshot[name], _MOST):
            raise RestoreError(_WHAT, f"{name} is a number, not {snapshot[name]!r}")
    if type(snapshot["clean"]) is not bool:
        raise RestoreError(_WHAT, f"clean is True or False, not {snapshot['clean']!r}")
    ledger = FoldedState(snapshot["journal"], snapshot["message"])
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


def _kept(broker: Broker, snapshot: Mapping[str, Any] | None, ledger: FoldedState) -> dict[str, list[tuple[Front, Plain]]]:
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


def _build(broker: Broker, ledger: FoldedState, kept: Mapping[str, list[tuple[Front, Plain]]], redelivered: bool) -> None:
    for name, durable in ledger.hosts.items():
        _strip(durable, kept[name])
        host = broker._open(name)
        if host is None:
            raise RestoreError(f"virtual host {name!r}", "the config has no such virtual host, or too many are there")
        rebuilding = Rebuilding(host, redelivered, broker.config.epoch or 0.0, broker._forms)
        rebuilding.build(durable)
        journal = broker._journals
        enabled, journal.enabled = journal.enabled, False
        for front, plain in kept[name]:
            front.restore(plain, rebuilding)
        journal.enabled = enabled
        for queue in [queue for queue in host.queues.values() if host.unused(queue, durable.queues[queue.name].exclusive)]:
            host.left(queue)  # its owner no longer exists


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
