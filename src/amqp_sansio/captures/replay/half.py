"""What one side of a session has said and nobody has answered yet: its commands and its messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from amqp_sansio.captures.replay.rows import COMPLETE, DONE, OPEN, REFUSED, UNKNOWN, Message, Rows, passed, place
from amqp_sansio.captures.tables import COMMANDS
from amqp_sansio.kernel.picking import ById
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet

OPEN_MESSAGES: Final = 32768
"""Messages of one side of a session of which something is awaited; beyond it the oldest goes out as it stands, as unknown."""
OPEN_COMMANDS: Final = 8192
"""Its other commands likewise."""
GRACE_MESSAGES: Final = 256
"""Complete messages that wait for an accept which need not come: one that comes later is not recorded."""
RANGES: Final = 8191
"""Ranges of ids of messages that have left so; beyond it nobody can say what is in doubt."""

RESULT_AT: Final = place(COMMANDS, "result_at")
RESULT: Final = place(COMMANDS, "result")
C_LAST: Final = place(COMMANDS, "last_octet_at")
C_COMPLETED: Final = place(COMMANDS, "completed_at")
C_LATENCY: Final = place(COMMANDS, "complete_latency_ns")
C_OUTCOME: Final = place(COMMANDS, "outcome")
C_CODE: Final = place(COMMANDS, "error_code")
C_TEXT: Final = place(COMMANDS, "error_text")


class Half:
    """`known` tells whether we have everything it said, and everything the other side said of it."""

    __slots__ = ("awaited", "commands", "count", "evicted", "evicted_unsettled", "grace", "incomplete", "known", "rows",
                 "transfers", "unsettled")  # fmt: skip

    def __init__(self, rows: Rows, known: bool) -> None:
        self.rows: Final = rows
        self.known = known
        self.count = 0
        self.transfers = 0
        self.commands: ById[list[object]] = ById()
        """Rows of commands, transfers apart, that are not complete."""
        self.awaited: dict[int, list[object]] = {}
        """Rows of commands that are complete and whose result is awaited."""
        self.incomplete: ById[Message] = ById()
        self.unsettled: ById[Message] = ById()
        self.grace: deque[int] = deque()
        self.evicted = MutableRangeSet()
        """Ids of messages that have left, as unknown, and are not complete."""
        self.evicted_unsettled = MutableRangeSet()
        """Likewise of deliveries that are not settled."""

    def say(self, id: int | None, row: list[object]) -> None:
        """A command that is no transfer."""
        if id is None:
            self._leave(row, UNKNOWN)
            return
        gone = self.commands.push(id, row, OPEN_COMMANDS)
        if gone is not None:
            self._leave(gone, UNKNOWN)

    def send(self, id: int | None, message: Message) -> None:
        """A transfer."""
        if id is None:
            self._end(message, UNKNOWN)
            return
        self.incomplete[id] = message
        if message.kind.explicit:
            self.unsettled[id] = message
        if len(self.incomplete) > OPEN_MESSAGES or len(self.unsettled) > OPEN_MESSAGES:
            self._evict()

    def send_all(self, id: int, messages: Sequence[Message]) -> None:
        """Transfers of one kind, one behind the other, with ids from `id` on."""
        count = len(messages)
        if max(len(self.incomplete), len(self.unsettled)) + count > OPEN_MESSAGES:
            for message in messages:
                self.send(message.id, message)
            return
        self.incomplete.run(id, messages)
        if messages[0].kind.explicit:
            self.unsettled.run(id, messages)

    def _leave(self, row: list[object], outcome: str) -> None:
        """The row of a command goes out."""
        row[C_OUTCOME] = outcome
        if row[RESULT_AT] is None:
            row[RESULT] = None  # that a result is awaited was noted there
        self.rows.commands.append(row)

    def _evict(self) -> None:
        """The oldest message goes out as it stands."""
        oldest = self.incomplete if len(self.incomplete) > OPEN_MESSAGES else self.unsettled
        id = next(iter(oldest))
        message = oldest[id]
        if message.doubtful:
            settles = message.kind.explicit and message.kind.direction == "S"
            evicted = self.evicted_unsettled if settles else self.evicted
            evicted.add(id)
            if evicted.range_count > RANGES:
                self.known = False
                evicted.clear()
        self.incomplete.drop(id)
        self.unsettled.drop(id)
        self._end(message, UNKNOWN)

    # What the other side says of it.

    def completed(self, ids: RangeSet, time: int) -> list[int]:
        """The other side says that these are complete: those of them that are no transfers and were not before."""
        if self.evicted:
            self.evicted.discard(ids)
        incomplete = self.incomplete
        if incomplete:
            commands, messages = self.rows.transfers, self.rows.messages
            for message in incomplete.take(ids):
                message.completed = time
                message.done = COMPLETE
                commands.append(message)
                kind = message.kind
                if not kind.explicit or message.settled is not None:
                    if message.outcome is None:  # nobody asked for an accept
                        message.settled = time
                        message.outcome = DONE
                    if not message.out:
                        message.out = True
                        messages.append(message)
                elif kind.direction == "C" or not kind.acquires:
                    assert message.id is not None
                    self.grace.append(message.id)
            while len(self.grace) > GRACE_MESSAGES:
                late = self.unsettled.drop(self.grace.popleft())
                if late is not None:
                    self._end(late, DONE)
        found = self.commands.among(ids) if self.commands else []
        for id in found:
            row = self.commands.remove(id)
            row[C_COMPLETED] = time
            row[C_LATENCY] = passed(row[C_LAST], time)  # type: ignore[arg-type]
            row[C_OUTCOME] = DONE
            if row[RESULT_AT] is None and row[RESULT] is not None:
                row[RESULT] = None
                if len(self.awaited) >= OPEN_COMMANDS:
                    self.rows.commands.append(self.awaited.pop(next(iter(self.awaited))))
                self.awaited[id] = row
            else:
                self.rows.commands.append(row)
        return found

    def result(self, id: int, time: int, text: str | None) -> None:
        """The other side answers a command."""
        row = self.commands.get(id)
        if row is None:
            row = self.awaited.pop(id, None)
            if row is not None:
                self.rows.commands.append(row)
        if row is not None:
            row[RESULT_AT] = time
            row[RESULT] = text

    def refused(self, id: int, code: int | None, text: str | None) -> None:
        """The other side refuses a command."""
        row = self.commands.drop(id)
        if row is not None:
            row[C_CODE], row[C_TEXT] = code, text
            self._leave(row, REFUSED)
        message = self.incomplete.drop(id)
        if message is not None:
            self.unsettled.drop(id)
            message.conclude(self.rows, (REFUSED, code, text))
            message.outcome = REFUSED
            message.leave(self.rows)

    def settle(
        self, ids: RangeSet, how: str, time: int, transaction: int | None = None, xid: str | None = None,
        code: int | None = None, text: str | None = None, maybe: bool = False,
    ) -> list[Message]:  # fmt: skip
        """The other side accepts, rejects or releases messages: those that it concerns.

        In a local transaction an accept is provisional, and so is one that is `maybe` in one: see `sealed` and `reopened`.
        """
        if self.evicted_unsettled:
            self.evicted_unsettled.discard(ids)
        found = self.unsettled.take(ids)
        messages = self.rows.messages
        provisional = maybe or transaction is not None
        for message in found:
            if how == "accepted":
                message.accepted = time
                if xid is not None:
                    message.fated().xid = xid
                elif transaction is not None:
                    message.fated().transaction = transaction
                if provisional:
                    continue
            elif how == "rejected":
                fate = message.fated()
                fate.rejected, fate.code, fate.text = time, code, text
            else:
                message.fated().released = time
            message.settled = time  # `settle` and `leave`, without the calls
            message.outcome = how
            if message.done is not None and not message.out:
                message.out = True
                messages.append(message)
        return found

    def sealed(self, messages: Iterable[Message], time: int | None = None) -> None:
        """The transaction in which they were accepted is committed; `time` None: there was none."""
        for message in messages:
            if message.out:
                continue
            when = message.accepted if time is None else time
            assert when is not None
            message.settle("accepted", when)
            if message.done is not None:
                message.leave(self.rows)

    def reopened(self, messages: Iterable[Message], rolled_back: bool) -> None:
        """The transaction in which they were accepted is rolled back: their recipient still holds them.

        Not `rolled_back`: nobody will hear what became of it.
        """
        for message in messages:
            if message.out:
                continue
            if rolled_back:
                message.accepted = None
                if message.fate is not None:
                    message.fate.transaction = None
            assert message.id is not None
            self.unsettled[message.id] = message

    # The end.

    def _end(self, message: Message, outcome: str) -> None:
        """Nothing more comes about a message."""
        if message.outcome is None:
            done = message.done is not None and message.kind.fleeting and message.accepted is None
            message.outcome = DONE if done else outcome
            if done and message.completed is not None:
                message.settle(DONE, message.completed)
        if message.done is None:
            message.conclude(self.rows, (outcome, None, None))
        message.leave(self.rows)

    def flush(self, outcome: str) -> None:
        """Nothing more comes: every row goes out, `outcome` for those of which nobody knows more."""
        for row in self.commands.values():
            self._leave(row, outcome)
        self.rows.commands.extend(self.awaited.values())
        for message in [*self.incomplete.values(), *self.unsettled.values()]:
            if not message.out:
                self._end(message, outcome)
        self.commands.clear()
        self.awaited.clear()
        self.incomplete.clear()
        self.unsettled.clear()
        self.grace.clear()

    def doubtful(self) -> RangeSet | None:
        """The ids of messages that somebody may have lost (see `Message.doubtful`); None unknown."""
        if not self.known:
            return None
        found = self.evicted.copy()
        found.update(self.evicted_unsettled.freeze())
        for id, message in [*self.incomplete.items(), *self.unsettled.items()]:
            if message.doubtful:
                found.add(id)
        return found.freeze()

    @property
    def outcome(self) -> str:
        """The outcome of everything that is open at the end."""
        return OPEN if self.known else UNKNOWN
