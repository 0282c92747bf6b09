"""The states of a session at one of its two ends, in the third person.

`tables.session` judges the words on a channel.  A session outlives its channels, so each end has a table of its own: which
words of the other end count, and whether it may send.

* detached: on no transport; may be attached (again).  attaching: this end sent attach.
* resuming: attached again, waiting for what the other end expects.  attached: this end may send commands.
* refused: the other end sent an exception; its detach must follow.  detaching: this end sent detach.
* ended: over for good.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.tables.session import ATTACH, ATTACHED, CLIENT, DETACH, EXPECTED, SERVER

TRANSPORT: Final = "transport"
"""The speaker of events that neither end sends: the attachment has ended, for any reason."""

ATTACHED_AGAIN: Final = "session.attached again"
"""The answer to an attach of a session that was attached before: the side that sends first asks what the other end expects."""
COMMAND: Final = "any command"
"""A command, or a control of class session other than attach, attached, detach and detached."""
EXCEPTION: Final = "execution.exception"
KEPT: Final = "kept"
"""The attachment is over; the session continues without one."""
OVER: Final = "over"
"""The attachment is over, or the time without one has expired; the session ends."""


def _endpoint(own: str, other: str) -> Table:
    """Returns the states of the session for the end `own`."""
    moves = {
        "detached": {
            (own, ATTACH): "attaching",
            (own, ATTACHED): "attached",
            (own, ATTACHED_AGAIN): "resuming",
            (TRANSPORT, OVER): "ended",
        },
        "attaching": {
            (own, DETACH): "detaching",
            (own, ATTACH): "attaching",
            (other, ATTACHED): "attached",
            (other, ATTACHED_AGAIN): "resuming",
        },
        "resuming": {
            (own, DETACH): "detaching",
            (other, COMMAND): "resuming",
            (other, EXPECTED): "attached",
            (other, EXCEPTION): "refused",
        },
        "attached": {
            (own, DETACH): "detaching",
            (own, COMMAND): "attached",
            (own, EXCEPTION): "detaching",
            (other, COMMAND): "attached",
            (other, EXCEPTION): "refused",
        },
        "refused": {(other, COMMAND): "refused"},
        "detaching": {},
    }
    rows = [
        Row(state, speaker, verb, next_state)
        for state, words in moves.items()
        for (speaker, verb), next_state in words.items()
    ]  # fmt: skip
    for state in moves:
        if state != "detached":
            rows += [Row(state, TRANSPORT, KEPT, "detached"), Row(state, TRANSPORT, OVER, "ended")]
    return Table(f"session at the {own}", "detached", rows, final=["detached", "ended"])


ENDPOINT: Final[dict[str, Table]] = {CLIENT: _endpoint(CLIENT, SERVER), SERVER: _endpoint(SERVER, CLIENT)}
"""The tables by end."""
