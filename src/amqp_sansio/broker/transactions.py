"""Transactions: the work that one holds back, the coordinator that keeps the branches of a virtual host, and their commands.

Work is publishes that are not visible yet, and accepts that have not yet removed messages from queues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from typing import TYPE_CHECKING, Final, NamedTuple

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import NO_XID, Refused
from amqp_sansio.broker.journal import BranchDecided, BranchEnded, BranchPrepared, Operation
from amqp_sansio.broker.model.subscribers import Owner
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.errors.core import many
from amqp_sansio.kernel.serials import ById, MutableRangeSet, RangeSet
from amqp_sansio.kernel.timers import Countdowns
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import GetTimeoutResult, RecoverResult, XaResult, Xid
from amqp_sansio.spec.xids import XidKey, key_of, show
from amqp_sansio.tables import branch as table
from amqp_sansio.tables.branch import UNKNOWN, Cell, Effect, Fault, Phase, Relation, Standing

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder, Unsettled  # noqa: F401  # in quotes below
    from amqp_sansio.broker.model.message import Message, QueueEntry
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.model.queueing import HostMessages


class Work:
    """The work of a transaction, in order.  After a commit or rollback it is empty and can be used again.

    The work of a transaction that ended without its sessions' knowledge (a timeout) is `closed`: publishes are dropped, and
    accepted messages return to their queues.
    """

    __slots__ = ("_copies", "_host", "_provisional", "accepted", "closed", "octets", "published")

    def __init__(self, host: HostMessages, provisional: Sized = ()) -> None:
        self._host: Final = host
        self._provisional: Final = provisional  # accepts that the session of a local transaction keeps itself
        self.published: list[tuple[Message, tuple[Queue, ...]]] = []
        """The messages, with the queues on which commit puts them."""
        self.accepted: dict[QueueEntry, None] = {}
        """The entries that commit removes, in order; until then they are acquired."""
        self._copies = 0  # of the messages in `published`, counted once per queue
        self.octets = 0
        """Octets of header and body of the messages in `published`."""
        self.closed = False

    def publish(self, message: Message, queues: Sequence[Queue]) -> None:
        """Holds a message back from these queues.  Raises Refused (506), naming the limit, when it holds too much."""
        if self.closed:
            return
        self._room(len(queues), message.size)
        self.hold(message, queues)

    def hold(self, message: Message, queues: Sequence[Queue]) -> None:
        """Does the same as `publish` without the limits, for a message that the broker took earlier."""
        self.published.append((message, tuple(queues)))
        self.octets += message.size
        self._copies += len(queues)
        self._host.held_messages += len(queues)
        self._host.held_octets += message.size

    def accept(self, entries: Iterable[QueueEntry]) -> None:
        """Holds accepts of acquired messages back.  Raises Refused (506), naming the limit, when it holds too much."""
        taken = tuple(entries)
        if self.closed:
            self._host.release(taken, True)
            return
        self._room(len(taken), 0)
        self.accepted.update(dict.fromkeys(taken))

    def admit(self, accepts: int) -> None:
        """Raises Refused (506), naming the limit, when `accepts` more would be too much for the transaction."""
        self._room(accepts, 0)

    def commit(self, operations: Sequence[Operation] = (), admitted: bool = False, taken: Sequence[QueueEntry] = ()) -> int:
        """Applies all work in one journal entry, together with `operations`; returns the number of that entry.

        `taken` are the messages whose accepts the session keeps itself: they leave their queues, too.  Nothing is visible
        before it is journalled.  Raises Refused (506), and changes nothing, when a queue has no room, unless that was checked
        before (`admitted`).
        """
        number = self._host.commit(self.published, (*self.accepted, *taken), operations, admitted)
        self._clear()
        return number

    def rollback(self, requeue: bool) -> tuple[QueueEntry, ...]:
        """Discards all work; returns the accepted messages, still acquired.

        With `requeue` they return to their queues, marked as redelivered (for a branch, and at the end of a session); without,
        their consumers keep them (tx.rollback).
        """
        entries = tuple(self.accepted)
        self._clear()
        if requeue:
            self._host.release(entries, True)
        return entries

    def close(self) -> None:
        """Rolls back, and stops holding work back."""
        self.closed = True
        self.rollback(True)

    def _clear(self) -> None:
        self._host.held_messages -= self._copies
        self._host.held_octets -= self.octets
        self.published = []
        self.accepted = {}
        self._copies = self.octets = 0

    def _room(self, messages: int, octets: int) -> None:
        held = self._copies + len(self.accepted) + len(self._provisional) + messages
        host = self._host
        limits = host.limits
        if held > limits.transaction_messages:
            raise _over("transaction_messages", limits.transaction_messages, held)
        if self.octets + octets > limits.transaction_octets:
            raise _over("transaction_octets", limits.transaction_octets, self.octets + octets)
        if octets and host.held_messages + messages > limits.held_messages:
            raise _over("held_messages", limits.held_messages, host.held_messages + messages, "all transactions")
        if host.held_octets + octets > limits.held_octets:
            raise _over("held_octets", limits.held_octets, host.held_octets + octets, "all transactions")

    def __repr__(self) -> str:
        parts = many(len(self.published), "message"), many(self.octets, "octet"), many(len(self.accepted), "accept")
        return f"<Work: {', '.join(parts)}>"


def _over(limit: str, value: int, asked: int, who: str = "the transaction") -> Refused:
    return Refused(conditions.LIMIT, limit=limit, value=value, why=f"{who} would hold {asked}")


class DtxAnswer(NamedTuple):
    """The answer to a command of class dtx, to be sent once entry `journal` is journalled (0: at once)."""

    status: XaStatus
    journal: int = 0


class InDoubtBranch(NamedTuple):
    """A branch that waits for its transaction manager, as an administrator sees it."""

    xid: Xid
    decided: XaStatus | None
    """None while it is prepared; afterwards the decision, until dtx.forget."""
    published: int
    """The number of messages that it holds back."""
    accepted: int
    """The number of messages that it keeps acquired."""
    octets: int
    """The octets of the messages that it holds back."""


class Branch:
    """A branch: its phase, the sessions that work on it, and the work that it holds back."""

    __slots__ = ("decided", "identity", "journal", "phase", "sessions", "stored", "timeout", "work", "xid")

    def __init__(self, xid: XidKey, work: Work, timeout: int, identity: str | None) -> None:
        self.xid: Final = xid
        self.identity: Final = identity
        """The identity that began it; None where a journal of an older version did not record it."""
        self.work: Final = work
        self.timeout = timeout
        """In seconds."""
        self.phase = Phase.OPEN
        self.sessions: Final[dict[Owner, bool]] = {}
        """The associated sessions: True for one that works on it, False for one that has suspended it."""
        self.decided: XaStatus | None = None
        """The decision of an administrator."""
        self.stored: dict[Message, None] = {}
        """The messages that the journal keeps because a prepared branch holds them back."""
        self.journal = 0
        """The entry that prepared or decided it, for which answers about that wait."""

    def relation(self, owner: Owner | None) -> Relation:
        """Returns the relation of a session to the branch."""
        active = None if owner is None else self.sessions.get(owner)
        if active is not None:
            return Relation.HERE if active else Relation.SUSPENDED
        return Relation.ELSEWHERE if self.sessions else Relation.NOBODY

    def keep(self, message: Message) -> None:
        """Marks the message as kept by the journal while the branch is in doubt."""
        self.stored[message] = None
        message.stored += 1

    def let_go(self) -> None:
        """Releases these messages once the branch is decided: the queue that has a message keeps it in the journal."""
        for message in self.stored:
            message.stored -= 1
        self.stored.clear()

    @property
    def evictable(self) -> bool:
        """Whether its work is rolled back and no session is associated with it, so that it may be forgotten."""
        return self.phase is Phase.TIMED_OUT and not self.sessions

    @property
    def in_doubt(self) -> bool:
        """Whether dtx.recover lists it."""
        return self.phase in (Phase.PREPARED, Phase.HEURISTIC)

    def __repr__(self) -> str:
        return f"<Branch {show(self.xid)}: {self.phase.value}, {many(len(self.sessions), 'session')}, {self.work!r}>"


def standing(branch: Branch | None, owner: Owner | None) -> Standing:
    """Returns the standing of a branch towards a session."""
    return UNKNOWN if branch is None else Standing(branch.phase, branch.relation(owner))


def prepared(host: str, branch: Branch) -> BranchPrepared:
    """Returns the operation that records what of a prepared branch survives the broker: all that concerns durable queues."""
    published = [
        (message.number, tuple([queue.name for queue in queues if queue.durable and not queue.deleted]))
        for message, queues in branch.work.published
        if message in branch.stored
    ]
    accepted = [
        (entry.queue.name, entry.message.number)
        for entry in branch.work.accepted
        if entry.message.envelope.persistent and entry.queue.durable and not entry.queue.deleted
    ]
    return BranchPrepared(host, branch.xid, published, accepted, branch.timeout, branch.identity)


def xid_of(key: XidKey) -> Xid:
    """Returns the xid with these parts."""
    return Xid(*key)


DEFAULT_TIMEOUT: Final = 60
"""The default timeout of a branch in seconds, from its start until it is prepared or decided (see dtx.set-timeout)."""
MAX_TIMEOUT: Final = 3600
"""The most seconds that dtx.set-timeout may ask for; more is refused with 542."""

HEURISTICS: Final = (XaStatus.XA_HEURCOM, XaStatus.XA_HEURRB, XaStatus.XA_HEURMIX, XaStatus.XA_HEURHAZ)
"""The possible decisions of an administrator."""

XID_OCTETS: Final = 14
"""The octets of an xid in a list, besides its two ids."""


class Coordinator:
    """The branches of one virtual host.

    An `owner` is a session that works on branches; any session may decide any branch.  An illegal request raises Refused and
    changes nothing.  When a journal number is returned, send the answer once that entry is journalled.
    """

    def __init__(
        self,
        host: HostMessages,
        default_timeout: int = DEFAULT_TIMEOUT,
        max_timeout: int = MAX_TIMEOUT,
    ) -> None:
        self._host: Final = host
        self._journal: Final = host.journal
        self.default_timeout: Final = default_timeout
        self.max_timeout: Final = max_timeout
        self.branches: Final[dict[XidKey, Branch]] = {}
        """Every known branch, in order of their starts."""
        self._in_doubt: Final[dict[Branch, None]] = {}
        self._in_doubt_of: Final[dict[str | None, dict[Branch, None]]] = {}
        self.working: Final[dict[Owner, Branch]] = {}
        """By session, the branch to which its transfers and accepts belong now (rule dtx.transactionality)."""
        self._known_to: Final[dict[Owner, dict[Branch, None]]] = {}
        self._evictable: Final[dict[Branch, None]] = {}
        self._timeouts: Final[Countdowns[Branch]] = Countdowns()

    # --- demarcation ------------------------------------------------------------------------------------------------------

    def associated(self, owner: Owner) -> bool:
        """Returns whether a session works on a branch, or has suspended one."""
        return owner in self._known_to

    def start(
        self, owner: Owner, xid: Xid | None, join: bool = False, resume: bool = False, identity: str | None = None
    ) -> DtxAnswer:
        """Implements dtx.start: the session works on the branch from now on if the status is xa-ok.

        A new branch belongs to `identity`.
        """
        key, branch = self._named(xid)
        both = table.START_JOIN_RESUME if join and resume else ""
        verb = both or (table.START_JOIN if join else table.START_RESUME if resume else table.START)
        cell = self._cell(branch, owner, verb, key)
        if self.working.get(owner, branch) is not branch:
            raise self._refused(table.WORKING, verb, key, "it must end its work on the other branch first")
        if branch is None:
            self._make_room()
            branch = self.branches[key] = Branch(key, Work(self._host), self.default_timeout, identity)
            self._timeouts.begin(branch, branch.timeout)
        return self._done(branch, owner, cell)

    def end(self, owner: Owner, xid: Xid | None, suspend: bool = False, fail: bool = False) -> DtxAnswer:
        """Implements dtx.end: the session stops working on the branch, or (with `suspend`) pauses."""
        both = table.END_SUSPEND_FAIL if suspend and fail else ""
        return self._decide(xid, both or (table.END_SUSPEND if suspend else table.END_FAIL if fail else table.END), owner)

    def owner_ended(self, owner: Owner) -> None:
        """Handles the end of a session: its branches, including suspended ones, can only be rolled back.

        Rule dtx.end.session-closed.
        """
        for branch in tuple(self._known_to.get(owner, ())):
            self._part(branch, owner)
            if branch.phase is Phase.OPEN:
                branch.phase = Phase.ROLLBACK_ONLY
            self._note(branch)

    # --- outcome ----------------------------------------------------------------------------------------------------------

    def prepare(self, xid: Xid | None) -> DtxAnswer:
        """Implements dtx.prepare: journals the branch and its work.  Raises Refused (506) when a queue has no room."""
        _, branch = self._named(xid)
        verb = table.PREPARE if branch is None or branch.work.published or branch.work.accepted else table.PREPARE_NOTHING
        return self._decide(xid, verb)

    def commit(self, xid: Xid | None, one_phase: bool = False) -> DtxAnswer:
        """Implements dtx.commit: applies the work in one journal entry.  Raises Refused (506) when a queue has no room."""
        return self._decide(xid, table.COMMIT_ONE_PHASE if one_phase else table.COMMIT)

    def rollback(self, xid: Xid | None) -> DtxAnswer:
        """Implements dtx.rollback: drops the publishes, and returns accepted messages to their queues."""
        return self._decide(xid, table.ROLLBACK)

    def forget(self, xid: Xid | None) -> int:
        """Implements dtx.forget: the manager knows the decision about the branch.  Returns the number of the journal entry."""
        return self._decide(xid, table.FORGET).journal

    def recover(self, octets: int | None = None, identity: str | None = None) -> tuple[Xid, ...]:
        """Implements dtx.recover: returns branches that are prepared or decided by an administrator, in order of prepares.

        Only those that `identity` began, and at most about `octets` octets of them; None: all.
        """
        found: list[Xid] = []
        for branch in self._in_doubt if identity is None else self._in_doubt_of.get(identity, ()):
            if octets is not None:
                octets -= XID_OCTETS + len(branch.xid[1]) + len(branch.xid[2])
                if octets < 0:
                    break
            found.append(xid_of(branch.xid))
        return tuple(found)

    # --- time -------------------------------------------------------------------------------------------------------------

    def get_timeout(self, xid: Xid | None) -> int:
        """Implements dtx.get-timeout; returns seconds."""
        key, branch = self._named(xid)
        self._cell(branch, None, table.GET_TIMEOUT, key)
        assert branch is not None
        return branch.timeout

    def set_timeout(self, xid: Xid | None, timeout: int | None) -> None:
        """Implements dtx.set-timeout: the timeout starts again at the next tick; 0 is the default.

        A prepared branch never times out, whatever is set.
        """
        key, branch = self._named(xid)
        seconds = timeout or self.default_timeout
        too_long = seconds > self.max_timeout
        self._cell(branch, None, table.SET_TIMEOUT_TOO_LONG if too_long else table.SET_TIMEOUT, key)
        assert branch is not None
        branch.timeout = seconds
        if branch.phase in (Phase.OPEN, Phase.ROLLBACK_ONLY):
            self._timeouts.begin(branch, branch.timeout)

    @property
    def due(self) -> float | None:
        """The moment to call `tick`: at once when a timeout must start, None when no branch can time out."""
        return self._timeouts.next

    def tick(self, now: float) -> float | None:
        """Rolls back the branches that timed out; returns `due`, on the same clock."""
        for branch in self._timeouts.due(now):
            branch.phase = Phase.TIMED_OUT
            branch.work.close()
            self._note(branch)
        return self._timeouts.next

    # --- for an administrator -----------------------------------------------------------------------------------------------

    @property
    def in_doubt(self) -> tuple[InDoubtBranch, ...]:
        """The branches that dtx.recover lists, with the amount of their work."""
        return tuple([
            InDoubtBranch(xid_of(b.xid), b.decided, len(b.work.published), len(b.work.accepted), b.work.octets)
            for b in self._in_doubt
        ])  # fmt: skip

    @property
    def doubtful(self) -> tuple[Branch, ...]:
        """The branches that dtx.recover lists."""
        return tuple(self._in_doubt)

    def complete(self, xid: Xid, status: XaStatus) -> int:
        """Decides a prepared branch without its transaction manager, which learns of it when it returns.

        xa-heurcom commits; xa-heurrb and xa-heurhaz roll back (the latter when unsure); xa-heurmix commits the publishes and
        removes nothing from queues, so that nothing is lost.  Returns the journal number.  Raises LocalProtocolError when the
        branch is not prepared or the status is another one.
        """
        branch = self.branches.get(key_of(xid))
        state = standing(branch, None)
        said = f"complete {show(key_of(xid))} as {status!r}"
        if branch is None or branch.phase is not Phase.PREPARED:
            names = [show(b.xid) for b in self._in_doubt if b.phase is Phase.PREPARED][:8]
            raise LocalProtocolError(said, state.name, tuple(names), "only a prepared branch can be decided")
        if status not in HEURISTICS:
            raise LocalProtocolError(said, state.name, tuple([each.name for each in HEURISTICS]), "dtx.xa-status")
        decided = BranchDecided(self._host.name, branch.xid, int(status))
        branch.phase, branch.decided = Phase.HEURISTIC, XaStatus(status)
        if status is XaStatus.XA_HEURCOM:
            branch.journal = self._commit(branch, [decided])
        elif status is XaStatus.XA_HEURMIX:
            entries, branch.work.accepted = branch.work.accepted, {}
            branch.journal = self._commit(branch, [decided])
            self._journal.after(branch.journal, lambda: self._host.release(entries, True))
        else:
            branch.journal = self._roll_back(branch, decided)
        return branch.journal

    # --- restoring ------------------------------------------------------------------------------------------------------------

    def restore(
        self, key: XidKey, work: Work, timeout: int, decided: XaStatus | None = None, identity: str | None = None
    ) -> Branch:
        """Restores a prepared or decided branch; its messages count as stored."""
        branch = self.branches[key] = Branch(key, work, timeout, identity)
        branch.phase = Phase.PREPARED if decided is None else Phase.HEURISTIC
        branch.decided = decided
        self._doubt(branch)
        return branch

    # --- internals ------------------------------------------------------------------------------------------------------------

    def _doubt(self, branch: Branch) -> None:
        self._in_doubt[branch] = self._in_doubt_of.setdefault(branch.identity, {})[branch] = None

    def _named(self, xid: Xid | None) -> tuple[XidKey, Branch | None]:
        """Returns the key of an xid, and its branch, if any."""
        if xid is None:
            raise Refused(NO_XID)
        key = key_of(xid)
        return key, self.branches.get(key)

    def _decide(self, xid: Xid | None, verb: str, owner: Owner | None = None) -> DtxAnswer:
        """Does what the session says about a branch, and returns the answer."""
        key, branch = self._named(xid)
        return self._done(branch, owner, self._cell(branch, owner, verb, key))

    def _cell(self, branch: Branch | None, owner: Owner | None, verb: str, key: XidKey) -> Cell:
        state = standing(branch, owner)
        cell = table.CELLS[state, verb]
        if isinstance(cell.answer, Fault):
            would = ", ".join(table.legal(state))
            raise self._refused(cell.answer, verb, key, f"it is {state.name}; legal now: {would}")
        return cell

    def _refused(self, fault: Fault, verb: str, key: XidKey, why: str) -> Refused:
        return Refused(FAULT_CONDITIONS[table.command(verb), fault], verb=verb, branch=show(key), fault=fault.name, why=why)

    def _done(self, branch: Branch | None, owner: Owner | None, cell: Cell) -> DtxAnswer:
        """Applies a cell that does not refuse, and returns its answer."""
        assert branch is not None
        number = self._affect(branch, cell)
        relation = cell.next_state.relation
        if owner is not None and relation in (Relation.HERE, Relation.SUSPENDED):
            branch.sessions[owner] = relation is Relation.HERE
            self._known_to.setdefault(owner, {})[branch] = None
            if relation is Relation.HERE:
                self.working[owner] = branch
            else:
                self.working.pop(owner, None)
        elif owner is not None and owner in branch.sessions:
            self._part(branch, owner)
        branch.phase = cell.next_state.phase
        if branch.phase is Phase.UNKNOWN:
            del self.branches[branch.xid]
            self._timeouts.stop(branch)
            if self._in_doubt.pop(branch, True) is None:
                theirs = self._in_doubt_of[branch.identity]
                del theirs[branch]
                if not theirs:
                    del self._in_doubt_of[branch.identity]
        self._note(branch)
        status = branch.decided if branch.decided is not None else cell.answer
        return DtxAnswer(status if isinstance(status, XaStatus) else XaStatus.XA_OK, number)

    def _affect(self, branch: Branch, cell: Cell) -> int:
        """Applies the effect of a cell on the work; returns the number of the journal entry."""
        if cell.effect is Effect.PREPARE:
            branch.journal = self._prepare(branch)
            return branch.journal
        ended: list[Operation] = [BranchEnded(self._host.name, branch.xid)] if branch.in_doubt else []
        if cell.effect is Effect.COMMIT:
            return self._commit(branch, ended)
        if cell.effect is Effect.ROLLBACK:
            return self._roll_back(branch, *ended)
        if branch.phase is Phase.HEURISTIC:
            return self._journal.write(*ended) if cell.next_state.phase is Phase.UNKNOWN else branch.journal
        return 0

    def _prepare(self, branch: Branch) -> int:
        host, work = self._host, branch.work
        if work.published:
            host.admit(work.published)
        self._timeouts.stop(branch)
        self._doubt(branch)
        operations: list[Operation] = []
        for message, queues in work.published:
            if [queue for queue in queues if queue.durable and not queue.deleted]:
                if not message.stored:
                    operations.append(host.stored(message))
                branch.keep(message)
        return self._journal.write(*operations, prepared(host.name, branch)) if self._journal.enabled else 0

    def _commit(self, branch: Branch, operations: list[Operation]) -> int:
        """Commits the branch; returns the number of the journal entry.  A prepared branch has `operations`."""
        number = branch.work.commit(operations, admitted=bool(operations))
        branch.let_go()
        return number

    def _roll_back(self, branch: Branch, *operations: Operation) -> int:
        """Rolls the branch back.

        Releases the messages of a prepared one only after the rollback is journalled, so that a crash leaves it either prepared
        or rolled back.
        """
        branch.let_go()
        entries = branch.work.rollback(False)
        number = self._journal.write(*operations)
        self._journal.after(number, lambda: self._host.release(entries, True))
        return number

    def _part(self, branch: Branch, owner: Owner) -> None:
        del branch.sessions[owner]
        mine = self._known_to[owner]
        del mine[branch]
        if not mine:
            del self._known_to[owner]
        if self.working.get(owner) is branch:
            del self.working[owner]

    def _note(self, branch: Branch) -> None:
        """Updates the list of the branches that may be forgotten."""
        if branch.evictable:
            self._evictable[branch] = None
        else:
            self._evictable.pop(branch, None)

    def _make_room(self) -> None:
        """Forgets the oldest branch that timed out and was not asked for, to make room."""
        if len(self.branches) < self._host.limits.branches:
            return
        for branch in self._evictable:
            del self._evictable[branch]
            del self.branches[branch.xid]
            return
        raise Refused(conditions.LIMIT, limit="branches", value=self._host.limits.branches, why="one more was started")


FAULT_CONDITIONS: Final = {
    (command, fault): conditions.row(f"dtx.{command}: {fault.name}", conditions.BRANCH) for command, fault in table.FAULTS
}
"""The condition for each fault of the table, by command."""


# --- the commands of sessions ---------------------------------------------------------------------------------------------

SPARE_RANGES: Final = 16
"""How many ranges `accepted` may have, beyond twice the transfers, before empty ones are dropped."""


class ProvisionalAccepts(ById["Unsettled"]):
    """Transfers by id that the session has accepted in a local transaction at least once, and not settled yet.

    A rollback leaves them here, and an accept costs only the ranges that it names: a client that repeatedly accepts everything
    and rolls back makes the broker look at each transfer once.
    """

    __slots__ = ("accepted",)

    def __init__(self) -> None:
        super().__init__()
        self.accepted: Final = MutableRangeSet()
        """The ids that the open transaction has accepted, and possibly others that are not here."""

    def accept(self, ids: RangeSet) -> None:
        """Records accepts of the open transaction for ids that are here."""
        accepted = self.accepted
        accepted.update(ids)
        if accepted.range_count > 2 * len(self) + SPARE_RANGES:
            here = self.ids.common(accepted.freeze())
            accepted.clear()
            accepted.update(here)

    def accepted_ids(self) -> RangeSet:
        """Returns the ids that the open transaction removes from their queues if committed."""
        return self.ids.common(self.accepted.freeze())

    def entries(self) -> list[QueueEntry]:
        """Returns their messages."""
        return [self[id].entry for id in self.among(self.accepted.freeze())]

    def commit(self) -> None:
        """Settles what the transaction has accepted, and starts the next one."""
        self.take(self.accepted.freeze())
        self.accepted.clear()

    def rollback(self) -> None:
        """Forgets the accepts of the transaction; the transfers stay."""
        self.accepted.clear()

    def clear(self) -> None:
        """Drops all transfers."""
        super().clear()
        self.accepted.clear()


def tx_select(holder: SessionHolder, id: int, command: tx.Select) -> None:
    """Executes tx.select: from now on transfers and accepts wait for commit."""
    if holder.tx is None:
        holder.tx = Work(holder.host, holder.provisional)
    holder.complete(id)


def tx_commit(holder: SessionHolder, id: int, command: tx.Commit) -> None:
    """Executes tx.commit: applies the transaction, and begins the next."""
    provisional = holder.provisional
    number = holder.tx.commit(taken=provisional.entries()) if holder.tx is not None else 0
    provisional.commit()
    holder.complete_after(number, id)


def tx_rollback(holder: SessionHolder, id: int, command: tx.Rollback) -> None:
    """Executes tx.rollback: discards the transaction; accepted messages are acquired and unaccepted again."""
    if holder.tx is not None:
        holder.tx.rollback(False)
    holder.provisional.rollback()
    holder.complete(id)


def dtx_select(holder: SessionHolder, id: int, command: dtx.Select) -> None:
    """Executes dtx.select: the session may work on branches."""
    holder.complete(id)


def _answer(holder: SessionHolder, id: int, outcome: DtxAnswer) -> None:
    holder.result_after(outcome.journal, id, XaResult(outcome.status))


def dtx_start(holder: SessionHolder, id: int, command: dtx.Start) -> None:
    """Executes dtx.start."""
    _answer(holder, id, holder.host.coordinator.start(holder.owner, command.xid, command.join, command.resume, holder.key[1]))


def dtx_end(holder: SessionHolder, id: int, command: dtx.End) -> None:
    """Executes dtx.end."""
    _answer(holder, id, holder.host.coordinator.end(holder.owner, command.xid, command.suspend, command.fail))


def _deciding(decide: Callable[..., DtxAnswer]) -> Callable[[SessionHolder, int, Command], None]:
    """Returns what executes a command by the method of the coordinator that takes its fields."""

    def execute(holder: SessionHolder, id: int, command: Command) -> None:
        _answer(holder, id, decide(holder.host.coordinator, *command.values()))

    return execute


dtx_prepare: Final = _deciding(Coordinator.prepare)
dtx_commit: Final = _deciding(Coordinator.commit)
dtx_rollback: Final = _deciding(Coordinator.rollback)


def dtx_forget(holder: SessionHolder, id: int, command: dtx.Forget) -> None:
    """Executes dtx.forget."""
    holder.complete_after(holder.host.coordinator.forget(command.xid), id)


def dtx_recover(holder: SessionHolder, id: int, command: dtx.Recover) -> None:
    """Executes dtx.recover, with as many branches as fit into one frame; the client asks again when it has resolved them."""
    xids = holder.host.coordinator.recover(holder.frame_octets, _identity_for(holder))
    while xids and not holder.fits(RecoverResult(xids)):
        xids = xids[: len(xids) // 2]
    holder.result(id, RecoverResult(xids))


def dtx_get_timeout(holder: SessionHolder, id: int, command: dtx.GetTimeout) -> None:
    """Executes dtx.get-timeout."""
    holder.result(id, GetTimeoutResult(holder.host.coordinator.get_timeout(command.xid)))


def dtx_set_timeout(holder: SessionHolder, id: int, command: dtx.SetTimeout) -> None:
    """Executes dtx.set-timeout."""
    holder.host.coordinator.set_timeout(command.xid, command.timeout)
    holder.complete(id)


def _identity_for(holder: SessionHolder) -> str | None:
    """Returns the identity whose branches the session may see; None: all."""
    guard = holder.broker._guard
    host, identity, _ = holder.key
    return None if guard is None or guard.manages(identity, host) else identity
