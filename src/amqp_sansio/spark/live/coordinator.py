"""The driver's part of the sink: decides about an epoch once, durably, and makes the broker carry the decision out.

Steps of `commit`: `checked` (all branches are prepared), `decided`, `committed` (for each branch), `finished`.

The log of decisions says which branches of an epoch are to be committed; it is written before the first commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import attrs

from amqp_sansio.spark.errors import LiveError, LiveLossError, LiveSetupError
from amqp_sansio.spark.live.broker_link import LOG, BrokerLink, StepHook, go_on, persistently
from amqp_sansio.spark.live.disk import FolderLock, folder, get_json, put_json
from amqp_sansio.spark.live.identity import JOB, SINK, branch_named, name_of, note_of, number_of, number_of_job, owned, unseen
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, SinkOptions
from amqp_sansio.spec.dtx import Xid

STEPS: Final = ("checked", "decided", "committed", "finished")
RECOVERY: Final = ("asked", "undone")
"""Steps of recovery when something is in doubt, at the start of each epoch and after a decision: the doubtful branches are
known; those decided are committed (each one is also a step `committed`), and the rest is rolled back."""
SAID: Final = "%s: at least once: what is tried again is published again, with the same message_id; drop doubles by it"


class TaskPublished(NamedTuple):
    """What a task did: `branch` is the word of its prepared branch, "" without one."""

    branch: str
    rows: int
    octets: int


NOTE: Final = "journal.json"
OPTION: Final = "journal"


class CommitCoordinator:
    """One process's work for one journal."""

    def __init__(self, options: SinkOptions, job: str | None = None, step: StepHook = go_on) -> None:
        self.options: Final = options
        self.decisions: Final = Decisions(options.journal)
        self.job: Final = job
        """The name of the job; None for a stream.  Jobs may share a journal; each decides only about its own branches."""
        self._step: Final = step

    def begin(self) -> str:
        """Runs before tasks begin: finishes earlier decisions, and rolls back what dead tasks left; returns the mode for the
        tasks.

        Raises LiveSetupError when the target of messages does not exist, or the broker lacks required distributed transactions.
        """
        with self.decisions.lock, BrokerLink(self.options.access) as link:
            self._there(link)
            dtx = link.has_dtx()
            mode = link.mode(dtx)
            if dtx:
                self.recover(link)
            if mode == AT_LEAST_ONCE:
                LOG.warning(SAID, self.options.access.shown)
            return mode

    def _there(self, link: BrokerLink) -> None:
        exchange, key = self.options.rows.exchange, self.options.rows.routing_key
        if exchange and not link.has_exchange(exchange):
            raise LiveSetupError(f"{self.options.access.shown}: there is no exchange {exchange!r} (option exchange)")
        if not exchange and key and self.options.rows.mandatory and link.queue(key) is None:
            raise LiveSetupError(f"{self.options.access.shown}: there is no queue {key!r} (option routingKey)")

    def recover(self, link: BrokerLink) -> None:
        """Commits branches that were decided, rolls back those that were not; only of this journal, while no task is
        running."""
        known = self.decisions.all()
        decided = {name for each in known for name in each.branches}
        seen: set[str] = set()
        while mine := unseen(self._owned(link), seen):
            self._step("asked")
            self._commit(link, [each for each in mine if name_of(each) in decided])
            link.rollback([each for each in self._ours(mine) if name_of(each) not in decided])
            self._step("undone")
        for each in known:
            self.decisions.finish(each)

    def _commit(self, link: BrokerLink, branches: Sequence[Xid]) -> None:
        for each in branches:
            for _, status in link.commit([each]):
                raise LiveLossError(f"{self.options.access.shown}: the broker undid a branch that it had prepared: {status}")
            self._step("committed")

    def commit(self, query: str, epoch: int, published: Sequence[TaskPublished]) -> bool:
        """Commits an epoch whose tasks are all done.  Returns False when it had been decided before: then these branches do not
        count.

        Raises LiveError: before the decision, nothing counts; after it, the next run completes it.
        """
        with self.decisions.lock:
            return self._decide(query, epoch, published)

    def _decide(self, query: str, epoch: int, published: Sequence[TaskPublished]) -> bool:
        names = tuple([each.branch for each in published if each.branch])
        last = self.decisions.last(query)
        if last is not None and last.epoch >= epoch:
            self._with_broker(lambda link: self.recover(link) if link.has_dtx() else None)
            return False
        branches = [branch_named(each) for each in names]
        if branches:
            self._with_broker(lambda link: self._prepared(link, names))
        self._step("checked")
        decision = self.decisions.decide(
            EpochDecision(
                query=query, epoch=epoch, branches=names, rows=sum([each.rows for each in published]),
                octets=sum([each.octets for each in published]),
            )
        )  # fmt: skip
        self._step("decided")
        if branches:
            self._with_broker(self.recover)
        else:
            self.decisions.finish(decision)
        self._step("finished")
        return True

    def _prepared(self, link: BrokerLink, names: Sequence[str]) -> None:
        """Raises LiveError unless the broker still has all of these; it may have been replaced by one without them."""
        kept = {name_of(each) for each in self._owned(link)}
        missing = [each for each in names if each not in kept and not link.knows(branch_named(each))]
        if missing:
            raise LiveError(
                f"{self.options.access.shown}: {len(missing)} of {len(names)} prepared branches are not there any more: "
                "the epoch is not decided, and is to be published again (another query with the same option journal?)"
            )

    def abort(self, published: Sequence[TaskPublished | None]) -> None:
        """Rolls back what the tasks of a failed epoch prepared, as far as the broker can be reached.

        Spark also calls it when a commit failed after its decision: decided branches stay, and are committed later.
        """
        decided = {name for each in self.decisions.all() for name in each.branches}
        names = [each.branch for each in published if each is not None and each.branch]
        branches = [branch_named(name) for name in names if name not in decided]
        if not branches:
            return
        try:
            with self.decisions.lock, BrokerLink(self.options.access) as link:
                link.rollback(branches)
        except LiveError as error:  # the next run does it
            LOG.warning("%s", error)

    def _owned(self, link: BrokerLink) -> list[Xid]:
        """Returns this journal's branches in doubt: those of its streams, or of its jobs."""
        return owned(link.in_doubt(), self.decisions.owner, SINK if self.job is None else JOB)

    def _ours(self, branches: Sequence[Xid]) -> list[Xid]:
        """Returns those that nobody else may be working on: a job's own."""
        return [each for each in branches if self.job is None or number_of(each) == number_of_job(self.job)]

    def _with_broker(self, work: Callable[[BrokerLink], None]) -> None:
        def attempt() -> None:
            with BrokerLink(self.options.access) as link:
                work(link)

        persistently(self.options.access, attempt)


@attrs.frozen(kw_only=True)
class EpochDecision:
    """A decision about an epoch of a query, or a job: whatever happens, exactly these branches are committed."""

    query: str
    """Spark's id of the query, or the name of a job."""
    epoch: int
    """Spark's number of the batch, from 0; 0 for a job."""
    branches: tuple[str, ...] = ()
    """The branches as words."""
    rows: int = 0
    octets: int = 0
    total_rows: int = 0
    """Total of the query so far, this epoch included."""
    total_octets: int = 0
    finished: bool = False
    """Whether all of them are known to be committed."""


class Decisions:
    """A folder with the last decision of each query.  `owner` is the name in the branches."""

    def __init__(self, path: Path) -> None:
        self.path: Final = folder(path, OPTION)
        self.lock: Final = FolderLock(path, OPTION)
        """Held while deciding about branches, because a worker that seemed dead may still be working."""
        self.owner: Final = note_of(path / NOTE, "decisions", "decision-*.json")[0]

    def last(self, query: str) -> EpochDecision | None:
        """Returns the last decision of a query, None before the first."""
        return self._read(self._file(query))

    def all(self) -> list[EpochDecision]:
        """Returns the last decision of each query."""
        return [found for path in sorted(self.path.glob("decision-*.json")) if (found := self._read(path)) is not None]

    def decide(self, decision: EpochDecision) -> EpochDecision:
        """Writes a decision, with its totals added up; it holds from now on.  Raises LiveError when that is not certain."""
        before = self.last(decision.query)
        if before is not None and before.epoch >= decision.epoch:
            raise LiveSetupError(f"{self.path}: epoch {decision.epoch} was decided before")
        rows, octets = (before.total_rows, before.total_octets) if before is not None else (0, 0)
        made = attrs.evolve(decision, total_rows=rows + decision.rows, total_octets=octets + decision.octets)
        self._write(made)
        return made

    def finish(self, decision: EpochDecision) -> None:
        """Notes that all branches of a decision are committed."""
        if not decision.finished:
            self._write(attrs.evolve(decision, finished=True))

    def forget(self, query: str) -> None:
        """Removes the decision of a query that will not be asked for again: its branches are committed."""
        self._file(query).unlink(missing_ok=True)

    def _write(self, decision: EpochDecision) -> None:
        put_json(self._file(decision.query), attrs.asdict(decision))

    def _file(self, query: str) -> Path:
        return self.path / f"decision-{sha256(query.encode()).hexdigest()[:24]}.json"

    @staticmethod
    def _read(path: Path) -> EpochDecision | None:
        found: dict[str, Any] | None = get_json(path)
        if found is None:
            return None
        try:
            return EpochDecision(**{**found, "branches": tuple(found["branches"])})
        except (KeyError, TypeError) as error:
            raise LiveSetupError(f"{path}: is damaged, or not a file of amqp-sansio") from error
