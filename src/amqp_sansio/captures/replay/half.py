"""The open commands and messages of one side of a session."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from amqp_sansio.captures.replay.rows import COMPLETE, DONE, REFUSED, UNKNOWN, Message, Rows, passed, place
from amqp_sansio.captures.tables import COMMANDS
from amqp_sansio.kernel.picking import ById
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet

OPEN_MESSAGES: Final = 32768
"""Messages of one side of a session that await something; beyond it the oldest is written as unknown."""
OPEN_COMMANDS: Final = 8192
"""The same for its other commands."""
GRACE_MESSAGES: Final = 256
"""Complete messages that wait for an optional accept; a later accept is not recorded."""
RANGES: Final = 8191
"""Ranges of ids of messages written in this way; beyond it, what is in doubt is unknown."""

RESULT_AT: Final = place(COMMANDS, "result_at")
RESULT: Final = place(COMMANDS, "result")
C_LAST: Final = place(COMMANDS, "last_octet_at")
C_COMPLETED: Final = place(COMMANDS, "completed_at")
C_LATENCY: Final = place(COMMANDS, "complete_latency_ns")
C_OUTCOME: Final = place(COMMANDS, "outcome")
C_CODE: Final = place(COMMANDS, "error_code")
C_TEXT: Final = place(COMMANDS, "error_text")


class Half:
    """One side of a session; `known`: everything it sent, and everything the other side sent about it, was observed."""

    __slots__ = ("awaited", "commands", "count", "evicted", "evicted_unsettled", "grace", "incomplete", "known", "rows",
                 "transfers", "unsettled")  # fmt: skip

    def __init__(self, rows: Rows, known: bool) -> None:
        self.rows: Final = rows
        self.known = known
        self.count = 0
        self.transfers = 0
        self.commands: ById[list[object]] = ById()
        """Rows of incomplete commands other than transfers."""
        self.awaited: dict[int, list[object]] = {}
        """Rows of complete commands whose result is awaited."""
        self.incomplete: ById[Message] = ById()
        self.unsettled: ById[Message] = ById()
        self.grace: deque[int] = deque()
        self.evicted = MutableRangeSet()
        """Ids of incomplete messages that were written as unknown."""
        self.evicted_unsettled = MutableRangeSet()
        """Ids of unsettled deliveries that were written as unknown."""

    def say(self, id: int | None, row: list[object]) -> None:
        """Adds a command that is not a transfer."""
        gone = row if id is None else self.commands.push(id, row, OPEN_COMMANDS)
        if gone is not None:
            self._leave(gone, UNKNOWN)

    def send(self, message: Message) -> None:
        """Adds a transfer."""
        id = message.id
        if id is None:
            self._end(message, UNKNOWN)
            return
        self.incomplete[id] = message
        if message.kind.explicit:
            self.unsettled[id] = message
        if len(self.incomplete) > OPEN_MESSAGES or len(self.unsettled) > OPEN_MESSAGES:
            self._evict()

    def send_all(self, messages: Sequence[Message], alike: bool) -> None:
        """Adds consecutive transfers; `alike`: they are of one kind, and their ids do not wrap."""
        id = messages[0].id
        if not alike or id is None or max(len(self.incomplete), len(self.unsettled)) + len(messages) > OPEN_MESSAGES:
            for message in messages:
                self.send(message)
            return
        self.incomplete.run(id, messages)
        if messages[0].kind.explicit:
            self.unsettled.run(id, messages)

    def _leave(self, row: list[object], outcome: str) -> None:
        """Writes the row of a command."""
        row[C_OUTCOME] = outcome
        if row[RESULT_AT] is None:
            row[RESULT] = None  # held the mark that a result is awaited
        self.rows.commands.append(row)

    def _evict(self) -> None:
        """Writes the oldest message as it is."""
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

    # Answers of the other side.

    def completed(self, ids: RangeSet, time: int) -> list[int]:
        """Notes completions by the other side; returns those that are new and no transfers."""
        if self.evicted.highs:
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
                    if message.outcome is None:  # no accept was requested
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
        """Notes the result of a command."""
        row = self.commands.get(id)
        if row is None:
            row = self.awaited.pop(id, None)
            if row is not None:
                self.rows.commands.append(row)
        if row is not None:
            row[RESULT_AT] = time
            row[RESULT] = text

    def refused(self, id: int, code: int | None, text: str | None) -> None:
        """Notes the refusal of a command."""
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
        """Notes that messages were accepted, rejected or released; returns those concerned.

        In a local transaction an accept is provisional, as is one that is only `maybe` in one: see `sealed` and `reopened`.
        """
        if self.evicted_unsettled.highs:
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
            message.settled = time  # `settle` and `leave` inlined
            message.outcome = how
            if message.done is not None and not message.out:
                message.out = True
                messages.append(message)
        return found

    def sealed(self, messages: Iterable[Message], time: int | None = None) -> None:
        """Notes the commit of the transaction in which messages were accepted; `time` None: there was none."""
        for message in messages:
            if message.out:
                continue
            when = message.accepted if time is None else time
            assert when is not None
            message.settle("accepted", when)
            if message.done is not None:
                message.leave(self.rows)

    def reopened(self, messages: Iterable[Message], rolled_back: bool) -> None:
        """Notes the rollback of the transaction in which messages were accepted: their recipient still holds them.

        Not `rolled_back`: the outcome will never be known.
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
        """Writes a message: nothing more comes about it."""
        if message.outcome is None:
            done = message.done is not None and message.kind.fleeting and message.accepted is None
            message.outcome = DONE if done else outcome
            if done and message.completed is not None:
                message.settle(DONE, message.completed)
        if message.done is None:
            message.conclude(self.rows, (outcome, None, None))
        message.leave(self.rows)

    def flush(self, outcome: str) -> None:
        """Writes every row: nothing more comes.  `outcome` is that of the open ones."""
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
        """Returns the ids of messages that may be lost (see `Message.doubtful`); None if unknown."""
        if not self.known:
            return None
        found = self.evicted.copy()
        found.update(self.evicted_unsettled.freeze())
        for id, message in [*self.incomplete.items(), *self.unsettled.items()]:
            if message.doubtful:
                found.add(id)
        return found.freeze()
