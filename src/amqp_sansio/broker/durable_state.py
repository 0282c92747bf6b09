"""Converts a running virtual host to its durable state, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.durable_fold import HostLedger
from amqp_sansio.broker.journal import (
    Bound,
    BranchDecided,
    BranchPrepared,
    Enqueued,
    ExchangeDeclared,
    MessageStored,
    QueueDeclared,
)
from amqp_sansio.broker.model.message import AVAILABLE
from amqp_sansio.broker.transactions.coordinator import prepared
from amqp_sansio.broker.transactions.transaction_buffer import Work
from amqp_sansio.errors import DecodeError, RestoreError
from amqp_sansio.spec.codes import XaStatus

if TYPE_CHECKING:
    from amqp_sansio.broker.model.form import Form
    from amqp_sansio.broker.model.host import VirtualHost
    from amqp_sansio.broker.model.message import Entry, Message
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.transactions.coordinator import Coordinator


class Needed:
    """What sessions that outlive the broker need of a host besides its durable state."""

    __slots__ = ("entries", "messages", "queues")

    def __init__(self) -> None:
        self.queues: Final[dict[Queue, None]] = {}
        """Transient queues that they own or subscribe to, with all their messages."""
        self.entries: Final[dict[Entry, None]] = {}
        """The messages that they hold, durable or not."""
        self.messages: Final[dict[Message, None]] = {}
        """The messages that their transactions hold back."""


def survey(host: VirtualHost, coordinator: Coordinator, needed: Needed | None = None) -> HostLedger:
    """Returns the durable state of a host, including entries not journalled yet, and what is needed besides."""
    needed = Needed() if needed is None else needed
    ledger = HostLedger(host.name)
    for exchange in host.exchanges.values():
        if exchange.durable and not exchange.name.startswith("amq."):
            alternate = exchange.alternate.name if exchange.alternate is not None and exchange.alternate.durable else ""
            ledger.apply(
                ExchangeDeclared(
                    host.name, exchange.name, exchange.TYPE, alternate, exchange.auto_delete, exchange.arguments
                )
            )  # fmt: skip
    queues = [queue for queue in host.queues.values() if queue.durable or queue in needed.queues]
    stored: dict[int, Message] = {message.number: message for message in needed.messages}
    branches = coordinator.doubtful
    accepted = {entry: None for branch in branches for entry in branch.work.accepted}
    standing: list[Enqueued] = []
    for queue in queues:
        ledger.apply(declared(host.name, queue))
        for binding in queue.bindings.values():
            if binding.exchange.durable:
                ledger.apply(Bound(host.name, binding.exchange.name, queue.name, binding.key, binding.arguments))
        for entry in sorted(queue.all(), key=lambda entry: entry.position):
            lasts = entry.message.persistent and queue.durable
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


def declared(host: str, queue: Queue) -> QueueDeclared:
    """Returns the operation that declares a queue."""
    alternate = queue.alternate.name if queue.alternate is not None and queue.alternate.durable else ""
    return QueueDeclared(host, queue.name, alternate, queue.owner is not None, queue.auto_delete, queue.arguments)


class Rebuilding:
    """Rebuilds an empty virtual host from its durable state, without journalling.

    `redelivered`: every message counts as delivered before, for it may have been.  `epoch` is the broker's current one; `forms`
    are those of its families, by name.
    """

    def __init__(
        self, host: VirtualHost, coordinator: Coordinator, redelivered: bool, epoch: float, forms: Mapping[str, Form]
    ) -> None:
        self.host: Final = host
        self.coordinator: Final = coordinator
        self.messages: Final[dict[int, Message]] = {}
        self.entries: Final[dict[tuple[str, int], Entry]] = {}
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
        if not (entry.queue.durable and message.persistent):
            message.stored -= 1  # the journal does not count this place
        self.entries[queue, number] = entry

    def _branch(self, operation: BranchPrepared, decided: int | None) -> None:
        work = Work(self.host, self.host.limits)
        for number, queues in operation.published:
            work.hold(self.messages[number], [self.host.queues[name] for name in queues])
        for name, number in operation.accepted:
            entry = self.entries[name, number]
            self.host.queues[name].acquire(entry)
            work.accepted[entry] = None
        status = None if decided is None else XaStatus(decided)
        branch = self.coordinator.restore(operation.xid, work, operation.timeout, status, operation.began_by)
        for message, _ in work.published:
            branch.keep(message)
