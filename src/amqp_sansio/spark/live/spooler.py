"""The spooler: takes messages from queues into segments.  None is lost and, if the broker supports branches, none is
duplicated.

Exactly once, for one segment: messages arrive (`received`); they are written and synced as a draft that is named by its branch
(`written`); the branch starts (`started`), the messages are accepted in it, it ends (`ended`) and is prepared (`prepared`);
renaming the draft records it as a segment (`recorded`); the branch is committed (`committed`).  A branch in doubt is committed
when its segment is recorded, and otherwise rolled back; so is the branch of a draft, which may have ended without being
prepared, in which case no broker lists it.  A crash at any point thus leaves each message either in the segment or on the
queue.

At least once: the segment is written and recorded before its messages are accepted (`accepted`).  A crash in between duplicates
the messages; the broker delivers them again as redelivered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from amqp_sansio.adapters.sync import Session
from amqp_sansio.conversation.inbox import Inbox
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError, SessionFailed
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.broker_link import LOG, BrokerLink, StepHook, give_time, go_on, persistently
from amqp_sansio.spark.live.identity import SOURCE, branch, name_of, owned, unseen
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, EXACTLY_ONCE, BrokerAccess, SourceOptions
from amqp_sansio.spark.live.spool import RawMessage, Segment, Spool
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid

Value = TypeVar("Value")

AT_LEAST_ONCE_SAID: Final = (
    "%s: at least once: a crash can bring messages twice, then marked as redelivered; drop doubles by message_id"
)
STEPS: Final = ("received", "written", "started", "ended", "prepared", "recorded", "committed")
"""The steps of a segment, exactly once."""
RECOVERY: Final = ("asked", "finished", "undone", "tidied")
"""The steps of recovery: the branches in doubt are known; recorded ones are committed; others are rolled back (these three only
when something is in doubt); drafts are removed, at each connection."""
STEPS_AT_LEAST_ONCE: Final = ("received", "written", "recorded", "accepted")


class Spooler:
    """One process's work for one spool, from its lock to `close`."""

    def __init__(
        self,
        options: SourceOptions,
        spool: Spool,
        step: StepHook = go_on,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options: Final = options
        self.spool: Final = spool
        self.mode = options.access.mode
        """The mode in use: `auto` until the broker was asked."""
        self.last = 0
        """The number of the last segment."""
        self._step: Final = step
        self._clock: Final = clock
        self._intake: QueueIntake | None = None
        self._was_open = False

    def open(self) -> None:
        """Locks the spool, decides what is in doubt, and subscribes.  Raises LiveError or LiveSetupError."""
        self.spool.lock.take()
        if self._intake is not None:
            return
        intake = QueueIntake(self.options.access, self.options.queues, self.options.prefetch, self.options.prefetch_octets)
        intake.open()
        try:
            self._choose(intake)
            self._recover(intake)
            intake.subscribe()
        except BaseException:
            intake.close()
            raise
        self._intake = intake
        self._was_open = True

    def close(self) -> None:
        """Releases the broker and the spool; messages that were taken and not recorded go back to their queues."""
        self._drop()
        self.spool.lock.release()

    def _drop(self) -> None:
        intake, self._intake = self._intake, None
        if intake is not None:
            intake.close()

    def _choose(self, intake: QueueIntake) -> None:
        link = intake.link
        mode = link.mode(link.access.mode != AT_LEAST_ONCE and link.has_dtx())
        if mode == AT_LEAST_ONCE and self.mode != mode:
            LOG.warning(AT_LEAST_ONCE_SAID, self.options.access.shown)
        self.mode = mode

    def _recover(self, intake: QueueIntake) -> None:
        """Decides branches in doubt by what is recorded; never touches those of others."""
        recorded = self.spool.branches()
        if self.mode == EXACTLY_ONCE or intake.link.has_dtx():
            seen: set[str] = set()
            while mine := unseen(owned(intake.link.in_doubt(), self.spool.owner, SOURCE), seen):
                self._step("asked")
                good = [each for each in mine if name_of(each) in recorded]
                # What the broker undid is on its queue again, and nobody has seen the segment.
                for each, _ in intake.link.commit(good):
                    LOG.warning("%s: the broker undid a branch that it had prepared", self.options.access.shown)
                    self.spool.withdraw(recorded[name_of(each)])
                self._step("finished")
                intake.link.rollback([each for each in mine if name_of(each) not in recorded])
                self._step("undone")
            self._roll_back_drafts(intake)
            self._step("tidied")
        else:
            self.spool.tidy(self.spool.drafts())
        self.last = max([self.spool.removed, *[each.number for each in self.spool.segments()]])

    def _roll_back_drafts(self, intake: QueueIntake) -> None:
        """Rolls back all drafts; keeps each until the broker confirms that, because its branch may be active without its
        process."""
        for draft in self.spool.drafts():
            try:
                intake.link.rollback([draft.branch])
            except LiveError as error:
                LOG.warning("%s; its messages come back when the broker sees that its process is gone", error)
            else:
                self.spool.tidy([draft])

    def in_doubt(self) -> int:
        """Returns how many of our branches are in doubt at the broker."""
        if self._intake is None or self.mode != EXACTLY_ONCE:
            return 0
        return len(owned(self._intake.link.in_doubt(), self.spool.owner, SOURCE))

    def there(self) -> int:
        """Returns how many messages are on the queues now, after reconnecting."""
        self._drop()
        return self._with_broker(lambda intake: intake.there)

    def depth(self) -> int:
        """Returns how many messages are on the queues, or received and in no segment."""
        return self._with_broker(lambda intake: intake.depth())

    def take(self, most: int | None = None, wait: float | None = None) -> Segment | None:
        """Returns the next segment, with at most `most` messages; None when no message came within `wait` seconds.

        Reconnects after a loss, for as long as the options allow.  Raises LiveError: nothing is lost, and what was in progress
        is decided when it is opened again.
        """
        return self._with_broker(lambda intake: self._take(intake, most, self.options.wait if wait is None else wait))

    def _with_broker(self, work: Callable[[QueueIntake], Value]) -> Value:
        def attempt() -> Value:
            try:
                self.open()
                assert self._intake is not None
                return work(self._intake)
            except BaseException:
                self._drop()
                raise

        def lost(error: LiveError) -> bool:
            return self._was_open and not isinstance(error.__cause__, OSError)

        return persistently(self.options.access, attempt, lost, self._clock)

    def _take(self, intake: QueueIntake, most: int | None, wait: float) -> Segment | None:
        messages, taken = self._collect(intake, most, wait)
        if not taken:
            return None
        self._step("received")
        number = self.last + 1
        name = branch(self.spool.owner, SOURCE, number)
        draft = self.spool.draft(number, name, taken)
        self._step("written")
        if self.mode == AT_LEAST_ONCE:
            segment = self.spool.record(draft)
            self.last = number
            self._step("recorded")
            try:
                intake.accept(messages)
                intake.sync()
            except LiveError as error:  # the segment counts: its messages may be redelivered
                LOG.warning("%s: the messages of segment %d may come again", error, number)
                self._drop()
            self._step("accepted")
            return segment
        intake.begin(name)
        self._step("started")
        intake.accept(messages)
        intake.end(name)
        self._step("ended")
        intake.prepare(name)
        self._step("prepared")
        segment = self.spool.record(draft)
        self._step("recorded")
        intake.commit(name)  # if the answer is lost, it is recovered as after a crash
        self.last = number
        self._step("committed")
        return segment

    def _collect(self, intake: QueueIntake, most: int | None, wait: float) -> tuple[list[Message], list[RawMessage]]:
        rows = self.options.rows if most is None else min(most, self.options.rows)
        messages: list[Message] = []
        taken: list[RawMessage] = []
        octets = 0
        until = 0.0
        while len(taken) < rows and octets < self.options.octets:
            left = wait if not taken else max(until - self._clock(), 0.0)
            if taken and not left and self.options.seconds:  # even if more messages are here than there is time for
                break
            got = intake.receive(left)
            if got is None:
                break
            if not taken:
                until = self._clock() + self.options.seconds
            messages.append(got[0])
            taken.append(got[1])
            octets += got[1].octets
        return messages, taken


class QueueIntake:
    """Subscriptions to some queues in one session.  Raises LiveError when the connection fails, which ends it."""

    def __init__(self, access: BrokerAccess, queues: Sequence[str], prefetch: int, octets: int | None) -> None:
        self.link: Final = BrokerLink(access)
        self.queues: Final = tuple(queues)
        self._prefetch: Final = prefetch
        self._octets: Final = INFINITE if octets is None else octets
        self._inboxes: list[tuple[str, Inbox]] = []
        self._next = 0
        self._apart = False
        self._bounded: bool | None = None
        self.there = 0
        """Messages on the queues before any of them were received."""

    def open(self) -> None:
        """Connects.  Raises LiveSetupError when one of the queues does not exist."""
        self.link.__enter__()
        try:
            with self.link.told():
                depths = [(name, self.link.queue(name)) for name in self.queues]
                if missing := [repr(name) for name, depth in depths if depth is None]:
                    where = f"{' and none '.join(missing)} (option queue)"
                    raise LiveSetupError(f"{self.link.access.shown}: there is no queue {where}")
                self.there = sum([depth or 0 for _, depth in depths])
                self._session: Session = self.link.connection.session().__enter__()
                self._transactions = self._session._core.transactions
        except LiveError:
            self.close()
            raise

    def subscribe(self) -> None:
        """Subscribes: messages arrive from now on, as credit allows."""
        with self.link.told():
            try:
                for name in self.queues:
                    subscription = self._session.subscribe(name, prefetch=self._prefetch, octets=self._octets)
                    self._inboxes.append((name, subscription._inbox))
                self._session.sync()
                self._apart = self._depth() + self._held() <= self.there
            except SessionFailed as error:
                raise LiveSetupError(f"{self.link.access.shown}: {error}") from None

    def close(self) -> None:
        """Closes the connection: messages that were not accepted go back to their queues."""
        self.link.close()

    def depth(self) -> int:
        """Returns how many messages are on the queues, or received and in no segment; some brokers count the latter too."""
        return self._depth() + (self._held() if self._apart else 0)

    def _depth(self) -> int:
        return sum([self.link.queue(name) or 0 for name in self.queues])

    def _held(self) -> int:
        return sum([len(inbox.messages) for _, inbox in self._inboxes])

    def receive(self, seconds: float) -> tuple[Message, RawMessage] | None:
        """Returns the next message of any queue, in turn; None when there is none within `seconds`."""
        until = time.monotonic() + seconds
        try:
            while True:
                for _ in self._inboxes:
                    name, inbox = self._inboxes[self._next]
                    self._next = (self._next + 1) % len(self._inboxes)
                    message = inbox.take()
                    if message is not None:
                        return message, RawMessage(name, time.time_ns() // 1000, message.received.header, message.body)
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self._wait(left)
        except (AmqpError, OSError) as error:
            raise LiveError(f"{self.link.access.shown}: {error}") from None

    def _wait(self, seconds: float) -> None:
        """Waits until a message arrives for one of the subscriptions, or the time is over."""
        coming: Ticket[None] = Ticket()
        waiting: list[Ticket[None]] = []

        def come() -> None:
            coming.settle(None)

        def ask() -> Ticket[None]:
            for _, inbox in self._inboxes:
                waiting.append(inbox.more)
                inbox.more.on_done(come)
            return coming

        try:
            self._session._asked(ask, seconds)
        except TimeoutError:
            for each in waiting:
                each.forget(come)

    def begin(self, branch: Xid) -> None:
        """Begins a branch for what is accepted from now on, with the timeout of the options."""
        self._ask(self._transactions.start, branch)
        with self.link.told(" (option branchTimeout)"):
            self._bounded = give_time(self._session, branch, self.link.access.branch_timeout, self._bounded)

    def accept(self, messages: Sequence[Message]) -> None:
        """Accepts messages, as part of the branch, or for good."""
        with self.link.told():
            for each in messages:
                each.accept()

    def end(self, branch: Xid) -> None:
        """Ends the branch for what follows."""
        self._ask(self._transactions.end, branch)

    def prepare(self, branch: Xid) -> None:
        """Prepares the branch, so that the broker can commit it whatever happens.  Raises LiveError when it does not."""
        self.link.must_keep(self._ask(self._transactions.prepare, branch), "accepts")

    def commit(self, branch: Xid) -> None:
        """Commits: the messages are gone from their queues.  Raises LiveError when that is not certain."""
        self._ask(self._transactions.commit_branch, branch)

    def sync(self) -> None:
        """Waits until everything sent so far is executed."""
        with self.link.told():
            self._session.sync()

    def _ask(self, what: Callable[[Xid], Ticket[XaStatus]], branch: Xid) -> XaStatus:
        with self.link.told(""):
            return self._session._asked(lambda: what(branch))
