"""One transfer while it is open: its row of `messages`, what is still awaited of it, and its row of `commands`."""

from __future__ import annotations

from typing import Final

from amqp_sansio.captures.replay.rows import Rows, place
from amqp_sansio.captures.tables import MESSAGES

DIRECTION: Final = place(MESSAGES, "direction")
TRANSFER_ID: Final = place(MESSAGES, "transfer_id")
LAST: Final = place(MESSAGES, "last_octet_ns")
ACQUIRED: Final = place(MESSAGES, "acquired_ns")
ACCEPTED: Final = place(MESSAGES, "accepted_ns")
REJECTED: Final = place(MESSAGES, "rejected_ns")
RELEASED: Final = place(MESSAGES, "released_ns")
COMPLETED: Final = place(MESSAGES, "completed_ns")
SETTLED: Final = place(MESSAGES, "settled_ns")
LATENCY: Final = place(MESSAGES, "settle_latency_ns")
OUTCOME: Final = place(MESSAGES, "outcome")
CODE: Final = place(MESSAGES, "reject_code")
TEXT: Final = place(MESSAGES, "reject_text")
SETTLED_TX: Final = place(MESSAGES, "settled_transaction")
SETTLED_XID: Final = place(MESSAGES, "settled_xid")

SECTIONS: Final = {"accepted": ACCEPTED, "rejected": REJECTED, "released": RELEASED}

OPEN: Final = "open"
UNKNOWN: Final = "unknown"
DONE: Final = "completed"
REFUSED: Final = "refused"


class Message:
    """`row` is its row, in which times are filled in as they are heard; it goes out when nothing more is awaited.

    `complete` and `settled` tell what has been heard; `fleeting` that nothing need ever settle it: a message published (some
    brokers accept, some do not), or looked at without acquiring it.
    """

    __slots__ = ("command", "complete", "fleeting", "out", "row", "settled")

    def __init__(self, row: list[object], command: tuple[bool, bool, int], fleeting: bool, settled: bool) -> None:
        self.row: Final = row
        self.command: Final = command
        """sync, whole, octets: what the row of `commands` has beside."""
        self.complete = False
        self.settled = settled
        self.fleeting: Final = fleeting
        self.out = False
        """Its row has gone out, or both have."""

    def completed(
        self, time: int | None, rows: Rows, outcome: str = DONE, code: int | None = None, text: str | None = None
    ) -> None:
        """Its recipient says that it is complete (`time` None: that is not known); the row of `commands` goes out."""
        row = self.row
        self.complete = True
        latency = None
        if outcome == DONE and time is not None:
            row[COMPLETED] = time
            latency = max(0, time - row[LAST])  # type: ignore[operator]
        (ts, speaker, session, channel, id) = row[:5]
        sync, whole, octets = self.command
        rows.commands.append(
            (ts, speaker, session, channel, id, "message.transfer", sync, whole, None, octets, row[LAST],
             row[COMPLETED], latency, None, None, outcome, code, text, row[-3], row[-2], row[-1])
        )  # fmt: skip

    def settle(self, how: str, time: int) -> None:
        """Its fate is sealed."""
        row = self.row
        self.settled = True
        row[SETTLED] = time
        row[LATENCY] = max(0, time - row[LAST])  # type: ignore[operator]
        row[OUTCOME] = how

    def leave(self, rows: Rows) -> None:
        """The row goes out as it stands."""
        if not self.out:
            self.out = True
            rows.messages.append(self.row)
