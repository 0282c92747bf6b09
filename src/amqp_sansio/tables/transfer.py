"""The states of one transfer between its sender and its recipient, in the third person.

The states are those of class message: START, NOT-ACQUIRED, ACQUIRED, END; between acquire and its result a message is
ACQUIRING.  There is one table per accept-mode, because a transfer with accept-mode none is settled for the queue when it is
sent, and ends with its completion.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.machine import Row, Table

SENDER: Final = "sender"
RECIPIENT: Final = "recipient"

START: Final = "START"
NOT_ACQUIRED: Final = "NOT-ACQUIRED"
ACQUIRING: Final = "ACQUIRING"
ACQUIRING_COMPLETED: Final = "ACQUIRING, completed"
"""With accept-mode none: whatever the result says, the transfer is over."""
ACQUIRED: Final = "ACQUIRED"
END: Final = "END"

TRANSFER_PRE_ACQUIRED: Final = "message.transfer pre-acquired"
TRANSFER_NOT_ACQUIRED: Final = "message.transfer not-acquired"
ACCEPT: Final = "message.accept"
REJECT: Final = "message.reject"
RELEASE: Final = "message.release"
ACQUIRE: Final = "message.acquire"
RESULT_ACQUIRED: Final = "message.acquired"
"""The result of acquire names the transfer."""
RESULT_NOT_ACQUIRED: Final = "message.acquired without it"
"""The result of acquire does not name the transfer."""
COMPLETE: Final = "session.completed"

EXPLICIT: Final = Table(
    "transfer, accept-mode explicit",
    START,
    [
        Row(START, SENDER, TRANSFER_PRE_ACQUIRED, ACQUIRED),
        Row(START, SENDER, TRANSFER_NOT_ACQUIRED, NOT_ACQUIRED),
        Row(NOT_ACQUIRED, RECIPIENT, ACQUIRE, ACQUIRING),
        Row(NOT_ACQUIRED, RECIPIENT, RELEASE, END),
        Row(ACQUIRING, SENDER, RESULT_ACQUIRED, ACQUIRED),
        Row(ACQUIRING, SENDER, RESULT_NOT_ACQUIRED, NOT_ACQUIRED),
        Row(ACQUIRED, RECIPIENT, ACCEPT, END),
        Row(ACQUIRED, RECIPIENT, REJECT, END),
        Row(ACQUIRED, RECIPIENT, RELEASE, END),
        # Completion means that the command was executed; it settles nothing.
        *[Row(state, RECIPIENT, COMPLETE, state) for state in (NOT_ACQUIRED, ACQUIRING, ACQUIRED, END)],
    ],
    final=[END],
)

NONE: Final = Table(
    "transfer, accept-mode none",
    START,
    [
        Row(START, SENDER, TRANSFER_PRE_ACQUIRED, ACQUIRED),
        Row(START, SENDER, TRANSFER_NOT_ACQUIRED, NOT_ACQUIRED),
        # The text forbids it in a garbled sentence; deployed brokers and their tests require it.
        Row(NOT_ACQUIRED, RECIPIENT, ACQUIRE, ACQUIRING),
        Row(NOT_ACQUIRED, RECIPIENT, RELEASE, END),
        Row(NOT_ACQUIRED, RECIPIENT, COMPLETE, END),
        Row(ACQUIRING, SENDER, RESULT_ACQUIRED, ACQUIRED),
        Row(ACQUIRING, SENDER, RESULT_NOT_ACQUIRED, NOT_ACQUIRED),
        Row(ACQUIRING, RECIPIENT, COMPLETE, ACQUIRING_COMPLETED),
        Row(ACQUIRING_COMPLETED, SENDER, RESULT_ACQUIRED, END),
        Row(ACQUIRING_COMPLETED, SENDER, RESULT_NOT_ACQUIRED, END),
        Row(ACQUIRING_COMPLETED, RECIPIENT, COMPLETE, ACQUIRING_COMPLETED),
        Row(ACQUIRED, RECIPIENT, COMPLETE, END),
        Row(END, RECIPIENT, COMPLETE, END),
    ],
    final=[END],
)

TRANSFER: Final[dict[int, Table]] = {0: EXPLICIT, 1: NONE}
"""By accept-mode."""
